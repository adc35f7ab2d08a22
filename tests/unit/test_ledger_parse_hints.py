"""The way out that a wrong command line is told: what was meant, or the line as it should be, and no wild guesses."""

from __future__ import annotations

import shlex

import pytest

from bridoon.errors import UsageError
from bridoon.ledger.cmdline.declared import COMMANDS
from bridoon.ledger.cmdline.hints import LISTINGS
from bridoon.ledger.cmdline.parse import parse

SAID = "says how it is called"


def hint(line: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(shlex.split(line))
    return caught.value.hint


@pytest.mark.parametrize(
    "line",
    ["story add --name x", "backlog close --risk x", "intake --title x", "trace --x", "audit --it", "story add --lx x"],
)
def test_an_option_that_is_like_no_other_gets_no_guess(line: str) -> None:
    assert hint(line).endswith(SAID)


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("trace --summ x", "--summary"), ("trace --task-summary x", "--summary"), ("trace --files_read x", "--read"),
        ("trace --story-id x", "--story"), ("intake --lnae x", "--lane"), ("intake --sumary x", "--summary"),
        ("story add --TITLE x", "--title"), ("propose --accpet x", "--accept"),
    ],
)  # fmt: skip
def test_the_beginning_a_part_or_a_slip_of_an_option_is_recognised(line: str, option: str) -> None:
    assert hint(line) == f"did you mean '{option}'?"


def test_a_beginning_that_several_options_have_names_them_all() -> None:
    assert hint("propose --outcome x") == (
        "did you mean '--outcome-manual' or '--outcome-due' or '--outcome-after-traces'?"
    )


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("version", "--version"), ("stats", "query stats"), ("traces", "query traces"), ("decisions", "query decisions"),
        ("add story", "story add"), ("register tool --name x", "tool register"), ("matrix query", "query matrix"),
        ("story link", "story backlog link"), ("query story", "query stories"), ("db apply x", "db changeset apply"),
    ],
)  # fmt: skip
def test_a_command_that_can_only_be_one_is_named(line: str, command: str) -> None:
    assert hint(line) == f"did you mean `harness-cli {command}`?"


def test_of_two_commands_that_may_be_meant_both_are_named() -> None:
    assert hint("verify") == "did you mean `harness-cli story verify` or `harness-cli decision verify`?"
    assert hint("status") == "did you mean `harness-cli query stats` or `harness-cli db changeset status`?"


@pytest.mark.parametrize(("line", "group"), [("add", ""), ("frobnicate", ""), ("tool frob", "tool"), ("db x", "db")])
def test_where_nothing_can_be_guessed_the_commands_are_listed(line: str, group: str) -> None:
    found = hint(line)
    assert found.startswith("its commands: ")
    assert {"": "init, migrate,", "tool": "register, check, remove;", "db": "changeset, rebuild"}[group] in found
    assert found.endswith("--help explains them")


@pytest.mark.parametrize("noun", LISTINGS)
@pytest.mark.parametrize("word", ["list", "show"])
def test_who_wants_to_look_at_records_is_told_of_the_query(noun: str, word: str) -> None:
    assert hint(f"{noun} {word}").startswith(f"`harness-cli {LISTINGS[noun]}` lists them")
    assert LISTINGS[noun] in COMMANDS


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("story verify --id T-9", "story verify T-9"), ("story verify --id='a b'", "story verify 'a b'"),
        ("story verify --id", "story verify <ID>"), ("decision verify --id 1", "decision verify 1"),
        ("story complete --id=-x", "story complete -- -x"), ("score-context --trace-id 4", "score-context 4"),
        ("score-context --id 4", "score-context 4"), ("query sql --query 'SELECT 1'", "query sql 'SELECT 1'"),
        ("db changeset apply --path x", "db changeset apply x"),
    ],
)  # fmt: skip
def test_a_place_that_is_given_as_an_option_is_shown_without_it(line: str, shown: str) -> None:
    assert hint(line) == f"give it without the option: harness-cli {shown}"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("score-trace 4", "score-trace --id 4"), ("story update US-1", "story update --id US-1"),
        ("story update US-1 --status planned", "story update --id US-1 ..."), ("tool remove x", "tool remove --name x"),
        ("tool check 'a b'", "tool check --name 'a b'"), ("trace 'did it'", "trace --summary 'did it'"),
        ("query traces 3", "query traces --id 3"), ("db rebuild there", "db rebuild --from there"),
        ("score-trace -- -4", "score-trace --id=-4"),
    ],
)  # fmt: skip
def test_a_word_for_which_there_is_an_option_is_shown_with_it(line: str, shown: str) -> None:
    assert hint(line) == f"give it with its option: harness-cli {shown}"


@pytest.mark.parametrize("line", ["trace add --summary x", "intake add", "audit run", "init new", "propose create"])
def test_a_verb_after_a_command_that_has_none_is_one_too_many(line: str) -> None:
    assert hint(line) == f"it is just `harness-cli {line.split()[0]}`"


def test_a_word_that_is_an_option_without_its_dashes_is_recognised() -> None:
    assert hint("propose commit") == "did you mean '--commit'?"
    assert hint("init shim") == "did you mean '--shim'?"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("--json query stats", "query stats --json"), ("--limit 3 query traces", "query traces --limit 3"),
        ("query --json stats", "query stats --json"), ("--summary='a b' trace", "trace '--summary=a b'"),
    ],
)  # fmt: skip
def test_options_in_front_of_the_command_are_shown_behind_it(line: str, shown: str) -> None:
    assert hint(line) == f"options come after the command: harness-cli {shown}"


def test_an_option_in_front_that_no_command_has_is_shown_nowhere() -> None:
    assert hint("--frob query stats") == "options come after the command; harness-cli --help lists the commands"


def test_a_very_long_line_is_not_shown_again() -> None:
    long = "x" * 10_000
    for line in (f"score-trace {long}", f"story verify --id {long}", f"--summary {long} trace", f"story {long}"):
        assert len(hint(line)) < 400
