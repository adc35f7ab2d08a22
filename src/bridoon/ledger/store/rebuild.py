"""A fresh database out of a directory of changesets."""

from __future__ import annotations

from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store import db as database
from bridoon.ledger.store import schema
from bridoon.ledger.store.directory import in_order, read_all
from bridoon.ledger.store.publish import new_database
from bridoon.ledger.store.replay import carry_out, record
from bridoon.ledger.store.target import Target
from bridoon.ledger.store.touched import Touched
from bridoon.ledger.store.write import timestamp


def rebuild(ledger: Ledger, directory: str) -> tuple[int, int]:
    """Build the database of a place out of all changesets in `directory`; how many, and with how many operations.

    It appears at once, when all of them are in it. Raises Conflict when it exists, Missing when the directory does
    not, and what applying a changeset raises.
    """
    path = ledger.place.database
    with new_database(path) as temporary:
        changesets = read_all(ledger.place.cwd, directory)
        with database.explained(path):
            db = database.connect(temporary, mode="rwc", wait=ledger.wait)
            try:
                for pragma in ("journal_mode=MEMORY", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
                    db.execute("PRAGMA " + pragma)  # nobody else sees it, and one that is half done is thrown away
                with database.transaction(db, ledger.wait):
                    schema.fill(db)
                    target = Target(db, schema.NEWEST, timestamp(), replaying=True)
                    touched = Touched(db)
                    last = carry_out(target, in_order(changesets, {}), touched)
                    touched.keep()
                    for each in changesets:
                        record(db, each, each.path, last.get(each.run_id, 0), ledger.place.changesets)
                db.execute("PRAGMA locking_mode=NORMAL")
                db.execute("PRAGMA journal_mode=WAL")
            finally:
                db.close()
    return len(changesets), sum(len(each.lines) for each in changesets)
