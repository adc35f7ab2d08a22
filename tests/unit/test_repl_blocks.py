"""Markdown that arrives in pieces is cut into blocks that can be rendered once and for all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridoon.cli.terminal.blocks import Blocks

LINES = st.sampled_from(
    ["word", "two words ", "", "  ", "- item", "  more of it", "1. first", "# Title", "```", "```python",
     "~~~~", "    code", "| a | b |", "> quote", "````", "\ttab", "* x", "- ```", "  ```", "###",
     "``` not ` a fence"]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=30).map("\n".join) | st.text(alphabet="a\n -#`~1. \t", max_size=80)


def blocks(*pieces: str) -> list[str]:
    """All blocks of a text that comes in these pieces."""
    cutter = Blocks()
    found = [block for piece in pieces for block in cutter.feed(piece)]
    return found + cutter.finish()


@given(TEXTS, st.lists(st.integers(0, 200), max_size=20))
def test_how_the_text_is_cut_into_pieces_does_not_matter(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    assert blocks(*pieces) == blocks(text)


@given(TEXTS)
def test_nothing_of_the_text_is_lost_or_changed(text: str) -> None:
    assert "".join(blocks(*text)) == text


@given(TEXTS, st.integers(0, 100))
def test_what_is_not_finished_is_open(text: str, at: int) -> None:
    cutter = Blocks()
    finished = cutter.feed(text[:at])
    assert "".join(finished) + cutter.open == text[:at]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n\ntwo\n", ["one\n\n", "two\n"]),
        ("# Title\ntext\n", ["# Title\n", "text\n"]),
        ("text\n# Title\n", ["text\n", "# Title\n"]),
        ("see:\n```\na\n\nb\n```\nmore", ["see:\n", "```\na\n\nb\n```\n", "more"]),
        ("- a\n\n  of a\n- b\n\nend", ["- a\n\n  of a\n- b\n\n", "end"]),
        ("- a\n  ```\n  x\n\n  y\n  ```\n- b\n", ["- a\n  ```\n  x\n\n  y\n  ```\n- b\n"]),
        ("````\n```\n````\n", ["````\n```\n````\n"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", ["| a | b |\n|---|---|\n| 1 | 2 |\n"]),
    ],
)
def test_blocks_end_where_markdown_ends_them(text: str, expected: list[str]) -> None:
    assert blocks(text) == expected


def test_a_paragraph_is_finished_as_soon_as_the_next_one_begins() -> None:
    cutter = Blocks()
    assert cutter.feed("one\n\n") == []
    assert cutter.feed("  ") == []
    assert cutter.feed("t") == ["one\n\n"]
    assert cutter.open == "  t"


def test_code_is_finished_with_its_fence() -> None:
    cutter = Blocks()
    assert cutter.feed("```\nx\n``") == []
    assert cutter.feed("`\n") == ["```\nx\n```\n"]


def test_of_long_open_code_the_end_is_given_with_its_fence() -> None:
    cutter = Blocks()
    cutter.feed("```python\n" + "".join(f"line {n}\n" for n in range(100)) + "half")
    assert cutter.open_end(2) == "```python\nline 98\nline 99\nhalf"
