"""Every command of `harness-cli`, and the groups that they stand in."""

from __future__ import annotations

from bridoon.ledger.cmdline import (
    declared_evidence,
    declared_queries,
    declared_records,
    declared_store,
    declared_stories,
)
from bridoon.ledger.cmdline.command import Command

PROGRAM = "harness-cli"
ABOUT = "The ledger: a durable record of what was intended, done and proven, and of the tools that are there."

GROUPS = {
    "import": "Take over what a repository has written down already.",
    "story": "Stories: what is to be done, how far it is, and what proves it.",
    "story dependency": "Which stories have to wait for which.",
    "story hierarchy": "Which stories are parts of which.",
    "story backlog": "Which stories resolve or mention which backlog items.",
    "decision": "Decisions, and whether they are kept.",
    "backlog": "Improvements of the harness that have been proposed.",
    "backlog outcome": "What implemented improvements turned out to bring.",
    "tool": "Tools that a project equips.",
    "intervention": "What people and machines had to say to the work.",
    "query": "Look at what is recorded.",
    "db": "The database itself.",
    "db changeset": "What changed in one run, as a file that other copies of the database can take over.",
}

COMMANDS: dict[str, Command] = {
    command.name: command
    for part in (declared_store, declared_stories, declared_records, declared_evidence, declared_queries)
    for command in part.COMMANDS
}


def names_below(group: str) -> list[str]:
    """The words that may follow a group (empty: the program), in the order of declaration."""
    depth = len(group.split())
    start = f"{group} " if group else ""
    return list(dict.fromkeys(name.split()[depth] for name in COMMANDS if name.startswith(start)))
