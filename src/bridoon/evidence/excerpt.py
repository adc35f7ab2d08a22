"""Texts of strangers, made fit to be shown: one line, not too long, nothing that steers a terminal or a reader."""

from __future__ import annotations


def line(text: object, limit: int) -> str:
    """The beginning of a text on one line: runs of blanks become one, what cannot be printed goes."""
    whole = text if isinstance(text, str) else str(text)
    head = whole[: 4 * limit]
    if not head.isprintable():
        head = "".join(char if char.isprintable() else " " if char.isspace() else "" for char in head)
    words = " ".join(head.split())
    return words if len(words) <= limit and len(whole) <= 4 * limit else words[: limit - 1].rstrip() + "…"


def first_line(text: str, limit: int) -> str:
    """The first line of a text that says something, as `line`."""
    head = text.lstrip()[: 16 * limit]
    return line(head.partition("\n")[0], limit)


def several(items: list[str], most: int) -> list[str]:
    """The items, or the first of them and how many more there were."""
    return items if len(items) <= most else [*items[: most - 1], f"... and {len(items) - most + 1} more"]
