"""A text of a row on one line and cut, for reports that list many of them."""

from __future__ import annotations

from bridoon.ledger.show.text import clean


def one_line(text: object, limit: int = 200) -> str:
    """The text without what breaks a line or acts on a terminal, cut after `limit` characters."""
    whole = text if isinstance(text, str) else str(text)
    head = clean(whole[: limit + 1])
    return head if len(head) <= limit else head[: max(limit - 3, 0)] + "..."
