"""The options that every way of starting a run understands."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from bridoon.catalog.conf import MODES
from bridoon.errors import UsageError
from bridoon.wire.digits import whole_number

WITH_VALUE = {
    "-p": "provider",
    "--provider": "provider",
    "-m": "model",
    "--model": "model",
    "--max-turns": "max_turns",
    "--cwd": "cwd",
    "--session": "session",
    "--permissions": "permissions",
    "--attach": "attach",
}
WITHOUT = {"--json": "json", "--quiet": "quiet", "-q": "quiet"}

VARIABLE = {
    "provider": "HARNESS_PROVIDER",
    "model": "HARNESS_MODEL",
    "max_turns": "HARNESS_MAX_TURNS",
    "permissions": "HARNESS_PERMISSIONS",
}
"""Options that are spellings of an environment variable."""

COMMAND = re.compile(r"[a-z][a-z0-9_-]*")
"""What a command may be called."""

RUNNING = ("agent", "repl", "resume", "demo")
"""Commands that start runs and understand their options."""


class Options(NamedTuple):
    """What the command line said. Empty strings: not given."""

    provider: str = ""
    model: str = ""
    max_turns: str = ""
    cwd: str = ""
    session: str = ""
    permissions: str = ""
    attach: tuple[str, ...] = ()
    json: bool = False
    quiet: bool = False

    def variables(self) -> dict[str, str]:
        """The environment variables that these options set."""
        given = {VARIABLE[name]: getattr(self, name) for name in VARIABLE if getattr(self, name)}
        if self.provider and not self.model:
            given["HARNESS_MODEL"] = ""  # a model from the environment belongs to the provider there
        return given


def parse(words: list[str], *, leading: bool = False) -> tuple[Options, list[str], bool]:
    """Take the options out of a command line: options, the other words, whether `--` ended the options.

    With `leading`, options are looked for only before the first other word. Raises UsageError for an unknown option,
    a missing value or a bad one.
    """
    found: dict[str, object] = {}
    attach: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, equals, value = word.partition("=")
        if word == "--":
            return _options(found, attach), rest + words[at:], True
        if name in WITH_VALUE and (equals or name == word):
            if not equals:
                if at >= len(words):
                    raise UsageError(f"{name} needs a value", "hs --help lists the options")
                value = words[at]
                at += 1
            if WITH_VALUE[name] == "attach":
                attach.append(value)
            else:
                found[WITH_VALUE[name]] = value
        elif word in WITHOUT:
            found[WITHOUT[word]] = True
        elif word.startswith("-") and len(word) > 1 and not rest and not word[1:2].isdigit():
            raise UsageError(
                f"unknown option {word}", "hs --help lists them; hs -- MESSAGE sends words that begin with -"
            )
        else:
            rest.append(word)
            if leading:
                return _options(found, attach), rest + words[at:], False
    return _options(found, attach), rest, False


def asks_for_lines(words: list[str]) -> bool:
    """Whether a command line, right or wrong, asks for a run's events as lines of JSON.

    A command that starts no run may have a `--json` of its own, which is another thing.
    """
    words = words[: words.index("--")] if "--" in words else words
    if "--json" not in words:
        return False
    takes = False
    for word in words:
        if takes:
            takes = False
        elif word.startswith("-"):
            takes = word in WITH_VALUE
        else:
            return word in RUNNING or not is_bundled_command(word)
    return True


def is_bundled_command(word: str, root: str = "") -> bool:
    """Whether a word is a command that comes with the package, whose directory is `root`."""
    packs = os.path.join(root or os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plugins")
    try:
        return bool(COMMAND.fullmatch(word)) and any(
            os.path.exists(os.path.join(packs, pack, "commands", word)) for pack in os.listdir(packs)
        )
    except OSError:
        return False  # HARNESS_ROOT leads nowhere: the command is not found either


def _options(found: dict[str, object], attach: list[str]) -> Options:
    options = Options(**found)._replace(attach=tuple(attach))  # type: ignore[arg-type]
    if options.max_turns and whole_number(options.max_turns) < 1:
        raise UsageError(f"--max-turns {options.max_turns[:40]!r} is not a number of turns")
    if options.permissions and options.permissions not in MODES:
        raise UsageError(f"--permissions {options.permissions!r}", f"one of {', '.join(MODES)}")
    if options.cwd and not os.path.isdir(options.cwd):
        raise UsageError(f"--cwd {options.cwd!r} is not a directory")
    return options
