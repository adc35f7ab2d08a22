"""`hs`: finds a command among the drop-ins and runs it; anything else is a message for the agent."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from bridoon import __version__

if TYPE_CHECKING:
    from bridoon.errors import BridoonError


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit code. Errors are told on standard error.

    Without `argv` this is the whole life of the process, and ends it: nothing is left to take apart.
    """
    if argv is not None:
        return run(argv)
    from bridoon.proc.streams import fill_closed, leave

    fill_closed()
    code = run(sys.argv[1:])
    if "bridoon.providers.local" in sys.modules:
        sys.modules["bridoon.providers.local"].abandon()
    return leave(code)


def run(words: list[str]) -> int:
    """Carry out a command line."""
    if words[:1] in (["--version"], ["-v"]) or (words == ["version"] and not _replaced("version")):
        return print_version()
    if words[:1] == ["py"]:
        from bridoon.sdk import py

        return py.main(words[1:])
    from bridoon.errors import BridoonError, Cancelled

    try:
        from bridoon.cli.stopping import stop_at_once

        stop_at_once()
        from bridoon.cli import dispatch

        code = dispatch.run(words)
        _flush()
        return code
    except BridoonError as wrong:
        return _failed(words, wrong)
    except (Cancelled, KeyboardInterrupt) as stopped:
        return _cancelled(words, getattr(stopped, "exit_code", 130))
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as wrong:
        where = f"{wrong.filename}: " if wrong.filename else ""
        return _failed(words, BridoonError(f"{where}{wrong.strerror or wrong}"))
    except Exception as crash:
        import traceback

        traceback.print_exc()
        return _failed(words, BridoonError(f"{type(crash).__name__}: {crash}"))


def _replaced(name: str) -> bool:
    """Whether a source may hold a command of this name, seen without reading a catalog."""
    try:
        place = os.getcwd()
    except OSError:
        return False
    places = [os.environ.get("HARNESS_HOME") or os.path.join(os.environ.get("HOME", ""), ".harness")]
    while place not in ("", "/"):
        places.append(os.path.join(place, ".harness"))
        place = os.path.dirname(place)
    places.append("/.harness")
    return any(os.path.exists(f"{each}/commands/{name}") or os.path.exists(f"{each}/plugins") for each in places)


def print_version() -> int:
    """Print the version on one line; the exit code."""
    try:
        print(f"harness {__version__}", flush=True)
    except OSError:
        _drop_output()
        return 1
    return 0


def _failed(words: list[str], wrong: BridoonError) -> int:
    """Tell what is wrong, as the `result` of a run if the command line asks for that."""
    from bridoon.cli.options import asks_for_lines

    if not asks_for_lines(words):
        tell(wrong)
        return wrong.exit_code
    from bridoon.cli import fronts

    try:
        return fronts.refuse(wrong)
    except OSError:
        _drop_output()
        tell(wrong)
        return wrong.exit_code


def _cancelled(words: list[str], code: int) -> int:
    """The exit code, after the `result` of a run that was stopped before it began."""
    from bridoon.cli.options import asks_for_lines

    if asks_for_lines(words):
        from bridoon.cli import fronts

        try:
            fronts.never_began(code)
        except OSError:
            _drop_output()
    return code


def _drop_output() -> None:
    """Whoever read our output has gone; the interpreter must not try to flush it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _flush() -> None:
    """Write out what is left. A standard output that is closed has nothing to lose."""
    if sys.stdout is not None and not sys.stdout.closed:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as wrong:
            from bridoon.errors import BridoonError

            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise BridoonError(f"standard output cannot be written: {wrong.strerror}") from None


def tell(wrong: Exception) -> None:
    """Print an error as people see it: what is wrong, then the way out."""
    hint = getattr(wrong, "hint", "")
    text = f"harness: {wrong}\n" + (f"  {hint}\n" if hint else "")
    try:
        if sys.stderr.isatty():
            from bridoon.cli.show import clean_lines

            text = clean_lines(text)
        sys.stderr.write(text)
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main())
