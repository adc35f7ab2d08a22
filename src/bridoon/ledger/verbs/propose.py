"""`propose`: what the ledger says could be improved, and what was decided about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridoon.errors import UsageError
from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import Invalid
from bridoon.ledger.judge import audit, lifecycle
from bridoon.ledger.judge.lifecycle import Backlog, State
from bridoon.ledger.judge.proposals import Proposal, proposals
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.store.write import Write, timestamp
from bridoon.ledger.verbs.audit import runnable

if TYPE_CHECKING:
    from bridoon.ledger.judge.deciding import Schedule

HELP = "harness-cli propose --help says what goes together"
SCHEDULES = ("--outcome-manual", "--outcome-due", "--outcome-after-traces")


class Shown(NamedTuple):
    """A proposal as it is listed."""

    proposal: Proposal
    state: State | None
    """None at a schema at which proposals have no life."""
    item: int | None = None
    """Its row in the backlog."""
    created: bool = False


def propose(ledger: Ledger, given: Given) -> Answer:
    """List what could be improved; with --commit put it into the backlog; with --accept or --reject decide one."""
    _check(given)
    if given.has("--accept") or given.has("--reject"):
        return _decide(ledger, given)
    every = given.has("--show-suppressed")
    if given.has("--commit"):
        with ledger.writing() as write:
            shown, hidden, known = _listed(ledger, write, every=every)
            shown = [_put_on_list(write, known, each) for each in shown]
    else:
        with ledger.reading() as read:
            shown, hidden, _ = _listed(ledger, read, every=every)
    return _answer(shown, hidden, committed=given.has("--commit"))


def _put_on_list(write: Write, known: Backlog, each: Shown) -> Shown:
    from bridoon.ledger.judge.deciding import put_on_list

    if each.state is not None and each.state.name == lifecycle.SUPPRESSED:
        return each
    item, created = put_on_list(write, known, each.proposal, each.state or State(lifecycle.NEW, ""))
    state = each.state
    if created and state is not None:
        state = State(lifecycle.PENDING, f"backlog item #{item} waits for a decision", item)
    return each._replace(state=state, item=item, created=created)


def _check(given: Given) -> None:
    """Raise UsageError for options that do not belong together."""
    schedules = [name for name in SCHEDULES if given.has(name)]
    if given.has("--accept") and len(schedules) != 1:
        text = "propose: --accept needs exactly one of " + ", ".join(SCHEDULES)
        raise UsageError(text, "--outcome-manual, when its outcome is looked at by hand")
    if schedules and not given.has("--accept"):
        raise UsageError(f"propose: {schedules[0]} goes with --accept KEY", HELP)
    if given.has("--reject") and not given.has("--reason"):
        raise UsageError("propose: --reject needs --reason TEXT", HELP)
    if given.has("--reason") and not given.has("--reject"):
        raise UsageError("propose: --reason goes with --reject KEY", HELP)
    if sum(given.has(name) for name in ("--commit", "--accept", "--reject")) > 1:
        raise UsageError("propose: only one of --commit, --accept and --reject can be given", HELP)


def _listed(ledger: Ledger, source: Read, *, every: bool) -> tuple[list[Shown], int, Backlog]:
    """What is to be shown, how many suppressed proposals are left out, and what the backlog says."""
    if every:
        source.need(WHOLE, "propose --show-suppressed")
    found = audit.audit(source, runnable(ledger))
    listed = proposals(source, found)
    known = lifecycle.backlog_of(source, listed)
    if source.schema < WHOLE:
        return [Shown(each, None) for each in listed], 0, known
    states = [lifecycle.state_of(source, known, each, found) for each in listed]
    shown = [Shown(each, state, state.item) for each, state in zip(listed, states, strict=True)]
    kept = [each for each in shown if every or not each.state or each.state.name != lifecycle.SUPPRESSED]
    return kept, len(shown) - len(kept), known


def _answer(shown: list[Shown], hidden: int, *, committed: bool) -> Answer:
    lines = ["=== Improvement Proposals ==="]
    for number, each in enumerate(shown, 1):
        lines += ["", f"Proposal {number} ({each.proposal.confidence} confidence):", *_lines(each, committed)]
    left_out = f"{hidden} suppressed; --show-suppressed shows them." if hidden else ""
    if shown:
        count = f"{len(shown)} proposal(s) generated; --commit records them in the backlog."
        lines += ["", " ".join(filter(None, (count, left_out)))]
    else:
        lines += ["No proposals generated.", *([left_out] if left_out else [])]
    return Answer("\n".join(lines) + "\n", {"proposals": [_facts(each) for each in shown], "suppressed": hidden})


def _lines(each: Shown, committed: bool) -> list[str]:
    from bridoon.ledger.show.text import one_line

    words, state = each.proposal, each.state
    lines = [
        ("Title", words.title),
        ("Component", words.component),
        ("Evidence", words.evidence),
        ("Predicted impact", words.predicted_impact),
        ("Risk", words.risk),
        ("Suggested action", words.suggested_action),
        ("Validation", words.validation),
    ]
    if state is not None:
        lines += [("Key", words.key), ("Lifecycle", state.name), ("Lifecycle detail", state.detail)]
    text = [f"  {name}: {one_line(value, 600)}" for name, value in lines]
    if each.created:
        text.append(f"  Created backlog item #{each.item}")
    elif each.item is not None:
        text.append(f"  Backlog item: #{each.item}" + (" (there already)" if committed else ""))
    return text


def _facts(each: Shown) -> dict[str, object]:
    words = each.proposal._asdict()
    del words["members"]
    words["count"] = words.pop("times")
    return {
        **words,
        "lifecycle": each.state.name if each.state else None,
        "lifecycle_detail": each.state.detail if each.state else None,
        "backlog_item": each.item,
        "created": each.created,
    }


def _decide(ledger: Ledger, given: Given) -> Answer:
    from bridoon.ledger.judge import deciding

    schedule = _schedule(given)
    reason = given.text("--reason").strip()
    if given.has("--reject") and not reason:
        raise Invalid("propose: --reason is blank", "say why, so that it need not be decided again")
    key = (given.get("--accept") or given.text("--reject")).strip()
    with ledger.writing() as write:
        write.need(WHOLE, "deciding proposals")
        found = audit.audit(write, runnable(ledger))
        case = deciding.case_of(write, key, found, proposals(write, found))
        done = deciding.accept(write, case, schedule) if given.has("--accept") else deciding.reject(write, case, reason)
    word = f"{done.status} as" if done.changed else f"is {done.status} already, as"
    return Answer(f"Proposal {word} backlog item #{done.item}.", done._asdict())


def _schedule(given: Given) -> Schedule:
    """When the outcome is to be looked at. Raises Invalid."""
    from bridoon.ledger.judge.deciding import Schedule

    if given.has("--outcome-due"):
        return Schedule("due_at", due_at=_future(given.text("--outcome-due")))
    if given.has("--outcome-after-traces"):
        count = vocabulary.integer(given.text("--outcome-after-traces"), "propose: --outcome-after-traces")
        if count is None or count < 1:
            raise Invalid("propose: --outcome-after-traces must be at least 1", "for example 10")
        return Schedule("trace_count", after_traces=count)
    return Schedule("manual")


def _future(text: str) -> str:
    """A time to come, as the ledger writes times. Raises Invalid."""
    from datetime import UTC, datetime

    example = "for example 2031-05-01T09:00:00Z"
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Invalid(f"propose: --outcome-due {text[:60]!r} is no time", example) from None
    if moment.tzinfo is None or "T" not in text.upper():
        raise Invalid(f"propose: --outcome-due {text[:60]!r} needs date, time and offset from UTC", example)
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise Invalid(f"propose: --outcome-due {text[:60]!r} is out of reach", example) from None
    stored = moment.strftime("%Y-%m-%d %H:%M:%S")
    if stored <= timestamp():
        raise Invalid(f"propose: --outcome-due {text[:60]!r} is not in the future", example)
    return stored
