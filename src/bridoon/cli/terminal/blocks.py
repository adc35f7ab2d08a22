"""Cuts Markdown that is still being written into blocks that are finished and one that is open."""

from __future__ import annotations

import re

FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^\n]*)")
HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
ITEM = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
INDENT = 2
"""Columns from which a line after a blank one goes on with a list's item."""


class Blocks:
    """Takes text in pieces of any size and gives back blocks, each as soon as it is certain where it ends.

    Nothing is lost: all blocks and the open one, joined, are the text. How it came in pieces does not matter.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._tail = ""
        self._fence = ""
        self._list = False
        self._blank = False

    @property
    def open(self) -> str:
        """The block that may still grow."""
        return "".join(self._lines) + self._tail

    def open_end(self, lines: int) -> str:
        """The last lines of the open block, with the opening fence when they are code."""
        if len(self._lines) <= lines:
            return self.open
        first = self._lines[0] if self._fence else ""
        return first + "".join(self._lines[-lines:]) + self._tail

    def feed(self, text: str) -> list[str]:
        """Add a piece; the blocks that it finishes."""
        finished: list[str] = []
        *lines, self._tail = (self._tail + text).split("\n")
        for line in lines:
            self._line(line, finished)
        if self._blank and self._tail.strip(" \t") and not self._goes_on(self._tail):
            self._cut(finished)
        return finished

    def finish(self) -> list[str]:
        """The text has ended: what was open, if it says anything."""
        rest, self._tail = self.open, ""
        self._cut([])
        return [rest] if rest else []

    def _line(self, line: str, finished: list[str]) -> None:
        if self._fence:
            self._lines.append(line + "\n")
            if self._closes(line):
                self._fence = ""
                if not self._list:
                    self._cut(finished)
            return
        if not line.strip():
            self._lines.append(line + "\n")
            self._blank = True
            return
        if self._blank and not self._goes_on(line):
            self._cut(finished)
        self._blank = False
        fence = self._opens(line)
        heading = bool(HEADING.match(line))
        if (heading or fence) and not (self._list and line[:1] in " \t"):
            self._cut(finished)
        self._list = self._list or bool(ITEM.match(line))
        self._fence = fence
        self._lines.append(line + "\n")
        if heading and not self._list:
            self._cut(finished)

    def _goes_on(self, line: str) -> bool:
        """Whether a line after a blank one belongs to the block before it."""
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        return self._list and len(indent.expandtabs(4)) >= INDENT

    def _opens(self, line: str) -> str:
        found = FENCE.match(line)
        if found is None or (found[2][0] == "`" and "`" in found[3]):
            return ""
        if not self._list and len(found[1].expandtabs(4)) > 3:
            return ""
        return found[2]

    def _closes(self, line: str) -> bool:
        mark = line.strip()
        return len(mark) >= len(self._fence) and not mark.strip(self._fence[0])

    def _cut(self, finished: list[str]) -> None:
        if self._lines:
            finished.append("".join(self._lines))
        self._lines, self._list, self._blank = [], False, False
