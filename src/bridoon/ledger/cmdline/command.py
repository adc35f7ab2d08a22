"""A command of `harness-cli` as a declaration, what was given for it, and what it answers."""

# Without `from __future__ import annotations`: NamedTuple compiles each annotation that is a text, and every command
# pays for that.
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

JSON_OPTION = "--json"


class Option(NamedTuple):
    """One option. All values are text; what they may be is checked by the command, which then says it better."""

    name: str
    about: str
    value: str = ""
    """What its value is called; empty for a flag."""
    required: bool = False
    type: str = "string"
    """As the manifest shows it: string, enum, integer, list, flag."""
    default: str = ""


class Command(NamedTuple):
    """A command, declared once: parser, help, manifest and reference are made from this."""

    name: str
    """Its words: `story dependency add`."""
    about: str
    """What it does, in a sentence."""
    responsibility: str
    """Which of the eleven responsibilities it serves."""
    body: str
    """`module:function` below `bridoon.ledger.verbs`."""
    options: tuple[Option, ...] = ()
    places: tuple[Option, ...] = ()
    """Its positional arguments; the last one takes all the rest when its value ends in `...`."""
    since: str = "0.1.0"
    together: tuple[tuple[str, ...], ...] = ()
    """Options of which at most one may be given."""
    database: bool = True
    """Whether it works on a database that must be there."""
    manifest: bool = True
    """Whether `query tools` lists it (all but additions that no other harness-cli has need not)."""
    shape: str = ""
    """What `result` holds with `--json`, for the reference."""
    more: str = ""
    """What else its reader should know."""

    @property
    def operation(self) -> str:
        """What it is called in the envelope."""
        return self.name.replace(" ", ".")


class Given(NamedTuple):
    """A command line, read."""

    command: Command
    values: Mapping[str, str]
    """By the option's name with its dashes; a flag has an empty value. Places by their name."""
    words: Sequence[str] = ()
    """All that the last place took, when it takes the rest."""

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self.values

    def get(self, name: str) -> str | None:
        """What was given, else the default, else None."""
        found = self.values.get(name)
        if found is not None:
            return found
        default = next((option.default for option in self.command.options if option.name == name), "")
        return default or None

    def text(self, name: str) -> str:
        """What was given or the default; empty when there is none."""
        return self.get(name) or ""

    @property
    def json(self) -> bool:
        """Whether the answer is for a program."""
        return JSON_OPTION in self.values


class Table(NamedTuple):
    """Rows under headings. Cells are text, numbers, bytes or None."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Answer(NamedTuple):
    """What a command answers: text for people, data for programs, and how it ends."""

    text: str | Table = ""
    """Printed as it is, with a line end added when it has none; a table is laid out by `show.table`."""
    data: Any = None
    """`result` of the JSON envelope."""
    code: int = 0
    warning: str = ""
    """Told on standard error."""
    bare: bool = False
    """Whether `--json` prints `data` alone, without the envelope (the two that were there before it)."""
    note: str = ""
    """Told on standard error as well: nothing is wrong, but its reader should know."""
