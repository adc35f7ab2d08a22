"""The graph of work in one moment: stories, what blocks what, what is part of what, and a hash of all that."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from bridoon.ledger.show.cell import plain
from bridoon.ledger.store.cells import word

if TYPE_CHECKING:
    from bridoon.ledger.ledger import Read

Rows = list[dict[str, Any]]


class Graph(NamedTuple):
    """All rows in the order of their ids, ready for JSON."""

    stories: Rows
    """`id`, `title`, `risk_lane`, `contract_doc`, `status`, `verify_command`, `runnable`."""
    dependencies: Rows
    """`blocker` and `blocked`."""
    hierarchy: Rows
    """`parent` and `child`."""
    revision: str
    """SHA-256 of the three as compact JSON with sorted keys, in lower-case hexadecimal digits."""


def graph_revision(read: Read) -> Graph:
    """The graph as it is now; edges are absent where the schema has not got them yet."""
    import json

    stories = stories_of(read)
    dependencies: Rows = []
    hierarchy: Rows = []
    if read.schema >= 7:
        rows = read.db.execute("SELECT story_id, blocks_story_id FROM story_dependency ORDER BY 1, 2")
        dependencies = [{"blocker": plain(blocker), "blocked": plain(blocked)} for blocker, blocked in rows]
    if read.schema >= 8:
        rows = read.db.execute("SELECT parent_story_id, child_story_id FROM story_hierarchy ORDER BY 1, 2")
        hierarchy = [{"parent": plain(parent), "child": plain(child)} for parent, child in rows]
    whole = {"dependencies": dependencies, "hierarchy": hierarchy, "stories": stories}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Graph(stories, dependencies, hierarchy, hashlib.sha256(text.encode()).hexdigest())


def stories_of(read: Read) -> Rows:
    """All stories by id, each with whether work on it can begin: it is planned, says how it is verified, and
    everything that blocks it directly is implemented."""
    waiting: set[str] = set()
    if read.schema >= 7:
        edges = read.db.execute(
            "SELECT edge.blocks_story_id FROM story_dependency AS edge JOIN story ON story.id = edge.story_id "
            "WHERE story.status <> 'implemented'"
        )
        waiting = {blocked for (blocked,) in edges}
    rows = read.db.execute("SELECT id, title, risk_lane, contract_doc, status, verify_command FROM story ORDER BY id")
    return [
        {
            "id": plain(story),
            "title": plain(title),
            "risk_lane": plain(lane),
            "contract_doc": plain(contract),
            "status": plain(status),
            "verify_command": plain(command),
            "runnable": status == "planned" and bool(word(command).strip()) and story not in waiting,
        }
        for story, title, lane, contract, status, command in rows
    ]
