"""The glass of a terminal: what somebody sees of all that a program wrote, scrolled-off lines included."""

from __future__ import annotations

import re
import unicodedata

PIECE = re.compile(
    r"\x1b\[(?P<arguments>[0-9;?]*)[ -/]*(?P<final>[@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]"
    r"|\x1b[^\[\]()]|(?P<control>[\x00-\x1f])|(?P<text>[^\x00-\x1f]+)|(?P<rest>\x1b.*)",
    re.DOTALL,
)


class Glass:
    """Understands moving, erasing and scrolling; colours and modes are skipped."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._lines: list[list[str]] = [[]]
        self._row = self._column = 0
        self._rest = ""

    @property
    def text(self) -> str:
        """All lines, without the blanks at their ends."""
        return "\n".join("".join(line).rstrip() for line in self._lines)

    def feed(self, text: str) -> None:
        """Take what the program wrote next."""
        text, self._rest = self._rest + text, ""
        for piece in PIECE.finditer(text):
            if piece["rest"] is not None:
                self._rest = piece["rest"]
            elif piece["text"] is not None:
                for character in piece["text"]:
                    self._put(character)
            elif piece["control"] is not None:
                self._control(piece["control"])
            elif piece["final"] is not None:
                number = piece["arguments"].split(";")[0]
                self._sequence(piece["final"], int(number) if number.isdigit() else -1)

    def _put(self, character: str) -> None:
        line = self._lines[self._row]
        line += [" "] * (self._column - len(line))
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        line[self._column : self._column + width] = [character, ""][:width]
        self._column += width

    def _control(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append([])
        elif character == "\b":
            self._column = max(0, self._column - 1)

    def _sequence(self, final: str, number: int) -> None:
        step = max(1, number)
        if final == "A":
            self._row = max(0, len(self._lines) - self._rows, self._row - step)
        elif final == "B":
            self._row = min(len(self._lines) - 1, self._row + step)
        elif final == "C":
            self._column += step
        elif final == "D":
            self._column = max(0, self._column - step)
        elif final == "K" and number <= 0:
            del self._lines[self._row][self._column :]
        elif final == "J" and number <= 0:
            del self._lines[self._row][self._column :]
            del self._lines[self._row + 1 :]
