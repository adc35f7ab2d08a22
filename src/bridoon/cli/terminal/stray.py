"""What is printed while a screen draws: it is shown like everything else, and disturbs nothing."""

from __future__ import annotations

from collections.abc import Callable


class Stray:
    """Takes text like a stream and hands on whole lines."""

    encoding = "utf-8"

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._rest = show, ""

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            self._show("\n".join(lines))
        return len(text)

    def flush(self) -> None:
        """Whole lines are shown at once; a part of one waits for its end."""

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError("this stream has no descriptor")
