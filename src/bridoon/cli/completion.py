"""`hs completion SHELL` prints a script; the script asks `hs __complete WORD...` for candidates."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from bridoon.cli import declared
from bridoon.cli.declare import Command, Option, read
from bridoon.cli.show import clean, did_you_mean, put
from bridoon.errors import UsageError

if TYPE_CHECKING:
    from bridoon.catalog.lookup import Catalog

SHELLS = ("bash", "zsh", "fish")

SESSIONS = 50
"""Sessions that are offered, the newest first."""

_WORD = re.compile(r"[^\s\x00-\x1f\x7f'\"\\$`;&|<>()*?\[\]{}!#~]+")
"""Candidates that every shell can insert as they are; others are not offered."""

Candidates = Iterable[tuple[str, str]]
"""Words and what they mean. `:files` and `:directories` leave it to the shell."""

FILES: Candidates = [(":files", "")]
DIRECTORIES: Candidates = [(":directories", "")]


def completion(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs completion SHELL`."""
    given = read(declared.COMPLETION, argv)
    if given is None:
        return 0
    shell = os.path.basename(given.words[0])
    if shell not in SHELLS:
        raise UsageError(f"no completion for {clean(shell)!r}", did_you_mean(shell, SHELLS))
    path = os.path.join(os.path.dirname(__file__), "completions", f"hs.{shell}")
    with open(path, encoding="utf-8") as file:
        put(file.read().rstrip("\n"))
    return 0


def complete(words: list[str]) -> int:
    """Carry out `hs __complete WORD...`: print what the last word could become, with its meaning."""
    from bridoon.cli.compose import catalog_here
    from bridoon.loop.env import start_environment

    cwd = os.getcwd()
    env = start_environment(os.environ, cwd)
    *before, current = words or [""]
    for word, about in _Completion(env, catalog_here(env, cwd)).of(before, current):
        if word in (":files", ":directories"):
            put(word)
        elif word.startswith(current) and _WORD.fullmatch(word):
            put(f"{word}\t{clean(about)}" if about else word)
    return 0


class _Completion:
    """The state of a command line before its last word, and what can follow."""

    def __init__(self, env: Mapping[str, str], catalog: Catalog) -> None:
        self._env = env
        self._catalog = catalog
        self._kinds: dict[str, Callable[[], Candidates]] = {
            "command": self._commands,
            "provider": self._providers,
            "session": self._sessions,
            "stage": self._stages,
            "tool": lambda: self._names("tools"),
            "setting": self._settings,
            "file": lambda: FILES,
            "directory": lambda: DIRECTORIES,
        }

    def of(self, before: list[str], current: str) -> Candidates:
        """What `current` could become after the words before it."""
        command, rest = self._command(before)
        options = command.options if command else declared.RUN_OPTIONS
        if "--" in before:
            return FILES
        name, equals, _ = current.partition("=")
        if equals:
            option = _option(options, name)
            return [(f"{name}={word}", about) for word, about in self._values(option)] if option else []
        last = _option(options, before[-1]) if before else None
        if last is not None and last.value:
            return self._values(last)
        if current.startswith("-"):
            return [(option.name, option.about) for option in options] + [("--help", "say how to use it")]
        if command is None:
            return [*self._commands(), *(self._sessions() if current[:1].isdigit() else [])]
        return self._places(command, rest)

    def _command(self, before: list[str]) -> tuple[Command | None, list[str]]:
        """The command that the words name, and its other words so far. None: there is none yet."""
        rest = _without_options(before, declared.RUN_OPTIONS)
        if not rest:
            return None, []
        group = declared.group_of(rest[0])
        if group is not None:
            named = declared.command_of(" ".join(rest[:2])) if len(rest) > 1 else None
            return (named, rest[2:]) if named else (Command(rest[0], group.about), rest[1:])
        if rest[0] == "version":
            return Command("version", ""), []
        there = self._catalog.find("commands", rest[0])
        if there is None:
            return declared.AGENT, rest
        found = declared.command_of(rest[0]) if there.bundled else None
        if found is None:
            options = declared.RUN_OPTIONS if rest[0] in declared.RUNS else ()
            found = Command(rest[0], "", most=None, options=options, completes="file")
        return found, rest[1:]

    def _places(self, command: Command, rest: list[str]) -> Candidates:
        """Candidates for a command's own words."""
        name = rest[0] if command.name == "help" and rest else command.name
        group = declared.group_of(name)
        if group is not None:
            return [(each.name.split()[1], each.about) for each in group.commands]
        if command is declared.AGENT and rest:
            return FILES
        if command.most is not None and len(rest) >= command.most:
            return []
        first = command.places.split(" ")[0]
        if "|" in first and not rest:
            return [(word, "") for word in first.strip("[]").split("|")]
        return self._kinds.get(command.completes, list)()

    def _values(self, option: Option) -> Candidates:
        if option.choices:
            return [(choice, "") for choice in option.choices]
        return self._kinds.get(option.completes, list)()

    def _commands(self) -> Candidates:
        from bridoon.cli.describe import describe_quickly

        found = {each.name: each for each in self._catalog.entries("commands")}
        about = describe_quickly(found.values())
        rows = [(name, about[each.path]) for name, each in found.items() if name != "internal"]
        return sorted(rows)

    def _names(self, kind: str) -> Candidates:
        return [(name, "") for name in sorted({each.name for each in self._catalog.entries(kind)})]

    def _providers(self) -> Candidates:
        found = {each.name: "" for each in self._catalog.entries("providers", unscoped=True)}
        found |= {conf.name: conf.description for conf in self._catalog.confs()}
        return sorted(found.items())

    def _stages(self) -> Candidates:
        from bridoon.catalog.shelf import STAGES

        return [(stage, "") for stage in dict.fromkeys([*STAGES, *self._catalog.stages()])]

    def _settings(self) -> Candidates:
        from bridoon.cli.known import SETTINGS

        return [(setting.name, setting.about) for setting in SETTINGS]

    def _sessions(self) -> Candidates:
        from bridoon.cli.sessions import recent

        return recent(self._env["HARNESS_SESSIONS"], SESSIONS)


def _option(options: Iterable[Option], word: str) -> Option | None:
    return next((option for option in options if word and word in (option.name, option.short)), None)


def _without_options(words: list[str], options: Iterable[Option]) -> list[str]:
    """The words that are neither options nor their values."""
    known = tuple(options) + tuple(option for each in declared.COMMANDS.values() for option in each.options)
    rest = []
    skip = False
    for word in words:
        option = _option(known, word)
        if skip:
            skip = False
        elif option is not None:
            skip = bool(option.value)
        elif not word.startswith("-"):
            rest.append(word)
    return rest
