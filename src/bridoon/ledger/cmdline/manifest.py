"""The outbound manifest: what harness-cli offers to agents, as `query tools` lists it. Made from the declarations."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.ledger.cmdline.command import Command
from bridoon.ledger.cmdline.declared import COMMANDS

ORDER = (
    "init", "migrate", "import brownfield", "intake", "story add", "story update", "story verify", "story verify-all",
    "decision add", "decision verify", "backlog add", "backlog close", "tool register", "tool check", "tool remove",
    "intervention add", "trace", "score-trace", "score-context", "audit", "propose", "query matrix", "query backlog",
    "query decisions", "query intakes", "query traces", "query friction", "query tools", "query interventions",
    "query stats", "query sql", "db changeset apply", "db rebuild",
)  # fmt: skip
"""The commands of the first releases, in the order of their documentation. Later ones follow."""


class Argument(NamedTuple):
    """One argument of a command."""

    name: str
    """Without dashes."""
    type: str
    required: bool
    help: str


class Entry(NamedTuple):
    """One command."""

    name: str
    purpose: str
    responsibility: str
    since: str
    args: tuple[Argument, ...]


def entries() -> list[Entry]:
    """All commands: those of the first releases in their order, then the others as they are declared."""
    later = [name for name, command in COMMANDS.items() if name not in ORDER and command.manifest]
    return [_entry(COMMANDS[name]) for name in (*ORDER, *later)]


def _entry(command: Command) -> Entry:
    declared = (*command.places, *command.options)
    args = [Argument(each.name.lstrip("-"), each.type, each.required, each.about) for each in declared]
    args.sort(key=lambda each: not each.required)
    return Entry(command.name, command.about, command.responsibility, command.since, tuple(args))
