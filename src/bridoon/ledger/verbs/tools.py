"""`query tools`: the commands of harness-cli itself, the tools that a project registered, and how far they go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridoon.errors import UsageError
from bridoon.ledger import argspec, vocabulary
from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.judge import posture
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.registry import Tool, registered, short

COLUMNS = ("name", "kind", "capability", "responsibility", "status", "source")
Record = dict[str, Any]


def query(ledger: Ledger, given: Given) -> Answer:
    """What there is, filtered; with `--posture`, what that means for a capability."""
    responsibility, capability, status = given.get("--responsibility"), given.get("--capability"), given.get("--status")
    responsibility = None if responsibility is None else vocabulary.responsibility(responsibility)
    capability = None if capability is None else vocabulary.capability(capability)
    status = None if status is None else status.strip().lower()
    can = posture.kinds(given.get("--can"))
    _check_options(given)
    with ledger.reading() as read:
        tools = registered(read)
    records = [] if capability is not None else list(_compiled())
    records += [record(tool) for tool in tools if capability is None or posture.provides(tool, capability)]
    records = [
        each
        for each in records
        if (responsibility is None or vocabulary.token(each["responsibility"]) == vocabulary.token(responsibility))
        and (status is None or each["status"] == status)
    ]
    remark = ""
    if status is not None and status not in vocabulary.TOOL_STATUSES:
        remark = f"no tool has the status {status[:40]!r}: it is one of " + ", ".join(vocabulary.TOOL_STATUSES)
    table = Table(COLUMNS, [tuple(short(each[column] or "") for column in COLUMNS) for each in records])
    if capability is None or not given.has("--posture"):
        return Answer(table, records, note=remark, bare=True)
    found = posture.posture(tools, capability, can)
    return Answer(_told(table, found), _data(found), note=remark)


def record(tool: Tool) -> Record:
    """A registered tool as `--json` shows it."""
    return {
        "provider": tool.provider,
        "name": tool.name,
        "command": tool.command,
        "description": tool.description,
        "args": [arg._asdict() for arg in argspec.read(tool.args)],
        "responsibility": tool.responsibility,
        "source": "registered",
        "since": tool.since,
        "kind": tool.kind,
        "capability": tool.capability,
        "scan_target": tool.scan_target,
        "status": tool.status,
        "checked_at": tool.checked_at,
    }


def _compiled() -> Iterable[Record]:
    """The commands of harness-cli, in their order."""
    from bridoon.ledger.cmdline.manifest import entries

    for entry in entries():
        yield {
            "provider": "harness-cli",
            "name": entry.name,
            "command": entry.name,
            "description": entry.purpose,
            "args": [arg._asdict() for arg in entry.args],
            "responsibility": entry.responsibility,
            "source": "compiled",
            "since": entry.since,
            "kind": "builtin",
            "capability": None,
            "scan_target": None,
            "status": "present",
            "checked_at": None,
        }


def _check_options(given: Given) -> None:
    """Raise UsageError for options that mean nothing without another one."""
    for option, other in (("--posture", "--capability"), ("--can", "--posture")):
        if given.has(option) and not given.has(other):
            raise UsageError(
                f"query tools: {option} needs {other}", "query tools --capability NAME --posture --can KINDS"
            )


def _told(table: Table, found: posture.Posture) -> str:
    """The table, and below it the posture with the providers by status."""
    from bridoon.ledger.show.table import layout
    from bridoon.ledger.show.text import clean

    lines = ["", f"Posture of {found.capability}: {found.posture} ({len(found.present)} of {found.providers} present)"]
    groups = {
        "Present": found.present,
        "Missing": found.missing,
        "Unconfirmed": found.unknown,
        "Of a kind that cannot be used": found.unusable,
    }
    for heading, tools in groups.items():
        if tools:
            lines.append(f"  {heading}: " + ", ".join(clean(short(tool.name)) for tool in tools))
    if line := posture.note(found):
        lines.append(f"  Note for the trace: {line}")
    return layout(table.columns, table.rows) + "\n".join(lines)


def _data(found: posture.Posture) -> Record:
    return {
        "capability": found.capability,
        "posture": found.posture,
        "providers": found.providers,
        "present": [record(tool) for tool in found.present],
        "missing": [record(tool) for tool in found.missing],
        "unknown": [record(tool) for tool in found.unknown],
        "unusable": [record(tool) for tool in found.unusable],
        "note": posture.note(found),
    }
