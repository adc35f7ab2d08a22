"""A command line, declared once: parsing, the usage text and completion come from the declaration."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from bridoon.cli.show import clean, did_you_mean, put
from bridoon.errors import UsageError


class Option(NamedTuple):
    """One option of a command."""

    name: str
    about: str
    value: str = ""
    """What its value is called; empty for a switch."""
    choices: tuple[str, ...] = ()
    """The values that it takes, when they are few."""
    short: str = ""
    completes: str = ""
    """What its value is, for completion: provider, session, permissions, file, directory."""

    @property
    def spelling(self) -> str:
        """`-p, --provider NAME`."""
        names = f"{self.short}, {self.name}" if self.short else self.name
        return f"{names} {self.value}" if self.value else names


class Command(NamedTuple):
    """A command or sub-command. `name` has its parent in front: `session list`."""

    name: str
    about: str
    """What it does, as `hs help` shows it."""
    places: str = ""
    """Its other words, as the usage line shows them: `[STAGE]`."""
    least: int = 0
    most: int | None = 0
    """How many other words it takes; None: any number."""
    options: tuple[Option, ...] = ()
    more: str = ""
    """What else its reader should know."""
    completes: str = ""
    """What its words are, for completion."""

    @property
    def usage(self) -> str:
        """The usage line without `usage:`."""
        options = [f"[{option.name} {option.value}]".replace(" ]", "]") for option in self.options]
        return " ".join(part for part in ("hs", self.name, *options, self.places) if part)


class Given(NamedTuple):
    """A command line, read."""

    words: list[str]
    values: dict[str, str]
    """By the option's name; a switch has an empty value."""

    def has(self, name: str) -> bool:
        """Whether the option was given."""
        return name in self.values

    def value(self, name: str) -> str:
        """What was given for an option, else empty."""
        return self.values.get(name, "")


JSON = Option("--json", "print one JSON object")


def read(command: Command, words: list[str]) -> Given | None:
    """Read the words after the command's name; None when `--help` was asked for and answered.

    Raises UsageError for an unknown option, a missing value, too few or too many words.
    """
    by_name = {name: option for option in command.options for name in (option.name, option.short) if name}
    values: dict[str, str] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        name, equals, value = word.partition("=")
        option = by_name.get(name)
        if word in ("--help", "-h"):
            put(help_text(command))
            return None
        if word == "--":
            rest += queue
            break
        if option is not None and not (equals and not option.value):
            if option.value and not equals:
                if not queue:
                    raise UsageError(f"{name} needs a value: {option.value}", f"usage: {command.usage}")
                value = queue.pop(0)
            _check(option, value)
            values[option.name] = value
        elif word.startswith("-") and len(word) > 1:
            known = [option.name for option in command.options]
            raise UsageError(f"unknown option {word}", did_you_mean(name, known, f"usage: {command.usage}"))
        else:
            rest.append(word)
    _count(command, rest)
    return Given(rest, values)


def _check(option: Option, value: str) -> None:
    if option.choices and value not in option.choices:
        raise UsageError(f"{option.name} {value!r}", f"one of: {', '.join(option.choices)}")


def _count(command: Command, words: list[str]) -> None:
    if len(words) < command.least:
        usage = command.usage.replace("hs ", "harness ", 1)
        raise UsageError(f"usage: {usage}", f"hs {command.name} --help says more")
    if command.most is not None and len(words) > command.most:
        extra = words[command.most]
        hint = f"usage: {command.usage}\n  {_as_message(command.name, words)}"
        raise UsageError(f"hs {command.name}: unexpected {extra!r}", hint)


def _as_message(name: str, words: list[str]) -> str:
    """How to say words to the agent that begin like a command."""
    return f"for a message: hs -- {name} {clean(' '.join(words))}"


def sub_command(commands: tuple[Command, ...], words: list[str], default: str = "") -> tuple[Command, list[str]]:
    """Which of several sub-commands the words mean, and the words that are left. Raises UsageError."""
    parent = commands[0].name.split()[0]
    known = {each.name.split()[1]: each for each in commands}
    if words[:1] and words[0] in ("--help", "-h"):
        return commands[0]._replace(name=parent), words
    named = bool(words) and not words[0].startswith("-")
    first = words[0] if named else default
    if first not in known:
        what = f"unknown {parent} command: {first}" if first else f"usage: harness {parent} {'|'.join(known)}"
        hint = did_you_mean(first, known)
        raise UsageError(what, f"{hint}\n  {_as_message(parent, words)}" if len(words) > 1 else hint)
    return known[first], words[1:] if named else words


def help_text(command: Command) -> str:
    """What `--help` prints."""
    parts = [f"usage: {command.usage}", _filled(command.about[:1].upper() + command.about[1:])]
    if command.options:
        parts.append(columns([(option.spelling, option.about) for option in command.options]))
    if command.more:
        parts.append("\n".join(_filled(line) for line in command.more.split("\n")))
    return "\n\n".join(parts)


def group_help(parent: str, about: str, commands: tuple[Command, ...]) -> str:
    """What `--help` prints for a command that has sub-commands."""
    rows = [(each.usage.removeprefix(f"hs {parent} "), each.about) for each in commands]
    names = "|".join(each.name.split()[1] for each in commands)
    return f"usage: hs {parent} {names} ...\n\n{_filled(about[:1].upper() + about[1:])}\n\n{columns(rows)}"


def columns(rows: list[tuple[str, str]], *, left: int = 22, total: int = 100) -> str:
    """Two columns, indented; a first part that is too long stands on a line of its own."""
    lines: list[str] = []
    for first, second in rows:
        wrapped = textwrap.wrap(second, total - left - 3) or [""]
        if len(first) > left:
            lines.append(f"  {first}")
            lines += [f"  {'':<{left}} {line}" for line in wrapped]
        else:
            lines.append(f"  {first:<{left}} {wrapped[0]}".rstrip())
            lines += [f"  {'':<{left}} {line}" for line in wrapped[1:]]
    return "\n".join(lines)


def _filled(text: str) -> str:
    return textwrap.fill(text, 100)
