"""`story backlog` and `story complete`: what a story resolves, and that both are closed together or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ledgers import Place
from processes import eventually

RUN = {"HARNESS_RUN_ID": "run"}


def story(place: Place, name: str = "S", command: str = "true", status: str = "in_progress") -> None:
    place.ok(["story", "add", "--id", name, "--title", "t", "--lane", "tiny", "--verify", command])
    place.ok(["story", "update", "--id", name, "--status", status])


def accepted(place: Place, *numbers: int) -> None:
    for number in numbers:
        place.ok(f"backlog add --title b{number}")
        place.ok(f"backlog close --id {number} --status accepted")


def link(place: Place, number: int, relationship: str = "resolves", name: str = "S") -> str:
    return place.ok(f"story backlog link --story {name} --backlog {number} --relationship {relationship}")


def prove(place: Place, name: str = "S") -> None:
    place.ok(f"intake --type harness-improvement --summary s --lane tiny --story {name}")
    trace = f"trace --summary 'all is done' --intake 1 --story {name} --outcome completed --actions a --changed f"
    place.ok(trace)


def refused(place: Place, words: str, part: str) -> None:
    before = [place.sql(f"SELECT * FROM {table}") for table in ("story", "backlog", "story_backlog_link")]
    code, error = place.error(words, env=RUN)
    assert (code, error["code"]) == (3, "CONFLICT")
    assert part in error["message"]
    assert [place.sql(f"SELECT * FROM {table}") for table in ("story", "backlog", "story_backlog_link")] == before
    assert place.changeset("run") == []


# ---- links


def test_a_link_is_added_changed_and_removed_and_nothing_is_recorded_twice(ledger: Place) -> None:
    story(ledger)
    accepted(ledger, 1)
    said = []
    for words in ("link references", "link references", "link resolves", "unlink", "unlink"):
        verb, _, relationship = words.partition(" ")
        options = f"--relationship {relationship}" if relationship else ""
        said.append(ledger.ok(f"story backlog {verb} --story S --backlog 1 {options}", env=RUN))
    assert said == [
        "Story backlog link S -> #1 (references) added.\n",
        "Story backlog link S -> #1 (references) unchanged.\n",
        "Story backlog link S -> #1 (resolves) changed.\n",
        "Story backlog link S -> #1 removed.\n",
        "Story backlog link S -> #1 unchanged.\n",
    ]
    assert [line["op"].rpartition(".")[2] for line in ledger.changeset("run")] == ["header", "link", "link", "unlink"]


def test_a_story_resolves_only_what_is_accepted(ledger: Place) -> None:
    story(ledger)
    ledger.ok("backlog add --title b")
    refused(ledger, "story backlog link --story S --backlog 1 --relationship resolves", "proposed")
    link(ledger, 1, "references")


@pytest.mark.parametrize("status", ["implemented", "retired"])
def test_a_story_that_is_over_resolves_nothing_more(ledger: Place, status: str) -> None:
    story(ledger, status=status)
    accepted(ledger, 1)
    refused(ledger, "story backlog link --story S --backlog 1 --relationship resolves", status)


def test_an_item_has_one_resolver(ledger: Place) -> None:
    story(ledger)
    story(ledger, "T")
    accepted(ledger, 1)
    link(ledger, 1)
    refused(ledger, "story backlog link --story T --backlog 1 --relationship resolves", "'S'")
    link(ledger, 1, "references", "T")
    ledger.ok("story backlog unlink --story S --backlog 1")
    link(ledger, 1, "resolves", "T")


def test_whatever_changes_what_a_story_resolves_takes_its_verdict(ledger: Place) -> None:
    story(ledger)
    accepted(ledger, 1)

    def verdict_after(words: str) -> object:
        ledger.ok("story verify S")
        ledger.ok(f"story backlog {words}")
        return ledger.value("SELECT last_verified_result FROM story")

    assert verdict_after("link --story S --backlog 1 --relationship references") == "pass"
    assert verdict_after("link --story S --backlog 1 --relationship resolves") is None
    assert verdict_after("link --story S --backlog 1 --relationship resolves") == "pass"
    assert verdict_after("link --story S --backlog 1 --relationship references") is None
    assert verdict_after("unlink --story S --backlog 1") == "pass"


def test_an_item_without_identity_cannot_be_linked(ledger: Place) -> None:
    story(ledger)
    ledger.sql("INSERT INTO backlog (title, status) VALUES ('from an older program', 'accepted')")
    refused(ledger, "story backlog link --story S --backlog 1 --relationship resolves", "identity")


@pytest.mark.parametrize("words", ["--story nobody --backlog 1", "--story S --backlog 9"])
def test_a_link_needs_both_its_ends(ledger: Place, words: str) -> None:
    story(ledger)
    accepted(ledger, 1)
    code, error = ledger.error(f"story backlog link --relationship references {words}")
    assert (code, error["code"]) == (3, "NOT_FOUND")


def test_links_are_listed_by_story_and_item(ledger: Place) -> None:
    for name in "TS":
        story(ledger, name)
    accepted(ledger, 1, 2)
    link(ledger, 2)
    link(ledger, 1)
    link(ledger, 2, "references", "T")
    rows = [line.split() for line in ledger.ok("story backlog list").splitlines()]
    assert rows[0] == ["story", "backlog", "relationship", "status", "title"]
    assert rows[2:] == [
        ["S", "1", "resolves", "accepted", "b1"],
        ["S", "2", "resolves", "accepted", "b2"],
        ["T", "2", "references", "accepted", "b2"],
    ]
    links = ledger.json("story backlog list --backlog 2")["links"]
    assert [(each["story"], each["backlog"], each["relationship"]) for each in links] == [
        ("S", 2, "resolves"),
        ("T", 2, "references"),
    ]
    assert ledger.json("story backlog list --story S --backlog 1")["total"] == 1


# ---- completion


def test_a_story_without_links_is_completed_by_its_command(ledger: Place) -> None:
    story(ledger, command="echo proven")
    ran = ledger.run("story complete S", env=RUN)
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines == [
        "Running: echo proven",
        "proven",
        "Story S completion: pass; closed backlog: none; already closed: none; references: none",
    ]
    assert ledger.sql("SELECT status, last_verified_result FROM story") == [("implemented", "pass")]
    (line,) = ledger.changeset("run")[1:]
    assert (line["op"], line["id"], line["payload"]["result"]) == ("story.complete", "S", "pass")
    assert line["payload"]["completion_uid"].startswith("cmp_")


def test_a_completed_story_is_not_verified_again(ledger: Place) -> None:
    story(ledger, command="echo x >> ran")
    ledger.ok("story complete S")
    assert ledger.ok("story complete S", env=RUN) == (
        "Story S completion: already-completed; closed backlog: none; already closed: none; references: none\n"
    )
    assert (ledger.root / "ran").read_text("ascii") == "x\n"
    assert ledger.changeset("run") == []


@pytest.mark.parametrize("status", ["planned", "retired"])
def test_only_a_story_in_work_is_completed(ledger: Place, status: str) -> None:
    story(ledger, status=status)
    refused(ledger, "story complete S", status)


def test_a_story_without_a_command_cannot_be_completed(ledger: Place) -> None:
    story(ledger, command=" ")
    refused(ledger, "story complete S", "no verify command")


def test_a_failing_command_is_recorded_and_completes_nothing(ledger: Place) -> None:
    story(ledger, command="echo broken; exit 2")
    ran = ledger.run("story complete S", env=RUN)
    assert (ran.code, ran.lines[1]) == (1, "broken")
    assert ran.lines[-1] == "Story S completion: fail; closed backlog: none; already closed: none; references: none"
    assert ledger.sql("SELECT status, last_verified_result FROM story") == [("in_progress", "fail")]
    assert [line["op"] for line in ledger.changeset("run")[1:]] == ["story.verify"]
    code, error = ledger.error("story complete S")
    assert (code, error["code"]) == (4, "VERIFICATION_FAILED")
    assert (error["details"]["output"], error["details"]["exit_code"]) == ("broken\n", 2)


def test_what_a_story_resolves_is_closed_with_it(ledger: Place) -> None:
    story(ledger)
    accepted(ledger, 1, 2, 3)
    ledger.sql("UPDATE backlog SET outcome_schedule_kind='trace_count' WHERE id=2")
    for number, relationship in ((1, "resolves"), (2, "resolves"), (3, "references")):
        link(ledger, number, relationship)
    prove(ledger)
    result = ledger.json("story complete S", env=RUN)
    assert result == {
        "id": "S",
        "result": "pass",
        "closed_backlog": [1, 2],
        "already_closed": [],
        "references": [3],
    }
    assert ledger.sql("SELECT status, closed_at=implemented_at, outcome_baseline_trace_count FROM backlog") == [
        ("implemented", 1, None),
        ("implemented", 1, 1),
        ("accepted", None, None),
    ]
    evidence = json.loads(ledger.value("SELECT resolution_evidence FROM backlog WHERE id=1"))
    first = ledger.changeset("run")[1]["payload"]
    assert evidence == {"story_id": "S", "verify_command": "true", **first}
    assert [line["op"] for line in ledger.changeset("run")[1:]] == ["story.complete"] + ["backlog.complete"] * 2
    assert ledger.ok("story complete S").endswith("already closed: #1, #2; references: #3\n")


def test_a_story_that_was_opened_again_keeps_what_it_had_closed(ledger: Place) -> None:
    story(ledger)
    accepted(ledger, 1)
    link(ledger, 1)
    prove(ledger)
    ledger.ok("story complete S")
    ledger.ok("story update --id S --status changed")
    refused(ledger, "story backlog unlink --story S --backlog 1", "#1")
    refused(ledger, "story backlog link --story S --backlog 1 --relationship references", "#1")
    result = ledger.json("story complete S")
    assert (result["closed_backlog"], result["already_closed"]) == ([], [1])


def test_an_item_that_was_closed_otherwise_stops_the_completion(ledger: Place) -> None:
    story(ledger)
    accepted(ledger, 1)
    link(ledger, 1)
    prove(ledger)
    ledger.ok("backlog close --id 1")
    refused(ledger, "story complete S", "#1")


def test_resolving_needs_an_intake_that_asked_for_it(ledger: Place) -> None:
    story(ledger)
    accepted(ledger, 1)
    link(ledger, 1)
    ledger.ok("intake --type maintenance --summary s --lane tiny --story S")
    refused(ledger, "story complete S", "intake")


@pytest.mark.parametrize(
    "options",
    [
        "--intake 1 --story S --outcome partial --actions a --changed f",
        "--intake 1 --story S --outcome completed --actions ' ' --changed f",
        "--intake 1 --story S --outcome completed --actions a --changed []",
        "--intake 1 --story T --outcome completed --actions a --changed f",
        "--intake 2 --story S --outcome completed --actions a --changed f",
        "--story S --outcome completed --actions a --changed f",
    ],
)
def test_resolving_needs_a_trace_of_the_finished_work(ledger: Place, options: str) -> None:
    for name in "ST":
        story(ledger, name)
    accepted(ledger, 1)
    link(ledger, 1)
    ledger.ok("intake --type harness-improvement --summary s --lane tiny --story S")
    ledger.ok("intake --type harness-improvement --summary s --lane tiny --story T")
    ledger.ok(f"trace --summary 'all is done' {options}")
    refused(ledger, "story complete S", "trace")


def test_a_trace_from_before_the_link_is_no_proof(ledger: Place) -> None:
    story(ledger)
    accepted(ledger, 1)
    prove(ledger)
    link(ledger, 1)
    refused(ledger, "story complete S", "trace")
    ledger.sql("UPDATE trace SET recorded_at_unix_ns=NULL")
    refused(ledger, "story complete S", "trace")
    ledger.sql("UPDATE trace SET created_at='9999-01-01 00:00:00'")
    ledger.ok("story complete S")


@pytest.mark.parametrize(
    "change",
    [
        "story update --id S --verify 'echo other'",
        "story update --id S --status retired",
        "backlog close --id 1 --status rejected",
        "story backlog unlink --story S --backlog 1",
    ],
)
def test_what_changes_while_the_command_runs_is_seen(ledger: Place, change: str) -> None:
    story(ledger, command=f"harness-cli {change}")
    accepted(ledger, 1)
    link(ledger, 1)
    prove(ledger)
    code, error = ledger.error("story complete S", env=RUN)
    assert (code, error["code"], "nothing was recorded" in error["message"]) == (3, "CONFLICT", True)
    assert ledger.value("SELECT last_verified_result FROM story") is None
    assert ledger.value("SELECT status FROM story") in ("in_progress", "retired")
    assert ledger.changeset("run") == []


def test_of_two_completions_at_once_one_completes(ledger: Place, tmp_path: Path) -> None:
    go = tmp_path / "go"
    story(ledger, command=f"echo x >> ran; until test -e {go}; do sleep 0.02; done")
    both = [ledger.start("story complete S") for _ in range(2)]
    ran = ledger.root / "ran"
    assert eventually(lambda: ran.exists() and ran.read_text("ascii") == "x\nx\n")
    go.touch()
    said = sorted(each.communicate(timeout=15)[0].decode().splitlines()[-1].split(";")[0] for each in both)
    assert said == ["Story S completion: already-completed", "Story S completion: pass"]
    assert [each.returncode for each in both] == [0, 0]


def test_an_old_ledger_completes_nothing_and_says_what_it_needs(ledger6: Place) -> None:
    story(ledger6)
    ran = ledger6.run("story complete S")
    assert (ran.code, "harness-cli migrate" in ran.err) == (1, True)
    assert ledger6.value("SELECT status FROM story") == "in_progress"
