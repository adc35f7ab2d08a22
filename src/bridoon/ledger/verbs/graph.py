"""`story dependency` and `story hierarchy`: which story waits for which, which one is a part of which."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.ledger import Ledger, Read
from bridoon.ledger.show.text import clean
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows.graph import DEPENDENCY, HIERARCHY, Edges, has_edge
from bridoon.ledger.store.write import Write
from bridoon.ledger.verbs.query import runnable_sql

NEEDED = 14
"""The schema from which on stories have edges."""


def dependency_add(ledger: Ledger, given: Given) -> Answer:
    """Let one story wait for another."""
    return _change(ledger, given, DEPENDENCY, "story.dependency.add")


def dependency_remove(ledger: Ledger, given: Given) -> Answer:
    """Let one story wait for another no more."""
    return _change(ledger, given, DEPENDENCY, "story.dependency.remove")


def hierarchy_add(ledger: Ledger, given: Given) -> Answer:
    """Make one story a part of another."""
    return _change(ledger, given, HIERARCHY, "story.hierarchy.add")


def hierarchy_remove(ledger: Ledger, given: Given) -> Answer:
    """Make one story a part of another no more."""
    return _change(ledger, given, HIERARCHY, "story.hierarchy.remove")


def is_runnable(write: Write, story: str) -> bool:
    """Whether work on a story can begin, as `runnable_sql` says it."""
    sql, values = runnable_sql(Read(write.db, write.schema))
    row = write.one(f"SELECT {sql} FROM story WHERE id=?", *values, story)
    return bool(row and row[0])


def blockers(write: Write, story: str) -> list[str]:
    """The stories that a story still waits for."""
    if write.schema < 7:
        return []
    rows = write.all(
        "SELECT story.id FROM story_dependency JOIN story ON story.id = story_dependency.story_id "
        "WHERE story_dependency.blocks_story_id=? AND story.status <> 'implemented' ORDER BY story.id",
        story,
    )
    return [str(row[0]) for row in rows]


def _change(ledger: Ledger, given: Given, edges: Edges, name: str) -> Answer:
    """Add or remove an edge. What is so already is not done again, and not recorded."""
    adds = name.endswith(".add")
    start, end = ("blocker", "blocked") if edges is DEPENDENCY else ("parent", "child")
    first, second = given.text(f"--{start}"), given.text(f"--{end}")
    with ledger.writing() as write:
        write.need(NEEDED, "an edge between stories")
        change = "unchanged"
        if has_edge(write, edges, first, second) != adds:
            write.do(Op(name, {end: second}, id=first))
            change = "added" if adds else "removed"
    noun = name.rpartition(".")[0].replace(".", " ").capitalize()
    return Answer(f"{noun} {clean(first)} -> {clean(second)} {change}.", {start: first, end: second, "change": change})
