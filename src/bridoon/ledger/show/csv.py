"""Comma-separated values, as spreadsheets read them: NULL is an empty cell, an empty text is `""`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridoon.ledger.show.cell import text_of


def sheet(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The table as text, headings first, lines ended by a line feed."""
    return "".join(",".join(map(_cell, row)) + "\n" for row in (columns, *rows))


def _cell(value: Any) -> str:
    if value == "":
        return '""'
    text = text_of(value)
    if any(char in text for char in ',"\r\n') or text != text.strip(" "):
        return '"' + text.replace('"', '""') + '"'
    return text
