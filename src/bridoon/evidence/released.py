"""Tools that trust releases: listed before a person says yes, and told once when more of them come later."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bridoon.catalog.trust import LISTED, Trust
from bridoon.evidence import excerpt, spool, trust
from bridoon.evidence.registry import Registry
from bridoon.ledger.place import find
from bridoon.ledger.registry import Tool


class Waiting(NamedTuple):
    """Registered tools that wait for trust in a `.harness`."""

    folder: str = ""
    """Where what was told of them is kept."""
    tools: tuple[Tool, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The tools, fit for a terminal."""
        return excerpt.several([line(tool) for tool in self.tools], LISTED)

    def remember(self) -> None:
        """A person has seen them: they are no news any more."""
        try:
            if self.tools:
                remember(self.folder, self.tools)
        except OSError:
            pass  # they are told again, then


def waiting(record: Trust, env: Mapping[str, str], harness: str, cwd: str) -> Waiting:
    """The tools that trusting a `.harness` would release: those of the database beside it, for a person in `cwd`."""
    for here in (cwd, os.path.dirname(harness)):
        place = find(env, here)
        if os.path.isfile(place.database) and _is_same(trust.harness(place), harness):
            break
    else:
        return Waiting()
    seen = Registry(place, env).look()
    if not seen.tools or trust.open_to_others(place):
        return Waiting()
    everything = trust.distrust(record, env, place)
    tools = [tool for tool in seen.tools if everything or tool.name in seen.foreign]
    return Waiting(spool.folder(env["HARNESS_HOME"], place.database), tuple(tools))


def beside(env: Mapping[str, str], cwd: str) -> str:
    """The `.harness` that decides about the tools of the ledger here; empty when there is none."""
    place = find(env, cwd)
    return trust.harness(place) if os.path.isfile(place.database) else ""


def line(tool: Tool) -> str:
    """A tool, on one line: what it would run, or where it would connect."""
    name, kind = excerpt.line(tool.name, 60) or "?", excerpt.line(tool.kind, 12) or "?"
    return f"tool {name} ({kind}): {target(tool)}"


def target(tool: Tool) -> str:
    """What a tool runs, or where it is reached."""
    direct = tool.kind in ("cli", "binary") or not tool.scan_target
    return excerpt.line(tool.command if direct else tool.scan_target, 200)


def news(folder: str, tools: Iterable[Tool]) -> list[Tool]:
    """Those that nobody was told of with the command that they have now."""
    known = spool.read(os.path.join(folder, spool.KNOWN)) or {}
    return [tool for tool in tools if known.get(tool.name) != _mark(tool)]


def remember(folder: str, tools: Iterable[Tool]) -> None:
    """These have been told. Raises OSError."""
    spool.write(folder, spool.KNOWN, {tool.name: _mark(tool) for tool in tools})


def _mark(tool: Tool) -> str:
    import hashlib

    content = repr((tool.kind, tool.command, tool.args, tool.scan_target))
    return hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()


def _is_same(one: str, other: str) -> bool:
    return bool(one) and os.path.realpath(one) == os.path.realpath(other)
