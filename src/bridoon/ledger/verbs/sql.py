"""`query sql`: one statement of one's own, which reads, or with `--write` changes rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.errors import Invalid, TooMuch
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.show.cell import plain
from bridoon.ledger.store.statement import LARGEST, Wanted, run
from bridoon.ledger.verbs.listing import page

SECONDS = 30
LONGEST = 24 * 60 * 60
ROW, CELL = 64, 48
"""About how many bytes of memory a row and a cell take besides their text."""


def sql(ledger: Ledger, given: Given) -> Answer:
    """Run a statement and show its rows."""
    wanted, write = page(given), given.has("--write")
    seconds = vocabulary.integer(given.get("--timeout"), "query sql: --timeout")
    if seconds is not None and seconds < 1:
        raise Invalid("query sql: --timeout must be at least 1 second", "without it there are 30")
    statement = Wanted(" ".join(given.words), min(seconds or SECONDS, LONGEST), write, wanted.limit, wanted.offset)
    rows: list[Any] = []
    result = run(ledger, statement, _taker(rows, given))
    data = {"columns": result.columns, "rows": rows, "limit": wanted.limit, "offset": wanted.offset}
    data |= {"more": result.more, "changed": result.changed}
    warning = note = ""
    if write:
        changed = "1 row" if result.changed == 1 else f"{result.changed} rows"
        warning = f"{changed} changed; no changeset tells of it"
    if result.more:
        note = "there are more rows; --limit and --offset show others"
    return Answer(Table(result.columns, rows), data, warning=warning, note=note)


def _taker(rows: list[Any], given: Given) -> Callable[[tuple[Any, ...]], int]:
    """What keeps the rows, and tells how large they are.

    A table is as wide as its widest cell in every row, so one long text among many rows makes it large.
    """
    widest: list[int] = []
    as_json, padded = given.json, not given.json and not given.has("--csv")

    def take(row: tuple[Any, ...]) -> int:
        lengths = [len(value) if isinstance(value, (str, bytes)) else 0 for value in row]
        rows.append([plain(value) for value in row] if as_json else row)
        size = sum(lengths)
        if padded:
            if size or not widest:
                widest[:] = map(max, widest or lengths, lengths)
            if sum(widest) * len(rows) > 4 * LARGEST:
                raise TooMuch(
                    f"as a table these rows would take more than {4 * LARGEST >> 20} MiB",
                    "use --csv or --json, or --limit and --offset",
                )
        return ROW + size + CELL * len(row)

    return take
