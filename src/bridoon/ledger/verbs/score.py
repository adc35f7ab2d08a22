"""`score-trace` and `score-context`: how well a trace is told, and whether the right files were read."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.judge import quality
from bridoon.ledger.ledger import Ledger


def trace(ledger: Ledger, given: Given) -> Answer:
    """Score a trace, the latest when none is named. Exit 1 when its lane asks for more."""
    wanted = vocabulary.integer(given.get("--id"), "score-trace: --id")
    with ledger.reading() as read:
        found = quality.find(read, wanted)
    verdict = quality.judge(found)
    text = quality.block(found, verdict, latest=wanted is None)
    return Answer(text, quality.facts(found, verdict), 0 if verdict.meets else 1)


def context(ledger: Ledger, given: Given) -> Answer:
    """Score what a trace says was read against the rules of its lane and phase."""
    from bridoon.ledger.judge import context as rules

    wanted = vocabulary.integer(given.text("trace-id"), "score-context: trace-id")
    with ledger.reading() as read:
        found = quality.find(read, wanted)
    score = rules.score(found)
    return Answer(rules.report(found, score), rules.facts(found, score))
