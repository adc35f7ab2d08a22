"""Reading a command line by its declaration, and what `--help` makes of one."""

from __future__ import annotations

import pytest

from bridoon.cli.declare import Command, Given, Option, columns, help_text, read, sub_command
from bridoon.errors import UsageError

PAINT = Command(
    "paint", "paint a wall", "WALL [COLOUR]", 1, 2,
    (
        Option("--coats", "how many", "N", short="-c"),
        Option("--finish", "how it shines", "WORD", ("matt", "gloss")),
        Option("--wet", "do not wait"),
    ),
)  # fmt: skip


def given(*words: str) -> Given:
    found = read(PAINT, list(words))
    assert found is not None
    return found


def test_options_may_stand_anywhere_and_take_their_value_in_two_ways() -> None:
    expected = Given(["north", "red"], {"--coats": "2", "--wet": ""})
    assert given("--coats", "2", "north", "--wet", "red") == expected
    assert given("north", "--coats=2", "red", "--wet") == expected
    assert given("-c", "2", "north", "red", "--wet") == expected


def test_a_value_may_hold_an_equals_sign_or_be_empty() -> None:
    assert given("x", "--coats=a=b").value("--coats") == "a=b"
    assert given("x", "--coats=").has("--coats")


def test_after_two_dashes_everything_is_a_word() -> None:
    assert given("--", "--wet", "-x").words == ["--wet", "-x"]


def test_a_dash_alone_is_a_word() -> None:
    assert given("-").words == ["-"]


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--wett", "x"], "unknown option --wett", "did you mean --wet?"),
        (["--wet=1", "x"], "unknown option --wet=1", "did you mean --wet?"),
        (["x", "--coats"], "--coats needs a value: N", "usage: hs paint"),
        (["x", "--finish", "satin"], "--finish 'satin'", "one of: matt, gloss"),
        ([], "usage: harness paint", "--help"),
        (["a", "b", "c"], "unexpected 'c'", "usage: hs paint"),
    ],
)
def test_a_wrong_command_line_is_told_with_a_way_out(words: list[str], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as wrong:
        read(PAINT, words)
    assert message in wrong.value.message
    assert hint in wrong.value.hint


def test_help_is_printed_and_nothing_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert read(PAINT, ["--wet", "--help", "--nonsense"]) is None
    assert capsys.readouterr().out == help_text(PAINT) + "\n"


def test_the_usage_text_names_words_options_and_what_they_do() -> None:
    text = help_text(PAINT)
    assert text.startswith("usage: hs paint [--coats N] [--finish WORD] [--wet] WALL [COLOUR]\n\nPaint a wall")
    assert "  -c, --coats N          how many" in text


def test_a_sub_command_is_found_by_its_word_and_the_default_when_there_is_none() -> None:
    commands = (Command("wall list", "list"), Command("wall paint", "paint"))
    assert sub_command(commands, ["paint", "x"])[0].name == "wall paint"
    assert sub_command(commands, ["--json"], "list") == (commands[0], ["--json"])
    with pytest.raises(UsageError, match="unknown wall command: pant"):
        sub_command(commands, ["pant"])


def test_a_long_first_column_stands_on_a_line_of_its_own() -> None:
    assert columns([("x" * 30, "y")], left=5) == f"  {'x' * 30}\n        y"
