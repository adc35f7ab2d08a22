"""Grouping: which texts belong together does not depend on the order in which they were written."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bridoon.ledger.judge.grouping import groups, key_of, short, token_of
from bridoon.ledger.show.text import one_line

WORDS = st.lists(st.sampled_from(["slow", "Slow", "tests", "größe", "GRÖSSE", "測試", "-", "!", "é", "é"]), max_size=4)
TEXTS = st.lists(WORDS.map(" ".join) | st.text(max_size=12), max_size=20)


@given(TEXTS, st.randoms(use_true_random=False))
def test_order_decides_neither_the_groups_nor_their_members_nor_their_tokens(texts: list[str], random: object) -> None:
    numbered = list(enumerate(texts))
    random.shuffle(numbered)  # type: ignore[attr-defined]
    before = {group.token: Counter(group.members) for group in groups((text, n) for n, text in enumerate(texts))}
    after = {group.token: Counter(group.members) for group in groups((text, n) for n, text in numbered)}
    assert after == before


@given(TEXTS)
def test_groups_come_in_the_order_of_their_first_text_and_hold_every_text_once(texts: list[str]) -> None:
    found = groups((text, n) for n, text in enumerate(texts))
    firsts = [group.members[0] for group in found]
    assert firsts == sorted(firsts)
    assert sorted(n for group in found for n in group.members) == list(range(len(texts)))
    assert all(group.text == texts[group.members[0]] for group in found)


@given(st.text(), st.text())
def test_texts_of_one_group_have_one_key_and_others_have_others(one: str, other: str) -> None:
    same = token_of(one) == token_of(other)
    assert (key_of("c", "t: " + token_of(one)) == key_of("c", "t: " + token_of(other))) is same


@given(st.text())
def test_a_token_is_its_own_token_unless_it_has_no_words(text: str) -> None:
    token = token_of(text)
    assert token_of(token) == token


@given(st.text(max_size=200), st.integers(3, 60))
def test_a_text_on_one_line_is_short_and_acts_on_nothing(text: str, limit: int) -> None:
    shown = one_line(text, limit)
    assert len(shown) <= limit
    assert not any(ord(char) < 32 or ord(char) == 127 for char in shown)
    assert len(short(text)) <= 72
