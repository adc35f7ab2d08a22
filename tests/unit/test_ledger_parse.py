"""The manners of the ledger's command line."""

from __future__ import annotations

import os
import shlex

import pytest

from bridoon.errors import UsageError
from bridoon.ledger.cmdline.command import Given
from bridoon.ledger.cmdline.parse import Help, Version, parse

INTAKE = "intake --type new-spec --summary s --lane tiny"


def given(line: str | list[str]) -> Given:
    found = parse(shlex.split(line) if isinstance(line, str) else line)
    assert isinstance(found, Given)
    return found


def wrong(line: str | list[str]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse(shlex.split(line) if isinstance(line, str) else line)
    return caught.value


def helped(line: str) -> tuple[str, bool]:
    found = parse(shlex.split(line))
    assert isinstance(found, Help)
    return found.about, found.asked


def test_a_value_follows_its_option_or_an_equals_sign() -> None:
    assert given(f"{INTAKE} --notes one").text("--notes") == "one"
    assert given(f"{INTAKE} --notes=a=b").text("--notes") == "a=b"


def test_an_empty_value_is_a_value() -> None:
    found = given([*shlex.split(INTAKE), "--notes", "", "--story="])
    assert (found.get("--notes"), found.get("--story"), found.get("--flags")) == ("", "", None)
    assert found.has("--notes")


def test_a_value_that_begins_with_a_hyphen_needs_an_equals_sign() -> None:
    assert "--notes=-5" in wrong(f"{INTAKE} --notes -5").hint
    assert "needs a value" in wrong(f"{INTAKE} --notes --json").message
    assert "needs a value" in wrong(f"{INTAKE} --notes --").message
    assert given(f"{INTAKE} --notes=-5").text("--notes") == "-5"


def test_a_single_hyphen_is_a_value_and_a_place() -> None:
    assert given(f"{INTAKE} --notes -").text("--notes") == "-"
    assert given("story verify -").text("id") == "-"


def test_options_are_not_abbreviated_but_guessed() -> None:
    assert "'--summary'" in wrong("intake --summ s").hint
    assert "'--lane'" in wrong("intake --lnae tiny").hint


@pytest.mark.parametrize("line", [f"{INTAKE} --lane tiny", "propose --commit --commit", "query stats --json --json"])
def test_nothing_is_given_twice(line: str) -> None:
    assert "only once" in wrong(line).message


def test_a_flag_takes_no_value() -> None:
    assert "takes no value" in wrong("propose --commit=true").message
    assert given("propose --commit").has("--commit")


def test_after_two_hyphens_places_may_begin_with_one() -> None:
    assert given("story verify -- -x").text("id") == "-x"
    assert given("query sql -- SELECT -1").words == ("SELECT", "-1")
    assert given("query sql SELECT -- -1").text("query") == "SELECT -1"
    assert "no option '-1'" in wrong("query sql SELECT -1").message


def test_a_place_too_many_is_an_error() -> None:
    assert "'b'" in wrong("story verify a b").message
    assert "'now'" in wrong("audit now").message


def test_what_is_required_is_named() -> None:
    message = wrong("intake --summary s").message
    assert "--type <new-spec|" in message
    assert "--lane <tiny|normal|high-risk>" in message
    assert "<ID>" in wrong("story verify").message
    assert "<SQL...>" in wrong("query sql").message


def test_what_excludes_each_other_is_an_error() -> None:
    assert "not both" in wrong("query backlog --open --closed").message
    assert "not both" in wrong("query sql --csv --json x").message


@pytest.mark.parametrize("line", ["", "story", "query", "story dependency", "db changeset"])
def test_an_incomplete_command_is_told_how_it_goes_on(line: str) -> None:
    assert helped(line) == (line, False)


@pytest.mark.parametrize(
    ("line", "about"),
    [
        ("help", ""), ("-h", ""), ("--help", ""), ("help story add", "story add"), ("story help", "story"),
        ("story help add", "story add"), ("story -h", "story"), ("story add --help", "story add"),
        ("story add --id x -h", "story add"), ("story dependency help", "story dependency"),
    ],
)  # fmt: skip
def test_help_is_asked_for_in_many_ways(line: str, about: str) -> None:
    assert helped(line) == (about, True)


def test_help_about_nothing_we_know_is_an_error() -> None:
    assert "'storry'" in wrong("help storry").message
    assert "'storry'" not in wrong("story help verfy").message


def test_the_version_is_asked_for_only_at_the_top() -> None:
    assert isinstance(parse(["--version"]), Version)
    assert isinstance(parse(["-V"]), Version)
    assert "no option" in wrong("init --version").message
    assert "no option" in wrong("story -V").message


@pytest.mark.parametrize(
    ("line", "hint"),
    [("stroy add", "'story'"), ("query matrx", "'matrix'"), ("matrix", "`harness-cli query matrix`"),
     ("frobnicate", "--help")],
)  # fmt: skip
def test_a_misspelt_command_gets_a_hint(line: str, hint: str) -> None:
    assert hint in wrong(line).hint


def test_an_option_before_the_command_is_an_error() -> None:
    assert "no option '--json'" in wrong("--json query stats").message


def test_arguments_are_utf_8_or_refused() -> None:
    assert "not valid UTF-8" in wrong([*shlex.split(INTAKE), "--notes", os.fsdecode(b"\xff")]).message
    assert given([*shlex.split(INTAKE), "--notes", "日本"]).text("--notes") == "日本"


def test_a_default_stands_in_for_what_is_not_given() -> None:
    found = given("decision add --id a --title b")
    assert (found.text("--status"), found.has("--status")) == ("accepted", False)


def test_a_very_long_word_is_refused_quickly() -> None:
    assert "no command" in wrong(["story", "x" * 100_000]).message
    assert "no option" in wrong(["story", "add", "--" + "x" * 100_000]).message
