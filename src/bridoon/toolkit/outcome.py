"""What a tool's answer looks like to the model: bounded in size, its command's status in the last line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from bridoon.errors import BridoonError
from bridoon.sdk.script import Context, Result

OUTPUT_LIMIT = 100_000
"""Characters of a result that the model sees, unless HARNESS_TOOL_OUTPUT_LIMIT says otherwise."""

HEAD_SHARE = 0.7
"""How much of a shortened result comes from its beginning; the rest comes from its end."""

SPILL_LIMIT = 64 << 20
"""Bytes of a full result that are kept on disk."""

_SLACK = 5000
"""Characters that the line about a cut may take."""


Body = Callable[[dict[str, Any], Context], Result]


def answer(body: Body, given: dict[str, Any], context: Context) -> Result:
    """Call a tool's body; a BridoonError becomes a failed result that begins with `error: `."""
    try:
        return body(given, context)
    except BridoonError as wrong:
        return Result(f"error: {wrong.message}" + (f" ({wrong.hint})" if wrong.hint else ""), failed=True)


def note(status: Mapping[str, Any]) -> str:
    """The last line of a command's result: how it ended, empty for a plain success.

    `status` has `exit`, `timed_out`, `elapsed_s` and perhaps `limit_s`, all of them optional.
    """
    if status.get("timed_out"):
        seconds = status.get("limit_s", status.get("elapsed_s"))
        after = f" after {seconds:g} s" if isinstance(seconds, int | float) else ""
        return f"[timed out{after}; process group killed]"
    code = status.get("exit")
    return f"[exit status {code}]" if isinstance(code, int) and code != 0 else ""


def output_limit(env: Mapping[str, str]) -> int:
    """Characters of a result that the model sees."""
    return _positive(env.get("HARNESS_TOOL_OUTPUT_LIMIT", "")) or OUTPUT_LIMIT


def bounded(text: str, env: Mapping[str, str], full: str = "") -> str:
    """The text without newlines at its end; a long one as head, a line about what was cut, and tail.

    `full` names the file that then gets the whole text (at most 64 MiB of it); its directory is made. When
    that file is there already, the tool has shortened its output itself.
    """
    text = text.rstrip("\n")
    limit = output_limit(env)
    if len(text) <= limit or (len(text) <= limit + _SLACK and full and os.path.isfile(full)):
        return text
    head = int(limit * HEAD_SHARE)
    tail = limit - head
    where = _keep(text, full) if full else ""
    return f"{text[:head]}\n[... {len(text) - limit} characters cut{where} ...]\n{text[len(text) - tail :]}"


def _keep(text: str, path: str) -> str:
    data = text.encode("utf-8", "replace")
    kept = data[:SPILL_LIMIT]
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(path, flags, 0o600)
        with open(fd, "wb") as out:
            out.write(kept)
    except OSError as wrong:
        return f"; the full text could not be kept: {wrong.strerror}"
    if len(kept) < len(data):
        return f"; the first {len(kept)} of {len(data)} bytes are in {path}"
    return f"; the full text is in {path}"


def _positive(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
