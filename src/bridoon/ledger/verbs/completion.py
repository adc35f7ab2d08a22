"""`story complete`: verify a story, make it implemented and close the backlog items that it resolves, or do nothing."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import Conflict, VerificationFailed, missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.show.text import clean
from bridoon.ledger.store.cells import compact, word
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows.backlog import closer_of
from bridoon.ledger.store.rows.link import RESOLVES
from bridoon.ledger.store.rows.story import COMPLETABLE, not_completable
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.store.write import Write, new_uid

ALREADY = "already-completed"


class Item(NamedTuple):
    """A backlog item that a story is linked to."""

    id: int
    uid: str
    relationship: str
    status: str
    evidence: str | None
    schedule: str | None
    """`trace_count`: its outcome is looked at after so many traces."""


class State(NamedTuple):
    """What the completion of a story depends on."""

    status: str
    command: str
    items: tuple[Item, ...]
    story: str
    """Its own id: what it has closed before counts as closed already."""

    def ids(self, kind: str) -> list[int]:
        """The items that are `open`, `closed` by this story already, or `references`."""
        return [item.id for item in self.items if self._kind(item) == kind]

    def resolved(self) -> list[Item]:
        """The items that the completion closes."""
        return [item for item in self.items if self._kind(item) == "open"]

    def _kind(self, item: Item) -> str:
        if item.relationship != RESOLVES:
            return "references"
        return "closed" if _closed_by(item, self.story) else "open"


def complete(ledger: Ledger, given: Given) -> Answer:
    """Run the verify command of a story; when it passes, the story and what it resolves are implemented."""
    from bridoon.ledger import verify as commands

    name = given.text("id")
    timeout = commands.time_limit(ledger, given.get("--timeout"), "story complete: --timeout")
    with ledger.reading() as read:
        state = _state(read, name)
        if state.status == "implemented":
            return _answer(name, state, ALREADY, [], "")
        _check(read, name, state)
    verdict = commands.run(ledger, state.command, timeout)
    if not verdict.passed:
        verdict = commands.record(ledger, "story", name, state.command, verdict)
    head = f"Running: {state.command}\n{verdict.text}"
    if not verdict.passed:
        if given.json:
            raise VerificationFailed(
                f"the verify command of story {name[:80]!r} failed",
                "it is not completed; mend what its output shows, then complete it again",
                id=name,
                **verdict.data,
            )
        return _answer(name, state, verdict.result, [], head)
    with ledger.writing() as write:
        now = _state(write, name)
        if now.status == "implemented":
            return _answer(name, now, ALREADY, [], head)
        if now != state:
            raise Conflict(
                f"story {name[:80]!r} was changed while its verify command ran: nothing was recorded",
                "look at it, then complete it again",
            )
        _check(write, name, now)
        closed = _close(write, name, now)
    return _answer(name, state, verdict.result, closed, head)


def _state(read: Read, name: str) -> State:
    read.need(WHOLE, "completing a story")
    row = read.one("SELECT status, verify_command FROM story WHERE id=?", name)
    if row is None:
        raise missing("story", name)
    items = read.all(
        "SELECT backlog.id, backlog.uid, link.relationship, backlog.status, backlog.resolution_evidence, "
        "backlog.outcome_schedule_kind FROM story_backlog_link AS link JOIN backlog ON backlog.uid = link.backlog_uid "
        "WHERE link.story_id=? ORDER BY backlog.id",
        name,
    )
    return State(word(row[0]), word(row[1]), tuple(Item(*item) for item in items), name)


def _check(read: Read, name: str, state: State) -> None:
    """Raise Conflict unless the story may be completed."""
    from bridoon.ledger.verify import is_blank, without_command

    if state.status not in COMPLETABLE:
        raise not_completable(name, state.status)
    if is_blank(state.command):
        raise without_command("story", name)
    targets = [item for item in state.items if item.relationship == RESOLVES]
    for item in targets:
        if item.status != "accepted" and not _closed_by(item, name):
            raise Conflict(
                f"backlog #{item.id}, which story {name[:80]!r} resolves, is {item.status}, not accepted",
                "accept it, or unlink it: harness-cli story backlog unlink",
            )
    if targets:
        _check_proof(read, name)


def _check_proof(read: Read, name: str) -> None:
    """What improves the harness needs an intake that asked for it, and a trace of the work, after the newest link."""
    intakes = read.all(
        "SELECT uid FROM intake WHERE story_id=? AND input_type='harness_improvement' AND uid IS NOT NULL", name
    )
    if not intakes:
        raise Conflict(
            f"story {name[:80]!r} resolves backlog items, but no intake of harness-improvement belongs to it",
            "harness-cli intake --type harness-improvement --summary TEXT --lane LANE --story ID records one",
        )
    links = read.all(
        "SELECT linked_at, linked_at_unix_ns FROM story_backlog_link WHERE story_id=? AND relationship=?",
        name,
        RESOLVES,
    )
    traces = read.all(
        "SELECT created_at, recorded_at_unix_ns, actions_taken, files_changed FROM trace WHERE story_id=? "
        "AND outcome='completed' AND intake_uid IN (SELECT uid FROM intake WHERE story_id=? "
        "AND input_type='harness_improvement') ORDER BY id DESC",
        name,
        name,
    )
    for at, nanoseconds, actions, changed in traces:
        told = vocabulary.unlisted(actions) and vocabulary.unlisted(changed)
        if told and all(_is_after(at, nanoseconds, *link) for link in links):
            return
    raise Conflict(
        f"story {name[:80]!r} resolves backlog items, but no trace of the finished work belongs to it",
        "after the link, record one: harness-cli trace --story ID --intake NUMBER --outcome completed "
        "--actions LIST --changed LIST --summary TEXT",
    )


def _is_after(at: str, nanoseconds: int | None, link_at: str, link_nanoseconds: int | None) -> bool:
    if nanoseconds is not None and link_nanoseconds is not None:
        return nanoseconds > link_nanoseconds
    return at > link_at


def _closed_by(item: Item, name: str) -> bool:
    return item.status == "implemented" and closer_of(item.evidence) == name


def _close(write: Write, name: str, state: State) -> list[int]:
    """Record the completion and close what is open; the ids of that."""
    uid, now = new_uid("cmp"), write.now
    completed = {"result": "pass", "completion_uid": uid, "completed_at": now}
    write.do(Op("story.complete", completed, id=name))
    text = compact({"story_id": name, "verify_command": state.command, **completed})
    for item in state.resolved():
        payload = {"story_id": name, "resolution_evidence": text, "completed_at": now}
        if item.schedule == "trace_count":
            payload["trace_baseline"] = write.one("SELECT count(*) FROM trace WHERE uid IS NOT NULL")[0]
        write.do(Op("backlog.complete", payload, uid=item.uid))
    return [item.id for item in state.resolved()]


def _answer(name: str, state: State, result: str, closed: list[int], head: str) -> Answer:
    already, references = state.ids("closed"), state.ids("references")
    line = (
        f"Story {clean(name)} completion: {result}; closed backlog: {_spelt(closed)}; "
        f"already closed: {_spelt(already)}; references: {_spelt(references)}"
    )
    data = {
        "id": name,
        "result": result,
        "closed_backlog": closed,
        "already_closed": already,
        "references": references,
    }
    return Answer(head + line, data, int(result == "fail"))


def _spelt(ids: list[int]) -> str:
    return ", ".join(f"#{each}" for each in ids) or "none"
