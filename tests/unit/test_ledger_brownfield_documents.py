"""What the documents of a repository are understood to say."""

from __future__ import annotations

import pytest

from bridoon.ledger import brownfield

HEAD = "| Story | Contract | Unit | Integration | E2E | Platform | Status | Evidence |\n|---|---|---|---|---|---|---|---|\n"


def row(**cells: str) -> str:
    names = ("story", "contract", "unit", "integration", "e2e", "platform", "status", "evidence")
    return "| " + " | ".join(cells.get(name, "") for name in names) + " |\n"


def test_a_row_becomes_a_story() -> None:
    text = HEAD + row(story="US-1", contract="docs/a.md", unit="yes", e2e="no", status="In progress", evidence="run 7")

    assert brownfield.stories(text) == [
        brownfield.Story("US-1", "docs/a.md", "docs/a.md", "high_risk", "in_progress", (1, 0, 0, 0), "run 7")
    ]


def test_without_a_contract_the_id_is_the_title_and_an_odd_status_is_planned() -> None:
    (story,) = brownfield.stories(HEAD + row(story="US-1", status="soon"))

    assert (story.title, story.contract_doc, story.status, story.evidence) == ("US-1", None, "planned", None)


@pytest.mark.parametrize(
    "cell",
    ["", "no", "None", "n/a", "NA", "planned", "Pending review", "is pending", "blocked", "not attempted", "no run yet",
     "nope", "0", "false", "TBD", "TODO", "skipped", "SKIP", "-", "failed", "not operator-reviewed", "N/A for now"],
)  # fmt: skip
def test_cells_that_claim_no_proof(cell: str) -> None:
    assert brownfield.proven(cell) == 0


@pytest.mark.parametrize("cell", ["yes", "1", "pass", "12 tests", "[x]", "done", "normal run", "naming tests"])
def test_cells_that_claim_a_proof(cell: str) -> None:
    assert brownfield.proven(cell) == 1


@pytest.mark.parametrize("name", ["", "Story", "TBD", "todo", "Example", "---", "**examples**"])
def test_rows_that_describe_no_story_are_passed_over(name: str) -> None:
    assert brownfield.stories(HEAD + row(story=name, status="planned")) == []


def test_an_escaped_pipe_stays_in_its_cell() -> None:
    (story,) = brownfield.stories(HEAD + row(story="US-1", contract=r"a \| b", status="planned", evidence=r"x\|y"))

    assert (story.contract_doc, story.evidence) == ("a | b", "x|y")


def test_evidence_takes_what_is_right_of_it() -> None:
    (story,) = brownfield.stories(HEAD + "| US-1 | c | yes | no | no | no | planned | grep a | wc -l |\n")

    assert story.evidence == "grep a | wc -l"


def test_every_table_has_headings_of_its_own() -> None:
    text = (
        HEAD + row(story="US-1", status="planned")
        + "\n| Status | Lane | Story |\n|:--|--:|:-:|\n| implemented | normal | US-2 |\n"
        + "\n| Word | Meaning |\n| --- | --- |\n| US-9 | not a story |\n"
    )  # fmt: skip

    found = brownfield.stories(text)

    assert [(story.id, story.status, story.risk_lane) for story in found] == [
        ("US-1", "planned", "high_risk"),
        ("US-2", "implemented", "normal"),
    ]


def test_rows_after_a_gap_belong_to_the_table_before_it() -> None:
    text = HEAD + row(story="US-1", status="planned") + "\nmore:\n" + row(story="US-2", status="changed")

    assert [story.id for story in brownfield.stories(text)] == ["US-1", "US-2"]


@pytest.mark.parametrize(
    ("cell", "lane"),
    [("tiny", "tiny"), ("High-Risk", "high_risk"), ("normal (see 3)", "normal"), ("", "high_risk"), ("low", "high_risk"),
     ("tiny, normal or high-risk", "high_risk")],
)  # fmt: skip
def test_the_lane_comes_from_a_column_and_is_high_risk_without(cell: str, lane: str) -> None:
    (story,) = brownfield.stories(f"| Story | Risk | Status |\n|-|-|-|\n| US-1 | {cell} | planned |\n")

    assert story.risk_lane == lane


def test_of_two_rows_with_one_id_the_later_one_counts() -> None:
    text = HEAD + row(story="US-1", status="planned") + row(story="US-1", status="retired")

    assert [story.status for story in brownfield.stories(text)] == ["retired"]


def test_a_byte_order_mark_and_line_ends_of_windows_make_no_difference() -> None:
    text = HEAD + row(story="US-1", status="planned", evidence="e")

    assert brownfield.stories("\ufeff" + text.replace("\n", "\r\n")) == brownfield.stories(text)


def test_other_separators_do_not_end_a_line() -> None:
    (story,) = brownfield.stories(HEAD + row(story="US-1", status="planned", evidence="a\u2028b\x0bc"))

    assert story.evidence == "a\u2028b\x0bc"


@pytest.mark.parametrize(
    "text", ["", "|", "||", "|\n|\n", "| Story | Status", "| Story | Status |\n|-|", "|\\", "|\\|\\\\|"]
)
def test_pieces_of_tables_hold_no_stories(text: str) -> None:
    assert brownfield.stories(text) == []


@pytest.mark.parametrize(
    ("text", "title", "status"),
    [
        ("# Use SQLite\n\n## Status\n\nProposed\n", "Use SQLite", "proposed"),
        ("# A\n## Status\n- Rejected\n", "A", "rejected"),
        ("# A\n## Status\n\nSuperseded by 0004\n", "A", "superseded"),
        ("# A\n## Status\n\nin force\n", "A", "accepted"),
        ("text\n", "0001-a", "accepted"),
        ("", "0001-a", "accepted"),
        ("\ufeff# A\r\n\r\n## Status\r\n\r\nRejected\r\n", "A", "rejected"),
    ],
)
def test_a_decision_has_a_title_and_a_status(text: str, title: str, status: str) -> None:
    assert brownfield.decision("0001-a.md", text) == brownfield.Decision("0001-a", title, status)


def test_the_backlog_begins_with_items() -> None:
    text = (
        "# Backlog\n### Title\nNot this\n## Items\n\n## Missing\n\n### Title\n\nDrafts\n\n### Discovered While\n\nA task\n"
        "more of it\n\n### Risk\n\nNormal - contained\n\n### Status\n\naccepted (see 0003)\n"
        "## Missing\n### Title\nShort name.\n### Title\n\n#12 is slow\n### Current Pain\n### Status\n- rejected\n"
    )

    assert brownfield.items(text) == [
        brownfield.Item("Drafts", "A task", None, None, "normal", "accepted"),
        brownfield.Item("#12 is slow", None, None, None, None, "rejected"),
    ]


def test_an_item_of_unknown_risk_and_status_is_proposed() -> None:
    (item,) = brownfield.items("## Items\n### Title\nA\n### Risk\ntiny, normal or high-risk\n### Status\nmaybe\n")

    assert (item.risk, item.status) == (None, "proposed")


@pytest.mark.timeout(20)
def test_long_lines_and_many_rows_take_no_more_time_than_their_size() -> None:
    long = HEAD + row(story="US-1", contract="\\|" * 500_000, status="planned", evidence="x_" * 500_000)
    wide = "| Story | Status |" + " x |" * 300_000 + "\n|-|-|\n| US-1 | planned |\n"
    many = HEAD + "".join(row(story=f"US-{n}", unit="yes", status="planned") for n in range(100_000))

    assert brownfield.stories(long)[0].title == "|" * 500_000
    assert len(brownfield.stories(wide)) == 1
    assert len(brownfield.stories(many)) == 100_000
