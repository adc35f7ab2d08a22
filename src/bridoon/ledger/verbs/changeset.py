"""`db`: changesets applied, looked up and built into a new database, and copies of the database."""

from __future__ import annotations

import os

from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.ledger import Ledger


def apply(ledger: Ledger, given: Given) -> Answer:
    """Carry out one changeset, or all of a directory, each once. Files are read before the database is looked for."""
    from bridoon.ledger.store import changeset, directory, replay

    path = given.text("path")
    ledger.repair()  # it may be a file of ours
    place = os.path.join(ledger.place.cwd, path)
    whole = os.path.isdir(place)
    found = directory.read_all(ledger.place.cwd, path) if whole else [changeset.read(place, path)]
    if not os.path.lexists(ledger.place.database):
        for each in found:
            each.ops()
    done = replay.apply(ledger, found, grown=given.has("--grown"))
    lines, data = [], []
    for each, count in zip(found, done, strict=True):
        how = "already applied; skipped." if count is None else f"applied ({count} operation(s))."
        lines.append(f"Changeset {each.run_id} {how}")
        data.append(
            {
                "id": each.run_id,
                "content_sha256": each.sha256,
                "operation_count": len(each.lines),
                "result": "already-applied" if count is None else "applied",
            }
        )
    if not whole:
        return Answer(lines[0], data[0])
    data = [{**each, "carried_out": count or 0} for each, count in zip(data, done, strict=True)]
    return Answer("\n".join(lines) or f"No changesets in {path}.", {"changesets": data, "total": len(data)})


def status(ledger: Ledger, given: Given) -> Answer:
    """Tell whether a changeset is in the database, without changing anything."""
    from bridoon.ledger.store import changeset, replay

    path = given.text("path")
    ledger.repair()
    found = changeset.read(os.path.join(ledger.place.cwd, path), path)
    found.ops()
    with ledger.reading() as read:
        done = replay.applied(read.db, found, grown=True)
    whole = done == len(found.lines)
    data = {
        "id": found.run_id,
        "content_sha256": found.sha256,
        "applied": whole,
        "operation_count": len(found.lines),
    }
    if done and done > len(found.lines):
        how = f"an older state, {done} operations of its run are applied"
    else:
        how = "applied" if whole else f"{done} of them applied" if done else "not applied"
    return Answer(f"Changeset {found.run_id} ({len(found.lines)} operation(s)): {how}.", data)


def rebuild(ledger: Ledger, given: Given) -> Answer:
    """Make a database out of all changesets of a directory. One that is there already is left alone."""
    import gc

    from bridoon.ledger.store.rebuild import rebuild as build

    collects = gc.isenabled()
    gc.disable()  # of many thousand values none refers to itself
    try:
        changesets, ops = build(ledger, given.text("--from"))
    finally:
        if collects:
            gc.enable()
    target = ledger.place.database
    text = f"Rebuilt database at {target}\nApplied {changesets} changeset(s), {ops} operation(s)."
    return Answer(text, {"database": target, "changeset_count": changesets, "operation_count": ops})


def snapshot(ledger: Ledger, given: Given) -> Answer:
    """Copy the database, as it is in one moment, into a new file."""
    from bridoon.ledger.store.snapshot import snapshot as copy

    output = given.text("--output")
    made = copy(ledger, os.path.join(ledger.place.cwd, output))
    text = f"Snapshot written to {made.output}\nsha256 {made.snapshot_file_sha256}"
    return Answer(text, made._asdict())
