"""Run a marked drop-in as a program: what `#!/usr/bin/env -S hs py` comes to."""

from __future__ import annotations

import os
import signal
import sys
from types import ModuleType, TracebackType
from typing import Any

from bridoon.sdk.script import DropIn, run_as_program

_NAME = "__dropin__"


def main(argv: list[str]) -> int:
    """Run the file `argv[0]` with the remaining arguments by the protocol of its kind; return the exit code.

    0 done, 1 failed (the message is on standard error), 2 wrong usage, 130 and 143 interrupted, 141 when
    nobody reads what it says.
    """
    if not argv:
        print("usage: hs py FILE [ARGUMENT ...]", file=sys.stderr)
        return 2
    try:
        # As an exception, so that what the drop-in started is stopped before this process ends.
        signal.signal(signal.SIGTERM, _terminate)
        code = _exit_code(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whatever is still buffered would fail again when the interpreter closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except KeyboardInterrupt:
        return 130


def declared_in(module: ModuleType) -> DropIn:
    """The one drop-in that a module declares; those that it imports do not count. Raises LookupError."""
    found = [value for value in vars(module).values() if isinstance(value, DropIn)]
    own = [value for value in found if getattr(value.run, "__module__", "") == module.__name__] or found
    if len(own) != 1:
        what = "none" if not own else f"{len(own)} drop-ins"
        raise LookupError(f"it must declare one @tool, @hook, @provider or @command, and declares {what}")
    return own[0]


def _exit_code(argv: list[str]) -> int:
    path = argv[0]
    try:
        return run_as_program(_drop_in(path), argv[1:])
    except SystemExit as wanted:
        if wanted.code is None or isinstance(wanted.code, int):
            return wanted.code or 0
        print(wanted.code, file=sys.stderr)
        return 1
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except BaseException as wrong:
        return _report(wrong, path)


def _drop_in(path: str) -> DropIn:
    """The one drop-in that the file declares; a file that is wrong ends the program with a message."""
    try:
        with open(path, "rb") as file:
            # Without the import system's cache: it does not see an edit of equal length within a second.
            code = compile(file.read(), path, "exec", dont_inherit=True)
    except OSError as wrong:
        raise SystemExit(f"{path}: {wrong.strerror}") from None
    except SyntaxError as wrong:
        place = f"line {wrong.lineno}: " if wrong.lineno else ""
        raise SystemExit(f"{path}: {place}{wrong.msg}") from None
    except ValueError as wrong:
        raise SystemExit(f"{path}: {wrong}") from None
    module = ModuleType(_NAME)
    module.__file__ = path
    sys.modules[_NAME] = module
    exec(code, module.__dict__)
    try:
        return declared_in(module)
    except LookupError as wrong:
        raise SystemExit(f"{path}: {wrong}") from None


def _report(wrong: BaseException, path: str) -> int:
    """Say what went wrong: the sentence that somebody wrote, else the drop-in's own part of the trace."""
    errors = sys.modules.get("bridoon.errors")
    if errors is not None and isinstance(wrong, errors.BridoonError):
        print(wrong, file=sys.stderr)
        if wrong.hint:
            print(f"hint: {wrong.hint}", file=sys.stderr)
        return 1
    if errors is not None and isinstance(wrong, errors.Cancelled):
        return int(wrong.exit_code)
    import traceback

    traceback.print_exception(type(wrong), wrong, _from_file(wrong.__traceback__, path))
    return 1


def _from_file(trace: TracebackType | None, path: str) -> TracebackType | None:
    """A traceback without the frames that led into the file; all of it when none is in the file."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename != path:
        inner = inner.tb_next
    return inner or trace


def _terminate(signum: int, frame: Any) -> None:
    # The clean-up that begins now is not to be cut short by a second one.
    signal.signal(signum, signal.SIG_IGN)
    raise SystemExit(128 + signum)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
