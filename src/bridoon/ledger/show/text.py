"""Texts for a terminal: what would act on it is shown instead, and how wide the rest is."""

from __future__ import annotations

KNOWN = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make text look like other text."""

_widths: dict[str, int] = {}


def clean(text: str) -> str:
    """One line without anything that a terminal would act on: `\\x1b` stands for an escape character."""
    return text if text.isprintable() else "".join(map(_shown, text))


def clean_lines(text: str) -> str:
    """The same for text of several lines: line ends and tabs stay."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(clean, line.split("\t"))) for line in text.split("\n"))


def one_line(text: object, limit: int = 200) -> str:
    """The text on one line, cut after `limit` characters: for reports that list many."""
    head = clean(str(text)[: limit + 1])
    return head if len(head) <= limit else head[: max(limit - 3, 0)] + "..."


def width(text: str) -> int:
    """How many columns of a terminal a cleaned text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _shown(character: str) -> str:
    if character.isprintable() or not _acts(character):
        return character
    known = KNOWN.get(character)
    number = ord(character)
    return known or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


def _acts(character: str) -> bool:
    """Whether a terminal would do something other than to draw it."""
    if character in BIDI:
        return True
    import unicodedata

    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _width(character: str) -> int:
    found = _widths.get(character)
    if found is None:
        import unicodedata

        if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
            found = 0
        else:
            found = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        _widths[character] = found
    return found
