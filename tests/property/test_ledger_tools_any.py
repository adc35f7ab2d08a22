"""The texts that people write for tools: args, capabilities, commands, URLs."""

from __future__ import annotations

import json
import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from bridoon.ledger import argspec, vocabulary
from bridoon.ledger.argspec import Arg
from bridoon.ledger.errors import Invalid
from bridoon.ledger.judge.command import find, first_word
from bridoon.ledger.judge.reach import endpoint

WORDS = (
    st.text(st.characters(exclude_characters=",:", exclude_categories=["Cs"]), min_size=1).map(str.strip).filter(bool)
)
PIECES = st.lists(WORDS, min_size=1, max_size=3).map(",".join)
FIRST = st.lists(WORDS, min_size=1, max_size=3).map(":".join)
HELPS = st.one_of(st.just(""), PIECES, st.tuples(FIRST, PIECES).map(",".join))
ARGS = st.lists(st.builds(Arg, WORDS, WORDS, st.booleans(), HELPS), max_size=4)


def spelt(args: list[Arg]) -> str:
    """What one writes for these arguments."""
    return ",".join(
        f"{arg.name}:{arg.type}:{'required' if arg.required else 'optional'}" + (f":{arg.help}" if arg.help else "")
        for arg in args
    )


def plainly(text: str) -> list[Arg] | None:
    """Every comma ends an entry: how the program reads it that knows no commas in helps. None: it refuses."""
    found = []
    for entry in text.split(",") if text.strip() else []:
        parts = [part.strip() for part in entry.split(":", 3)]
        if len(parts) < 3 or parts[2] not in ("required", "optional") or not parts[0] or not parts[1]:
            return None
        found.append(Arg(parts[0], parts[1], parts[2] == "required", parts[3] if len(parts) > 3 else ""))
    return found


@given(ARGS)
def test_what_is_written_is_read(args: list[Arg]) -> None:
    assert argspec.parse(spelt(args)) == args


@given(
    st.lists(st.sampled_from(["a", "b c", ":", ",", "required", "optional", " ", "int", "::"]), max_size=24).map(
        "".join
    )
)
def test_what_needs_no_commas_in_helps_means_the_same_without_them(text: str) -> None:
    plain = plainly(text)
    if plain is not None:
        assert argspec.parse(text) == plain
        return
    try:
        found = argspec.parse(text)
    except Invalid:
        return
    assert any("," in arg.help for arg in found)


@given(ARGS)
def test_what_is_stored_is_read_back(args: list[Arg]) -> None:
    assert argspec.read(argspec.stored(args)) == args


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["name", "type", "required", "help"]), inner),
    )
)
def test_any_stored_json_gives_arguments_or_none(value: object) -> None:
    for arg in argspec.read(json.dumps(value)):
        assert arg.name
        assert isinstance(arg.type + arg.help, str)


@given(st.text())
def test_any_stored_text_gives_arguments_or_none(text: str) -> None:
    assert isinstance(argspec.read(text), list)


@given(st.text(st.sampled_from("abcXYZ019 _-.é\t"), max_size=12))
def test_a_capability_is_kebab_case_or_refused(text: str) -> None:
    try:
        found = vocabulary.capability(text)
    except Invalid:
        return
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", found)
    assert vocabulary.capability(found) == found
    assert vocabulary.capability(found.replace("-", "_").upper()) == found
    assert vocabulary.token(found) == vocabulary.token(text)


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_the_first_word_is_that_of_a_shell(words: list[str]) -> None:
    command = shlex.join(words)
    leading = next((word for word in words if not re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word)), "")
    try:
        found = first_word(command)
    except ValueError:
        assert leading == "" or len(shlex.quote(leading)) > 4096
    else:
        assert found == leading


@given(st.text(st.sampled_from("ab '\"\\\n=/"), max_size=30))
def test_open_quotes_are_those_of_a_shell(command: str) -> None:
    found = find(command, "/nonexistent", {})
    try:
        shlex.split(command)
    except ValueError:
        assert found.reason == "a quote or a backslash is left open"
    else:
        assert found.reason != "a quote or a backslash is left open"


@given(st.text(st.sampled_from("ab.:/@[]%?#019 \\"), max_size=30))
def test_any_url_leads_somewhere_or_is_refused(rest: str) -> None:
    try:
        where = endpoint("http://" + rest)
    except ValueError:
        return
    assert where.host
    assert 0 < where.port < 65536
