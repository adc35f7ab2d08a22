"""`init` makes the ledger, `migrate` brings it up to date."""

from __future__ import annotations

import os
import sqlite3

from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import Incompatible, LedgerError
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store import db as database
from bridoon.ledger.store import schema, strangers
from bridoon.ledger.store.publish import CHANGES, Draft


def init(ledger: Ledger, given: Given) -> Answer:
    """Make the database unless it is there; with `--shim` the launcher of the repository, too."""
    path, root = ledger.place.database, ledger.place.root
    if given.has("--shim"):
        from bridoon.ledger import shim

        shim.check(root)  # nothing is made when the whole cannot be
    changesets = "" if os.path.lexists(path) else database.recorded_beside(path)
    strangers.check(path, ledger.env)
    lines, created, version = _init(path, ledger.wait)
    data = {"path": path, "created": created, "schema_version": version, "shim": None}
    if given.has("--shim"):
        data["shim"], changed = shim.write(root)
        lines.append(f"Launcher {'written to' if changed else 'is there already:'} {data['shim']}")
    too_new = f"this harness-cli knows schemas up to {schema.NEWEST}; a newer one is needed to use it"
    warning = too_new if version > schema.NEWEST else ""
    return Answer("\n".join(lines), data, warning=warning, note=_note(path, changesets if created else ""))


def _note(path: str, changesets: str) -> str:
    """What whoever has a new database should know: what could be in it, and that git need not have it."""
    from bridoon.ledger import ignored

    notes = []
    if changesets:
        notes.append(
            f"the new ledger is empty, and {changesets} holds changesets: remove it again, and "
            f"harness-cli db rebuild --from {changesets} makes it from them"
        )
    return "; ".join(filter(None, (*notes, ignored.advice(path))))


def _init(path: str, wait: float) -> tuple[list[str], bool, int]:
    """What to say, whether a schema was applied, and the version afterwards."""
    if not os.path.lexists(path):
        _check_directory(path)
        if _publish(path):
            return [f"Creating harness database at {path}", "Schema applied."], True, schema.NEWEST
    there = f"Database already exists at {path}"
    version = _fill_in_place(path, wait)
    if version:
        return [there, f"Current schema version: {version}"], False, version
    return [there, "It holds no schema version: applying the schema.", "Schema applied."], True, schema.NEWEST


def _check_directory(path: str) -> None:
    """Raise LedgerError where no database can be made."""
    directory = os.path.dirname(path)
    if not os.path.isdir(directory):
        raise LedgerError(f"there is no directory {directory}", "make it first")
    for ending in CHANGES:
        if os.path.lexists(path + ending) and not os.path.lexists(path):
            raise Incompatible(
                f"{path}{ending} is there without its database, and would spoil a new one",
                "put the database back, or remove that file",
            )


def _publish(path: str) -> bool:
    """Build the database under another name and give it its own at once; False when somebody else was quicker."""
    with Draft(path) as draft:
        with database.explained(path):
            db = database.connect(draft.path, mode="rwc")
            try:
                db.execute("PRAGMA journal_mode=WAL")
                with database.transaction(db):
                    schema.fill(db)
            finally:
                db.close()
        return draft.publish()


def _fill_in_place(path: str, wait: float) -> int:
    """Apply the schema to an empty database; the version that it had. Raises Incompatible for a foreign one."""
    database.must_exist(path)
    if not os.path.isfile(path):
        raise Incompatible(f"{path} is no plain file", "name another file with HARNESS_DB_PATH")
    with database.explained(path):
        db = database.open_to_read(path, wait)
        try:
            version = _version(db, path)
        finally:
            db.close()
        if version:
            return version
        db = database.connect(path, wait=wait)
        try:
            with database.transaction(db, wait):
                version = _version(db, path)
                if not version:
                    schema.fill(db)
            if not version:
                # SQLite gives up at once when others look at the file in the very moment of the change.
                database.patiently(db, "PRAGMA journal_mode=WAL", wait)
        finally:
            db.close()
    return version


def _version(db: sqlite3.Connection, path: str) -> int:
    """The version; 0 for an empty database. Raises Incompatible for one of something else."""
    try:
        version = schema.version_of(db)
    except Incompatible as wrong:
        raise Incompatible(f"{path}: {wrong.message}", wrong.hint or "name another file with HARNESS_DB_PATH") from None
    tables = [str(name) for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    if not version and tables:
        raise Incompatible(
            f"{path} is a database of something else (it holds {', '.join(sorted(tables)[:5])})",
            "name another file with HARNESS_DB_PATH",
        )
    return version


def migrate(ledger: Ledger, given: Given) -> Answer:
    """Apply the migrations that the database has not got, keeping a copy of it as it was."""
    path = ledger.place.database
    strangers.check(path, ledger.env)
    db = database.open_to_write(path, ledger.wait)
    try:
        with database.explained(path):
            before = _version(db, path)
            if not before or before > schema.NEWEST:
                schema.check(before, path)
            applied, backup = _migrate(db, path, ledger.wait)
            now = schema.version_of(db)
    finally:
        db.close()
    lines = [f"Current schema version: {before}"]
    lines += [f"Applying migration {version}..." for version in applied]
    lines.append(f"Applied {len(applied)} migration(s)." if applied else "Already up to date.")
    data = {"path": path, "before": before, "schema_version": now, "applied": applied, "backup": backup or None}
    return Answer("\n".join(lines), data, note=f"the database as it was is kept in {backup}" if backup else "")


def _migrate(db: sqlite3.Connection, path: str, wait: float) -> tuple[list[int], str]:
    """Apply what is pending, each step in a transaction of its own; which ones, and where the copy is."""
    applied: list[int] = []
    backup = ""
    for version, script in schema.migrations():
        if schema.version_of(db) >= version:
            continue
        with database.transaction(db, wait):
            if schema.version_of(db) >= version:  # another process was quicker
                continue
            backup = backup or _keep(path, schema.version_of(db), wait)
            schema.advance(db, script, version)
            if version == schema.NEWEST:
                schema.make_own(db)
        applied.append(version)
    return applied, backup


def _keep(path: str, version: int, wait: float) -> str:
    """Copy the database beside itself, while the caller holds everybody else off; the path of the copy."""
    name = f"{path}.schema-{version}.bak"
    number = 1
    while os.path.lexists(name):
        number += 1
        name = f"{path}.schema-{version}.{number}.bak"
    with Draft(name) as draft:
        source = database.connect(path, wait=wait)
        try:
            copy = database.connect(draft.path, mode="rwc")
            try:
                source.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
            finally:
                copy.close()
        finally:
            source.close()
        os.chmod(draft.path, os.stat(path).st_mode & 0o777)
        if not draft.publish():
            raise LedgerError(f"{name} has appeared meanwhile", "try again")
    return name
