"""Tables: headings, a row of dashes, rows; columns padded to the widest cell and two blanks apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridoon.ledger.show.cell import text_of
from bridoon.ledger.show.text import clean, width

WIDEST = 1000
"""Columns to which cells are padded. One long text must not make ten thousand rows as long as itself."""


def layout(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The table as text. The last column is padded, too; a table without columns is two blank lines."""
    if not columns:
        return "\n\n"
    laid = [_column(heading, [row[at] for row in rows]) for at, heading in enumerate(columns)]
    return "".join("  ".join(cells) + "\n" for cells in zip(*laid, strict=True))


def _column(heading: str, values: list[Any]) -> list[str]:
    """A heading, its dashes and its cells, all of the same width; what is wider than WIDEST stands out, uncut."""
    cells = [clean(heading), *[clean(value if type(value) is str else text_of(value)) for value in values]]
    widths = [len(cell) if cell.isascii() else width(cell) for cell in cells]
    widest = max((each for each in widths if each <= WIDEST), default=WIDEST)
    padded = [cell + " " * (widest - each) for cell, each in zip(cells, widths, strict=True)]
    padded.insert(1, "-" * widest)
    return padded
