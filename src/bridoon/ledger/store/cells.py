"""Cells of rows that any program may have written: a column of texts can hold bytes, one of numbers can hold a text."""

from __future__ import annotations

from typing import Any


def text(value: Any) -> str | None:
    """A cell as text; NULL is None. Bytes that are no UTF-8 are read with U+FFFD for them."""
    if value is None or isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def word(value: Any) -> str:
    """The same, and the empty text for NULL."""
    return text(value) or ""


def number(value: Any) -> int | None:
    """A cell as a whole number; None for everything that is none."""
    return value if isinstance(value, int) else None
