"""What commands print cannot disturb a terminal, and says what was meant."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bridoon.cli import show


@given(st.text())
def test_cleaned_text_is_one_line_without_anything_that_a_terminal_acts_on(text: str) -> None:
    cleaned = show.clean(text)
    assert "\n" not in cleaned
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in cleaned)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert show.clean(text) == text


@given(st.text())
def test_cleaning_several_lines_keeps_their_number(text: str) -> None:
    assert show.clean_lines(text).count("\n") == text.count("\n")


@given(st.text(), st.integers(1, 200))
def test_a_squeezed_text_fits(text: str, width: int) -> None:
    assert len(show.squeeze(text, width)) <= max(2, width)


def test_emoji_that_are_joined_stay_joined() -> None:
    assert show.clean("👩‍🔬 é ü") == "👩‍🔬 é ü"


def test_bytes_that_are_no_text_are_shown_as_numbers() -> None:
    assert show.clean(b"a\xff".decode("utf-8", "surrogateescape")) == "a\\xff"


def test_the_home_directory_is_a_tilde() -> None:
    env = {"HOME": "/home/ann"}
    assert show.tilde("/home/ann/.harness", env) == "~/.harness"
    assert show.tilde("/home/anna/x", env) == "/home/anna/x"
    assert show.tilde("/home/ann", env) == "~"


def test_a_secret_shows_four_characters_at_each_end_when_it_is_long() -> None:
    assert show.mask("sk-ant-0123456789abcdef") == "sk-a...cdef"
    assert show.mask("short") == "****"
    assert show.mask("") == "****"


def test_a_near_word_is_suggested_and_a_far_one_is_not() -> None:
    assert show.did_you_mean("provdier", ["provider", "model"]) == "did you mean provider?"
    assert show.did_you_mean("xyz", ["provider", "model"]) == "one of: provider, model"
    assert show.did_you_mean("xyz", ["provider"], "hs help") == "hs help"
