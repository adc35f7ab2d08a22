"""The tool `bash`: a command line, what it printed, and how it ended."""

from __future__ import annotations

import errno
import os
from typing import Any

from bridoon.errors import BridoonError
from bridoon.proc.environment import child_env
from bridoon.proc.run import CannotStart, Completed, run
from bridoon.sdk.script import Context, Result
from bridoon.toolkit import arguments
from bridoon.toolkit.outcome import output_limit

TIME_LIMIT = 120.0
"""Seconds that a command may take, unless the call or HARNESS_TOOL_TIMEOUT says otherwise."""

ARGUMENT_LIMIT = 100_000
"""Bytes of a command that are passed as an argument; Linux takes 128 KiB in one."""

GRACE = 2.0
"""Seconds between TERM and KILL when the time is over."""

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

OURS = ("HARNESS_OUTPUT_FILE", "HARNESS_TOOL_STATUS", "HARNESS_CALL_ID")
"""Variables between the executor and this tool: a command has no use for them."""


def bash(given: dict[str, Any], context: Context) -> Result:
    """Carry out a call of `bash`. Raises BridoonError for arguments that cannot be used, and Cancelled.

    A command that failed or was stopped is a failed result, with the reason in its `status`.
    """
    command = arguments.text(given, "command")
    if "\0" in command:
        raise BridoonError("command contains a NUL character")
    limit = _time_limit(given, context)
    done = _run(command, limit, context)
    code = done.code if done.code >= 0 else 128 - done.code
    status: dict[str, Any] = {
        "exit": code,
        "timed_out": done.timed_out,
        "elapsed_s": round(done.seconds, 3),
        "limit_s": limit,
    }
    if done.background:
        status["background"] = done.background
    text = done.stdout.text(output_limit(context.env)).replace("\0", "\ufffd")
    return Result(text, failed=code != 0 or done.timed_out, status=status)


def _time_limit(given: dict[str, Any], context: Context) -> float:
    value = given.get("timeout")
    wanted = _seconds(value)
    if value is not None and wanted is None:
        shown = repr(value)[:60] if isinstance(value, int | float | str) else arguments.json_name(value)
        raise BridoonError(f"timeout must be a number of seconds, not {shown}")
    return wanted or _seconds(context.env.get("HARNESS_TOOL_TIMEOUT")) or TIME_LIMIT


def _seconds(value: object) -> float | None:
    """A time above zero and below a year; digits in a string will do."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 < number < 3.2e7 else None


def _run(command: str, limit: float, context: Context) -> Completed:
    data = arguments.encode(command)
    if len(data) <= ARGUMENT_LIMIT:
        return _start(["-c", data.decode()], limit, context)
    import tempfile

    fd, path = tempfile.mkstemp(prefix="hs-command-")
    try:
        with open(fd, "wb") as out:
            out.write(data + b"\n")
        return _start([path], limit, context)
    finally:
        os.unlink(path)


def _start(words: list[str], limit: float, context: Context) -> Completed:
    ours = dict.fromkeys(OURS)
    env = child_env(context.env, root=context.env.get("HARNESS_ROOT") or ROOT, extra=ours)
    for shell in ("bash", "sh"):
        try:
            return run(
                [shell, *words],
                cwd=context.cwd,
                env=env,
                timeout=limit,
                cancel=context.cancel,
                spill=context.env.get("HARNESS_OUTPUT_FILE", ""),
                out_limit=4 * output_limit(context.env),
                merge=True,
                grace=GRACE,
                keep_background=True,
            )
        except CannotStart as wrong:
            if shell == "sh" or wrong.errno != errno.ENOENT or not os.path.isdir(context.cwd):
                raise
    raise AssertionError("unreachable")
