"""Starts tools: finds them by name, runs them inline or as processes, bounds what they answer."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from bridoon.catalog.files import read_file
from bridoon.catalog.lookup import Executable
from bridoon.catalog.schemas import ToolIndex
from bridoon.errors import BridoonError, Cancelled
from bridoon.loop.env import seconds
from bridoon.loop.run import Run
from bridoon.proc import inline
from bridoon.proc.run import CannotStart, command_for, run
from bridoon.sdk.script import DropIn, Picture, Result
from bridoon.toolkit.outcome import bounded, note, output_limit
from bridoon.wire import jsontext

TOOL_LIMIT = 600.0
"""Seconds that a tool may take when neither it nor HARNESS_TOOL_TIMEOUT says otherwise."""

SCHEMA_LIMIT = 10.0
"""Seconds that `--schema` may take."""

STATUS_BYTES = 64 << 20
"""Bytes of what a tool reports out of band, its pictures included."""

Answer = tuple[str, bool, list[dict[str, str]], float]
"""Text, whether it failed, images as `{mime_type, data}` in base64, seconds."""


class Task:
    """A call that runs beside others, in a thread of its own."""

    def __init__(self, work: Callable[[], Answer]) -> None:
        self._work = work
        self._answer: Answer | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tool", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = self._work()
        except BaseException as error:  # handed to the thread that waits
            self._error = error

    def wait(self) -> Answer:
        """The answer, once it is there. Raises what the call raised (Cancelled, after its clean-up)."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._answer is not None
        return self._answer


def start(run_: Run, call: dict[str, Any]) -> Task:
    """Start a call beside others. Its gates must have passed."""
    run_.session.sync(names=False)

    def work() -> Answer:
        with run_.turns_at_once:
            run_.cancel.check()
            return execute(run_, call)

    return Task(work)


def index(run_: Run) -> ToolIndex:
    """The tools that the model can call now."""
    return ToolIndex.of(run_.catalog, lambda tool: schema_of(run_, tool))


def concurrent_group(run_: Run, calls: list[dict[str, Any]]) -> int:
    """How many calls at the head of the queue may run beside each other (0 or 1: the first runs alone)."""
    tools = index(run_)
    size = 0
    seen: set[str] = set()
    for call in calls:
        if call["id"] in seen:
            break  # two calls of one id could not be told apart while both are under way
        seen.add(call["id"])
        spec = tools.spec(call["name"])
        notes = (spec or {}).get("annotations") or {}
        if call.get("error") or not (notes.get("concurrent") or notes.get("readOnlyHint")):
            break
        size += 1
    return size


def execute(run_: Run, call: dict[str, Any]) -> Answer:
    """Run one call to its end. Failures are answers; only Cancelled is raised."""
    began = time.monotonic()
    if call.get("error"):
        return f"error: {call['error']}. The call was not run.", True, [], 0.0
    tools = index(run_)
    tool = tools.by_name(call["name"])
    if tool is None:
        withheld, near = run_.catalog.withheld.get(call["name"]), tools.near(call["name"])
        hint = f": {withheld.reason}" if withheld else f" (did you mean {near}?)" if near else ""
        return f"error: tool '{call['name']}' not found{hint}", True, [], 0.0
    wrong_arguments = misfit(tools.spec(call["name"]) or {}, call["input"])
    if wrong_arguments:
        return f"error: {wrong_arguments}. The call was not run.", True, [], 0.0
    place = f"{len(run_.session.messages()):04d}-{_safe(call['id'])}"  # ids repeat from turn to turn
    spill = os.path.join(run_.session.dir, ".outputs", f"{place}.txt")
    extra = {"HARNESS_OUTPUT_FILE": spill, "HARNESS_CALL_ID": call["id"]}
    try:
        own = _ours(tool)
        result = _inline(run_, own, call, extra) if own else _process(run_, tool, call, extra)
    except Cancelled:
        raise
    except SystemExit as stop:
        result = Result(str(stop.code), failed=True)
    except CannotStart as wrong:
        result = Result(f"error: tool '{call['name']}' cannot start: {wrong}", failed=True)
    except BridoonError as wrong:
        result = Result("error: " + wrong.message + (f" ({wrong.hint})" if wrong.hint else ""), failed=True)
    except Exception as crash:
        run_.log.write(f"[harness] tool {tool.path} crashed: {type(crash).__name__}: {crash}")
        result = Result(f"error: the tool crashed: {type(crash).__name__}: {crash}", failed=True)
    text = bounded(result.content, run_.env, spill)
    about = note(result.status) if result.status else ""
    if about:
        text = f"{text}\n{about}" if text else about
    return text, result.failed, _encode(result.images), time.monotonic() - began


KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "array": list,
    "object": dict,
}
"""Types of JSON Schema that a value can be told apart by. Numbers are left alone: models write them as text, too."""


def misfit(spec: dict[str, Any], given: dict[str, Any]) -> str:
    """What keeps arguments from fitting a tool's schema at first sight: a missing one, or one of another kind."""
    schema = spec.get("input_schema") or {}
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if given.get(name) is None:
            return f"the argument {name!r} is missing"
    for name, value in given.items():
        kind = (properties.get(name) or {}).get("type") if isinstance(properties.get(name), dict) else None
        if isinstance(kind, str) and kind in KINDS and value is not None and not isinstance(value, KINDS[kind]):
            return f"the argument {name!r} must be of type {kind}, not {type(value).__name__}"
    return ""


def _ours(tool: Executable) -> DropIn | None:
    """What a tool declares that is called inside this interpreter; None for a program."""
    return tool.declared or (inline.load(tool.path) if tool.bundled and tool.marked else None)


def _inline(run_: Run, tool: DropIn, call: dict[str, Any], extra: dict[str, str]) -> Result:
    answer = tool.run(call["input"], run_.context("tool_exec", extra))
    return answer if isinstance(answer, Result) else Result(answer)


def _process(run_: Run, tool: Executable, call: dict[str, Any], extra: dict[str, str]) -> Result:
    limit = seconds(run_.env, "HARNESS_TOOL_TIMEOUT", TOOL_LIMIT)
    status_file = extra["HARNESS_OUTPUT_FILE"].removesuffix(".txt") + ".status"
    os.makedirs(os.path.dirname(status_file), mode=0o700, exist_ok=True)
    extra = {**extra, "HARNESS_TOOL_STATUS": status_file}
    try:
        done = run(
            [*command_for(tool.path, tool.marked), "--exec"],
            stdin=jsontext.dump(call["input"]).encode("utf-8", "replace") + b"\n",
            cwd=run_.session.cwd,
            env=run_.child_environment("tool_exec", extra),
            timeout=limit,
            cancel=run_.cancel,
            spill=extra["HARNESS_OUTPUT_FILE"],
            keep_background=True,
        )
        status, images = _read_status(status_file)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(status_file)
    content = done.stdout.text(output_limit(run_.env)).rstrip("\n")
    stderr = done.stderr.text().rstrip("\n")
    if done.timed_out:
        status = {"timed_out": True, "elapsed_s": done.seconds, "limit_s": limit}
    failed = done.code != 0 or bool(status.get("timed_out")) or bool(status.get("exit"))
    if failed and stderr:
        content = f"{content}\n{stderr}" if content else stderr
    elif stderr:
        run_.log.write(stderr)
    if done.code != 0 and not content and not status:
        status = {"exit": done.code}
    return Result(content, failed, images, status or None)


def _read_status(path: str) -> tuple[dict[str, Any], tuple[Picture, ...]]:
    """What a tool reported out of band; nonsense counts as nothing."""
    import base64

    try:
        status = json.loads(read_file(path, STATUS_BYTES))  # never waits: a tool may have left a pipe there
        if not isinstance(status, dict):
            return {}, ()
        images = status.pop("images", None) or []
        return status, tuple(Picture(str(i["mime_type"]), base64.b64decode(i["data"])) for i in images)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}, ()


def _encode(images: tuple[Picture, ...]) -> list[dict[str, str]]:
    if not images:
        return []
    import base64

    return [{"mime_type": i.mime_type, "data": base64.b64encode(i.data).decode("ascii")} for i in images]


def schema_of(run_: Run, tool: Executable) -> dict[str, Any]:
    """The `--schema` answer of a tool. Raises BridoonError with the reason when there is none."""
    own = _ours(tool)
    if own:
        return dict(own.schema)
    try:
        done = run(
            [*command_for(tool.path, tool.marked), "--schema"],
            env=run_.child_environment("assemble"),
            timeout=SCHEMA_LIMIT,
            cancel=run_.cancel,
            out_limit=1 << 20,
        )
    except CannotStart as wrong:
        raise BridoonError(f"cannot start: {wrong}") from None
    if done.timed_out:
        raise BridoonError(f"--schema took longer than {SCHEMA_LIMIT:.0f} s")
    if done.code != 0:
        last = done.stderr.text().strip().splitlines()[-1:]
        raise BridoonError(f"--schema exited {done.code}" + (f": {last[0]}" if last else ""))
    text = done.stdout.data.decode("utf-8", "replace")
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise BridoonError(f"--schema printed no JSON ({wrong}): {text.strip()[:60]!r}") from None
    if not isinstance(schema, dict):
        raise BridoonError(f"--schema printed a JSON {type(schema).__name__}, not an object")
    return schema


def _safe(ident: str) -> str:
    """A call id as a file name: ids come from a model, so they are never paths."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in ident)
    return kept[:100] or "call"
