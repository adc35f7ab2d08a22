"""When each row was changed last, as far as changesets tell: whoever applies an older change of it is told."""

from __future__ import annotations

import sqlite3

from bridoon.ledger.store.op import Op

ONCE = ("intake.add", "trace.add", "intervention.add", "backlog.outcome.observe", "legacy.evidence.capture")
"""They add what nothing changes later."""
LOCAL = "tool.check"
"""What it finds holds on one machine."""
EDGES = {"story.dependency": "blocked", "story.hierarchy": "child", "story.backlog": "backlog_uid"}
"""Operations on two rows, and where the second one is named."""
NOTE = (
    "INSERT INTO bridoon_touched (kind, name, at) VALUES (?, ?, ?) "
    "ON CONFLICT(kind, name) DO UPDATE SET at=max(at, excluded.at)"
)
SHOWN = 3
"""How many rows a warning names."""

Row = tuple[str, str]
"""What it is, and its name: `story`, `US-1`."""


def row_of(op: Op) -> Row | None:
    """The row that an operation changes; None when it changes none, or its line does not say when."""
    if not op.at or op.version < 2 or op.name in ONCE or op.name == LOCAL:
        return None
    noun = op.name.rpartition(".")[0]
    if noun in EDGES:
        return noun.replace(".", " "), f"{op.id} -> {op.payload[EDGES[noun]]}"
    first, _, second = op.name.partition(".")
    return second if first == "import" else first, op.uid or str(op.id)


class Touched:
    """The rows of a database with the times of their newest changes, while changesets are carried out."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        rows = db.execute("SELECT kind, name, at FROM bridoon_touched")
        self._before: dict[Row, int] = {(kind, name): at for kind, name, at in rows}
        self._now: dict[Row, int] = {}
        self._late: dict[str, dict[Row, None]] = {}

    def note(self, run_id: str, op: Op) -> None:
        """Take notice of an operation of a run."""
        row = row_of(op)
        if row is None:
            return
        if op.at > self._now.get(row, 0):
            self._now[row] = op.at
        if op.at < self._before.get(row, 0):
            self._late.setdefault(run_id, {})[row] = None

    def keep(self) -> None:
        """Write down what was noticed."""
        self._db.executemany(NOTE, ((*row, at) for row, at in self._now.items()))

    def warnings(self) -> list[str]:
        """By run: which rows its operations changed although newer changes of them had been known before."""
        return [_warning(run_id, [" ".join(row) for row in rows]) for run_id, rows in self._late.items()]


def _warning(run_id: str, rows: list[str]) -> str:
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return (
        f"changeset {run_id} holds changes that are older than the newest one known here, and now count instead: "
        f"{', '.join(rows[:SHOWN])}{more}; who applied them in another order has other rows. db rebuild orders by time "
        "and gives everybody the same"
    )
