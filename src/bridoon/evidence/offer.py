"""The tools that a ledger lends to a run: `capability`, and registered commands that the model may call by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from bridoon.catalog.lookup import Catalog, Executable
from bridoon.catalog.sources import NearMiss, Source
from bridoon.evidence import excerpt, registry, released
from bridoon.evidence.command import CallFailed, call, schema
from bridoon.evidence.registry import Registry
from bridoon.evidence.trust import barred, distrust
from bridoon.ledger import argspec
from bridoon.ledger.judge import posture
from bridoon.ledger.place import find
from bridoon.ledger.registry import Tool
from bridoon.sdk.script import Context, DropIn, Result
from bridoon.toolkit import arguments
from bridoon.toolkit.outcome import answer

CALLABLE = ("cli", "binary")
MOST = 64
"""Registered tools that are lent to a model."""

ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", re.ASCII)
"""Names of arguments that every model API accepts."""

NAME = {"type": "string", "description": "such as impact-analysis"}

Barred = Callable[[], Mapping[str, str]]
"""Tells which tools may not be used, and why."""

MOST_LISTED = 40
"""Providers that `capability` tells of."""


def capability_tool(known: Registry, failed: set[str], barred: Barred) -> DropIn:
    """The tool `capability`: posture and providers of one."""

    def body(given: dict[str, Any], context: Context) -> Result:
        name = arguments.text(given, "name")
        out = barred()
        found = posture.posture(known.look().tools, name, registry.CAN, failed, out)
        lines = [f"capability {found.capability}: {registry.standing(found)}"]
        providers = [*found.present, *found.missing, *found.unknown, *found.unusable, *found.barred]
        for tool in providers[:MOST_LISTED]:
            about = excerpt.line(tool.description, 200)
            checked = f"checked {excerpt.line(tool.checked_at, 20)} UTC" if tool.checked_at else "never checked"
            known_of = f"not trusted: {excerpt.line(out[tool.name], 400)}" if tool.name in out else checked
            lines.append(f"- {excerpt.line(tool.name, 60)}: {about} [{released.target(tool)}; {known_of}]")
        if len(providers) > MOST_LISTED:
            lines.append(f"- ... and {len(providers) - MOST_LISTED} more")
        if note := posture.note(found):
            lines.append(f"note: {excerpt.line(note, 400)}")
        return Result("\n".join(lines))

    about = (
        "Look up what this project has for a purpose, such as impact-analysis, coverage or security-scan: whether it "
        "is inactive, degraded or full, and the tools that provide it."
    )
    return DropIn(
        "tool",
        lambda given, context: answer(body, given, context),
        about,
        {
            "name": "capability",
            "description": about,
            "input_schema": {"type": "object", "properties": {"name": NAME}, "required": ["name"]},
            "annotations": {"concurrent": True, "readOnlyHint": True},
        },
    )


def registered_tool(tool: Tool, root: str, failed: set[str]) -> DropIn:
    """A registered command as a tool of its name."""
    args = argspec.read(tool.args)

    def body(given: dict[str, Any], context: Context) -> Result:
        try:
            result = call(tool.command, args, given, root, context)
        except CallFailed:
            failed.add(tool.name)
            raise
        if result.failed:
            failed.add(tool.name)
        return result

    about = excerpt.line(tool.description, 200)
    shown = f"{about}\nRuns: {excerpt.line(tool.command, 200)} (registered in the project's ledger)"
    return DropIn(
        "tool",
        lambda given, context: answer(body, given, context),
        about,
        {"name": tool.name, "description": shown, "input_schema": schema(args)},
    )


def is_callable(tool: Tool) -> bool:
    """Whether a model can be given a tool of this name: it has arguments, with names that every API accepts."""
    if tool.kind not in CALLABLE or tool.status == "missing":
        return False
    names = [arg.name for arg in argspec.read(tool.args)]
    return bool(names) and len(set(names)) == len(names) and all(map(ARGUMENT.fullmatch, names))


class Offer:
    """What is lent, made again when the registry changed."""

    def __init__(self, known: Registry, failed: set[str], barred: Barred, notice: Callable[[str], None]) -> None:
        self._registry, self._failed, self._barred, self._notice = known, failed, barred, notice
        self._source = Source(os.path.dirname(known.place.database), "bundled", "ledger")
        self._of: tuple[Tool, ...] | None = None
        self._tools: tuple[Executable, ...] = ()

    def tools(self) -> tuple[Executable, ...]:
        """The tools now."""
        rows = self._registry.look().tools
        if self._of is None or rows is not self._of:
            self._of, self._tools = rows, self._make(rows)
        return self._tools

    def providers(self) -> dict[str, str]:
        """The capability of each registered tool that is lent, by the name that models call it."""
        found = {}
        for tool in self._lendable(self._registry.look().tools):
            if name := posture.spelt(tool.capability):
                found[_called(tool)] = name
        return found

    def withheld(self) -> dict[str, NearMiss]:
        """What would be lent if it were trusted, by its own name and the one that models would call it."""
        out, found = self._barred(), dict[str, NearMiss]()
        for tool in self._registry.look().tools if out else ():
            if tool.name in out and is_callable(tool) and len(found) < 2 * MOST:
                miss = NearMiss(self._path(tool.name), "tools", f"not trusted: {out[tool.name]}")
                found[tool.name] = found[_called(tool)] = miss
        return found

    def lend(self, catalog: Catalog) -> None:
        """Let a catalog have the tools, and know of those that are withheld."""
        catalog.lend("ledger", self.tools())
        catalog.withheld = self.withheld()

    def _lendable(self, rows: tuple[Tool, ...]) -> list[Tool]:
        out = self._barred()
        return [tool for tool in rows if is_callable(tool) and tool.name not in out][:MOST]

    def _make(self, rows: tuple[Tool, ...]) -> tuple[Executable, ...]:
        old = {tool.path: tool for tool in self._tools}
        made = [self._lent("capability", capability_tool(self._registry, self._failed, self._barred), True, "")]
        for tool in self._lendable(rows):
            stamp = repr((tool.command, tool.description, tool.args))
            made.append(
                self._lent(tool.name, registered_tool(tool, self._registry.place.root, self._failed), False, stamp)
            )
        if len(made) > MOST and sum(map(is_callable, rows)) > MOST:
            self._notice(
                f"{self._registry.place.database} lists more than {MOST} tools with arguments: the rest is left out"
            )
        kept = [old[tool.path] if tool.path in old and old[tool.path].stamp == tool.stamp else tool for tool in made]
        return tuple(kept)

    def _lent(self, name: str, declared: DropIn, ours: bool, content: str) -> Executable:
        import zlib

        data = content.encode("utf-8", "replace")
        stamp = (zlib.crc32(data), len(data), 0)
        return Executable(self._path(name), excerpt.line(name, 80), "tools", self._source, ours, stamp, declared)

    def _path(self, name: str) -> str:
        return f"{self._registry.place.database} ({excerpt.line(name, 80)})"


def lend_in(catalog: Catalog, env: Mapping[str, str]) -> None:
    """Lend what a run in the catalog's directory would have."""
    known = Registry(find(env, catalog.cwd), env)
    seen = known.look()
    if seen.schema:
        why = distrust(catalog.trust, env, known.place) if seen.tools else ""
        out = barred(catalog.trust, env, known.place, seen, why)
        Offer(known, set(), lambda: out, catalog.alarm).lend(catalog)


def _called(tool: Tool) -> str:
    from bridoon.catalog.schemas import NAME_LIMIT

    return re.sub(r"[^A-Za-z0-9_-]", "_", tool.name.strip())[:NAME_LIMIT]
