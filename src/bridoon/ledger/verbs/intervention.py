"""`intervention`: where somebody had to correct, override, escalate or approve."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import Op
from bridoon.ledger.verbs.intake import unknown_story


def add(ledger: Ledger, given: Given) -> Answer:
    """Record an intervention."""
    kind, source = given.text("--type"), given.text("--source")
    vocabulary.one_of(kind, vocabulary.INTERVENTION_TYPES, "intervention add: --type cannot be")
    vocabulary.one_of(source, vocabulary.INTERVENTION_SOURCES, "intervention add: --source cannot be")
    trace = vocabulary.integer(given.get("--trace"), "intervention add: --trace")
    payload = {
        "trace_id": trace,
        "story_id": given.get("--story"),
        "type": kind,
        "description": given.text("--description"),
        "source": source,
        "impact": given.get("--impact"),
    }
    with ledger.writing() as write:
        if trace is not None:
            payload["trace_uid"] = write.uid_of("trace", trace, "trace") or None
        row = write.do(Op("intervention.add", payload))
        note = unknown_story(write, given.get("--story"))
    return Answer(f"Intervention #{row} recorded.", {"id": row}, note=note)
