"""Registered tools as they stand in the database, whoever wrote them."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridoon.ledger.store.cells import text
from bridoon.ledger.store.db import Read

WIDEST = 200
"""Characters of a cell of a table; JSON has them all."""


class Tool(NamedTuple):
    """One registered tool. All texts may be anything: nothing but our own commands checks what a row holds."""

    name: str
    provider: str
    command: str
    description: str
    args: str | None
    """JSON text; `argspec.read` makes arguments of it."""
    responsibility: str
    since: str
    created_at: str
    kind: str
    capability: str | None
    scan_target: str | None
    status: str
    """`present`, `missing` or `unknown`, as the last check found it."""
    checked_at: str | None


def registered(read: Read, name: str | None = None) -> list[Tool]:
    """All registered tools by name, or the one of that name."""
    where, values = ("WHERE name=?", (name,)) if name is not None else ("", ())
    return [
        _tool(row) for row in read.all(f"SELECT {', '.join(Tool._fields)} FROM tool {where} ORDER BY name", *values)
    ]


def short(cell: str) -> str:
    """A text of a tool as a table shows it: one row of nonsense must not make all of them a megabyte wide."""
    return cell if len(cell) <= WIDEST else cell[: WIDEST - 1] + "…"


def _tool(row: Any) -> Tool:
    """A tool of a row whose columns are in the order of the fields."""
    name, provider, command, description, args, responsibility, since, created_at, kind, *rest = map(text, row)
    capability, scan_target, status, checked_at = rest
    return Tool(
        name or "",
        provider or "",
        command or "",
        description or "",
        args,
        responsibility or "",
        since or "",
        created_at or "",
        (kind or "").strip().lower(),
        capability,
        scan_target,
        (status or "").strip().lower(),
        checked_at,
    )
