"""The graph of work in one moment: stories, what blocks what, what is part of what, and a hash of all that."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridoon.ledger.show.cell import plain
from bridoon.ledger.store.cells import compact
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.rows.graph import DEPENDENCY, HIERARCHY, Edges
from bridoon.ledger.store.schema import DEPENDENCIES

BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What `str.strip` takes away, for `trim` in SQL."""
STORY = ("id", "title", "risk_lane", "contract_doc", "status", "verify_command", "runnable")
"""What programs are told of each story."""

Rows = list[dict[str, Any]]


class Graph(NamedTuple):
    """All rows in the order of their ids, ready for JSON."""

    stories: Rows
    """The fields of STORY."""
    dependencies: Rows
    """`blocker` and `blocked`."""
    hierarchy: Rows
    """`parent` and `child`."""
    revision: str = ""
    """SHA-256 of the three as compact JSON with sorted keys, in lower-case hexadecimal digits."""


def graph_of(read: Read) -> Graph:
    """The graph as it is now; edges are absent where the schema has not got them yet."""
    import hashlib

    runnable, values = runnable_sql(read)
    rows = read.all(f"SELECT {', '.join(STORY[:-1])}, {runnable} FROM story ORDER BY id", *values)
    stories = [dict(zip(STORY, (*map(plain, row[:-1]), bool(row[-1])), strict=True)) for row in rows]
    graph = Graph(stories, _edges(read, DEPENDENCY), _edges(read, HIERARCHY))
    whole = {name: value for name, value in graph._asdict().items() if name != "revision"}
    return graph._replace(revision=hashlib.sha256(compact(whole).encode()).hexdigest())


def _edges(read: Read, edges: Edges) -> Rows:
    if read.schema < edges.since:
        return []
    rows = read.all(f"SELECT {edges.start}, {edges.end} FROM {edges.table} ORDER BY 1, 2")
    return [dict(zip(edges.names, map(plain, row), strict=True)) for row in rows]


def runnable_sql(read: Read) -> tuple[str, list[str]]:
    """An expression that says of a row of `story` whether work can begin, and the values of its question marks.

    It can when the story is planned, says how it is verified, and everything that blocks it directly is implemented.
    """
    sql = "(status = 'planned' AND trim(coalesce(verify_command, ''), ?) <> ''"
    if read.schema >= DEPENDENCIES:
        sql += (
            " AND id NOT IN (SELECT edge.blocks_story_id FROM story_dependency AS edge"
            " JOIN story AS blocker ON blocker.id = edge.story_id WHERE blocker.status <> 'implemented')"
        )
    return sql + ")", [BLANKS]


def blockers(read: Read, story: str) -> list[str]:
    """The stories that a story still waits for."""
    if read.schema < DEPENDENCIES:
        return []
    rows = read.all(
        "SELECT story.id FROM story_dependency JOIN story ON story.id = story_dependency.story_id "
        "WHERE story_dependency.blocks_story_id=? AND story.status <> 'implemented' ORDER BY story.id",
        story,
    )
    return [str(row[0]) for row in rows]
