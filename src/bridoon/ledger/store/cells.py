"""Cells of rows, read and written. Any program may have written them: a column of texts can hold bytes, for example."""

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


def compact(value: Any) -> str:
    """A value as JSON without blanks, its keys in order: the same value is the same text everywhere."""
    import json

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def number(value: Any) -> int | None:
    """A cell as a whole number; None for everything that is none."""
    return value if isinstance(value, int) else None
