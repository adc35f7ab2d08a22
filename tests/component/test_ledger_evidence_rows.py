"""Traces, decisions, outcomes and episodes as rows: what is refused, and that carrying out twice is as good as once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from ledgers import Place

from bridoon.ledger.errors import Conflict, Invalid, Missing
from bridoon.ledger.store.op import KINDS, Op
from bridoon.ledger.store.write import Write

EVIDENCE = {"source_kind": "trace", "evidence_uid": "trc_1", "evidence_fingerprint": "f", "observed_at": "2020-01-01"}
DECISION = {
    "proposal_key": "improvement.proposal:v1:00",
    "occurrence_kind": "original",
    "title": "Less of it",
    "status": "accepted",
    "accepted_at": "2020-01-02 00:00:00",
    "outcome_schedule_kind": "manual",
    "evidence": [EVIDENCE],
}


@pytest.fixture(params=["ledger", "ledger6"])
def either(request: pytest.FixtureRequest) -> Place:
    """A ledger of the newest schema, and one of the oldest that we work with."""
    place = request.getfixturevalue(request.param)
    assert isinstance(place, Place)
    return place


def _rows(place: Place) -> dict[str, list[Any]]:
    tables = ("trace", "backlog", "proposal_evidence_link", "backlog_outcome_observation", "audit_evidence_episode",
              "legacy_evidence_snapshot")  # fmt: skip
    return {table: place.sql(f"SELECT * FROM {table}") for table in tables}


@contextlib.contextmanager
def _write(place: Place) -> Iterator[Write]:
    with place.ledger.writing() as write:
        yield write


def _trace(**fields: Any) -> Op:
    return Op("trace.add", {"task_summary": "x", **fields})


@pytest.mark.parametrize(
    ("fields", "error", "named"),
    [
        ({"intake_id": 7}, Missing, "intake"),
        ({"story_id": "US-9"}, Missing, "US-9"),
        ({"outcome": "done"}, Invalid, "done"),
    ],
)
def test_a_trace_of_something_that_is_not_there_is_refused(
    either: Place, fields: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named), _write(either) as write:
        write.do(_trace(**fields))
    assert either.value("SELECT count(*) FROM trace") == 0


def test_a_trace_of_an_intake_that_another_copy_has_is_refused_by_its_name(ledger: Place) -> None:
    with pytest.raises(Missing, match="ink_elsewhere"), _write(ledger) as write:
        write.do(_trace(intake_uid="ink_elsewhere"))


def test_a_trace_finds_its_intake_by_uid_and_keeps_both_names(ledger: Place) -> None:
    ledger.ok("intake --type maintenance --summary s --lane tiny")
    uid = ledger.value("SELECT uid FROM intake")
    with _write(ledger) as write:
        write.do(_trace(intake_uid=uid))
        write.do(_trace(intake_id=1))
    assert ledger.sql("SELECT intake_id, intake_uid FROM trace") == [(1, uid), (1, uid)]


def test_a_trace_with_a_known_uid_is_left_as_it_is(ledger: Place) -> None:
    for summary in ("first", "second"):
        with _write(ledger) as write:
            write.do(Op("trace.add", {"task_summary": summary}, uid="trc_1"))
    assert ledger.sql("SELECT task_summary FROM trace") == [("first",)]


def test_an_old_schema_takes_traces_without_what_it_does_not_know(ledger6: Place) -> None:
    ledger6.ok("intake --type maintenance --summary s --lane tiny")
    ledger6.ok("trace --summary 'a long summary' --intake 1 --outcome completed --friction none")
    assert ledger6.sql("SELECT intake_id, outcome, harness_friction FROM trace") == [(1, "completed", "none")]


OPERATIONS = (
    Op("backlog.proposal.decision", DECISION, uid="blg_1"),
    Op("legacy.evidence.capture", {"source_kind": "trace", "evidence_fingerprint": "f", "canonical_payload": "{}"},
       uid="leg_1"),
    Op("audit.evidence.open", {"finding_key": "k", "evidence_fingerprint": "f"}, uid="aud_1"),
    Op("audit.evidence.clear", {}, uid="aud_1"),
)  # fmt: skip


def test_every_operation_carried_out_twice_is_as_good_as_once(ledger: Place) -> None:
    seen: dict[str, list[Any]] = {}
    for _ in range(2):
        with _write(ledger) as write:
            for op in OPERATIONS:
                write.do(op)
        seen = seen or _rows(ledger)
    assert _rows(ledger) == seen
    assert {table: len(rows) for table, rows in seen.items()} == {
        "trace": 0,
        "backlog": 1,
        "proposal_evidence_link": 1,
        "backlog_outcome_observation": 0,
        "audit_evidence_episode": 1,
        "legacy_evidence_snapshot": 1,
    }


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"status": "rejected"}, Conflict),
        ({"status": "proposed"}, Invalid),
        ({"evidence": [{**EVIDENCE, "observed_at": None}]}, Invalid),
        ({"evidence": ["trc_1"]}, Invalid),
        ({"evidence": [{**EVIDENCE, "source_kind": "rumour"}]}, Invalid),
    ],
)
def test_a_decision_that_contradicts_the_first_or_itself_is_refused(
    ledger: Place, change: dict[str, Any], error: type[Exception]
) -> None:
    with _write(ledger) as write:
        write.do(Op("backlog.proposal.decision", DECISION, uid="blg_1"))
    before = _rows(ledger)
    with pytest.raises(error), _write(ledger) as write:
        write.do(Op("backlog.proposal.decision", {**DECISION, **change}, uid="blg_1"))
    assert _rows(ledger) == before


def test_a_second_open_row_of_one_proposal_is_refused_in_plain_words(ledger: Place) -> None:
    with _write(ledger) as write:
        write.do(Op("backlog.proposal.decision", DECISION, uid="blg_1"))
    with pytest.raises(Conflict, match="#1, accepted"), _write(ledger) as write:
        write.do(Op("backlog.proposal.decision", DECISION, uid="blg_2"))


def _observe(uid: str, ordinal: int = 1, **more: Any) -> Op:
    payload = {"backlog_uid": "blg_1", "status": "confirmed", "outcome": "better", "ordinal": ordinal, **more}
    return Op("backlog.outcome.observe", payload, uid=uid)


def test_an_observation_is_of_something_implemented(ledger: Place) -> None:
    with pytest.raises(Missing, match="blg_1"), _write(ledger) as write:
        write.do(_observe("obs_1"))
    with _write(ledger) as write:
        write.do(Op("backlog.proposal.decision", DECISION, uid="blg_1"))
    with pytest.raises(Conflict, match="accepted"), _write(ledger) as write:
        write.do(_observe("obs_1"))
    with pytest.raises(Invalid, match="splendid"), _write(ledger) as write:
        write.do(_observe("obs_1", status="splendid"))


def test_observations_of_two_copies_are_both_kept_and_numbered_on(ledger: Place) -> None:
    with _write(ledger) as write:
        write.do(Op("backlog.add", {"title": "t", "proposal_key": "k"}, uid="blg_1"))
        write.do(Op("backlog.close", {"status": "implemented"}, uid="blg_1"))
        for uid in ("obs_1", "obs_2", "obs_1"):
            write.do(_observe(uid))
    assert ledger.sql("SELECT uid, ordinal FROM backlog_outcome_observation") == [("obs_1", 1), ("obs_2", 2)]


def test_a_finding_that_two_copies_saw_has_one_episode_that_goes_on(ledger: Place) -> None:
    with _write(ledger) as write:
        for uid in ("aud_1", "aud_2"):
            write.do(Op("audit.evidence.open", {"finding_key": "k", "evidence_fingerprint": "f"}, uid=uid))
        write.do(Op("audit.evidence.clear", {"cleared_at": "2040-01-01 00:00:00"}, uid="aud_2"))
    going_on = "SELECT uid FROM audit_evidence_episode WHERE cleared_at IS NULL"
    assert ledger.sql(going_on) == [("aud_1",)]
    with pytest.raises(Missing, match="aud_3"), _write(ledger) as write:
        write.do(Op("audit.evidence.clear", {}, uid="aud_3"))


def test_a_row_from_before_the_keys_is_found_by_what_it_says(ledger: Place) -> None:
    ledger.sql("INSERT INTO backlog (title, notes) VALUES ('t', 'other'), ('t', 'this')")
    payload = {
        "title": "t",
        "proposal_key": "k",
        "occurrence_kind": "original",
        "legacy_row": {"id": 1, "notes": "this"},
        "evidence": [EVIDENCE],
    }
    for _ in range(2):
        with _write(ledger) as write:
            assert write.do(Op("backlog.legacy.reconcile", payload, uid="blg_1")) == 2
    assert ledger.sql("SELECT id, uid, proposal_key FROM backlog") == [(1, None, None), (2, "blg_1", "k")]
    with pytest.raises(Missing), _write(ledger) as write:
        write.do(Op("backlog.legacy.reconcile", {**payload, "title": "u"}, uid="blg_2"))
    with pytest.raises(Conflict), _write(ledger) as write:
        write.do(Op("backlog.legacy.reconcile", {**payload, "proposal_key": "l"}, uid="blg_1"))


def test_every_operation_about_evidence_has_a_row_function() -> None:
    from bridoon.ledger.store.rows import proposal, trace

    kinds = [name for name in KINDS if name.startswith(("backlog.proposal", "backlog.outcome", "backlog.legacy",
                                                        "legacy", "audit"))]  # fmt: skip
    assert all(callable(getattr(proposal, name.replace(".", "_"))) for name in kinds)
    assert callable(trace.trace_add)
