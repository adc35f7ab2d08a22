"""Edges between stories: which one blocks which (dependency), and which one is a part of which (hierarchy)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bridoon.ledger.errors import Conflict
from bridoon.ledger.store import schema
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target


class Edges(NamedTuple):
    """One kind of edge, and the table that holds it."""

    table: str
    since: int
    """The schema from which on there is one."""
    names: tuple[str, str]
    """What people call its two stories."""
    start: str
    """The column of the blocker, or the parent."""
    end: str
    circle: str
    """What it means that there is a way back."""


DEPENDENCY = Edges(
    "story_dependency", schema.DEPENDENCIES, ("blocker", "blocked"), "story_id", "blocks_story_id",
    "would wait for itself",
)  # fmt: skip
HIERARCHY = Edges(
    "story_hierarchy", schema.HIERARCHY, ("parent", "child"), "parent_story_id", "child_story_id",
    "would be a part of itself",
)  # fmt: skip


def story_dependency_add(target: Target, op: Op) -> None:
    """Let one story block another. An edge that is there is left as it is."""
    _add(target, DEPENDENCY, str(op.id), op.payload["blocked"], op)


def story_dependency_remove(target: Target, op: Op) -> None:
    """Let one story block another no more."""
    _remove(target, DEPENDENCY, str(op.id), op.payload["blocked"])


def story_hierarchy_add(target: Target, op: Op) -> None:
    """Make one story a part of another. An edge that is there is left as it is."""
    _add(target, HIERARCHY, str(op.id), op.payload["child"], op)


def story_hierarchy_remove(target: Target, op: Op) -> None:
    """Make one story a part of another no more."""
    _remove(target, HIERARCHY, str(op.id), op.payload["child"])


def has_edge(target: Target, edges: Edges, start: str, end: str) -> bool:
    """Whether the edge is there."""
    sql = f"SELECT 1 FROM {edges.table} WHERE {edges.start}=? AND {edges.end}=?"
    return target.one(sql, start, end) is not None


def _add(target: Target, edges: Edges, start: str, end: str, op: Op) -> None:
    target.must_have("story", "id", start, "story")
    target.must_have("story", "id", end, "story")
    if start == end:
        raise Conflict(f"story {start[:80]!r} {edges.circle}", "name two different stories")
    if has_edge(target, edges, start, end):
        return
    if _leads_to(target, edges, end, start):
        raise Conflict(
            f"story {start[:80]!r} {edges.circle}: there is a way from {end[:80]!r} to it already",
            "look at the edges, and remove the one that is wrong first",
        )
    values = {edges.start: start, edges.end: end, "created_at": op.get("created_at") or target.now}
    target.insert(edges.table, values)


def _leads_to(target: Target, edges: Edges, start: str, end: str) -> bool:
    """Whether `end` can be reached. It asks inside the transaction, so nobody adds the missing piece meanwhile.

    It goes ahead from `start` and back from `end` in turns, so that it costs as much as the shorter of the two: a long
    chain can be replayed in any order.
    """
    ahead = f"SELECT {edges.end} FROM {edges.table} WHERE {edges.start}=?"
    back = f"SELECT {edges.start} FROM {edges.table} WHERE {edges.end}=?"
    walks = (_walk(target, ahead, start), _walk(target, back, end))
    seen = ({start}, {end})
    while True:
        for side, walk in enumerate(walks):
            name = next(walk, None)
            if name is None:
                return False
            if name in seen[1 - side]:
                return True
            seen[side].add(name)


def _walk(target: Target, sql: str, first: str) -> Iterator[str]:
    """The stories at the other ends of edges, one edge after the other, step by step further from `first`."""
    found, known = [first], {first}
    for story in found:
        for (name,) in target.db.execute(sql, (story,)):
            if name not in known:
                known.add(name)
                found.append(name)
            yield name


def _remove(target: Target, edges: Edges, start: str, end: str) -> None:
    target.db.execute(f"DELETE FROM {edges.table} WHERE {edges.start}=? AND {edges.end}=?", (start, end))
