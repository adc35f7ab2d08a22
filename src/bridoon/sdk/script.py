"""Write a drop-in as one function: `@tool`, `@hook`, `@provider` or `@command`.

A file whose first line is `#!/usr/bin/env -S hs py` declares one function with one of these decorators. Run as a
program it speaks the protocol of its kind: flags, JSON on stdin, text or JSON on stdout, the exit code. The bundled
ones are called inside the running interpreter with the same values.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

MARK = b"#!/usr/bin/env -S hs py"
"""The first line of a marked drop-in."""


class Stoppable(Protocol):
    """A wish to stop that every wait looks at (`bridoon.proc.cancel.Cancel` inside a run)."""

    @property
    def is_set(self) -> bool: ...
    def fileno(self) -> int: ...
    def check(self) -> None: ...


class Picture(NamedTuple):
    """An image in a tool's result. `data` holds the decoded bytes."""

    mime_type: str
    data: bytes


class Result(NamedTuple):
    """A tool's answer, when text alone does not say it."""

    content: str
    failed: bool = False
    images: tuple[Picture, ...] = ()
    status: Mapping[str, Any] | None = None
    """`{"exit": n, "timed_out": bool, "elapsed_s": x}` of a command that the tool ran."""


class Context:
    """Where a drop-in runs: its environment, and how it speaks to the people who watch.

    Everything in here can be derived from the environment of a process, so a drop-in that is run as a program sees
    the same. `env` is the environment that a child would get; never read `os.environ` in a drop-in.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        cancel: Stoppable | None = None,
        emit: Callable[[dict[str, Any]], None] | None = None,
        log: Callable[[str], None] | None = None,
        run: Any = None,
    ) -> None:
        self.env = env
        self.cancel = cancel
        self.run = run
        """The run that this drop-in is part of (`bridoon.loop.run.Run`); None when it is a program of its own."""
        self._emit = emit
        self._log = log

    @property
    def stage(self) -> str:
        """The stage now running, e.g. `tool_exec`."""
        return self.env.get("HARNESS_STAGE", "")

    @property
    def session(self) -> str:
        """The absolute directory of the session, empty outside of one."""
        return self.env.get("HARNESS_SESSION", "")

    @property
    def cwd(self) -> str:
        """The session's working directory, else the process's."""
        return self.env.get("HARNESS_CWD") or os.getcwd()

    @property
    def sources(self) -> list[str]:
        """The source directories, lowest priority first."""
        return [part for part in self.env.get("HARNESS_SOURCES", "").split(":") if part]

    def emit(self, event: dict[str, Any]) -> None:
        """Append one event to the session's `.stream`, e.g. `{"type": "text", "text": "..."}`."""
        if self._emit is not None:
            self._emit(event)
        elif self.session:
            line = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            fd = os.open(os.path.join(self.session, ".stream"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)

    def log(self, text: str) -> None:
        """Write one line to the log (`HARNESS_LOG`; standard error of a program)."""
        if self._log is not None:
            self._log(text)
        else:
            print(text, file=sys.stderr)


class DropIn(NamedTuple):
    """What a decorator declared."""

    kind: str
    """tool | hook | provider | command"""
    run: Callable[..., Any]
    describe: str
    schema: Mapping[str, Any]
    """A tool's `{name, description, input_schema, annotations}`; empty for other kinds."""
    ready: Callable[[Context], bool] | None = None
    defaults: Mapping[str, str] = {}
    environment: str = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().split("\n", 1)[0]


def hook(function: Callable[[dict[str, Any], Context], dict[str, Any]]) -> DropIn:
    """Declare a hook: `payload, context -> payload`. Raise `SystemExit(message)` to stop the stage."""
    return DropIn("hook", function, _first_line(function), {})


def tool(
    *,
    input_schema: Mapping[str, Any],
    name: str = "",
    description: str = "",
    annotations: Mapping[str, Any] | None = None,
) -> Callable[[Callable[[dict[str, Any], Context], str | Result]], DropIn]:
    """Declare a tool: `input, context -> text` or a `Result`. The name defaults to the function's."""

    def declare(function: Callable[[dict[str, Any], Context], str | Result]) -> DropIn:
        about = description or (function.__doc__ or "").strip()
        schema: dict[str, Any] = {
            "name": name or function.__name__,
            "description": about,
            "input_schema": dict(input_schema),
        }
        if annotations:
            schema["annotations"] = dict(annotations)
        return DropIn("tool", function, about.split("\n", 1)[0], schema)

    return declare


def provider(
    *,
    ready: Callable[[Context], bool] | None = None,
    defaults: Mapping[str, str] | None = None,
    environment: str = "",
) -> Callable[[Callable[[dict[str, Any], Context], dict[str, Any]]], DropIn]:
    """Declare a provider: `payload, context -> raw API response`. It streams through `context.emit`."""

    def declare(function: Callable[[dict[str, Any], Context], dict[str, Any]]) -> DropIn:
        return DropIn("provider", function, _first_line(function), {}, ready, defaults or {}, environment)

    return declare


def command(function: Callable[[list[str], Context], int | None]) -> DropIn:
    """Declare a command: `arguments, context -> exit code` (None is 0)."""
    return DropIn("command", function, _first_line(function), {})


def run_as_program(drop_in: DropIn, argv: list[str]) -> int:
    """Speak the drop-in's protocol on this process's standard streams and return its exit code."""
    context = Context(dict(os.environ))
    if argv[:1] == ["--describe"]:
        print(drop_in.describe)
        return 0
    if drop_in.kind == "command":
        return drop_in.run(argv, context) or 0
    if drop_in.kind == "hook":
        print(_dump(drop_in.run(_read_object(), context)))
        return 0
    if drop_in.kind == "tool":
        return _tool_program(drop_in, argv, context)
    return _provider_program(drop_in, argv, context)


def _tool_program(drop_in: DropIn, argv: list[str], context: Context) -> int:
    match argv[:1]:
        case ["--schema"]:
            print(_dump(dict(drop_in.schema)))
            return 0
        case ["--exec"]:
            pass
        case _:
            print(
                f"usage: {drop_in.schema['name']} --schema | --describe | --exec < input.json",
                file=sys.stderr,
            )
            return 2
    started = time.monotonic()
    answer = drop_in.run(_read_object(), context)
    result = answer if isinstance(answer, Result) else Result(answer)
    sys.stdout.buffer.write(result.content.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    _write_status(result, context, time.monotonic() - started)
    # A tool that ran a command reports the command's status out of band and exits 0 itself.
    return 1 if result.failed and result.status is None else 0


def _write_status(result: Result, context: Context, seconds: float) -> None:
    path = context.env.get("HARNESS_TOOL_STATUS")
    if not path:
        return
    import base64

    status: dict[str, Any] = {"elapsed_s": round(seconds, 3), **(result.status or {})}
    if result.images:
        status["images"] = [
            {"mime_type": image.mime_type, "data": base64.b64encode(image.data).decode("ascii")}
            for image in result.images
        ]
    with open(path, "w", encoding="utf-8") as out:
        json.dump(status, out)


def _provider_program(drop_in: DropIn, argv: list[str], context: Context) -> int:
    match argv[:1]:
        case ["--ready"]:
            return 0 if drop_in.ready is not None and drop_in.ready(context) else 1
        case ["--defaults"]:
            print("\n".join(f"{key}={value}" for key, value in drop_in.defaults.items()))
            return 0
        case ["--env"]:
            print(drop_in.environment)
            return 0
    if argv[:1] != ["--stream"]:
        context = Context(context.env, emit=lambda event: None)
    print(_dump(drop_in.run(_read_object(), context)))
    return 0


def _read_object() -> dict[str, Any]:
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        value = json.loads(text) if text.strip() else {}
    except ValueError as wrong:
        raise SystemExit(f"standard input is not JSON: {wrong}") from None
    if not isinstance(value, dict):
        raise SystemExit(f"standard input is not a JSON object but {type(value).__name__}")
    return value


def _dump(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")
