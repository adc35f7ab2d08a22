"""`tool`: what a project equips the harness with, and whether it is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.errors import Invalid
from bridoon.ledger.judge.probe import Verdict, probe
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.registry import Tool, registered, short
from bridoon.ledger.store.op import Op

COLUMNS = ("name", "kind", "capability", "status", "detail")
LONGEST_NAME = 200


class Checked(NamedTuple):
    """What a check found."""

    found: list[tuple[Tool, Verdict]]
    """In the order of the names; recorded."""
    changed: list[str]
    """Tools that were removed or registered anew while they were probed: nothing was recorded for them."""


def register(ledger: Ledger, given: Given) -> Answer:
    """Register a tool."""
    name = given.text("--name")
    payload = _payload(ledger, given)
    _check_name(name)
    with ledger.writing() as write:
        write.do(Op("tool.register", payload, id=name))
    kind, capability = payload["kind"], payload["capability"]
    return Answer(
        f"Tool {name} registered.",
        {"name": name, "kind": kind, "capability": capability, "status": "unknown"},
        note="; ".join(filter(None, (_shadow(name), _unseen(ledger, payload)))),
    )


def check(ledger: Ledger, given: Given) -> Answer:
    """Find out which tools are there, and record it."""
    name = given.get("--name")
    checked = check_presence(ledger, name)
    rows = [(tool.name, tool.kind, tool.capability, verdict.status, verdict.detail) for tool, verdict in checked.found]
    told = checked.changed[:5]
    warnings = [f"tool {each[:80]!r} is not the same any more: its status was left alone" for each in told]
    absent = name is not None and not rows and not warnings
    strict = given.has("--strict") and (absent or any(verdict.status != "present" for _, verdict in checked.found))
    return Answer(
        Table(COLUMNS, [tuple("-" if cell is None else short(cell) for cell in row[:-1]) + row[-1:] for row in rows]),
        [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        code=1 if strict else 0,
        warning="; ".join(warnings),
        bare=True,
        note=f"no tool is called {(name or '')[:80]!r}; harness-cli query tools lists them" if absent else "",
    )


def remove(ledger: Ledger, given: Given) -> Answer:
    """Take a tool away."""
    name = given.text("--name")
    with ledger.writing() as write:
        write.do(Op("tool.remove", {}, id=name))
    return Answer(f"Tool {name} removed.", {"name": name})


def check_presence(ledger: Ledger, name: str | None = None, *, skip: Collection[str] = ()) -> Checked:
    """Probe all tools but those of `skip`, or the one of that name, and record the verdicts in one transaction.

    The database is not held while tools are probed; a tool that is not the same any more afterwards is left alone.
    Raises what `Ledger.reading` and `Ledger.writing` raise.
    """
    with ledger.reading() as read:
        tools = [tool for tool in registered(read, name) if tool.name not in skip]
    verdicts = probe(tools, ledger.place.root, ledger.env)
    if not tools:
        return Checked([], [])
    found, changed = [], []
    with ledger.writing() as write:
        present = {_identity(tool) for tool in registered(write, name)}
        for tool, verdict in zip(tools, verdicts, strict=True):
            named = write.one("SELECT 1 FROM tool WHERE name=?", tool.name)  # not: NULL, or bytes that are no text
            if named and _identity(tool) in present:
                write.do(Op("tool.check", {"status": verdict.status, "detail": verdict.detail}, id=tool.name))
                found.append((tool, verdict))
            else:
                changed.append(tool.name)
    return Checked(found, changed)


def _identity(tool: Tool) -> tuple[str | None, ...]:
    """What a verdict is about."""
    return tool.name, tool.created_at, tool.kind, tool.command, tool.scan_target


def _payload(ledger: Ledger, given: Given) -> dict[str, str | None]:
    """What is registered, checked in the order that the other harness-cli has, too."""
    from bridoon.ledger import argspec

    kind = given.text("--kind").strip().lower()
    vocabulary.one_of(kind, vocabulary.TOOL_KINDS, "tool register: --kind cannot be")
    capability = given.get("--capability")
    capability = None if capability is None else vocabulary.capability(capability)
    responsibility = vocabulary.responsibility(given.text("--responsibility"))
    args = argspec.stored(argspec.parse(given.get("--args")))
    description = given.text("--description").strip()
    if not 10 <= len(description) <= 200:
        raise Invalid(
            f"tool register: --description must have 10 to 200 characters, not {len(description)}",
            "a sentence that tells an agent what it is for",
        )
    command = given.text("--command")
    if kind in ("cli", "binary"):
        _check_command(ledger, command, force=given.has("--force"))
    return {
        "command": command,
        "description": description,
        "args": args,
        "responsibility": responsibility,
        "kind": kind,
        "capability": capability,
        "scan_target": given.text("--scan").strip() or None,
    }


def _check_command(ledger: Ledger, command: str, *, force: bool) -> None:
    from bridoon.ledger.judge.command import find

    if not command.strip():
        raise Invalid("tool register: --command must name a program", "for example --command ./scripts/check.sh")
    found = find(command, ledger.place.root, ledger.env)
    if not found.path and not force:
        raise Invalid(
            f"tool register: --command {command[:80]!r} cannot be found: {found.reason}",
            "give a path below the repository or a program on PATH; --force registers what is absent on purpose",
        )


def _check_name(name: str) -> None:
    if not name.strip():
        raise Invalid("tool register: --name must not be blank", "for example --name deploy-check")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise Invalid(
            f"tool register: --name {name[:60]!r} cannot name a tool",
            f"use at most {LONGEST_NAME} characters, and no control characters",
        )


def _shadow(name: str) -> str:
    """What to say when a tool is called like a command of ours."""
    from bridoon.ledger.cmdline.manifest import entries

    taken = any(entry.name == name for entry in entries())
    return f"{name!r} is a command of harness-cli, too: query tools lists both" if taken else ""


def _unseen(ledger: Ledger, payload: Mapping[str, str | None]) -> str:
    """What to say when a check will not find what is registered, though it may be there."""
    command = payload["command"] or ""
    if payload["kind"] in ("cli", "binary"):
        import os
        import shlex

        from bridoon.ledger.judge.command import find

        found = find(command, ledger.place.root, ledger.env)
        if not found.path or found.executable:
            return ""
        path = shlex.quote(os.path.normpath(found.path))
        return f"{command[:80]!r} is not executable, and counts as missing until it is: chmod +x {path}"
    place = "://" in command or (not command.startswith(("mcp:", "skill:")) and command[:1] in (".", "/", "~"))
    place = place and not command.split()[1:]
    if payload["scan_target"] or not (place or payload["kind"] == "http"):
        return ""
    target = command[:80] if place else "URL"
    return f"without --scan its presence stays unknown: --scan {target} lets tool check look for it"
