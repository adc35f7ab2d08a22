"""A directory of changesets: all of its files, and the order in which their operations are carried out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from bridoon.ledger.errors import Conflict, LedgerError, Missing
from bridoon.ledger.place import ENDING
from bridoon.ledger.store import changeset as file
from bridoon.ledger.store.changeset import Changeset
from bridoon.ledger.store.op import Op
from bridoon.ledger.vocabulary import LARGEST

TIMED = '"recorded_at_unix_ns"'

Step = tuple[Changeset, int, Op]
"""One operation to carry out: where it stands, and which one there."""


def read_all(cwd: str, directory: str) -> list[Changeset]:
    """The changesets of a directory in the order of their paths.

    Raises Missing when it is not there, Conflict when two files are of one run, and what reading one raises.
    """
    place = os.path.join(cwd, directory)
    try:
        names = sorted(name for name in os.listdir(place) if name.endswith(ENDING))
    except (FileNotFoundError, NotADirectoryError):
        raise Missing(f"there is no directory {directory}", "name the directory of the changesets") from None
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


def in_order(changesets: list[Changeset], begun: Mapping[str, int]) -> Iterator[Step]:
    """All operations in the order in which they are carried out, but those with which runs have `begun` already.

    Runs that went on side by side changed the same rows in turns: where the operations of a file say when they
    were recorded, these times decide. What says nothing comes first, file by file in the order of their paths.
    """
    timed: list[Changeset] = []
    for each in changesets:
        if any(TIMED in line for line in each.lines):
            timed.append(each)
            continue
        yield from ((each, index, each.op(index)) for index in range(begun.get(each.run_id, 0), len(each.lines)))
    yield from _merged([_with_times(each, begun.get(each.run_id, 0)) for each in timed])


def _with_times(changeset: Changeset, start: int) -> Iterator[tuple[int, Step]]:
    """The operations of a file with their times. One without a time belongs to the one before; within a file its own
    order holds, whatever the clock did."""
    latest = 0
    for index in range(start, len(changeset.lines)):
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
