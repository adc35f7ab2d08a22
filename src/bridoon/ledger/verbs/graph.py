"""`story dependency` and `story hierarchy`: which story waits for which, which one is a part of which."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.show.text import clean
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows.graph import DEPENDENCY, HIERARCHY, Edges, has_edge
from bridoon.ledger.store.schema import WHOLE


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


def _change(ledger: Ledger, given: Given, edges: Edges, name: str) -> Answer:
    """Add or remove an edge. What is so already is not done again, and not recorded."""
    adds = name.endswith(".add")
    start, end = ("blocker", "blocked") if edges is DEPENDENCY else ("parent", "child")
    first, second = given.text(f"--{start}"), given.text(f"--{end}")
    with ledger.writing() as write:
        write.need(WHOLE, "an edge between stories")
        change = "unchanged"
        if has_edge(write, edges, first, second) != adds:
            write.do(Op(name, {end: second}, id=first))
            change = "added" if adds else "removed"
    noun = name.rpartition(".")[0].replace(".", " ").capitalize()
    return Answer(f"{noun} {clean(first)} -> {clean(second)} {change}.", {start: first, end: second, "change": change})
