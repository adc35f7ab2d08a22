"""Colours and Markdown as text for a terminal, or plain text where neither is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from bridoon.cli.show import clean_lines

STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "you": "1;36", "agent": "1;33"}

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""An escape sequence that changes how text looks, and nothing else."""


def wanted(env: Mapping[str, str]) -> bool:
    """Whether this terminal should get colours."""
    return not env.get("NO_COLOR") and env.get("TERM", "dumb") not in ("", "dumb")


class Paint:
    """Turns words into what a terminal of `columns()` columns shows. Safe in any thread."""

    def __init__(self, colours: bool, columns: Callable[[], int]) -> None:
        self.colours = colours
        self.columns = columns

    def style(self, name: str, text: str) -> str:
        """The text in one of STYLES; control characters in it are made visible."""
        shown = clean_lines(text)
        return f"\x1b[{STYLES[name]}m{shown}\x1b[0m" if self.colours and shown else shown

    def markdown(self, text: str) -> str:
        """A piece of Markdown, wrapped and coloured, without empty lines around it."""
        shown = clean_lines(text).strip("\n")
        if not self.colours or not shown.strip():
            return shown.rstrip()
        from bridoon.cli.terminal.markdown import rendered

        try:
            lines = [line.rstrip(" \t") for line in rendered(shown, self.columns()).split("\n")]
        except Exception:  # a text that the renderer stumbles over must not stop a run
            return shown.rstrip()
        while lines and not COLOUR.sub("", lines[0]).strip():
            lines.pop(0)
        while lines and not COLOUR.sub("", lines[-1]).strip():
            lines.pop()
        return "\n".join(lines)

    def warm(self) -> None:
        """Load what Markdown needs, so that the first answer does not wait for it."""
        if self.colours:
            from bridoon.cli.terminal import markdown  # noqa: F401
