"""Which texts say the same: grouping of what people wrote about what was in the way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

THRESHOLD = 2
"""How often a text must be there to be worth a proposal."""
SHORT_WORDS, SHORT_MOST, SHORT_CUT = 8, 72, 69
FORM = "improvement.proposal:v1:"
"""What every key of a proposal begins with; the hash follows."""
_BETWEEN = re.compile(r"[\W_]+", re.ASCII)


class Group(NamedTuple):
    """Texts that say the same."""

    token: str
    """What they have in common: lower-case words with one `_` between them."""
    text: str
    """The spelling that was seen first."""
    members: list[Any]
    """What they were given with, in order."""


def token_of(text: str) -> str:
    """The words of a text for comparison: in lower case, without punctuation. Letters of every script are kept.

    A text without any letter or digit is compared by its signs.
    """
    if text.isascii():
        return _BETWEEN.sub("_", text.lower()).strip("_") or " ".join(text.split())
    from unicodedata import category, normalize

    whole = normalize("NFC", normalize("NFC", text).lower())
    kept: dict[str, str | int | None] = {
        char: char if char.isalnum() or category(char)[0] == "M" else " " for char in set(whole)
    }
    return "_".join(whole.translate(str.maketrans(kept)).split()) or " ".join(whole.split())


def groups(texts: Iterable[tuple[str, Any]]) -> list[Group]:
    """Texts with what belongs to them, grouped; in the order in which each group was first seen.

    Which groups there are, and what is in them, does not depend on the order of the texts.
    """
    found: dict[str, Group] = {}
    by_text: dict[str, Group] = {}
    for text, member in texts:
        group = by_text.get(text)
        if group is None:
            token = token_of(text)
            group = by_text[text] = found.setdefault(token, Group(token, text, []))
        group.members.append(member)
    return list(found.values())


def short(text: str) -> str:
    """The first eight words, on one line, at most 72 characters."""
    words = " ".join(text.split(None, SHORT_WORDS)[:SHORT_WORDS])
    return words if len(words) <= SHORT_MOST else words[:SHORT_CUT] + "..."


def key_of(component: str, title: str) -> str:
    """The identity of a proposal in every copy of the ledger."""
    from hashlib import sha256
    from unicodedata import normalize

    canonical = "\0".join(normalize("NFC", part).lower().strip() for part in (component, title))
    material = f"improvement.proposal\x001\x00{canonical}".encode("utf-8", "surrogatepass")
    return f"{FORM}{sha256(material).hexdigest()}"
