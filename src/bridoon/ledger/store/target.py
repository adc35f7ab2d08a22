"""Where operations are carried out: a database inside a transaction, at the schema that it has."""

from __future__ import annotations

import sqlite3
from importlib import import_module
from typing import Any

from bridoon.ledger.errors import Conflict, missing
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.op import KINDS, Op
from bridoon.ledger.store.schema import columns

ROWS = {
    "intake": "intake",
    "story": "story",
    "story.dependency": "graph",
    "story.hierarchy": "graph",
    "story.backlog": "link",
    "decision": "decision",
    "backlog": "backlog",
    "backlog.proposal": "proposal",
    "backlog.outcome": "proposal",
    "backlog.legacy": "proposal",
    "legacy.evidence": "proposal",
    "audit.evidence": "proposal",
    "tool": "tool",
    "trace": "trace",
    "intervention": "intervention",
    "import": "brownfield",
}
"""Which file of `store/rows` carries out the operations with this beginning; its function is named like the operation,
with `_` for the dots."""

REVISIONED = {"story": ("story", "id"), "decision": ("decision", "id"), "audit": ("audit_evidence_episode", "uid")}


REMOVED = ("tool",)
"""Tables whose rows can go again."""


class Target(Read):
    """A database that operations change. The transaction is the caller's."""

    def __init__(self, db: sqlite3.Connection, schema: int, now: str, *, replaying: bool = False) -> None:
        super().__init__(db, schema)
        self.now = now
        """`YYYY-MM-DD HH:MM:SS`, UTC: the time of what does not bring one along."""
        self.replaying = replaying
        self.ids: dict[str, dict[int, int]] = {}
        """By table: the local ids of a changeset of version 1, and what they became here."""
        self._columns: dict[str, frozenset[str]] = {}
        self._functions: dict[str, Any] = {}
        self._inserts: dict[tuple[str, bool, tuple[str, ...]], str] = {}
        self._present: set[tuple[str, str, Any]] = set()
        self._rows: dict[tuple[str, str], int] = {}

    def apply(self, op: Op) -> int | None:
        """Carry out one operation; the id of a row that was added with an integer id.

        Raises Missing, Conflict, Invalid when the rows do not allow it; sqlite3.Error.
        """
        if op.expected_revision is not None:
            self._check_revision(op)
        function = self._functions.get(op.name)
        if function is None:
            module = import_module("bridoon.ledger.store.rows." + ROWS[op.name.rpartition(".")[0]])
            function = self._functions[op.name] = getattr(module, op.name.replace(".", "_"))
        result: int | None = function(self, op)
        return result

    def columns(self, table: str) -> frozenset[str]:
        """The columns that a table has at this schema."""
        known = self._columns.get(table)
        if known is None:
            known = self._columns[table] = frozenset(columns(self.db, table))
        return known

    def insert(self, table: str, values: dict[str, Any], *, ignore: bool = False) -> int:
        """Add a row and return its rowid. Columns that the schema has not got yet, and None, are left out."""
        known = self.columns(table)
        names = tuple([name for name, value in values.items() if value is not None and name in known])
        sql = self._inserts.get((table, ignore, names))
        if sql is None:
            verb = "INSERT OR IGNORE" if ignore else "INSERT"
            sql = f"{verb} INTO {table} ({','.join(names)}) VALUES ({','.join('?' * len(names))})"
            self._inserts[table, ignore, names] = sql
        return self.db.execute(sql, [values[name] for name in names]).lastrowid or 0

    def add(self, table: str, op: Op, values: dict[str, Any]) -> int:
        """Add the row of an operation, with its uid and its time, and return its id here.

        One whose uid is there already is left as it is.
        """
        values["uid"] = op.uid or None
        values["created_at"] = op.payload.get("created_at") or self.now
        try:
            row = self.insert(table, values)
        except sqlite3.IntegrityError:
            known = self.id_of(table, op.uid)
            if known is None:
                raise
            row = known
        if op.uid:
            self._rows[table, op.uid] = row
        self.remember(table, op.id, row)
        return row

    def id_of(self, table: str, uid: str) -> int | None:
        """The id here of the row with a uid; None when there is none."""
        known = self._rows.get((table, uid))
        if known is None and uid:
            row = self.one(f"SELECT id FROM {table} WHERE uid=?", uid)
            if row:
                known = self._rows[table, uid] = int(row[0])
        return known

    def uid_of(self, table: str, row: int | None, what: str) -> str:
        """The uid of the row with an id; empty when it has none. Raises Missing. `what` is how people call it."""
        column = "uid" if "uid" in self.columns(table) else "NULL"
        found = self.one(f"SELECT {column} FROM {table} WHERE id=?", row)
        if found is None:
            raise missing(what, row)
        return found[0] or ""

    def update(self, table: str, key: str, value: Any, changes: dict[str, Any]) -> int:
        """Set columns of the rows whose `key` is `value`, None included; how many there are."""
        known = self.columns(table)
        names = [name for name in changes if name in known]
        sets = ",".join(f"{name}=?" for name in names)
        sql = f"UPDATE {table} SET {sets} WHERE {key}=?"
        return self.db.execute(sql, [*(changes[name] for name in names), value]).rowcount

    def must_have(self, table: str, key: str, value: Any, what: str) -> None:
        """Raise Missing unless a row is there. `what` is how people call it: `story`."""
        if (table, key, value) in self._present:
            return
        if self.one(f"SELECT 1 FROM {table} WHERE {key}=?", value) is None:
            raise missing(what, value)
        if table not in REMOVED:
            self._present.add((table, key, value))

    def remember(self, table: str, recorded: object, here: int) -> None:
        """Note what a local id of a changeset became here."""
        if isinstance(recorded, int):
            self.ids.setdefault(table, {})[recorded] = here

    def here(self, table: str, recorded: int | None) -> int | None:
        """What a local id of a changeset is here."""
        return None if recorded is None else self.ids.get(table, {}).get(recorded, recorded)

    def revision(self, op: Op) -> int | None:
        """The revision of the row that an operation changes; None when there is none, or none that is counted."""
        table, key = REVISIONED.get(op.name.partition(".")[0], ("backlog", "uid" if op.uid else "id"))
        if not KINDS[op.name].revisioned or "revision" not in self.columns(table):
            return None
        row = self.one(f"SELECT revision FROM {table} WHERE {key}=?", op.uid if key == "uid" else op.id)
        return int(row[0]) if row else None

    def _check_revision(self, op: Op) -> None:
        first = op.name.partition(".")[0]
        name = op.uid or op.id
        found = self.revision(op)
        if found != op.expected_revision:
            raise Conflict(
                f"{first} {name} is at revision {found}, not {op.expected_revision}",
                "somebody else changed it in between: take that line out of its changeset, rebuild the database, and "
                "record the change again",
                entity_kind=first,
                entity_id=name,
                expected_revision=op.expected_revision,
                actual_revision=found,
            )
