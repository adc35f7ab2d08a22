"""A tool's result as people see it: a header, the arguments, the first lines of the text."""

from __future__ import annotations

from typing import Any

LINES = 30
"""Lines of a result that are shown."""

WIDTH = 50


def tool_text(name: str, given: dict[str, Any], result: str, failed: bool) -> str:
    """The `tool_output` text of the `.stream` protocol (spec of its shape: header line, indented arguments, result)."""
    header = f"── {name} " + "─" * max(1, WIDTH - len(name))
    lines = [header, *(f"  {line}" for line in arguments(name, given))]
    shown = result.split("\n") if result else []
    lines += [f"  {line}" for line in shown[:LINES]]
    if len(shown) > LINES:
        lines.append(f"  ... ({len(shown) - LINES} more lines)")
    if failed:
        lines.append("  (error)")
    return "\n".join(lines)


def arguments(name: str, given: dict[str, Any]) -> list[str]:
    """The arguments of a call as lines: a shell command as it is, anything else as key=value."""
    if name == "bash" and isinstance(given.get("command"), str):
        return list(given["command"].split("\n"))
    lines = []
    for key, value in given.items():
        text = value if isinstance(value, str) else repr(value)
        lines.append(f"{key}={text if len(text) <= 200 else text[:200] + '…'}".replace("\n", "\\n"))
    return lines
