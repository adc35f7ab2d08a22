"""`decision`: what was decided, and the command that shows whether it still holds."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import Invalid
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.show.text import clean
from bridoon.ledger.store.op import Op


def add(ledger: Ledger, given: Given) -> Answer:
    """Record a decision."""
    name = given.text("--id")
    if not name.strip():
        raise Invalid("decision add: --id is empty", "give it a name, such as 0007-one-write-path")
    status = given.text("--status")
    vocabulary.one_of(status, vocabulary.DECISION_STATUSES, "decision add: --status cannot be")
    payload = {
        "title": given.text("--title"),
        "status": status,
        "doc_path": given.get("--doc"),
        "verify_command": given.get("--verify"),
        "predicted_impact": given.get("--predicted"),
        "notes": given.get("--notes"),
    }
    with ledger.writing() as write:
        write.do(Op("decision.add", payload, id=name))
    return Answer(f"Decision {clean(name)} added.", {"id": name, "status": status})


def verify(ledger: Ledger, given: Given) -> Answer:
    """Run the verify command of a decision and record its verdict."""
    from bridoon.ledger import verify as commands

    name = given.text("id")
    timeout = commands.time_limit(ledger, given.get("--timeout"), "decision verify: --timeout")
    command, verdict = commands.verify(ledger, "decision", name, timeout)
    text = f"Running: {command}\n{verdict.text}Decision {clean(name)} verification: {verdict.result}"
    return Answer(text, {"id": name, "verify_command": command, **verdict.data}, int(not verdict.passed))
