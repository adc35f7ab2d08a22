"""The ledger, opened: reads see one moment, writes are operations in one transaction, changesets follow."""

# Without `from __future__ import annotations`, see cmdline/command.py.

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridoon.ledger.errors import Incompatible
from bridoon.ledger.place import Place, check_run_id
from bridoon.ledger.store import db as database
from bridoon.ledger.store import outbox, schema, strangers
from bridoon.ledger.store.db import Read

if TYPE_CHECKING:
    from bridoon.ledger.store.write import Write


class Ledger:
    """Reads and writes of one database. Nothing is opened before it is needed."""

    def __init__(self, place: Place, env: Mapping[str, str], *, wait: float = database.WAIT) -> None:
        self.place = place
        self.env = env
        self.wait = wait
        """Seconds that other processes may hold the database."""
        self.warnings: list[str] = []
        """What went wrong without stopping anything; told on standard error."""
        self.is_changed = False
        """Whether rows were changed by operations of our own."""

    @contextmanager
    def reading(self) -> Iterator[Read]:
        """One moment of the ledger. Raises Incompatible when there is none that we can read, LedgerError."""
        path = self.place.database
        strangers.check(path, self.env)
        db = database.open_to_read(path, self.wait)
        try:
            with database.explained(path):
                version = schema.version_of(db)
                schema.check(version, path)
                if schema.has_own(db) and outbox.is_waiting(db):
                    self.repair()
                db.execute("BEGIN")
                yield Read(db, version)
        finally:
            db.close()

    @contextmanager
    def writing(self) -> Iterator["Write"]:
        """A transaction: what is done in the block happens when it ends without an error, and then all of it.

        Afterwards the changeset gets its lines. Raises what `reading` raises, and Invalid for a bad HARNESS_RUN_ID.
        """
        from bridoon.ledger.store.write import REVISIONS, Write

        run_id = check_run_id(self.place.run_id) if self.place.run_id else ""
        with self.changing() as (db, version):
            if run_id and not schema.has_table(db, schema.LATEST_OWN):
                schema.make_own(db)
            yield Write(db, version, run_id, revisions=self.env.get(REVISIONS) == "1")
        self.is_changed = True

    @contextmanager
    def changing(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """A transaction and the schema that it finds, for what is more than operations of our own (`writing`).

        Afterwards the changesets get their lines. Raises what `reading` raises.
        """
        path = self.place.database
        strangers.check(path, self.env)
        db = database.open_to_write(path, self.wait)
        try:
            with database.explained(path):
                schema.check(schema.version_of(db), path)
                with database.transaction(db, self.wait):
                    version = schema.version_of(db)
                    schema.check(version, path)
                    yield db, version
                self._hand_over(db)
        finally:
            db.close()

    def repair(self) -> None:
        """Append what an earlier process had committed and could not append any more. Never raises."""
        path = self.place.database
        if not os.path.isfile(path):
            return
        try:
            strangers.check(path, self.env)
            db = database.connect(path, wait=self.wait)
        except (sqlite3.Error, Incompatible):
            return
        try:
            self._hand_over(db)
        finally:
            db.close()

    def _hand_over(self, db: sqlite3.Connection) -> None:
        try:
            if schema.has_own(db):
                for run_id in outbox.hand_over(db, self.place.changesets, self.wait):
                    self.warnings.append(
                        f"earlier operations of run {run_id} are in a file that is not in this checkout (is another "
                        "branch checked out?); its changeset here begins without them"
                    )
        except (OSError, sqlite3.Error) as wrong:
            reason = getattr(wrong, "strerror", None) or wrong
            self.warnings.append(
                f"recorded, but the changeset in {self.place.changesets} could not be written: {reason}; "
                "the next command tries again"
            )
