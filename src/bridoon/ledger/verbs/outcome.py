"""`backlog outcome record`: what an implemented improvement has turned out to bring."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import Conflict, Invalid, missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.schema import WHOLE


def record(ledger: Ledger, given: Given) -> Answer:
    """Add an observation; earlier ones stay."""
    item = vocabulary.integer(given.text("--id"), "backlog outcome record: --id")
    status = vocabulary.one_of(
        given.text("--status"), vocabulary.OBSERVATIONS, "backlog outcome record: --status cannot be"
    )
    outcome = given.text("--outcome")
    if not outcome.strip():
        raise Invalid("backlog outcome record: --outcome is blank", "say what was observed")
    with ledger.writing() as write:
        write.need(WHOLE, "backlog outcome record")
        row = write.one("SELECT uid, status, proposal_key FROM backlog WHERE id=?", item)
        if row is None:
            raise missing("backlog item", item)
        if not row[0] or not row[2]:
            raise Conflict(
                f"backlog item #{item} is no proposal: it has no key",
                f"harness-cli backlog close --id {item} --outcome TEXT writes its outcome down",
            )
        if row[1] != "implemented":
            raise Conflict(f"backlog item #{item} is {row[1]}; outcomes are of implemented ones", "close it first")
        sql = "SELECT coalesce(max(ordinal), 0) + 1 FROM backlog_outcome_observation WHERE backlog_uid=?"
        ordinal = write.one(sql, row[0])[0]
        payload = {
            "backlog_uid": row[0],
            "ordinal": ordinal,
            "status": status,
            "outcome": outcome,
            "evidence": given.get("--evidence"),
        }
        write.do(Op("backlog.outcome.observe", payload))
    return Answer(
        f"Outcome {ordinal} of backlog #{item} recorded: {status}.",
        {"id": item, "ordinal": ordinal, "status": status},
    )
