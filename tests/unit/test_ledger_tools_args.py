"""What `--args` means, how it is stored, and what is made of what others stored."""

from __future__ import annotations

import json

import pytest

from bridoon.ledger import argspec
from bridoon.ledger.argspec import Arg
from bridoon.ledger.errors import Invalid


def test_the_example_of_the_registry_page_is_one_argument_with_two_choices() -> None:
    (arg,) = argspec.parse("env:enum:required:staging,production")
    assert arg == Arg("env", "enum", True, "staging,production")
    assert argspec.choices(arg) == ["staging", "production"]


def test_entries_are_separated_by_commas_and_their_parts_are_trimmed() -> None:
    assert argspec.parse(" path : string : required , depth:int:optional: how deep ") == [
        Arg("path", "string", True),
        Arg("depth", "int", False, "how deep"),
    ]


def test_a_help_keeps_its_colons_and_its_commas() -> None:
    assert argspec.parse("url:string:required:such as http://x:80, or nothing,mode:enum:optional:a,b") == [
        Arg("url", "string", True, "such as http://x:80, or nothing"),
        Arg("mode", "enum", False, "a,b"),
    ]


@pytest.mark.parametrize("blank", [None, "", "   "])
def test_nothing_is_no_arguments(blank: str | None) -> None:
    assert argspec.parse(blank) == []
    assert argspec.stored([]) is None


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("env", "'env'"),
        ("env:enum", "'env:enum'"),
        ("env:enum:maybe", "'env:enum:maybe'"),
        ("env:enum:Required", "'env:enum:Required'"),
        (":enum:required", "':enum:required'"),
        ("env::required", "'env::required'"),
        ("a:int:required,b", "'b'"),
        ("a:int:required:,b", "'b'"),
        ("a:int:required:one,,two", "''"),
        ("a:int:required,", "''"),
        (",", "''"),
        ("a:int:required:x,see http://y", "'see http://y'"),
    ],
)
def test_a_wrong_entry_is_quoted(text: str, quoted: str) -> None:
    with pytest.raises(Invalid) as caught:
        argspec.parse(text)
    assert f"entry {quoted} " in caught.value.message
    assert "name:type:required" in caught.value.hint


def test_arguments_are_stored_as_json_with_their_keys_in_order() -> None:
    text = argspec.stored([Arg("env", "enum", True, 'say "hi"'), Arg("n", "int", False)])
    assert text == (
        '[{"name":"env","type":"enum","required":true,"help":"say \\"hi\\""},'
        '{"name":"n","type":"int","required":false,"help":""}]'
    )
    assert argspec.read(text) == [Arg("env", "enum", True, 'say "hi"'), Arg("n", "int", False)]


@pytest.mark.parametrize(
    "text", [None, "", "  ", "[", "{}", "7", "null", '"x"', "[" * 100_000, b"[]", 3, "x" * 1_000_000]
)
def test_a_stored_text_that_is_no_list_holds_no_arguments(text: object) -> None:
    assert argspec.read(text) == []


def test_what_is_no_argument_in_a_stored_list_is_left_out() -> None:
    items = [1, None, [], {}, {"name": ""}, {"name": 3}, {"name": "a"}, {"name": "b", "type": 1, "required": "yes"}]
    assert argspec.read(json.dumps(items)) == [Arg("a", "string", False), Arg("b", "string", False)]


def test_stored_control_characters_without_escapes_are_read() -> None:
    assert argspec.read('[{"name":"a","type":"t","required":true,"help":"x\ty"}]') == [Arg("a", "t", True, "x\ty")]


def test_only_an_enum_has_choices_and_each_once() -> None:
    assert argspec.choices(Arg("a", "Enum", True, "x, y ,,x")) == ["x", "y"]
    assert argspec.choices(Arg("a", "string", True, "x,y")) == []
    assert argspec.choices(Arg("a", "enum", True)) == []
