"""The pretty JSON list that `query tools` and `tool check` print: objects at two blanks, their keys at four."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bridoon.ledger.protocol import encoded


def pretty(objects: Sequence[Mapping[str, Any]]) -> bytes:
    """The list in UTF-8; an empty one is `[` and `]` on two lines."""
    parts = []
    for each in objects:
        keys = [b"    " + encoded(key) + b": " + encoded(value) for key, value in each.items()]
        parts.append(b"  {\n" + b",\n".join(keys) + b"\n  }")
    return b"[\n" + b",\n".join(parts) + (b"\n" if parts else b"") + b"]\n"
