"""The life of a proposal: from the first friction to the outcome, and what happens when it comes back."""

from __future__ import annotations

from typing import Any

import pytest
from ledgers import Place

RUN = {"HARNESS_RUN_ID": "run"}
SLOW = "Tests are slow"


def _friction(place: Place, text: str = SLOW, times: int = 2) -> None:
    for _ in range(times):
        place.ok(["trace", "--summary", "something was done", "--friction", text], env=RUN)


def _first(place: Place) -> dict[str, Any]:
    """The first proposal, whether it is suppressed or not; what is drift comes behind."""
    proposal, *_ = place.json("propose --show-suppressed")["proposals"]
    assert isinstance(proposal, dict)
    return proposal


def _state(place: Place) -> str:
    return str(_first(place)["lifecycle"])


def _accept(place: Place, *schedule: str) -> dict[str, Any]:
    words = ["propose", "--accept", _first(place)["key"], *(schedule or ("--outcome-manual",))]
    result = place.json(words, env=RUN)
    assert isinstance(result, dict)
    return result


def _complete(place: Place, item: int, story: str) -> None:
    """Do the work: a story resolves the item, a trace tells of it, and the story is completed."""
    place.ok(f"intake --type harness_improvement --summary s --lane tiny --story {story}", env=RUN)
    intake = place.value("SELECT max(id) FROM intake")
    place.ok(f"story add --id {story} --title t --lane tiny --verify true", env=RUN)
    place.ok(f"story backlog link --story {story} --backlog {item} --relationship resolves", env=RUN)
    place.ok(f"story update --id {story} --status in_progress", env=RUN)
    place.ok(
        f"trace --summary 'it was repaired' --intake {intake} --story {story} --outcome completed --actions edit "
        "--changed a.py --friction none",
        env=RUN,
    )
    place.ok(f"story complete {story}", env=RUN)
    assert place.value("SELECT status FROM backlog WHERE id=?", item) == "implemented"


def test_a_proposal_lives_from_friction_to_outcome_and_comes_back_as_a_regression(ledger: Place) -> None:
    _friction(ledger)
    assert _state(ledger) == "new"
    first = _accept(ledger)
    assert (first["status"], first["item"], first["changed"]) == ("accepted", 1, True)
    assert _state(ledger) == "accepted"

    _complete(ledger, 1, "US-1")
    assert _state(ledger) == "suppressed"
    assert ledger.ok("backlog outcome record --id 1 --status confirmed --outcome 'half the time'", env=RUN) == (
        "Outcome 1 of backlog #1 recorded: confirmed.\n"
    )
    assert ledger.ok("propose") == (
        "=== Improvement Proposals ===\nNo proposals generated.\n1 suppressed; --show-suppressed shows them.\n"
    )

    _friction(ledger, "tests are SLOW", 1)
    back = _first(ledger)
    assert (back["lifecycle"], back["backlog_item"]) == ("regression", 1)
    second = _accept(ledger, "--outcome-after-traces", "3")
    assert second["item"] == 2
    rows = ledger.sql("SELECT uid, predecessor_uid, occurrence_kind, status FROM backlog ORDER BY id")
    assert [row[1:] for row in rows] == [(None, "original", "implemented"), (rows[0][0], "regression", "accepted")]

    _complete(ledger, 2, "US-2")
    assert _state(ledger) == "suppressed"


def test_a_whole_life_is_the_same_in_a_ledger_made_from_its_changeset(ledger: Place) -> None:
    _friction(ledger)
    ledger.ok("propose --commit", env=RUN)
    _accept(ledger)
    _complete(ledger, 1, "US-1")
    ledger.ok("backlog outcome record --id 1 --status reverted --outcome worse --evidence log", env=RUN)
    ledger.ok("story add --id US-9 --title Orphan --lane tiny", env=RUN)
    ledger.ok("audit --record-evidence", env=RUN)
    ledger.ok("trace --summary s --story US-9", env=RUN)
    ledger.ok("audit --record-evidence", env=RUN)
    _friction(ledger, SLOW, 1)
    key = _first(ledger)["key"]
    ledger.ok(["propose", "--reject", key, "--reason", "we live with it"], env=RUN)
    tables = ("backlog", "proposal_evidence_link", "audit_evidence_episode", "backlog_outcome_observation", "trace")
    revision = {"backlog", "audit_evidence_episode"}
    before = {table: ledger.sql(f"SELECT * FROM {table}") for table in tables}
    assert all(before.values())
    ledger.database.rename(ledger.root / "old.db")
    ledger.ok(["db", "rebuild", "--from", str(ledger.changesets)])
    for table in tables:
        after = ledger.sql(f"SELECT * FROM {table}")
        if table in revision:  # the last column; replaying takes as many steps, but counts them anew
            assert [row[:-1] for row in after] == [row[:-1] for row in before[table]]
        else:
            assert after == before[table]
    assert _state(ledger) == "suppressed"


def test_a_rejected_proposal_stays_away_until_it_is_seen_again(ledger: Place) -> None:
    _friction(ledger)
    key = _first(ledger)["key"]
    out = ledger.ok(["propose", "--reject", key, "--reason", " not now "])
    assert out == "Proposal rejected as backlog item #1.\n"
    assert ledger.sql("SELECT status, rejection_reason FROM backlog") == [("rejected", "not now")]
    assert _state(ledger) == "suppressed"
    assert "already" in ledger.ok(["propose", "--reject", key, "--reason", "not now"])
    code, error = ledger.error(["propose", "--reject", key, "--reason", "never"])
    assert (code, error["code"]) == (3, "CONFLICT")
    code, error = ledger.error(["propose", "--accept", key, "--outcome-manual"])
    assert (code, error["code"]) == (3, "CONFLICT")

    _friction(ledger, SLOW, 1)
    assert _state(ledger) == "reconsideration"
    _accept(ledger)
    assert ledger.sql("SELECT occurrence_kind, status FROM backlog ORDER BY id") == [
        ("original", "rejected"),
        ("reconsideration", "accepted"),
    ]


def test_accepting_again_is_harmless_with_the_same_schedule_first(ledger: Place) -> None:
    _friction(ledger)
    due = ("--outcome-due", "2040-05-01T09:00:00+02:00")
    assert _accept(ledger, *due)["changed"] is True
    assert ledger.sql("SELECT outcome_schedule_kind, outcome_due_at FROM backlog") == [
        ("due_at", "2040-05-01 07:00:00")
    ]
    assert _accept(ledger, "--outcome-due", "2040-05-01T07:00:00Z")["changed"] is False
    key = _first(ledger)["key"]
    for words in (["--accept", key, "--outcome-manual"], ["--reject", key, "--reason", "r"]):
        code, error = ledger.error(["propose", *words])
        assert (code, error["code"]) == (3, "CONFLICT")
    assert ledger.value("SELECT count(*) FROM backlog") == 1


def test_a_proposal_on_the_list_waits_and_is_decided_in_its_row(ledger: Place) -> None:
    _friction(ledger)
    ledger.ok("propose --commit")
    waiting = _first(ledger)
    assert (waiting["lifecycle"], waiting["backlog_item"]) == ("pending", 1)
    assert _accept(ledger)["item"] == 1
    assert ledger.sql("SELECT status, outcome_schedule_kind FROM backlog") == [("accepted", "manual")]
    assert ledger.value("SELECT count(*) FROM proposal_evidence_link") == 2


def test_a_proposal_on_the_list_can_be_decided_when_nothing_speaks_for_it_any_more(ledger: Place) -> None:
    ledger.ok("story add --id US-1 --title Orphan --lane tiny")
    ledger.ok("propose --commit")
    key = _first(ledger)["key"]
    ledger.ok("trace --summary s --story US-1")
    assert ledger.json("propose")["proposals"] == []
    ledger.ok(["propose", "--reject", key, "--reason", "it went away"])
    assert ledger.value("SELECT status FROM backlog") == "rejected"


def test_closing_by_hand_deals_with_a_proposal_too(ledger: Place) -> None:
    _friction(ledger)
    ledger.ok("propose --commit")
    ledger.ok("backlog close --id 1 --outcome better")
    assert _state(ledger) == "suppressed"
    ledger.sql("UPDATE backlog SET closed_at=datetime('now', '-1 minute')")
    assert _state(ledger) == "regression"
    assert "Created backlog item #2" in ledger.ok("propose --commit")
    assert ledger.sql("SELECT occurrence_kind, status FROM backlog ORDER BY id") == [
        ("original", "implemented"),
        ("regression", "proposed"),
    ]


def test_drift_is_decided_only_with_recorded_evidence(ledger: Place) -> None:
    ledger.ok("story add --id US-1 --title Orphan --lane tiny")
    key = _first(ledger)["key"]
    code, error = ledger.error(["propose", "--accept", key, "--outcome-manual"])
    assert (code, error["code"]) == (3, "CONFLICT")
    recorded = ledger.json("audit --record-evidence")["evidence"]
    assert recorded == {"opened": 1, "cleared": 0, "active": 1}
    assert "0 opened, 0 ended, 1 going on" in ledger.ok("audit --record-evidence")
    _accept(ledger)
    assert ledger.value("SELECT source_kind FROM proposal_evidence_link") == "audit"
    ledger.ok("trace --summary s --story US-1")
    assert ledger.json("audit --record-evidence")["evidence"] == {"opened": 0, "cleared": 1, "active": 0}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--accept", "KEY"], 2),
        (["--accept", "KEY", "--outcome-manual", "--outcome-after-traces", "2"], 2),
        (["--outcome-manual"], 2),
        (["--reject", "KEY"], 2),
        (["--reason", "r"], 2),
        (["--commit", "--accept", "KEY", "--outcome-manual"], 2),
        (["--reject", "KEY", "--reason", "  "], 1),
        (["--accept", "KEY", "--outcome-after-traces", "0"], 1),
        (["--accept", "KEY", "--outcome-after-traces", "x"], 1),
        (["--accept", "KEY", "--outcome-due", "2040-05-01"], 1),
        (["--accept", "KEY", "--outcome-due", "2040-05-01T09:00:00"], 1),
        (["--accept", "KEY", "--outcome-due", "2001-05-01T09:00:00Z"], 1),
        (["--accept", "KEY", "--outcome-due", "9999-12-31T23:59:59-23:00"], 1),
        (["--accept", "no-such-key", "--outcome-manual"], 1),
    ],
)
def test_a_decision_that_is_no_decision_is_refused(ledger: Place, words: list[str], code: int) -> None:
    _friction(ledger)
    key = _first(ledger)["key"]
    ran = ledger.run(["propose", *(key if word == "KEY" else word for word in words)])
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("error: ")
    assert ledger.value("SELECT count(*) FROM backlog") == 0


def test_the_spelling_that_was_first_does_not_decide_the_key(ledger: Place) -> None:
    _friction(ledger, "Tests are slow")
    key = _first(ledger)["key"]
    ledger.sql("UPDATE trace SET harness_friction='TESTS: are slow!' WHERE id=1")
    assert _first(ledger)["key"] == key


def test_a_row_that_knows_a_proposal_only_by_its_title_counts(ledger: Place) -> None:
    from bridoon.ledger.judge.grouping import key_of

    _friction(ledger, "Tests: are slow")
    other = key_of("Failure attribution", "Reduce repeated friction: Tests: are slow")
    assert _first(ledger)["key"] != other
    ledger.sql("INSERT INTO backlog (uid, title, proposal_key, status) VALUES ('blg_x', 't', ?, 'accepted')", other)
    assert _state(ledger) == "accepted"


def test_evidence_without_identity_is_captured_when_it_is_decided_upon(ledger: Place) -> None:
    ledger.sql("INSERT INTO trace (task_summary, harness_friction) VALUES ('one', ?), ('two', ?)", SLOW, SLOW)
    _accept(ledger)
    kinds = ledger.sql("SELECT DISTINCT source_kind FROM proposal_evidence_link")
    assert kinds == [("legacy_snapshot",)]
    assert ledger.sql("SELECT source_kind, source_local_id FROM legacy_evidence_snapshot ORDER BY 2") == [
        ("trace", 1),
        ("trace", 2),
    ]
    _complete(ledger, 1, "US-1")
    assert _state(ledger) == "suppressed"
    ledger.sql("INSERT INTO trace (task_summary, harness_friction) VALUES ('three', ?)", SLOW)
    assert _state(ledger) == "regression"


def test_rows_from_before_the_keys_are_found_again(ledger6: Place) -> None:
    _friction(ledger6)
    ledger6.ok("propose --commit")
    ledger6.sql("INSERT INTO backlog (title, current_pain, notes, discovered_while, status) "
                "SELECT title, current_pain, notes, discovered_while, 'rejected' FROM backlog")  # fmt: skip
    ledger6.ok("backlog add --title 'Idea of a person'")
    ledger6.ok(["backlog", "add", "--title", "Reduce repeated friction: long ...", "--while", "harness-cli propose"])
    ledger6.ok("migrate")
    assert _state(ledger6) == "legacy-unclassified"
    code, error = ledger6.error(["propose", "--accept", _first(ledger6)["key"], "--outcome-manual"])
    assert (code, error["code"]) == (3, "CONFLICT")

    words = "backlog reconcile --action backfill-lifecycle-identity"
    assert ledger6.run(words).code == 2
    assert ledger6.run("backlog reconcile --action tidy-up --apply").code == 1
    dry = ledger6.json(words + " --dry-run")
    assert [each["class"] for each in dry["items"]] == ["derivable", "duplicate_candidate", "manual", "ambiguous"]
    assert ledger6.value("SELECT count(*) FROM backlog WHERE proposal_key IS NOT NULL") == 0
    assert "Identity filled for 1 item(s)." in ledger6.ok(words + " --apply")
    assert _first(ledger6)["lifecycle"] == "pending"
    assert ledger6.sql("SELECT id FROM backlog WHERE proposal_key IS NOT NULL") == [(1,)]
    assert "Identity filled for 0 item(s)." in ledger6.ok(words + " --apply")
    assert _accept(ledger6)["item"] == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--id 1 --status confirmed --outcome o", 3),
        ("--id 2 --status confirmed --outcome o", 3),
        ("--id 9 --status confirmed --outcome o", 3),
        ("--id 1 --status splendid --outcome o", 2),
        ("--id x --status confirmed --outcome o", 2),
        ("--id 1 --status confirmed --outcome ' '", 2),
    ],
)
def test_an_outcome_is_recorded_only_for_an_implemented_proposal(ledger: Place, words: str, code: int) -> None:
    _friction(ledger)
    _accept(ledger)
    ledger.ok("backlog add --title 'no proposal'")
    found, error = ledger.error("backlog outcome record " + words)
    assert found == code
    assert error["message"]


def test_an_implemented_proposal_without_an_outcome_is_drift_until_one_is_recorded(ledger: Place) -> None:
    _friction(ledger)
    _accept(ledger)
    _complete(ledger, 1, "US-1")
    assert ledger.json("audit")["entropy"] == 2
    ledger.ok("backlog outcome record --id 1 --status ineffective --outcome same")
    assert ledger.json("audit")["entropy"] == 0


def _points(place: Place) -> list[tuple[str, str, str]]:
    points = place.json("query improvement-health")["points"]
    return [(point["category"], point["state"], point["schedule"]) for point in points]


def test_health_lists_what_is_open_by_rank_and_says_what_to_do(ledger: Place) -> None:
    _friction(ledger)
    _friction(ledger, "No fixture")
    key = ledger.json("propose")["proposals"][0]["key"]
    ledger.ok(["propose", "--accept", key, "--outcome-after-traces", "2"])
    ledger.ok("story add --id US-9 --title Orphan --lane tiny")
    proposal, work = ("proposal_decision", "new", "-"), ("accepted_work", "accepted", "after 2 traces")
    assert _points(ledger) == [("audit", "drift", "-"), proposal, proposal, work]

    _complete(ledger, 1, "US-1")
    ledger.ok("trace --summary s --story US-9")
    drift = ("audit", "drift", "-")
    assert _points(ledger) == [drift, proposal, proposal, ("outcome_review", "waiting", "after 2 traces")]
    _friction(ledger, SLOW, 1)
    assert _points(ledger)[-2:] == [("outcome_review", "due", "after 2 traces"), ("recurrence", "regression", "-")]
    lines = ledger.ok("query improvement-health").splitlines()
    assert lines[0] == "=== Improvement Health ==="
    assert lines[1:4] == ["Entropy score: 2/100", "Actionable drift: 5", ""]
    assert lines[4].split() == ["category", "id", "title", "state", "schedule", "outcome", "evidence", "next_action"]
