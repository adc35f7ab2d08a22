"""Links from stories to backlog items: which story resolves an item (one at most), and which ones refer to it."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.errors import Conflict, missing
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target

RESOLVES = "resolves"


def story_backlog_link(target: Target, op: Op) -> None:
    """Link a story to a backlog item, or change what their link says."""
    uid = op.payload["backlog_uid"]
    words = vocabulary.RELATIONSHIPS
    relationship = vocabulary.one_of(op.payload["relationship"], words, "a link cannot be of the relationship")
    target.must_have("story", "id", op.id, "story")
    item = target.one("SELECT id, status FROM backlog WHERE uid=?", uid)
    if item is None:
        raise missing("backlog item", uid)
    known = link_of(target, op.id, uid)
    if known == relationship:
        return
    if relationship == RESOLVES:
        _check_resolver(target, op, item[0], item[1])
    else:
        _check_release(target, op, known)
    if known:
        sql = "DELETE FROM story_backlog_link WHERE story_id=? AND backlog_uid=?"
        target.db.execute(sql, (op.id, uid))
    values = {
        "story_id": op.id,
        "backlog_uid": uid,
        "relationship": relationship,
        "linked_at": op.get("linked_at") or target.now,
        "linked_at_unix_ns": op.get("linked_at_unix_ns"),
    }
    target.insert("story_backlog_link", values)
    if RESOLVES in (relationship, known):
        _forget_verdict(target, op.id)


def story_backlog_unlink(target: Target, op: Op) -> None:
    """Remove a link. One that is not there is none to remove."""
    uid = op.payload["backlog_uid"]
    known = link_of(target, op.id, uid)
    _check_release(target, op, known)
    target.db.execute("DELETE FROM story_backlog_link WHERE story_id=? AND backlog_uid=?", (op.id, uid))
    if known == RESOLVES:
        _forget_verdict(target, op.id)


def link_of(target: Target, story: object, uid: str) -> str:
    """What a story is to a backlog item; empty when they are not linked."""
    sql = "SELECT relationship FROM story_backlog_link WHERE story_id=? AND backlog_uid=?"
    row = target.one(sql, story, uid)
    return str(row[0]) if row else ""


def _check_resolver(target: Target, op: Op, item: int, status: str) -> None:
    if status != "accepted":
        raise Conflict(
            f"backlog #{item} is {status}; a story can resolve one that is accepted",
            "accept it first: harness-cli propose --accept KEY, or backlog close --id ID --status accepted",
        )
    (story_status,) = target.one("SELECT status FROM story WHERE id=?", op.id)
    if story_status in ("implemented", "retired"):
        raise Conflict(
            f"story {str(op.id)[:80]!r} is {story_status}: it resolves nothing any more",
            "set its status to changed if there is more to do",
        )
    sql = "SELECT story_id FROM story_backlog_link WHERE backlog_uid=? AND relationship=? AND story_id<>?"
    other = target.one(sql, op.payload["backlog_uid"], RESOLVES, op.id)
    if other:
        raise Conflict(
            f"backlog #{item} is resolved by story {str(other[0])[:80]!r}, and by one story at most",
            "unlink that one first: harness-cli story backlog unlink",
        )


def _check_release(target: Target, op: Op, known: str) -> None:
    """What a story has resolved, it has: the evidence in the backlog names it."""
    if known != RESOLVES:
        return
    sql = "SELECT id, status, resolution_evidence FROM backlog WHERE uid=?"
    row = target.one(sql, op.payload["backlog_uid"])
    if row and row[1] == "implemented" and row[2]:
        raise Conflict(f"backlog #{row[0]} was closed by story {str(op.id)[:80]!r}: their link stays")


def _forget_verdict(target: Target, story: object) -> None:
    target.db.execute(
        "UPDATE story SET last_verified_at=NULL, last_verified_result=NULL "
        "WHERE id=? AND (last_verified_at IS NOT NULL OR last_verified_result IS NOT NULL)",
        (story,),
    )
