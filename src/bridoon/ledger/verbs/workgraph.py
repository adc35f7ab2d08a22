"""`query stories`, `work-graph`, `dependencies`, `hierarchy`, `contract`: what other programs plan their work by."""

from __future__ import annotations

import os
import sqlite3

from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.errors import LedgerError
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store import db as database
from bridoon.ledger.store import schema
from bridoon.ledger.store.rows.graph import DEPENDENCY, HIERARCHY, Edges
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.store.workgraph import STORY, graph_of
from bridoon.ledger.verbs.listing import Found, find, page
from bridoon.ledger.verbs.query import find_stories

CAPABILITIES = (
    "changesets.apply.v1",
    "changesets.status-sha.v1",
    "entity-revision-conflicts.v1",
    "isolated-db.v1",
    "isolated-db-snapshot.v1",
    "semantic-operation-log.v1",
    "stories.read.v1",
    "stories.write.v1",
    "story-dependencies.read-write.v1",
    "story-hierarchy.read-write.v1",
    "work-graph.read.v1",
)
"""What programs may rely on, by the names of protocol version 1."""
PATIENCE = 5.0
"""Seconds that `query contract` waits for a database that another process has to itself."""


def stories(ledger: Ledger, given: Given) -> Answer:
    """Every story, and whether work on it can begin."""
    if given.has("--id"):
        from bridoon.ledger.verbs import detail

        return detail.show(ledger, given, "story")
    wanted = page(given)
    with ledger.reading() as read:
        found = find_stories(read, STORY, wanted)
    shown = found.pick("id", "title", "risk_lane", "status", "runnable")
    rows = [(*row[:-1], "yes" if row[-1] else "no") for row in shown]
    return Answer(Table(("id", "title", "lane", "status", "runnable"), rows), found.data("stories"), note=found.note)


def work_graph(ledger: Ledger, given: Given) -> Answer:
    """Stories, dependencies and hierarchy as of one moment, and the hash that names this state."""
    del given
    with ledger.reading() as read:
        graph = graph_of(read)
    counts = f"{len(graph.stories)} stories, {len(graph.dependencies)} dependencies, {len(graph.hierarchy)} parts"
    return Answer(f"{counts}\nrevision {graph.revision}", graph._asdict())


def dependencies(ledger: Ledger, given: Given) -> Answer:
    """Which stories have to wait for which."""
    found = _edges(ledger, given, DEPENDENCY, "story dependencies")
    return Answer(Table(found.fields, found.rows), found.data("dependencies"), note=found.note)


def hierarchy(ledger: Ledger, given: Given) -> Answer:
    """Which stories are parts of which."""
    found = _edges(ledger, given, HIERARCHY, "story hierarchy")
    from bridoon.ledger.show.text import clean

    lines = "\n".join(f"{clean(str(parent))} -> {clean(str(child))}" for parent, child in found.rows)
    return Answer(lines, found.data("hierarchy"), note=found.note)


def _edges(ledger: Ledger, given: Given, edges: Edges, called: str) -> Found:
    wanted = page(given)
    fields = dict(zip(edges.names, (edges.start, edges.end), strict=True))
    source, values = edges.table, []
    if given.has("--story"):
        source += f" WHERE ? IN ({edges.start}, {edges.end})"
        values.append(given.text("--story"))
    with ledger.reading() as read:
        read.need(WHOLE, called)
        return find(read, fields, source, f"{edges.start}, {edges.end}", values, wanted)


def contract(ledger: Ledger, given: Given) -> Answer:
    """What programs may rely on, and what the database needs before they do. Makes no file, not even for a moment."""
    del given
    from bridoon import __version__

    state, version = _state(ledger.place.database)
    data = {
        "protocol_version": 1,
        "cli_version": __version__,
        "schema_minimum": 1,
        "schema_maximum": schema.NEWEST,
        "database_state": state,
        "database_schema_version": version,
        "required_environment_variables": ["HARNESS_DB_PATH"],
        "capabilities": list(CAPABILITIES),
    }
    known = f" (schema {version})" if version is not None else ""
    lines = [
        f"protocol 1, harness-cli {__version__}, schemas 1 to {schema.NEWEST}",
        f"database {state}{known}",
        *(f"  {name}" for name in CAPABILITIES),
    ]
    return Answer("\n".join(lines), data)


def _state(path: str) -> tuple[str, int | None]:
    if not os.path.exists(path):
        return "missing", None
    try:
        version, empty = _look(path)
    except (LedgerError, sqlite3.Error, OSError):
        return "unsupported", None
    if version == 0:  # an empty file becomes a ledger by `init`, a database of something else does not
        return ("missing", None) if empty else ("unsupported", None)
    if not 1 <= version <= schema.NEWEST:
        return "unsupported", version
    return ("current" if version == schema.NEWEST else "needs_migration"), version


def _look(path: str) -> tuple[int, bool]:
    """The version of a database, and whether it has no tables at all.

    What other processes have committed and not yet brought into the main file is seen through the two files that they
    keep for that; without these the main file is all there is, and SQLite is told so, because else it would make them.
    """
    if not os.path.isfile(path):
        raise LedgerError(f"{path} is no file")
    ways: list[dict[str, str]] = [{"mode": "ro", "immutable": "1"}]
    if all(os.path.exists(path + ending) for ending in ("-wal", "-shm")):
        ways.insert(0, {"mode": "ro", "readonly_shm": "1"})
    for way in ways:
        db = sqlite3.connect(database.uri(path, **way), uri=True, isolation_level=None)
        try:
            database.patiently(db, database.LOOK, PATIENCE)
            empty = db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
            return schema.version_of(db), empty
        except sqlite3.OperationalError:
            if way is ways[-1]:
                raise
        finally:
            db.close()
    raise AssertionError("unreachable")
