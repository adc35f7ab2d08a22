"""A transaction that changes rows: operations are filled in, carried out, and noted for the changeset."""

from __future__ import annotations

import os
import sqlite3
import time

from bridoon.ledger.store import outbox
from bridoon.ledger.store.op import KINDS, NOW, Op, complete
from bridoon.ledger.store.schema import UIDS
from bridoon.ledger.store.target import Target
from bridoon.ledger.vocabulary import LARGEST

REVISIONS = "HARNESS_CHANGESET_REVISIONS"
"""Set to 1: changesets say which revision of a row they change, and are refused where somebody else changed it too."""


class Write(Target):
    """A transaction that changes rows, only through operations. They are all kept, or none."""

    def __init__(self, db: sqlite3.Connection, version: int, run_id: str, *, revisions: bool = False) -> None:
        super().__init__(db, version, timestamp())
        self._revisions = revisions
        self._run_id = run_id
        self._pen = outbox.Pen(db, run_id) if run_id else None
        self._at = 0

    @property
    def at(self) -> int:
        """The present in nanoseconds since 1970; never the same twice, unless a run came from the end of all times."""
        self._at = min(max(self._at + 1, time.time_ns(), self._pen.last + 1 if self._pen else 0), LARGEST)
        return self._at

    def do(self, op: Op) -> int | None:
        """Carry out an operation and note it for the changeset; the id of a row that was added with an integer id.

        Version, time, uid and `created_at` are filled in. Raises what `Target.apply` raises.
        """
        kind = KINDS[op.name]
        newest = kind.newest if self.schema >= UIDS else 1
        op = op._replace(version=op.version or newest, at=self.at)
        payload = op.payload
        if op.version > 1:
            if kind.prefix and not op.uid:
                op = op._replace(uid=new_uid(kind.prefix))
            times = {field.name: self.now for field in kind.fields if field.type == NOW}
            payload = {**payload, **{name: now for name, now in times.items() if payload.get(name) is None}}
            if op.name == "trace.add":
                payload["recorded_at_unix_ns"] = op.at
        op = complete(op._replace(payload=payload))
        if self._revisions and self._pen is not None and op.version > 1:
            before = self.revision(op)
            op = op if before is None else op._replace(version=3, expected_revision=before)
        row = self.apply(op)
        if self._pen is not None:
            self._pen.note(_portable(op, row))
        return row


def _portable(op: Op, row: int | None) -> Op:
    """The operation as a changeset tells it: from version 2 on without ids that mean something only here."""
    if KINDS[op.name].key != "integer":
        return op
    if op.version == 1:
        return op if op.id is not None else op._replace(id=row)
    payload = dict(op.payload)
    for local, uid in (("intake_id", "intake_uid"), ("trace_id", "trace_uid")):
        if payload.get(uid) is not None or payload.get(local) is None:
            payload.pop(local, None)  # else the row is from a time without uids, and has no other name
    return op._replace(id=None if op.uid else op.id, payload=payload)


def timestamp(seconds: float | None = None) -> str:
    """A time as the ledger writes it: UTC, `YYYY-MM-DD HH:MM:SS`."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def new_uid(prefix: str) -> str:
    """An identity that holds in every copy of the database."""
    return f"{prefix}_{os.urandom(16).hex()}"
