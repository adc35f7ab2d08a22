"""The tool calls of a run, as its messages tell them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bridoon.evidence import excerpt
from bridoon.model.message import Message, ToolCall, ToolResult

REFUSED = "refused by hook "
"""How the result of a call begins that a gate did not let pass."""
NOT_RUN = "not run: "
INTERRUPTED = "interrupted: "
"""How results begin that were put in the place of missing ones."""

READS = ("read_file",)
CHANGES = ("write_file", "edit_file")


class Done(NamedTuple):
    """One call and what became of it."""

    name: str
    input: dict[str, Any]
    content: str
    failed: bool

    @property
    def refused_by(self) -> str:
        """The gate that did not let it pass; empty when none did."""
        if not self.failed or not self.content.startswith(REFUSED):
            return ""
        words = self.content[len(REFUSED) :].split(None, 1)
        return excerpt.line(words[0].rstrip(":") if words else "", 60) or "a hook"

    @property
    def ran(self) -> bool:
        """Whether it was started, or may have been."""
        return not (self.failed and self.content.startswith((REFUSED, NOT_RUN)))

    @property
    def path(self) -> str:
        """The file that a call of a file tool is about; empty for others."""
        path = self.input.get("path")
        return path if self.name in (*READS, *CHANGES) and isinstance(path, str) else ""


def calls(messages: Iterable[Message]) -> list[Done]:
    """The calls of these messages, in order. One without a result counts as interrupted."""
    found: list[list[Any]] = []
    waiting: dict[str, list[Any]] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                entry = [part.name, part.input, INTERRUPTED + "no result was recorded", True]
                found.append(entry)
                waiting[part.id] = entry
            elif isinstance(part, ToolResult) and part.call_id in waiting:
                waiting.pop(part.call_id)[2:] = [part.content, part.failed]
    return [Done(*entry) for entry in found]


def actions(done: Sequence[Done]) -> list[str]:
    """The tools that were called, how often, and the beginnings of the first arguments."""
    groups: dict[str, list[Done]] = {}
    for call in done:
        if call.ran:
            groups.setdefault(excerpt.line(call.name, 64) or "?", []).append(call)
    found = []
    for name, group in groups.items():
        shown = list(dict.fromkeys(text for call in group if (text := argument(call.input))))
        more = "; ..." if len(shown) > 3 else ""
        count = f" x{len(group)}" if len(group) > 1 else ""
        found.append(f"{name}{count}" + (f": {'; '.join(shown[:3])}{more}" if shown else ""))
    return excerpt.several(found, 40)


def argument(given: dict[str, Any]) -> str:
    """The argument that says most about a call, cut short."""
    for key in ("command", "path", "name", "prompt"):
        if isinstance(given.get(key), str) and given[key].strip():
            return excerpt.first_line(given[key], 60)
    return next((excerpt.first_line(value, 60) for value in given.values() if isinstance(value, str) and value), "")


def errors(done: Sequence[Done]) -> list[str]:
    """What failed, in its first words; the same failure once."""
    found = [f"{excerpt.line(call.name, 64)}: {failure(call)}" for call in done if call.failed and call.ran]
    found += [
        f"refused: {excerpt.line(call.name, 64)}: {excerpt.line(call.content, 160)}" for call in done if call.refused_by
    ]
    return excerpt.several(list(dict.fromkeys(found)), 30)


def failure(call: Done) -> str:
    """Why a call failed: the last line that a command left its status in, after its first words."""
    lines = call.content.strip().splitlines()
    first = excerpt.line(lines[0], 160) if lines else "failed"
    last = excerpt.line(lines[-1], 60) if len(lines) > 1 and lines[-1].startswith("[") else ""
    return f"{first} {last}".rstrip()


def friction(done: Sequence[Done]) -> list[str]:
    """What was in the way, in words that are the same every time it happens: a refusal, a tool that failed again and
    again."""
    found = [
        f"a call of {excerpt.line(call.name, 64)} was refused by {call.refused_by}" for call in done if call.refused_by
    ]
    failures: dict[str, int] = {}
    for call in done:
        if call.failed and call.ran and not call.content.startswith(INTERRUPTED):
            failures[call.name] = failures.get(call.name, 0) + 1
    found += [f"the tool {excerpt.line(name, 64)} failed three times or more" for name, n in failures.items() if n > 2]
    return excerpt.several(list(dict.fromkeys(found)), 10)


def files(done: Sequence[Done], tools: Sequence[str], cwd: str, root: str) -> list[str]:
    """The files that successful calls of these tools were about, relative to `root` where they lie in it."""
    paths = [relative(call.path, cwd, root) for call in done if call.path and call.name in tools and not call.failed]
    return list(dict.fromkeys(paths))


def relative(path: str, cwd: str, root: str) -> str:
    """A path as a trace tells it."""
    if path == "~" or path.startswith("~/"):
        return excerpt.line(path, 400)
    whole = os.path.normpath(os.path.join(cwd, path))
    inside = whole.startswith(root.rstrip("/") + "/")
    return excerpt.line(os.path.relpath(whole, root) if inside else whole, 400)
