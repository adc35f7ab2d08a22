"""Markdown through rich. Only imported once there is something to render."""

from __future__ import annotations

import io

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text
from rich.theme import Theme

THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "default"})


class _Heading(Heading):
    """A heading that stands where the text stands, without a frame."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        mark = "#" * int(self.tag[1:])
        yield Text(f"{mark} ", style="dim") + self.text


class _Quiet(Markdown):
    """Markdown with plain headings."""

    elements = {**Markdown.elements, "heading_open": _Heading}  # noqa: RUF012 - so is the class it extends


def rendered(text: str, columns: int) -> str:
    """The text with escape sequences for colours only, wrapped to `columns`."""
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        width=max(20, columns),
        legacy_windows=False,
        highlight=False,
        theme=THEME,
    )
    # Links as text: not every terminal knows the sequences, and people should see where a link leads.
    console.print(_Quiet(text, code_theme="ansi_dark", hyperlinks=False))
    return out.getvalue()
