"""One stage: its hooks, one after the other, each given what the one before it printed."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Sequence
from typing import Any

from bridoon.catalog.lookup import Executable
from bridoon.errors import BridoonError, HookFailed, ProviderError
from bridoon.loop.env import seconds
from bridoon.loop.run import Run
from bridoon.proc import inline
from bridoon.proc.run import CannotStart, Completed, command_for, run
from bridoon.wire import jsontext

Payload = dict[str, Any]

PATIENT = ("send", "tool_exec", "resolve", "auth-set")
"""Stages that may wait for a model, a tool or a person: no time limit unless one is set."""

HOOK_LIMIT = 60.0
"""Seconds that a hook of another stage may take."""

OUTPUT_LIMIT = 64 << 20
"""Bytes that a hook may print. More is a failure: half a payload is worth nothing."""

NO_INTERPRETER = 127
"""Exit code by which `env` says that a program is not there."""

TOO_DEEP = "the JSON at hand is nested too deeply"


class Words(Payload):
    """What a hook printed for the next program alone: any text. Only the last output of a stage must be a payload."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def run_stage(run: Run, stage: str, payload: Payload) -> Payload:
    """Run the hooks of a stage and return the payload that the last one printed.

    Raises HookFailed for the first hook that exits non-zero, crashes or prints what is not a JSON object. A hook that
    cannot start, and one that was made during this run, is left out instead where that is safe.
    """
    given = dict(payload)
    kept = carried(payload) if stage == "receive" else {}
    hooks = run.hooks(stage)
    for place, hook in enumerate(hooks, 1):
        words = place < len(hooks) and not _ours(hooks[place])
        added = {}
        if kept and "next_state" in payload:
            added = {key: value for key, value in kept.items() if key not in payload}
            payload = {**payload, **added}
        try:
            payload = run_hook(run, hook, stage, payload, words=words)
        except HookFailed as failed:
            _leave_out(run, hook, stage, failed)
            if stage == "assemble":
                return run_stage(run, stage, given)  # from the beginning: the system prompt tells the model at once
            # Other stages send, save and run things: what was done is not done again.
        for key, value in added.items():
            if payload.get(key) == value:
                del payload[key]
    return payload


def run_hook(
    run_: Run, hook: Executable, stage: str, payload: Payload, *, words: bool = False, limit: float | None = None
) -> Payload:
    """Run one hook, inline when it is one of ours, and return its payload. Empty output passes it through.

    With `words`, output that is no payload is returned as `Words`: another program is given it next. `limit` is in
    seconds; without it the stage decides.
    """
    if _ours(hook):
        return _inline(run_, hook, stage, payload)
    text = output(hook, stage, spawn(run_, hook, stage, payload, limit=limit))
    if not text.strip():
        run_.notice(f"hook {hook.path} printed nothing in {stage}: its input is passed on (observers end with cat)")
        return payload
    try:
        return parse(hook, stage, text, run_)
    except HookFailed:
        if words:
            return Words(text)
        raise


def _ours(hook: Executable) -> bool:
    """Whether a hook is called inside this interpreter."""
    return hook.bundled and hook.marked


def _inline(run_: Run, hook: Executable, stage: str, payload: Payload) -> Payload:
    try:
        answer = inline.load(hook.path).run(payload, run_.context(stage))
    except HookFailed:
        raise
    except SystemExit as stop:
        message = stop.code if isinstance(stop.code, str) else f"hook {hook.path} exited {stop.code}"
        raise HookFailed(message, stage=stage, hook=hook.path, stderr=message) from None
    except RecursionError:
        raise HookFailed(f"hook {hook.path}: {TOO_DEEP}", stage=stage, hook=hook.path) from None
    except BridoonError as wrong:
        failed = HookFailed(wrong.message, stage=stage, hook=hook.path, stderr=wrong.message)
        failed.hint, failed.exit_code = wrong.hint, wrong.exit_code
        if isinstance(wrong, ProviderError):
            failed.output = {"kind": wrong.kind}
        raise failed from wrong
    except Exception as crash:
        run_.log.write(traceback.format_exc())
        place = traceback.extract_tb(crash.__traceback__)[-1]
        message = f"hook {hook.path} crashed: {type(crash).__name__}: {crash} ({place.filename}:{place.lineno})"
        raise HookFailed(message, stage=stage, hook=hook.path, stderr=message) from crash
    if not isinstance(answer, dict):
        raise HookFailed(f"hook {hook.path} returned no object", stage=stage, hook=hook.path)
    return answer


def spawn(
    run_: Run,
    hook: Executable,
    stage: str,
    payload: Payload | str,
    arguments: Sequence[str] = (),
    *,
    tty: bool = False,
    limit: float | None = None,
) -> Completed:
    """Run a hook as a process with the payload and a newline on its standard input. Its stderr goes to the log.

    With `tty` it may ask at the terminal, and its stderr is shown there at once: that is where bash prompts.
    """
    try:
        text = payload if isinstance(payload, str) else payload.text if isinstance(payload, Words) else dump(payload)
    except RecursionError:
        raise HookFailed(f"hook {hook.path} was not run: {TOO_DEEP}", stage=stage, hook=hook.path) from None
    if limit is None:
        limit = seconds(run_.env, "HARNESS_HOOK_TIMEOUT", None if stage in PATIENT else HOOK_LIMIT)
    try:
        with run_.overhearing() as tick:
            done = run(
                [*command_for(hook.path, hook.marked), *arguments],
                stdin=text.encode("utf-8", "replace") + b"\n",
                env=run_.child_environment(stage),
                timeout=limit,
                cancel=run_.cancel,
                out_limit=OUTPUT_LIMIT,
                tick=tick,
                tty=tty,
                on_output=_at_terminal if tty else None,
            )
    except CannotStart as wrong:
        message = f"hook {hook.path} cannot start: {wrong}"
        raise HookFailed(message, stage=stage, hook=hook.path, code=126, stderr=str(wrong)) from wrong
    if not (tty and run_.log.path == "/dev/stderr" and os.isatty(2)):
        run_.log.write(done.stderr.text())
    return done


def _at_terminal(name: str, chunk: bytes) -> None:
    if name != "stderr":
        return
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(terminal, chunk)
    except OSError:
        pass
    finally:
        os.close(terminal)


def output(hook: Executable, stage: str, done: Completed) -> str:
    """What a hook printed. Raises HookFailed when it failed or printed more than OUTPUT_LIMIT."""
    text = done.stdout.data.decode("utf-8", "replace")
    _check_exit(hook, stage, done, text)
    if done.stdout.truncated:
        message = f"hook {hook.path} printed {done.stdout.total} bytes during {stage}: at most {OUTPUT_LIMIT} are read"
        raise HookFailed(message, stage=stage, hook=hook.path)
    return text


def _check_exit(hook: Executable, stage: str, done: Completed, text: str) -> None:
    """Raise HookFailed when the process failed; what it printed as `.error` is the message then."""
    if done.timed_out:
        message = f"hook {hook.path} took longer than {done.seconds:.0f} s during {stage}"
        raise HookFailed(message, stage=stage, hook=hook.path, code=124, stderr=done.stderr.text())
    if done.code == 0:
        return
    stderr = done.stderr.text()
    last = " | ".join(stderr.strip().splitlines()[-2:])
    message = f"hook {hook.path} exited {done.code} during {stage}" + (f": {last}" if last else "")
    output = _object(text) or {}
    if isinstance(output.get("error"), str) and output["error"]:
        message = output["error"]
    raise HookFailed(message, stage=stage, hook=hook.path, code=done.code, stderr=stderr, output=output)


def parse(hook: Executable, stage: str, text: str, run_: Run | None = None) -> Payload:
    """The JSON object that a hook printed; several objects are merged, with a notice."""
    decoder = json.JSONDecoder(parse_float=jsontext.number)
    merged: Payload = {}
    documents, at = 0, 0
    try:
        while at < len(text):
            if text[at] in " \t\r\n":
                at += 1
                continue
            value, at = decoder.raw_decode(text, at)
            if not isinstance(value, dict):
                raise ValueError(f"a JSON {type(value).__name__}, not an object")
            merged.update(value)
            documents += 1
    except (ValueError, RecursionError) as wrong:
        start = text.strip()[:80]
        message = f"hook {hook.path} printed no JSON object during {stage} ({wrong}): {start!r}"
        raise HookFailed(message, stage=stage, hook=hook.path) from None
    if documents > 1 and run_ is not None:
        run_.notice(f"hook {hook.path} printed {documents} JSON objects in {stage}: they were merged")
    return merged


def dump(payload: Payload) -> str:
    """A payload as one line of JSON."""
    return jsontext.dump(payload)


def _object(text: str) -> Payload | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def carried(response: Payload) -> Payload:
    """What observers after the hook that saves may still read of the response; usage in both spellings."""
    kept: Payload = {key: response[key] for key in ("usage", "model", "stop_reason", "id") if key in response}
    usage = kept.get("usage")
    if isinstance(usage, dict):
        both = dict(usage)
        for ours, theirs in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
            if ours in usage:
                both.setdefault(theirs, usage[ours])
            elif theirs in usage:
                both.setdefault(ours, usage[theirs])
        kept["usage"] = both
    return kept


def _may_be_left_out(run_: Run, hook: Executable, stage: str) -> bool:
    """Whether a run can go on without a hook.

    Gates and error hooks are never left out: they fail closed. Nor are overrides of bundled hooks: nothing would
    replace them.
    """
    if hook.bundled or stage in ("tool_exec", "pre-tool", "error", "resolve"):
        return False
    return not any(each.bundled and each.name == hook.name for each in run_.catalog.entries(f"hooks.d/{stage}"))


def _never_ran(hook: Executable, failed: HookFailed) -> bool:
    """Whether the system could not start a hook at all: it has said nothing about the payload, then."""
    if isinstance(failed.__cause__, CannotStart):
        return True
    if failed.code != NO_INTERPRETER:
        return False
    try:
        with open(hook.path, "rb") as file:
            return file.readline(256).endswith(b"\r\n")  # `env` looks for a program whose name ends in CR
    except OSError:
        return False


def _fresh(run_: Run, hook: Executable) -> bool:
    """Whether a hook was made or changed during this run: somebody is trying it out."""
    try:
        return os.stat(hook.path).st_ctime > run_.began
    except OSError:
        return False


def _leave_out(run_: Run, hook: Executable, stage: str, failed: HookFailed) -> None:
    """Go on without a hook that never ran, or that was made during this run. Raises `failed` for any other."""
    if not _may_be_left_out(run_, hook, stage):
        raise failed
    if _never_ran(hook, failed):
        note = f"{failed.message}. It is left out of this run"
    elif _fresh(run_, hook):
        note = f"{failed.message}. It was made during this run, so it is left out until the next one"
    else:
        raise failed
    run_.skipped.add(hook.path)
    run_.notes.append(f"{note}: fix {hook.path}" + (f"\nIts stderr: {failed.stderr[-600:]}" if failed.stderr else ""))
    run_.notice(note)
