"""Which texts say the same, how they are cut, and which key they get."""

from __future__ import annotations

import hashlib
from unicodedata import normalize

import pytest

from bridoon.ledger.judge.grouping import groups, key_of, short, token_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tests are slow", "  tests are SLOW!! "),
        ("no fixture: db", "No fixture (DB)"),
        ("tests — are slow", "tests are slow"),
        ("Größe fehlt", "größe FEHLT"),
        (normalize("NFC", "café zu"), normalize("NFD", "café zu")),
    ],
)
def test_spelling_and_punctuation_make_no_difference(one: str, other: str) -> None:
    assert token_of(one) == token_of(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [("測試太慢", "沒有文件"), ("тесты медленные", "нет описания"), ("कि", "के"), ("!!!", "???"), ("a b", "ab")],
)
def test_different_texts_stay_different_in_every_script(one: str, other: str) -> None:
    assert token_of(one) != token_of(other)


def test_a_group_is_called_as_it_was_first_spelt_and_stands_where_it_was_first_seen() -> None:
    found = groups([("B two", 1), ("a one", 2), ("b TWO", 3), ("B two", 4)])
    assert [(group.text, group.members) for group in found] == [("B two", [1, 3, 4]), ("a one", [2])]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("one two", "one two"),
        (" one\n two\tthree ", "one two three"),
        ("1 2 3 4 5 6 7 8 9", "1 2 3 4 5 6 7 8"),
        ("x" * 72, "x" * 72),
        ("x" * 73, "x" * 69 + "..."),
        ("測" * 73, "測" * 69 + "..."),
        ("x" * 1_000_000, "x" * 69 + "..."),
    ],
)
def test_a_short_form_has_eight_words_and_seventy_two_characters(text: str, cut: str) -> None:
    assert short(text) == cut


def test_a_key_is_the_hash_of_component_and_title_without_regard_to_case_and_normal_form() -> None:
    material = b"improvement.proposal\x001\x00entropy auditing\x00clean up caf\xc3\xa9"
    key = "improvement.proposal:v1:" + hashlib.sha256(material).hexdigest()
    assert key_of("Entropy auditing", " Clean up CAFÉ ") == key
    assert key_of("Entropy auditing", normalize("NFD", "Clean up café")) == key
