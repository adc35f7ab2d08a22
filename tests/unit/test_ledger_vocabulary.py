"""The closed words of the ledger, and how they may be written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridoon.ledger import vocabulary as words
from bridoon.ledger.errors import Invalid


@pytest.mark.parametrize("text", ["New Spec!", "new-spec", "new_spec", "  NEW   spec "])
def test_input_types_are_read_in_any_spelling(text: str) -> None:
    assert words.input_type(text) == "new_spec"


def test_a_maintenance_request_is_maintenance() -> None:
    assert words.input_type("maintenance-request") == "maintenance"


def test_low_is_no_lane_and_the_hint_says_tiny() -> None:
    with pytest.raises(Invalid) as wrong:
        words.lane("low", "intake: --lane")
    assert "tiny" in wrong.value.hint
    assert words.lane("High Risk", "x") == "high_risk"


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Impact Analysis", "impact-analysis"),
        ("impact_analysis", "impact-analysis"),
        ("impact-analysis", "impact-analysis"),
        ("  Coverage ", "coverage"),
        ("a1-b2", "a1-b2"),
    ],
)
def test_capabilities_are_stored_in_kebab_case(text: str, stored: str) -> None:
    assert words.capability(text) == stored


@pytest.mark.parametrize("text", ["", " ", "-a", "a-", "a--b", "a  b", "a\tb", "a.b", "é", "a/b", "a\n"])
def test_what_is_not_kebab_case_is_no_capability(text: str) -> None:
    if text == "a\n":
        assert words.capability(text) == "a"  # blanks around it are no part of it
        return
    with pytest.raises(Invalid):
        words.capability(text)


@given(st.text(max_size=40))
def test_a_stored_capability_is_its_own_spelling(text: str) -> None:
    try:
        stored = words.capability(text)
    except Invalid:
        return
    assert words.capability(stored) == stored


def test_responsibilities_are_stored_in_one_spelling() -> None:
    assert len(words.RESPONSIBILITIES) == 11
    assert words.responsibility("tool-access") == "Tool access"
    with pytest.raises(Invalid) as wrong:
        words.responsibility("Quality")
    assert all(name in wrong.value.hint for name in words.RESPONSIBILITIES)


@pytest.mark.parametrize("text", ["5", "+5", "-5", str(2**63 - 1), str(-(2**63))])
def test_integers_have_64_bits_and_a_sign(text: str) -> None:
    assert words.integer(text, "x: --id") == int(text)


@pytest.mark.parametrize("text", ["", " 5", "5.0", "0x5", "five", str(2**63), "9" * 5000, "٥"])
def test_anything_else_is_no_integer(text: str) -> None:
    with pytest.raises(Invalid, match="x: --id must be an integer"):
        words.integer(text, "x: --id")


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        (None, None),
        ("", None),
        ("auth, data model", '["auth","data model"]'),
        ('["a, b","c"]', '["a, b","c"]'),
        ("[]", "[]"),
        ("[x], y", '["[x]","y"]'),
        ("é", '["é"]'),
    ],
)
def test_lists_are_items_between_commas_or_json(text: str | None, stored: str | None) -> None:
    assert words.listed(text, "x") == stored


@pytest.mark.parametrize("text", ["[1]", '["a",2]', '{"a":1}', '["a"', "[null]", '["' + "[" * 100_000])
def test_other_json_is_no_list(text: str) -> None:
    with pytest.raises(Invalid):
        words.listed(text, "x: --flags")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_a_json_list_comes_back_as_it_was(items: list[str]) -> None:
    stored = words.listed(json.dumps(items), "x")
    assert stored is not None
    assert json.loads(stored) == items


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_stored_text_can_be_read_as_a_list(text: str) -> None:
    assert all(isinstance(item, str) and item.strip() for item in words.unlisted(text))
