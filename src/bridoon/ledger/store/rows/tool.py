"""Rows of the table `tool`: what a project equips the harness with."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.errors import Conflict
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target

FOREIGN = "bridoon_foreign_tool"

REGISTERED = ("command", "description", "args", "responsibility", "kind", "capability", "scan_target")


def tool_register(target: Target, op: Op) -> None:
    """Add a tool. Raises Conflict when the name is taken; the same registration from elsewhere changes nothing."""
    known = target.one(f"SELECT {', '.join(REGISTERED)} FROM tool WHERE name=?", op.id)
    if known is None:
        values = {field: op.get(field) for field in REGISTERED}
        target.insert("tool", {"name": op.id, **values, "created_at": op.get("created_at") or target.now})
        _note_origin(target, op)
    elif not target.replaying or tuple(known) != tuple(op.get(field) for field in REGISTERED):
        raise Conflict(
            f"a tool {str(op.id)[:80]!r} is registered already; its command is {str(known[0])[:80]!r}",
            "choose another name, or take the old one away first: harness-cli tool remove --name NAME",
        )


def tool_check(target: Target, op: Op) -> None:
    """Note whether a tool is there. Raises Missing when it is not registered, Invalid for a status of another kind."""
    status = vocabulary.one_of(str(op.get("status")), vocabulary.TOOL_STATUSES, "tool.check: status")
    target.must_have("tool", "name", op.id, "tool")
    target.update("tool", "name", op.id, {"status": status, "checked_at": op.get("checked_at") or target.now})


def tool_remove(target: Target, op: Op) -> None:
    """Take a tool away. Raises Missing when it is not registered."""
    target.must_have("tool", "name", op.id, "tool")
    target.db.execute("DELETE FROM tool WHERE name=?", (op.id,))
    _forget_origin(target, op)


def _note_origin(target: Target, op: Op) -> None:
    """Remember who registered a tool: what came in a changeset is somebody else's command, until it is trusted."""
    _forget_origin(target, op)
    if target.replaying:
        target.insert(FOREIGN, {"name": op.id})


def _forget_origin(target: Target, op: Op) -> None:
    if target.columns(FOREIGN):
        target.db.execute(f"DELETE FROM {FOREIGN} WHERE name=?", (op.id,))
