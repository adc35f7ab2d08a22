"""A matrix that is written down is read back as it was."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bridoon.ledger import brownfield, vocabulary

HEADINGS = ("Story", "Contract", "Unit", "Integration", "E2E", "Platform", "Status", "Lane", "Evidence")

cells = (
    st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=20)
    .map(str.strip)
    # a backslash in front of a pipe, or at the end of a cell, is what Markdown cannot say
    .filter(lambda text: not re.search(r"\\(\||$)", text))
)
ids = st.integers(1, 10_000).map("US-{}".format)
stories = st.lists(
    st.builds(
        lambda id, contract, lane, status, proofs, evidence: brownfield.Story(
            id, contract or id, contract or None, lane, status, proofs, evidence or None
        ),
        ids,
        cells,
        st.sampled_from(vocabulary.LANES),
        st.sampled_from(vocabulary.STORY_STATUSES),
        st.tuples(*[st.integers(0, 1)] * 4),
        cells,
    ),
    unique_by=lambda story: story.id,
    max_size=8,
)


def rendered(rows: list[brownfield.Story], order: list[int]) -> str:
    lines = [[HEADINGS[at] for at in order], ["---"] * len(order)]
    for story in rows:
        proofs = ["yes" if proof else "no" for proof in story.proofs]
        whole = [story.id, story.contract_doc or "", *proofs, story.status, story.risk_lane, story.evidence or ""]
        lines.append([whole[at].replace("|", "\\|") for at in order])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


@given(stories, st.permutations(range(len(HEADINGS))))
def test_a_matrix_that_is_written_is_read_back(rows: list[brownfield.Story], order: list[int]) -> None:
    assert brownfield.stories("# Matrix\n\n" + rendered(rows, order) + "\nEnd\n") == rows


@given(st.lists(st.tuples(stories, st.permutations(range(len(HEADINGS)))), max_size=3))
def test_several_tables_are_read_each_by_its_own_headings(
    tables: list[tuple[list[brownfield.Story], list[int]]],
) -> None:
    text = "\n".join(rendered(rows, order) for rows, order in tables)
    last = {story.id: story for rows, _ in tables for story in rows}

    assert {story.id: story for story in brownfield.stories(text)} == last


@given(st.text(max_size=300))
def test_no_text_at_all_breaks_the_reading(text: str) -> None:
    for each in (text, "| Story | Status |\n" + text, "## Items\n### Title\n" + text):
        brownfield.stories(each)
        brownfield.items(each)
        brownfield.decision("0001-a.md", each)


@given(st.text(alphabet="|\\ a-\n", max_size=60))
def test_a_row_of_pipes_and_backslashes_keeps_every_other_character(line: str) -> None:
    whole = "".join(brownfield.split_row("|" + line))

    assert sorted(whole.replace("|", "").replace("\\", "").replace(" ", "").replace("\n", "")) == sorted(
        line.replace("|", "").replace("\\", "").replace(" ", "").replace("\n", "")
    )
