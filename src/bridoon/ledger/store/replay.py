"""Carrying out changesets: each as a whole or not at all, and each once."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable

from bridoon.ledger.errors import Conflict, Incompatible, LedgerError, Missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.place import ENDING
from bridoon.ledger.store import db as database
from bridoon.ledger.store import schema
from bridoon.ledger.store.changeset import Changeset
from bridoon.ledger.store.directory import Step, in_order
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target
from bridoon.ledger.store.touched import Touched
from bridoon.ledger.store.write import timestamp

DAY = 86_400 * 10**9
"""In nanoseconds: how far a clock elsewhere may be ahead of ours before we stop following it."""
EDIT = "edit or drop that line in its changeset; whoever applied it before makes the database anew"
LACKS = (
    "what it needs is in no changeset before it, perhaps because it was recorded without HARNESS_RUN_ID; a line that "
    "adds it can be put in front"
)
"""What to do about a line that the rows do not allow, or that lacks one: hints of commands are about other things."""


def apply(ledger: Ledger, changesets: list[Changeset], *, grown: bool = False) -> list[int | None]:
    """Carry out what is new of changesets, all in one transaction, in the order in which a rebuild would do it.

    Of each one how many operations that were, None when all of it had happened already. With `grown`, one of which
    the first part was applied before may go on, and an older state of one is left alone. Raises Conflict when a run
    id was applied with other content, or the rows do not allow an operation; Missing, Invalid, Incompatible,
    LedgerError. Nothing is changed then.
    """
    with ledger.changing() as (db, version):
        begun = [applied(db, each, grown=grown) for each in changesets]
        counts = [
            len(each.lines) - (before or 0) if before is None or before < len(each.lines) else None
            for each, before in zip(changesets, begun, strict=True)
        ]
        for each, before in zip(changesets, begun, strict=True):
            if before and before > len(each.lines):
                ledger.warnings.append(
                    f"{each.path} holds {len(each.lines)} of the {before} operations of its run that are in the rows: "
                    "an older state of it, left alone"
                )
        new = [each for each, count in zip(changesets, counts, strict=True) if count is not None]
        if not new:
            return counts
        done = {each.run_id: before for each, before in zip(changesets, begun, strict=True) if before}
        for each in new:
            if each.run_id in done:
                _check_names(each)
        schema.make_own(db)
        touched = Touched(db)
        target = Target(db, version, timestamp(), replaying=True)
        last = carry_out(target, in_order(new, done), touched)
        touched.keep()
        for each in new:
            record(db, each, each.path, last.get(each.run_id, 0), ledger.place.changesets)
    ledger.warnings += touched.warnings()
    return counts


def applied(db: sqlite3.Connection, changeset: Changeset, *, grown: bool = False) -> int | None:
    """How many operations of a changeset are in the rows already; None when it was never applied.

    They are there when the same bytes were applied, or when these are the operations that its run did here. Raises
    Conflict when the run id stands for something else here. A file that begins with what was applied and goes on, and
    one that holds less than that, is another only without `grown`.
    """
    column = "content_sha256" if _has_hash(db) else "NULL"
    row = db.execute(f"SELECT {column} FROM changeset_applied WHERE id=?", (changeset.run_id,)).fetchone()
    if row is None:
        return None
    if row[0] == changeset.sha256:
        return len(changeset.lines)
    own = schema.has_own(db)
    known = own and db.execute("SELECT ops, digest FROM bridoon_run WHERE run_id=?", (changeset.run_id,)).fetchone()
    if not known and row[0] is None:  # noted by a program that keeps no hash
        return len(changeset.lines)
    count, digest = known or (0, "")
    if grown and count > len(changeset.lines):
        return int(count)
    begins = bool(count) and count <= len(changeset.lines) and changeset.digest(count) == digest
    if begins and ((count == len(changeset.lines) and row[0] is None) or (count < len(changeset.lines) and grown)):
        return int(count)
    how = "was applied with other content" if row[0] else f"stands for {count} operation(s) that were recorded here"
    hint = "every run needs an id of its own; whoever edited a changeset moves the database away and rebuilds it"
    if begins and count < len(changeset.lines):
        how = f"has grown: {count} of its {len(changeset.lines)} operations were applied"
        hint = "harness-cli db changeset apply --grown carries out the rest"
    raise Conflict(
        f"changeset {changeset.run_id} {how}", hint, changeset_id=changeset.run_id, content_sha256=changeset.sha256
    )


def _check_names(changeset: Changeset) -> None:
    """Raise Incompatible when operations name rows by numbers of which only the whole changeset tells the meaning."""
    if any(op.version == 1 and isinstance(op.id, int) for op in changeset.ops()):
        raise Incompatible(
            f"changeset {changeset.run_id} names rows by the numbers of its own database, so its rest means nothing "
            "here",
            "move the database away and make it anew: harness-cli db rebuild --from DIRECTORY",
        )


def carry_out(target: Target, steps: Iterable[Step], touched: Touched) -> dict[str, int]:
    """Carry out operations; by run id, when the last of them was recorded.

    Raises what `Target.apply` raises, with file and line in front.
    """
    ids: dict[str, dict[str, dict[int, int]]] = {}
    last: dict[str, int] = {}
    current: Changeset | None = None
    apply = target.apply
    newest = 1 if target.schema < schema.NEWEST else 3
    for changeset, index, op in steps:
        if changeset is not current:
            current = changeset
            target.ids = ids.setdefault(changeset.run_id, {})
        try:
            if op.version > newest:
                schema.need(target.schema, schema.NEWEST, f"{op.name} of version {op.version}")
            apply(op)
        except (LedgerError, sqlite3.Error, UnicodeEncodeError) as wrong:
            raise _placed(wrong, changeset, index, op) from wrong
        touched.note(changeset.run_id, op)
        if op.at > last.get(changeset.run_id, 0):
            last[changeset.run_id] = op.at
    return last


def record(db: sqlite3.Connection, changeset: Changeset, path: str, last: int, directory: str) -> None:
    """Note that a changeset was carried out, and what its run has done so far: it may go on here.

    `last` is when its last operation was recorded; `directory` is that of the changesets that are written here.
    """
    if _has_hash(db):
        db.execute(
            "INSERT OR REPLACE INTO changeset_applied (id, path, content_sha256) VALUES (?, ?, ?)",
            (changeset.run_id, path, changeset.sha256),
        )
    else:
        db.execute("INSERT OR REPLACE INTO changeset_applied (id, path) VALUES (?, ?)", (changeset.run_id, path))
    last = min(last, time.time_ns() + DAY)
    size = changeset.size if _is_own(changeset, directory) else -1
    db.execute(
        "INSERT OR REPLACE INTO bridoon_run (run_id, ops, digest, last_at, size) VALUES (?, ?, ?, ?, ?)",
        (changeset.run_id, len(changeset.lines), changeset.digest(), last, size),
    )


def _is_own(changeset: Changeset, directory: str) -> bool:
    try:
        return os.path.samefile(changeset.file, os.path.join(directory, changeset.run_id + ENDING))
    except OSError:
        return False


def _has_hash(db: sqlite3.Connection) -> bool:
    return "content_sha256" in schema.columns(db, "changeset_applied")


def _placed(wrong: Exception, changeset: Changeset, index: int, op: Op) -> LedgerError:
    """An error of an operation, with the place of its line and what a program needs to act on it."""
    place = f"{changeset.path}:{changeset.numbers[index]}"
    details = {"changeset_id": changeset.run_id, "file": changeset.path, "line": changeset.numbers[index]}
    if isinstance(wrong, LedgerError):
        return type(wrong)(f"{place}: {wrong}", _way_out(wrong), **{**wrong.details, **details})
    if isinstance(wrong, UnicodeEncodeError):
        return Incompatible(f"{place}: it holds half a character", "nothing was changed", **details)
    if isinstance(wrong, sqlite3.IntegrityError):
        return Conflict(f"{place}: the rows do not allow it: {wrong}", EDIT, **details)
    if str(getattr(wrong, "sqlite_errorname", "")) == "SQLITE_ERROR" and "no such" in str(wrong):
        hint = "harness-cli migrate brings the database up to date"
        return Incompatible(f"{place}: {op.name} needs a newer schema: {wrong}", hint, **details)
    found = database.explain(wrong, changeset.path) if isinstance(wrong, sqlite3.Error) else LedgerError(str(wrong))
    return type(found)(f"{place}: {found}", found.hint, **details)


def _way_out(wrong: LedgerError) -> str:
    """What to do about an operation of a changeset that was refused."""
    if isinstance(wrong, Missing):
        return LACKS
    if isinstance(wrong, Conflict) and "expected_revision" not in wrong.details:
        return EDIT
    return wrong.hint or "nothing was changed"
