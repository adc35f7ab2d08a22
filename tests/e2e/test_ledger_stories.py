"""Stories, decisions, the backlog and interventions: what is recorded, and what is refused."""

from __future__ import annotations

import pytest
from ledgers import Place

RUN = {"HARNESS_RUN_ID": "run"}


@pytest.fixture(params=["ledger", "ledger6"])
def either(request: pytest.FixtureRequest) -> Place:
    """A ledger of the newest schema, and one of the oldest that we work with."""
    place = request.getfixturevalue(request.param)
    assert isinstance(place, Place)
    return place


def test_a_story_is_planned_and_unproven_at_first(either: Place) -> None:
    words = "story add --id US-1 --title 'log in' --lane High-Risk --contract docs/a.md --verify 'make t' --notes n"
    assert either.ok(words) == "Story US-1 added.\n"
    columns = "id, title, risk_lane, contract_doc, status, unit_proof, platform_proof, verify_command, notes"
    assert either.sql(f"SELECT {columns}, last_verified_result FROM story") == [
        ("US-1", "log in", "high_risk", "docs/a.md", "planned", 0, 0, "make t", "n", None)
    ]


def test_a_second_story_of_the_same_id_is_refused_in_plain_words(either: Place) -> None:
    either.ok("story add --id US-1 --title one --lane tiny")
    ran = either.run("story add --id US-1 --title two --lane tiny")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: there is a story 'US-1' already\n")
    assert either.value("SELECT title FROM story") == "one"


@pytest.mark.parametrize(
    "words",
    [
        "story add --id US-2 --title t --lane low",
        "story add --id ' ' --title t --lane tiny",
        "story update --id US-1",
        "story update --id US-1 --status done",
        "story update --id US-1 --status=",
        "story update --id US-1 --unit 2",
        "story update --id nobody --status planned",
        "decision add --id D-1 --title t --status maybe",
        "decision add --id= --title t",
        "backlog add --title t --risk low",
        "backlog close --id x",
        "backlog close --id 99",
        "backlog close --id 1 --status done",
        "intervention add --type Correction --description d --source human",
        "intervention add --type correction --description d --source robot",
        "intervention add --type correction --description d --source human --trace 9",
        "intervention add --type correction --description d --source human --trace x",
    ],
)
def test_what_cannot_be_is_one_plain_error_and_changes_nothing(either: Place, words: str) -> None:
    either.ok("story add --id US-1 --title t --lane tiny")
    either.ok("backlog add --title b")
    before = [either.sql(f"SELECT * FROM {table}") for table in ("story", "decision", "backlog", "intervention")]
    ran = either.run(words, env=RUN)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert "constraint" not in ran.err.lower()
    assert [
        either.sql(f"SELECT * FROM {table}") for table in ("story", "decision", "backlog", "intervention")
    ] == before
    assert either.changeset("run") == []


def test_an_update_overwrites_what_is_given_and_keeps_the_rest(either: Place) -> None:
    either.ok("story add --id US-1 --title t --lane tiny --contract a.md --verify true")
    either.ok("story update --id US-1 --status in_progress --evidence seen --unit 1 --e2e 1")
    assert either.ok("story update --id US-1 --evidence= --e2e 0 --contract b.md") == "Story US-1 updated.\n"
    columns = "status, evidence, unit_proof, integration_proof, e2e_proof, verify_command, contract_doc"
    assert either.sql(f"SELECT {columns} FROM story") == [("in_progress", "", 1, 0, 0, "true", "b.md")]


def test_any_status_can_be_set_and_an_unproven_implemented_is_warned_about(either: Place) -> None:
    either.ok("story add --id 'US 1' --title t --lane tiny --verify true")
    ran = either.run(["story", "update", "--id", "US 1", "--status", "implemented"])
    assert (ran.code, ran.out) == (0, "Story US 1 updated.\n")
    assert ran.err.startswith("warning: story US 1 counts as implemented")
    assert "harness-cli story verify 'US 1'" in ran.err
    either.ok(["story", "verify", "US 1"])
    assert either.run(["story", "update", "--id", "US 1", "--status", "implemented"]).err == ""
    either.ok("story add --id US-2 --title t --lane tiny")
    assert either.run("story update --id US-2 --status implemented").err == ""


def test_a_program_updates_a_story_and_learns_what_it_was(either: Place) -> None:
    either.ok("story add --id US-1 --title t --lane tiny --verify true")
    assert either.json("story update --id US-1 --status in_progress --unit 1") == {
        "id": "US-1",
        "before_status": "planned",
        "after_status": "in_progress",
        "runnable_before": True,
    }
    assert either.json("story update --id US-1 --evidence e")["after_status"] == "in_progress"


def test_a_status_is_set_only_if_it_is_still_the_expected_one(either: Place) -> None:
    either.ok("story add --id US-1 --title t --lane tiny --verify true")
    claim = "story update --id US-1 --status in_progress --expected-status planned --require-runnable"
    assert either.json(claim)["after_status"] == "in_progress"
    code, error = either.error(claim)
    assert (code, error["code"]) == (3, "CONFLICT")
    assert error["details"]["actual_status"] == "in_progress"
    assert either.value("SELECT status FROM story") == "in_progress"


def test_what_is_not_runnable_is_not_claimed(either: Place) -> None:
    either.ok("story add --id US-1 --title t --lane tiny --verify ' '")
    code, error = either.error(
        "story update --id US-1 --status in_progress --expected-status planned --require-runnable"
    )
    assert (code, error["code"]) == (3, "CONFLICT")
    assert "not runnable" in error["message"]
    assert either.value("SELECT status FROM story") == "planned"


def test_comparing_a_status_does_not_skip_the_completion(ledger: Place) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny")
    code, error = ledger.error("story update --id US-1 --status implemented --expected-status planned")
    assert (code, error["code"]) == (3, "CONFLICT")


@pytest.mark.parametrize(
    "options",
    [
        "--status changed --expected-status planned",
        "--status changed --require-runnable",
        "--status changed --require-runnable --json",
        "--evidence e --expected-status planned --json",
        "--status changed --evidence e --expected-status planned --json",
    ],
)
def test_options_of_the_comparison_belong_together(ledger: Place, options: str) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny")
    assert ledger.run(f"story update --id US-1 {options}").code == 2
    assert ledger.value("SELECT status FROM story") == "planned"


def test_a_decision_is_accepted_unless_it_says_otherwise(either: Place) -> None:
    assert either.ok("decision add --id D-1 --title one --doc d.md --predicted p --notes n") == "Decision D-1 added.\n"
    either.ok("decision add --id D-2 --title two --status superseded")
    columns = "id, title, status, doc_path, predicted_impact, notes"
    assert either.sql(f"SELECT {columns} FROM decision ORDER BY id") == [
        ("D-1", "one", "accepted", "d.md", "p", "n"),
        ("D-2", "two", "superseded", None, None, None),
    ]
    ran = either.run("decision add --id D-1 --title again")
    assert (ran.code, ran.err.startswith("error: there is a decision 'D-1' already\n")) == (1, True)
    assert "--verify" in either.run("decision verify D-1").err


def test_a_backlog_item_is_numbered_and_closed(either: Place) -> None:
    words = "backlog add --title b --while w --pain p --suggestion s --risk high-risk --predicted q --notes n"
    assert either.ok(words) == "Backlog #1 added.\n"
    assert either.ok("backlog close --id 1 --outcome 'it helped'") == "Backlog #1 closed as implemented.\n"
    columns = "title, discovered_while, current_pain, suggested_improvement, risk, status, predicted_impact, notes"
    assert either.sql(f"SELECT {columns}, actual_outcome, implemented_at IS NOT NULL FROM backlog") == [
        ("b", "w", "p", "s", "high_risk", "implemented", "q", "n", "it helped", 1)
    ]


def test_closing_again_keeps_the_outcome_and_only_implemented_is_stamped(either: Place) -> None:
    either.ok("backlog add --title b")
    assert either.ok("backlog close --id 1 --status accepted --outcome o") == "Backlog #1 closed as accepted.\n"
    either.ok("backlog close --id 1 --status rejected")
    assert either.sql("SELECT status, actual_outcome, implemented_at FROM backlog") == [("rejected", "o", None)]


def test_an_item_without_identity_is_closed_by_its_number(ledger: Place) -> None:
    ledger.sql("INSERT INTO backlog (title) VALUES ('from an older program')")
    ledger.ok("backlog add --title new")
    for number in (1, 2):
        ledger.ok(f"backlog close --id {number}", env=RUN)
    uid = ledger.value("SELECT uid FROM backlog WHERE id=2")
    assert [
        (line["version"], line.get("id"), line.get("uid"), sorted(line["payload"]))
        for line in ledger.changeset("run")[1:]
    ] == [
        (1, 1, None, ["actual_outcome", "status"]),
        (2, None, uid, ["actual_outcome", "closed_at", "status"]),
    ]
    assert ledger.sql("SELECT DISTINCT status FROM backlog") == [("implemented",)]


def test_a_proposal_that_was_accepted_is_closed_by_a_story_and_one_that_was_only_filed_by_hand(ledger: Place) -> None:
    for key in "ab":
        ledger.ok(f"backlog add --title {key}")
        ledger.sql("UPDATE backlog SET proposal_key=? WHERE title=?", f"key:{key}", key)
    ledger.sql("UPDATE backlog SET status='accepted', accepted_at=datetime('now') WHERE id=1")
    code, error = ledger.error("backlog close --id 1")
    assert (code, error["code"]) == (3, "CONFLICT")
    ledger.ok("backlog close --id 2 --outcome helped")


def test_an_intervention_names_its_trace_by_identity_where_it_has_one(ledger: Place) -> None:
    ledger.sql("INSERT INTO trace (task_summary) VALUES ('from an older program')")
    ledger.sql("INSERT INTO trace (task_summary, uid) VALUES ('new', 'trc_x')")
    for trace in (1, 2):
        words = f"intervention add --type override --description d --source ci --trace {trace} --story any --impact i"
        assert ledger.ok(words, env=RUN) == f"Intervention #{trace} recorded.\n"
    assert [
        (line["payload"].get("trace_id"), line["payload"]["trace_uid"]) for line in ledger.changeset("run")[1:]
    ] == [(1, None), (None, "trc_x")]
    assert ledger.sql("SELECT trace_id, type, source, story_id, impact FROM intervention") == [
        (1, "override", "ci", "any", "i"),
        (2, "override", "ci", "any", "i"),
    ]


def test_an_intervention_needs_no_trace(either: Place) -> None:
    words = "intervention add --type approval --description d --source human"
    assert either.json(words) == {"id": 1}


def test_names_of_any_characters_reach_neither_the_terminal_nor_the_json_raw(ledger: Place) -> None:
    name = "US\x1b[31m\n\u202e1"
    out = ledger.ok(["story", "add", "--id", name, "--title", "t" * 100_000, "--lane", "tiny"])
    assert out == "Story US\\x1b[31m\\n\\u202e1 added.\n"
    ran = ledger.run(["story", "verify", "--json", name])
    assert (ran.code, ran.out.count("\n"), ran.value["error"]["code"]) == (3, 1, "CONFLICT")
    assert "\x1b" not in ledger.run(["story", "verify", name]).err
