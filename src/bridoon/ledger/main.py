"""`harness-cli`: reads the command line, lets the command do its work, and says how it went."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from bridoon.errors import BridoonError
from bridoon.ledger.cmdline.command import JSON_OPTION, Answer, Given, Table
from bridoon.ledger.cmdline.parse import Help, Version, parse

PARSING = "cli.parse"
"""The operation of an envelope for a command line that is wrong."""
LOCAL = "tool check"
"""What it finds holds on this machine: nobody misses it in a changeset."""


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit code. Errors are told on standard error.

    Without `argv` this is the whole life of the process, and ends it: nothing is left to take apart.
    """
    if argv is not None:
        return run(argv, os.environ)
    from bridoon.proc.streams import fill_closed, leave

    fill_closed()
    code = run(sys.argv[1:], os.environ)
    return leave(code)


def run(words: list[str], env: Mapping[str, str]) -> int:
    """Carry out a command line."""
    name = PARSING
    try:
        try:
            given = parse(words)
            if isinstance(given, Given):
                name = given.command.operation
                return _carry_out(given, env)
            return _inform(given, as_json=JSON_OPTION in words)
        except OSError as wrong:
            if isinstance(wrong, BrokenPipeError):
                raise
            where = f"{wrong.filename}: " if wrong.filename else ""
            raise BridoonError(f"{where}{wrong.strerror or wrong}") from wrong
    except BridoonError as wrong:
        return _failed(wrong, name, env, as_json=JSON_OPTION in words)
    except BrokenPipeError:
        _drop_output()
        return 141
    except KeyboardInterrupt:
        return 130
    except Exception as crash:
        return _failed(_bug(crash), name, env, as_json=JSON_OPTION in words)
    except BaseException as stopped:
        code = getattr(stopped, "exit_code", None)
        if not isinstance(code, int):
            raise
        return code


def _carry_out(given: Given, env: Mapping[str, str]) -> int:
    """Let the command do its work and print its answer; the exit code."""
    import importlib

    from bridoon.ledger.ledger import Ledger
    from bridoon.ledger.place import find, holds_changesets

    ledger = Ledger(find(env, _here()), env)
    module, _, function = given.command.body.partition(":")
    body = getattr(importlib.import_module(f"bridoon.ledger.verbs.{module}"), function)
    answer: Answer = body(ledger, given)
    write(rendered(answer, given, env))
    _tell("note", answer.note)
    for warning in (answer.warning, *ledger.warnings):
        _tell("warning", warning)
    recorded = given.command.name != LOCAL and ledger.is_changed
    if recorded and not ledger.place.run_id and holds_changesets(ledger.place.changesets):
        _tell("note", "this change is in no changeset: HARNESS_RUN_ID is not set")
    return answer.code


def rendered(answer: Answer, given: Given, env: Mapping[str, str]) -> bytes:
    """What an answer looks like on standard output. Raises TooMuch."""
    if given.json:
        from bridoon.ledger import protocol

        if not answer.bare:
            return protocol.answered(given.command.operation, answer.data, env)
        from bridoon.ledger.show import array

        return protocol.limited(array.pretty(answer.data))
    text = answer.text
    if isinstance(text, Table):
        if given.has("--csv"):
            from bridoon.ledger.show import csv

            text = csv.sheet(text.columns, text.rows)
        else:
            from bridoon.ledger.show import table

            text = table.layout(text.columns, text.rows)
    elif text and not given.has("--csv"):
        from bridoon.ledger.show.text import clean_lines

        text = clean_lines(text)
    if text and not text.endswith("\n"):
        text += "\n"
    return text.encode("utf-8", "backslashreplace")


def _inform(asked: Help | Version, *, as_json: bool) -> int:
    """Print help or the version; help that nobody asked for is an error."""
    if isinstance(asked, Version):
        from bridoon import __version__

        write(f"harness-cli {__version__}\n".encode())
        return 0
    from bridoon.ledger.cmdline.usage import help_text

    if asked.asked:
        write(help_text(asked.about).encode())
        return 0
    if as_json:
        from bridoon.errors import UsageError

        raise UsageError("the command line is not complete", f"harness-cli {asked.about} --help lists the commands")
    _say(help_text(asked.about))
    return 2


def _here() -> str:
    """The working directory. Raises BridoonError when it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BridoonError("the working directory does not exist any more", "change to one that does") from None


def _failed(wrong: BridoonError, name: str, env: Mapping[str, str], *, as_json: bool) -> int:
    """Tell what is wrong; the exit code."""
    if not as_json:
        _tell("error", str(wrong))
        if wrong.hint:
            _tell(" ", wrong.hint)
        return wrong.exit_code
    from bridoon.ledger import protocol

    try:
        write(protocol.refused(name, wrong, env))
    except BrokenPipeError:
        _drop_output()
    except (OSError, BridoonError):
        _tell("error", str(wrong))
    return protocol.exit_of(wrong)


def _bug(crash: Exception) -> BridoonError:
    """What to say of an error that should not have been possible."""
    place, step = "", crash.__traceback__
    while step is not None:
        place = f"{step.tb_frame.f_globals.get('__name__', '?')}, line {step.tb_lineno}"
        step = step.tb_next
    return BridoonError(
        f"{type(crash).__name__}: {crash}", f"this is a mistake in harness-cli ({place}); please tell us"
    )


def _tell(label: str, text: str) -> None:
    """One line for people on standard error; the line ends of a text are shown as such."""
    if not text:
        return
    from bridoon.ledger.show.text import clean

    _say(f"{label}: {clean(text)}\n" if label.strip() else f"  {clean(text)}\n")


def _say(text: str) -> None:
    """Write to standard error. Nobody may be there to read it."""
    try:
        _pour(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def write(data: bytes) -> None:
    """Write to standard output. Raises BrokenPipeError when nobody reads any more, BridoonError on a full disk."""
    try:
        _pour(1, data)
    except BrokenPipeError:
        raise
    except OSError as wrong:
        raise BridoonError(f"standard output cannot be written: {wrong.strerror}") from wrong


def _pour(number: int, data: bytes) -> None:
    """Write all bytes to a file descriptor, waiting where it does not wait itself."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(number, view) :]
        except BlockingIOError:
            import select

            select.select([], [number], [])


def _drop_output() -> None:
    """Whoever read our output has gone; nothing may try to write to it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
