"""Whatever edges are added and removed in whatever order: there is never a circle, and no edge without need refused."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from bridoon.ledger.errors import Conflict
from bridoon.ledger.store import schema
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target

NAMES = "ABCDEFG"
ENDS = {
    "dependency": ("story_id", "blocks_story_id", "blocked"),
    "hierarchy": ("parent_story_id", "child_story_id", "child"),
}
changes = st.lists(
    st.tuples(st.sampled_from(["add", "add", "add", "remove"]), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    max_size=40,
)


def reaches(edges: set[tuple[str, str]], start: str, end: str) -> bool:
    """Whether there is a way, of no steps or more: the plain way to find out."""
    seen = {start}
    while more := {b for a, b in edges if a in seen} - seen:
        seen |= more
    return end in seen


@given(st.sampled_from(sorted(ENDS)), changes)
def test_edges_never_make_a_circle(kind: str, wanted: list[tuple[str, str, str]]) -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        schema.fill(db)
        target = Target(db, schema.NEWEST, "2026-01-01 00:00:00")
        for name in NAMES:
            target.apply(Op("story.add", {"title": "t", "risk_lane": "tiny"}, id=name))
        start, end, field = ENDS[kind]
        edges: set[tuple[str, str]] = set()
        for change, first, second in wanted:
            op = Op(f"story.{kind}.{change}", {field: second}, id=first)
            if change == "remove":
                target.apply(op)
                edges.discard((first, second))
                continue
            circle = reaches(edges, second, first)
            try:
                target.apply(op)
            except Conflict:
                assert circle
            else:
                assert not circle
                edges.add((first, second))
        assert set(target.all(f"SELECT {start}, {end} FROM story_{kind}")) == edges
        assert not any(reaches(edges, b, a) for a, b in edges)
    finally:
        db.close()
