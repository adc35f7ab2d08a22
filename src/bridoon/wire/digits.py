"""Whole numbers that people and programs write in digits."""

from __future__ import annotations

LONGEST = 15
"""Digits. Python refuses to read thousands of them, and no count is that large."""


def whole_number(text: str) -> int:
    """The number that a text of ASCII digits stands for; 0 for any other text and for what is no count."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST else 0
