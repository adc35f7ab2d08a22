"""Edges between stories: who waits for whom, who is a part of whom, and that nobody goes round in circles."""

from __future__ import annotations

import pytest
from ledgers import Place

RUN = {"HARNESS_RUN_ID": "run"}
KINDS = {"dependency": ("blocker", "blocked"), "hierarchy": ("parent", "child")}


def words(kind: str, change: str, first: str, second: str) -> list[str]:
    start, end = KINDS[kind]
    return ["story", kind, change, f"--{start}", first, f"--{end}", second]


@pytest.fixture
def stories(ledger: Place) -> Place:
    """A ledger with the stories A to D."""
    with ledger.open() as db:
        for name in "ABCD":
            db.execute("INSERT INTO story (id, title, risk_lane, verify_command) VALUES (?, 't', 'tiny', 'true')", name)
    return ledger


@pytest.mark.parametrize("kind", KINDS)
def test_an_edge_is_added_and_removed_once(stories: Place, kind: str) -> None:
    said = [
        stories.ok(words(kind, change, "A", "B"), env=RUN) for change in ("add", "add", "remove", "remove", "remove")
    ]
    assert said == [
        f"Story {kind} A -> B {change}.\n" for change in ("added", "unchanged", "removed", "unchanged", "unchanged")
    ]
    assert [line["op"] for line in stories.changeset("run")] == [
        "changeset.header",
        f"story.{kind}.add",
        f"story.{kind}.remove",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_learns_what_became_of_an_edge(stories: Place, kind: str) -> None:
    start, end = KINDS[kind]
    assert stories.json(words(kind, "add", "A", "B")) == {start: "A", end: "B", "change": "added"}
    assert stories.json(words(kind, "add", "A", "B"))["change"] == "unchanged"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("first", "second"), [("A", "A"), ("C", "A"), ("B", "A")])
def test_no_story_comes_before_itself(stories: Place, kind: str, first: str, second: str) -> None:
    stories.ok(words(kind, "add", "A", "B"))
    stories.ok(words(kind, "add", "B", "C"))
    code, error = stories.error(words(kind, "add", first, second), env=RUN)
    assert (code, error["code"]) == (3, "CONFLICT")
    assert stories.value(f"SELECT count(*) FROM story_{kind}") == 2
    assert stories.changeset("run") == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("first", "second"), [("A", "nobody"), ("nobody", "A")])
def test_an_edge_needs_both_its_stories(stories: Place, kind: str, first: str, second: str) -> None:
    code, error = stories.error(words(kind, "add", first, second))
    assert (code, error["code"], "'nobody'" in error["message"]) == (3, "NOT_FOUND", True)
    assert stories.ok(words(kind, "remove", first, second)).endswith(" unchanged.\n")


@pytest.mark.parametrize("kind", KINDS)
def test_two_ways_to_one_story_are_no_circle(stories: Place, kind: str) -> None:
    for first, second in ("AB", "AC", "BD", "CD", "AD"):
        stories.ok(words(kind, "add", first, second))
    assert stories.value(f"SELECT count(*) FROM story_{kind}") == 5


def test_the_two_kinds_of_edges_do_not_meet(stories: Place) -> None:
    stories.ok(words("dependency", "add", "A", "B"))
    stories.ok(words("hierarchy", "add", "B", "A"))


def test_a_story_is_claimed_when_all_that_blocks_it_is_implemented(stories: Place) -> None:
    claim = "story update --id C --status in_progress --expected-status planned --require-runnable"
    for blocker in "AB":
        stories.ok(words("dependency", "add", blocker, "C"))
    stories.ok(words("hierarchy", "add", "D", "C"))
    stories.ok("story update --id A --status implemented")
    code, error = stories.error(claim)
    assert (code, error["details"]["blockers"]) == (3, ["B"])
    stories.ok("story update --id B --status implemented")
    assert stories.json(claim) == {
        "id": "C",
        "before_status": "planned",
        "after_status": "in_progress",
        "runnable_before": True,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_ledger_has_no_edges_and_says_how_it_gets_them(ledger6: Place, kind: str) -> None:
    ran = ledger6.run(words(kind, "add", "A", "B"))
    assert (ran.code, "harness-cli migrate" in ran.err) == (1, True)
    assert ledger6.error(words(kind, "add", "A", "B"))[0] == 2
