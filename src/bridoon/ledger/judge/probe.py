"""Presence of tools: what is there right now, all of them at once, within one budget of time for each.

A probe looks at files and opens TCP connections, which it closes at once. It runs nothing and sends nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from bridoon.ledger.judge import command

BUDGET = 2.0
"""Seconds for each tool, whatever it takes: names to resolve, addresses to try, paths to look at."""
LONGEST_DETAIL = 400
"""Characters of a command or target that are shown again."""
NO_TARGET = "no scan target: confirm at call time"
TIMEOUT = "no answer within {:g} s"


class Probed(Protocol):
    """What a probe wants to know of a tool."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def scan_target(self) -> str | None: ...


class Verdict(NamedTuple):
    """What was found."""

    name: str
    status: str
    """`present`, `missing` or `unknown`."""
    detail: str
    """What was looked at, and in brackets what is wrong with it."""


Found = tuple[str, str]
"""A status, and the reason when it is not `present`."""


def probe(tools: Sequence[Probed], root: str, env: Mapping[str, str], budget: float = BUDGET) -> list[Verdict]:
    """A verdict for each tool, in their order. Never raises for what a tool says; takes about `budget` seconds at most.

    `root` is where relative paths begin; `env` gives PATH and HOME.
    """
    from bridoon.ledger.judge import reach

    found: dict[int, Found] = {}
    looks: dict[int, Callable[[], Found]] = {}
    calls: dict[int, reach.Endpoint] = {}
    for number, tool in enumerate(tools):
        target = (tool.scan_target or "").strip()
        if tool.kind in ("cli", "binary"):
            looks[number] = partial(_look_for_command, tool.command, root, env)
        elif tool.kind not in ("mcp", "skill", "http"):
            found[number] = ("unknown", f"no such kind of tool: {tool.kind[:40]!r}")
        elif not target:
            found[number] = ("unknown", "")
        elif reach.is_url(target):
            try:
                calls[number] = reach.endpoint(target)
            except ValueError as wrong:
                found[number] = ("missing", str(wrong))
        else:
            looks[number] = partial(_look_for_path, target, root, env, tool.kind)
    seen, called = reach.survey(looks, list(dict.fromkeys(calls.values())), budget)
    late = TIMEOUT.format(budget)
    for number in looks:
        found[number] = seen.get(number, ("unknown", late))
    for number, where in calls.items():
        reason = called.get(where, late)
        found[number] = ("missing", reason) if reason else ("present", "")
    return [_verdict(tool, *found[number]) for number, tool in enumerate(tools)]


def _verdict(tool: Probed, status: str, reason: str) -> Verdict:
    if tool.kind in ("cli", "binary"):
        about = tool.command
    else:
        about = (tool.scan_target or "").strip()
        if not about and not reason:
            return Verdict(tool.name, status, NO_TARGET)
    if len(about) > LONGEST_DETAIL:
        about = about[:LONGEST_DETAIL] + "…"
    detail = f"{about} ({reason})" if about and reason else about or reason
    return Verdict(tool.name, status, detail)


def _look_for_command(text: str, root: str, env: Mapping[str, str]) -> Found:
    found = command.find(text, root, env)
    return ("present", "") if found.executable else ("missing", found.reason)


def _look_for_path(target: str, root: str, env: Mapping[str, str], kind: str) -> Found:
    try:
        os.stat(command.place(target, root, env))
    except (OSError, ValueError) as wrong:
        hint = "; an endpoint is written http://HOST:PORT/" if kind == "http" and ":" in target else ""
        return "missing", command.why(wrong) + hint
    return "present", ""
