"""`trace`, `score-trace`, `score-context`, `audit` and `propose` as people and programs see them, on old and new ledgers."""

from __future__ import annotations

from typing import Any

import pytest
from ledgers import Place

RUN = {"HARNESS_RUN_ID": "run"}
GOOD = "--agent me --actions edit --read README.md --changed a.py --friction none --outcome completed"


@pytest.fixture(params=["ledger", "ledger6"])
def either(request: pytest.FixtureRequest) -> Place:
    """A ledger of the newest schema, and one of the oldest that we work with."""
    place = request.getfixturevalue(request.param)
    assert isinstance(place, Place)
    return place


def _friction(place: Place, text: str, times: int = 2, *more: str) -> None:
    for _ in range(times):
        place.ok(["trace", "--summary", "something was done", f"--friction={text}", *more])


def test_a_trace_is_recorded_and_scored_in_one_answer(either: Place) -> None:
    either.ok("intake --type maintenance --summary s --lane normal")
    assert either.ok(f"trace --summary 'something was done' --intake 1 {GOOD}") == (
        "Trace #1 recorded.\n"
        "Trace #1:\n"
        "  Tier achieved: standard (2/3)\n"
        "  Lane: normal -> required tier: standard (2/3)\n"
        "  MEETS REQUIREMENT\n"
        "\n"
        "  Missing for detailed:\n"
        "    - decisions_made: empty\n"
        "    - errors: null\n"
        "    - duration_seconds: null (or say in the notes that the duration is unavailable)\n"
        "    - token_estimate: null (or say in the notes that the token count is unavailable)\n"
        "\n"
        "When a person corrects or overrides this work, record it: harness-cli intervention add\n"
    )


def test_a_trace_of_a_story_that_has_not_passed_ends_with_a_warning_and_still_with_success(either: Place) -> None:
    either.ok("story add --id US-1 --title t --lane tiny --verify 'make test'")
    out = either.ok("trace --summary 'something was done' --story US-1")
    warning = out.split("intervention add\n")[1].splitlines()
    assert warning[0] == ""
    assert "US-1" in warning[1]
    assert "harness-cli story verify US-1" in warning[2]
    assert "make test" in warning[2]
    either.sql("UPDATE story SET last_verified_result='pass'")
    assert "Warning" not in either.ok("trace --summary 'something was done' --story US-1")


def test_a_program_gets_the_verdict_in_fields(either: Place) -> None:
    either.ok("story add --id US-1 --title t --lane high-risk")
    found = either.json(f"trace --summary 'something was done' --story US-1 {GOOD}")
    assert (found["id"], found["tier"], found["tier_name"], found["meets"]) == (1, 2, "standard", False)
    assert (found["lane"], found["lane_source"], found["required"]) == ("high_risk", "story", 3)
    assert found["missing_for"] == "detailed"
    assert len(found["missing"]) == 4
    assert (found["uid"] or "trc_").startswith("trc_")
    ran = either.run("score-trace --id 1 --json")
    assert (ran.code, ran.value["result"]["missing"]) == (1, found["missing"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--intake x", "trace: --intake must be an integer"),
        ("--duration 1.5", "trace: --duration must be an integer"),
        ("--tokens 1e3", "trace: --tokens must be an integer"),
        ("--outcome done", "trace: --outcome"),
        ("--intake 9", "there is no intake #9"),
        ("--story US-9", "no story is called 'US-9'"),
    ],
)
def test_a_trace_that_cannot_be_is_refused_in_plain_words(either: Place, words: str, named: str) -> None:
    ran = either.run(f"trace --summary s {words}")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: " + named)
    assert either.value("SELECT count(*) FROM trace") == 0


def test_the_latest_trace_is_scored_when_none_is_named_and_the_exit_code_is_the_verdict(either: Place) -> None:
    assert either.run("score-trace").err.startswith("error: there are no traces yet\n")
    either.ok("intake --type maintenance --summary s --lane tiny")
    either.ok("trace --summary 'too short' --intake 1")
    ran = either.run("score-trace")
    assert (ran.code, ran.err, ran.lines[0]) == (1, "", "Trace #1 (latest):")
    either.ok("trace --summary short")
    assert either.run("score-trace").code == 0
    assert either.run("score-trace --id 3").err.startswith("error: there is no trace #3\n")


def test_context_is_scored_by_the_lane_of_the_intake(either: Place) -> None:
    either.ok("intake --type maintenance --summary s --lane tiny")
    either.ok("trace --summary s --intake 1 --read AGENTS.md,docs/ARCHITECTURE.md")
    assert either.ok("score-context 1") == (
        "Trace #1 | Lane: tiny | Phase: intake\n"
        "\n"
        "Must-read compliance: 1/3\n"
        "  OK Agent entrypoint (AGENTS.md)\n"
        "  MISSING Feature intake (docs/FEATURE_INTAKE.md)\n"
        "  MISSING Durable matrix (scripts/bin/harness-cli query matrix)\n"
        "Should-read compliance: 0/0\n"
        "Over-reading: 1 item(s)\n"
        "  - docs/ARCHITECTURE.md\n"
    )
    assert either.json("score-context 1")["over_reading"] == ["docs/ARCHITECTURE.md"]
    assert either.run("score-context one").code == 1
    assert either.run("score-context 2").code == 1


def _drift(place: Place) -> None:
    place.ok("story add --id US-1 --title Orphan --lane tiny")
    place.ok("story add --id US-2 --title Unproven --lane tiny --verify true")
    place.ok("story add --id US-3 --title Stale --lane tiny")
    place.ok("story add --id US-4 --title Retired --lane tiny --verify true")
    place.ok("decision add --id D-1 --title Decided --verify true")
    place.ok("backlog add --title Idea --predicted less")
    place.ok("backlog close --id 1")
    place.ok("tool register --name ghost --command ghost-of-a-tool --description 'it is not here' "
             "--responsibility Verification --force")  # fmt: skip
    for story in ("US-2", "US-3", "US-4"):
        place.ok(f"trace --summary s --story {story}")
    place.sql("UPDATE trace SET created_at=datetime('now', '-31 days') WHERE story_id IN ('US-3', 'US-4')")
    place.sql("UPDATE story SET status='retired' WHERE id='US-4'")


def test_the_audit_lists_every_kind_of_drift_and_weighs_it(either: Place) -> None:
    _drift(either)
    assert either.ok("audit") == (
        "=== Harness Audit ===\n"
        "\n"
        "Orphaned stories (planned/in-progress, no traces): 1\n"
        "  - US-1: Orphan\n"
        "\n"
        "Unverified stories: 1\n"
        "  - US-2: Unproven\n"
        "\n"
        "Unverified decisions: 1\n"
        "  - D-1: Decided\n"
        "\n"
        "Open backlog without outcomes: 1\n"
        "  - 1: Idea\n"
        "\n"
        "Stale stories: 1\n"
        "  - US-3: Stale\n"
        "\n"
        "Broken tools: 1\n"
        "  - ghost: ghost-of-a-tool\n"
        "\n"
        "Entropy score: 33/100 (lower is better)\n"
    )
    found = either.json("audit")
    assert (found["entropy"], found["band"]) == (33, "attention")
    assert [each["weight"] for each in found["categories"]] == [10, 5, 5, 2, 3, 8]


@pytest.mark.parametrize(("stories", "entropy", "band"), [(0, 0, "perfect"), (2, 20, "healthy"), (11, 100, "action")])
def test_entropy_goes_from_nothing_to_a_hundred(ledger: Place, stories: int, entropy: int, band: str) -> None:
    for number in range(stories):
        ledger.sql("INSERT INTO story (id, title, risk_lane) VALUES (?, 't', 'tiny')", str(number))
    found = ledger.json("audit")
    assert (found["entropy"], found["band"]) == (entropy, band)


def test_a_failing_verification_is_drift_and_a_passing_one_is_not(either: Place) -> None:
    either.ok("story add --id US-1 --title t --lane tiny --verify true")
    either.ok("trace --summary s --story US-1")
    either.sql("UPDATE story SET last_verified_result='fail'")
    assert either.json("audit")["entropy"] == 5
    either.sql("UPDATE story SET last_verified_result='pass'")
    assert either.json("audit")["entropy"] == 0


def test_a_tool_that_nobody_has_looked_for_is_not_broken(either: Place) -> None:
    either.ok("tool register --name c3 --kind skill --command skill:c3 --scan .c3 --description 'a model of parts' "
              "--responsibility Verification")  # fmt: skip
    assert either.json("audit")["entropy"] == 0
    either.ok("tool check")
    assert either.json("audit")["entropy"] == 8


def test_proposals_come_from_friction_interventions_and_drift_in_this_order(ledger6: Place) -> None:
    ledger6.ok("story add --id US-1 --title Orphan --lane tiny")
    _friction(ledger6, "Tests are slow")
    _friction(ledger6, "tests are slow!", 1)
    _friction(ledger6, " NONE ", 3)
    _friction(ledger6, "only once", 1)
    for text in ("Wrong lane.", "wrong lane"):
        ledger6.ok(["intervention", "add", "--type", "correction", "--source", "human", "--description", text])
    assert ledger6.ok("propose") == (
        "=== Improvement Proposals ===\n"
        "\n"
        "Proposal 1 (high confidence):\n"
        "  Title: Reduce repeated friction: Tests are slow\n"
        "  Component: Failure attribution\n"
        "  Evidence: 3 traces report: Tests are slow\n"
        "  Predicted impact: Fewer traces report this friction.\n"
        "  Risk: normal\n"
        "  Suggested action: Find what causes it, and remove the cause or write down the way around it "
        "where the work begins.\n"
        "  Validation: No new trace reports it in the next runs that do such work.\n"
        "\n"
        "Proposal 2 (medium confidence):\n"
        "  Title: Address repeated intervention: correction: Wrong lane.\n"
        "  Component: Intervention recording\n"
        "  Evidence: 2 interventions say: correction: Wrong lane.\n"
        "  Predicted impact: Nobody has to step in for this reason again.\n"
        "  Risk: normal\n"
        "  Suggested action: Turn what people keep saying into an instruction, a check or a gate that comes "
        "before them.\n"
        "  Validation: No new intervention says it in the next runs that do such work.\n"
        "\n"
        "Proposal 3 (low confidence):\n"
        "  Title: Clean up orphaned planned or in-progress stories\n"
        "  Component: Entropy auditing\n"
        "  Evidence: 1 in the audit: US-1\n"
        "  Predicted impact: The entropy score goes down.\n"
        "  Risk: tiny\n"
        "  Suggested action: Go through the findings of harness-cli audit and bring each one up to date, "
        "or retire it.\n"
        "  Validation: harness-cli audit counts none of them any more.\n"
        "\n"
        "3 proposal(s) generated; --commit records them in the backlog.\n"
    )


def test_nothing_to_propose_is_said_so(either: Place) -> None:
    assert either.ok("propose") == "=== Improvement Proposals ===\nNo proposals generated.\n"
    assert either.json("propose") == {"proposals": [], "suppressed": 0}


def test_committing_fills_the_backlog_once(either: Place) -> None:
    _friction(either, "Tests are slow")
    out = either.ok("propose --commit", env=RUN)
    assert "  Created backlog item #1\n" in out
    row = either.sql(
        "SELECT title, status, discovered_while, current_pain, suggested_improvement, risk, predicted_impact, notes "
        "FROM backlog"
    )
    assert row == [
        (
            "Reduce repeated friction: Tests are slow",
            "proposed",
            "harness-cli propose",
            "2 traces report: Tests are slow",
            "Find what causes it, and remove the cause or write down the way around it where the work begins.",
            "normal",
            "Fewer traces report this friction.",
            "component: Failure attribution; confidence: medium; "
            "validation: No new trace reports it in the next runs that do such work.",
        )
    ]
    _friction(either, "tests are slow")
    again = either.ok("propose --commit", env=RUN)
    assert "  Backlog item: #1 (there already)\n" in again
    assert "Created" not in again
    assert either.value("SELECT count(*) FROM backlog") == 1
    assert [line["op"] for line in either.changeset("run")] == ["changeset.header", "backlog.add"]


def test_frictions_that_begin_alike_are_different_proposals(either: Place) -> None:
    beginning = "one two three four five six seven eight"
    for ending in ("nine", "ten"):
        _friction(either, f"{beginning} {ending}")
    for _ in range(2):
        either.ok("propose --commit")
    pains = [pain for (pain,) in either.sql("SELECT current_pain FROM backlog ORDER BY id")]
    assert pains == [f"2 traces report: {beginning} {ending}" for ending in ("nine", "ten")]


@pytest.mark.parametrize(
    "text", ["bell\x07 and\x1b[31m red\nnext line", "測試" * 300_000, "x" * 1_000_000, "ünï " * 40]
)
def test_texts_of_any_kind_stay_on_their_line_and_whole_in_json(either: Place, text: str) -> None:
    either.sql("INSERT INTO trace (task_summary, harness_friction) VALUES ('s', ?), ('s', ?)", text, text)
    either.sql("INSERT INTO story (id, title, risk_lane) VALUES ('US-1', ?, 'tiny')", text)
    out = either.ok("propose") + either.ok("audit") + either.ok("propose --commit")
    assert not any(ord(char) < 32 and char != "\n" for char in out)
    assert max(map(len, out.splitlines())) < 700
    (friction,) = [each for each in either.json("propose")["proposals"] if each["source"] == "friction"]
    assert friction["pattern"] == text
    assert either.json("audit")["categories"][0]["findings"] == [{"id": "US-1", "title": text}]


@pytest.mark.parametrize(
    "words",
    [
        "propose --show-suppressed",
        "propose --accept k --outcome-manual",
        "propose --reject k --reason r",
        "audit --record-evidence",
        "backlog outcome record --id 1 --status confirmed --outcome better",
        "backlog reconcile --action backfill-lifecycle-identity --dry-run",
        "query improvement-health",
    ],
)
def test_what_needs_the_newest_schema_says_how_to_get_it(ledger6: Place, words: str) -> None:
    ran = ledger6.run(words)
    assert (ran.code, ran.out) == (1, "")
    assert "needs schema 14" in ran.err or "need schema 14" in ran.err
    assert "harness-cli migrate" in ran.err


def test_a_trace_in_a_changeset_gives_the_same_row_elsewhere_and_twice(ledger: Place, tmp_path: Any) -> None:
    ledger.ok("intake --type maintenance --summary s --lane tiny", env=RUN)
    ledger.ok("story add --id US-1 --title t --lane tiny", env=RUN)
    ledger.ok(f"trace --summary 'something was done' --intake 1 --story US-1 {GOOD} --tokens=-5", env=RUN)
    (tmp_path / "other").mkdir()
    other = {"HARNESS_DB_PATH": str(tmp_path / "other" / "harness.db")}
    ledger.ok(["db", "rebuild", "--from", str(ledger.changesets)], env=other)
    columns = "SELECT * FROM trace"
    here = ledger.sql(columns)
    path = str(ledger.changesets / "run.changeset.jsonl")
    ledger.ok(["db", "changeset", "apply", path], env=other)
    import sqlite3

    db = sqlite3.connect(other["HARNESS_DB_PATH"])
    there = db.execute(columns).fetchall()
    db.close()
    assert there == here
