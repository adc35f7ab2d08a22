"""Line anchors: `12#KX` names line 12 and says, in two letters, what it held when it was read."""

from __future__ import annotations

import re
from typing import NamedTuple

LETTERS = "ZPMQVRWSNKTXJBYH"
"""The sixteen digits of a hash."""

PREFIX = re.compile(rf"[0-9]+#[{LETTERS}]{{2}}:")
"""What stands before a line's text in the output of `read_file`."""

SHOWN = 5000
"""Characters of one line that are shown."""

_ANCHOR = re.compile(rf"\s*([0-9]{{1,12}})#([{LETTERS}]{{2}})(?::.*)?\s*", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z0-9]")


class Anchor(NamedTuple):
    """A line number, from 1, and the hash that the line must have."""

    line: int
    hash: str


def parse_anchor(text: object) -> Anchor | None:
    """Read `12#KX`; a line's text copied along with it is ignored. None when it is no anchor."""
    found = _ANCHOR.fullmatch(text) if isinstance(text, str) else None
    return Anchor(int(found[1]), found[2]) if found else None


def line_hash(number: int, line: bytes) -> str:
    """The two letters of a line, given without its line end.

    Carriage returns and blanks at the end do not count. Lines without a letter or digit (`}`, empty ones) are
    mixed with their number, for there are many alike.
    """
    running = RunningHash()
    running.feed(line)
    return running.letters(number)


class RunningHash:
    """The hash of a line that comes in pieces."""

    def __init__(self) -> None:
        self._value = 5381 & 0xFF
        self._blanks = b""
        self._has_word = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the line."""
        text = self._blanks + piece.replace(b"\r", b"")
        kept = text.rstrip(b" \t")
        self._blanks = text[len(kept) :]
        self._has_word = self._has_word or _WORD.search(kept) is not None
        # The hash is that of 32 bits, but only its lowest byte shows, and no other bit reaches that one.
        value = self._value
        for byte in kept:
            value = (value * 33 + byte) & 0xFF
        self._value = value

    def letters(self, number: int) -> str:
        """The hash of what was fed, as the line of that number."""
        value = self._value if self._has_word else (self._value + number * 2654435761) & 0xFF
        return LETTERS[value >> 4] + LETTERS[value & 0xF]


def show(number: int, line: bytes, encoding: str = "utf-8") -> str:
    """One line as `read_file` prints it: `12#KX:text`."""
    return show_piece(number, line_hash(number, line), line, len(line), encoding)


def show_piece(number: int, letters: str, text: bytes, size: int, encoding: str) -> str:
    """One line of `size` bytes of which `text` is at least what is shown: at most 5000 characters."""
    shown = text.decode(encoding, "replace").replace("\0", "\ufffd")
    if len(text) < size or len(shown) > SHOWN:
        shown = f"{shown[:SHOWN]} [... line of {size} bytes, cut here]"
    return f"{number}#{letters}:{shown}"
