"""Tool calls as a person reads them: a line for the call, the beginning of its result, where the rest is."""

from __future__ import annotations

from typing import Any

from bridoon.cli.show import clean_lines, squeeze
from bridoon.loop.display import arguments

RESULT_LINES = 8
"""Lines of a result that the REPL shows."""

FIRST = ("command", "path", "file_path", "pattern", "query", "url", "prompt", "name")
"""Arguments that say most about a call, shown without their name when they are alone or first."""


def title(name: str, given: dict[str, Any], width: int) -> str:
    """A call as one line: the tool and its arguments, the telling one first."""
    parts: list[str] = []
    for key in sorted(given, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST)):
        value = given[key]
        text = value if isinstance(value, str) else repr(value)
        parts.append(text if not parts and key in FIRST else f"{key}={text}")
    return squeeze(f"{name} {' '.join(parts)}", max(20, width))


def result_of(text: str, name: str, given: dict[str, Any]) -> tuple[list[str], int]:
    """The lines of a result out of a `tool_output` text, and how many lines that text leaves out."""
    lines = text.split("\n")
    body = lines[1 + len(arguments(name, given)) :] if lines[0].startswith("── ") else lines
    body = [line.removeprefix("  ") for line in body]
    if body and body[-1] == "(error)":
        body.pop()
    left_out = 0
    if body and body[-1].startswith("... (") and body[-1].endswith(" more lines)"):
        count = body.pop()[5:].split(" ", 1)[0]
        left_out = int(count) if count.isdigit() else 0
    while body and not body[-1].strip():
        body.pop()
    return [clean_lines(line) for line in body], left_out


def shortened(lines: list[str], left_out: int, where: str, width: int = 200) -> list[str]:
    """The beginning of a result: lines cut to `width`, one that says how many more there are and where."""
    whole = len(lines) + left_out <= RESULT_LINES
    shown = lines if whole else lines[: RESULT_LINES - 1]
    cut = any(len(line) > width for line in shown)
    shown = [line if len(line) <= width else line[: width - 1] + "…" for line in shown]
    if not whole:
        return [
            *shown,
            f"… {len(lines) - len(shown) + left_out} more lines" + (f": {where}" if where else ""),
        ]
    return [*shown, f"… whole: {where}"] if cut and where else shown


def duration(seconds: float) -> str:
    """A time for people: `0.4 s`, `12 s`, `3 min 05 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def amount(tokens: int) -> str:
    """A number of tokens for people: `950`, `1.2k`, `64k`, `1.1M`."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 999_500:
        return f"{tokens / 1000:.1f}k" if tokens < 9_950 else f"{tokens / 1000:.0f}k"
    return f"{tokens / 1_000_000:.1f}M"
