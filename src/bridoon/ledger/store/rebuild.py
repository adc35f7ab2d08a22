"""A fresh database out of a directory of changesets."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bridoon.ledger.errors import Conflict, LedgerError, Missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.place import ENDING
from bridoon.ledger.store import changeset as file
from bridoon.ledger.store import db as database
from bridoon.ledger.store import schema
from bridoon.ledger.store.changeset import Changeset
from bridoon.ledger.store.publish import new_database
from bridoon.ledger.store.replay import Step, carry_out, record
from bridoon.ledger.store.target import Target
from bridoon.ledger.store.write import timestamp
from bridoon.ledger.vocabulary import LARGEST

TIMED = '"recorded_at_unix_ns"'


def rebuild(ledger: Ledger, directory: str) -> tuple[int, int]:
    """Build the database of a place out of all changesets in `directory`; how many, and with how many operations.

    It appears at once, when all of them are in it. Raises Conflict when it exists, Missing when the directory does
    not, and what applying a changeset raises.
    """
    path = ledger.place.database
    with new_database(path) as temporary:
        changesets = _read_all(ledger.place.cwd, directory)
        with database.explained(path):
            db = database.connect(temporary, mode="rwc", wait=ledger.wait)
            try:
                for pragma in ("journal_mode=MEMORY", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
                    db.execute("PRAGMA " + pragma)  # nobody else sees it, and one that is half done is thrown away
                with database.transaction(db, ledger.wait):
                    schema.fill(db)
                    target = Target(db, schema.NEWEST, timestamp(), replaying=True)
                    last = carry_out(target, in_order(changesets))
                    for each in changesets:
                        record(db, each, each.path, last.get(each.run_id, 0), ledger.place.changesets)
                db.execute("PRAGMA locking_mode=NORMAL")
                db.execute("PRAGMA journal_mode=WAL")
            finally:
                db.close()
    return len(changesets), sum(len(each.lines) for each in changesets)


def in_order(changesets: list[Changeset]) -> Iterator[Step]:
    """All operations in the order in which they are carried out.

    Runs that went on side by side changed the same rows in turns: where the operations of a file say when they
    were recorded, these times decide. What says nothing comes first, file by file in the order of their paths.
    """
    timed: list[Changeset] = []
    for each in changesets:
        if any(TIMED in line for line in each.lines):
            timed.append(each)
            continue
        yield from ((each, index, each.op(index)) for index in range(len(each.lines)))
    yield from _merged([_with_times(each) for each in timed])


def _with_times(changeset: Changeset) -> Iterator[tuple[int, Step]]:
    """The operations of a file with their times. One without a time belongs to the one before; within a file its own
    order holds, whatever the clock did."""
    latest = 0
    for index in range(len(changeset.lines)):
        op = changeset.op(index)
        latest = max(latest, op.at)
        yield latest, (changeset, index, op)


def _merged(files: list[Iterator[tuple[int, Step]]]) -> Iterator[Step]:
    """The operations of files by their times; at the same time, those of earlier files first.

    Runs mostly follow one another, so that most of a file comes before the next operation of any other.
    """
    from heapq import heapify, heappop, heappush

    heads = [(*first, number) for number, each in enumerate(files) for first in [next(each, None)] if first]
    heap = [(at, number, step) for at, step, number in heads]
    heapify(heap)
    while heap:
        at, number, step = heappop(heap)
        limit = heap[0][:2] if heap else (LARGEST + 1, 0)
        yield step
        for at, step in files[number]:
            if (at, number) > limit:
                heappush(heap, (at, number, step))
                break
            yield step


def _read_all(cwd: str, directory: str) -> list[Changeset]:
    place = os.path.join(cwd, directory)
    try:
        names = sorted(name for name in os.listdir(place) if name.endswith(ENDING))
    except (FileNotFoundError, NotADirectoryError):
        raise Missing(f"there is no directory {directory}", "--from names the directory of changesets") from None
    except OSError as wrong:
        raise LedgerError(f"{directory} cannot be read: {wrong.strerror}") from wrong
    found: dict[str, Changeset] = {}
    for name in names:
        each = file.read(os.path.join(place, name), os.path.join(directory, name))
        if each.run_id in found:
            first = found[each.run_id].path
            raise Conflict(
                f"{each.path}:1: run {each.run_id} is in {first} already", "every run is one file", file=each.path
            )
        found[each.run_id] = each
    return list(found.values())
