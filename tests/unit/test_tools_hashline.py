"""Line hashes, and what tools answer in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridoon.errors import BridoonError
from bridoon.sdk.script import Context, Result
from bridoon.toolkit.hashline import Anchor, line_hash, parse_anchor, show
from bridoon.toolkit.outcome import answer, bounded, note

KNOWN = [
    (1, "#!/bin/sh", "KX"), (2, "echo hi", "QR"), (1, "1a", "HS"), (2, "2b", "PK"), (1, "A", "YW"),
    (1, "X", "HB"), (1, "x", "PB"), (1, "a", "ZW"), (2, "b", "ZS"), (1, "aa", "MS"), (2, "bb", "VK"),
    (3, "  }", "XR"), (5, "}", "KS"), (3, "", "PN"), (6, "", "MX"), (0, "", "ZR"), (9, "", "QY"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "text", "letters"), KNOWN)
def test_hashes_are_those_of_the_protocol(number: int, text: str, letters: str) -> None:
    assert line_hash(number, text.encode()) == letters


def test_blanks_at_the_end_and_carriage_returns_do_not_count() -> None:
    assert line_hash(1, b"a \t\r") == line_hash(1, b"a") == line_hash(1, b"\ra\r \r")
    assert line_hash(1, b" a") != line_hash(1, b"a")


def test_lines_that_differ_beyond_ascii_have_different_hashes() -> None:
    assert line_hash(1, "hello é".encode()) != line_hash(1, "hello ü".encode())


def test_an_anchor_may_come_with_the_text_that_it_was_copied_with() -> None:
    assert parse_anchor("12#KX") == parse_anchor("12#KX:#!/bin/sh") == Anchor(12, "KX")
    for nonsense in ("12", "12#kx", "#KX", "12#KXX", "a12#KX", None, 12, "12#AB"):
        assert parse_anchor(nonsense) is None


def test_a_nul_is_shown_as_a_replacement_character() -> None:
    assert show(1, b"a\0b").endswith(":a\ufffdb")


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"exit": 0, "timed_out": False, "elapsed_s": 1.5}, ""),
        ({"exit": 42}, "[exit status 42]"),
        ({"exit": 143, "timed_out": True, "limit_s": 120.0}, "[timed out after 120 s; process group killed]"),
        ({"timed_out": True, "elapsed_s": 2.5}, "[timed out after 2.5 s; process group killed]"),
        ({"timed_out": True}, "[timed out; process group killed]"),
        ({}, ""),
    ],
)
def test_the_last_line_of_a_result_says_how_the_command_ended(status: dict[str, object], text: str) -> None:
    assert note(status) == text


def test_a_short_result_stays_as_it_is_without_its_last_newlines() -> None:
    assert bounded("a\n\nb\n\n", {}) == "a\n\nb"


def test_a_long_result_keeps_head_and_tail_and_names_the_file_with_all_of_it(tmp_path: Path) -> None:
    full = tmp_path / ".outputs" / "1.txt"
    text = "".join(f"{number}\n" for number in range(1000))
    shown = bounded(text, {"HARNESS_TOOL_OUTPUT_LIMIT": "100"}, str(full))
    head, marker, tail = shown.partition(f"\n[... {len(text) - 101} characters cut; the full text is in {full} ...]\n")
    assert text.startswith(head)
    assert marker
    assert text.rstrip("\n").endswith(tail)
    assert (len(head), len(tail)) == (70, 30)
    assert full.read_text("utf-8") == text.rstrip("\n")
    assert full.stat().st_mode & 0o777 == 0o600


def test_what_a_tool_shortened_itself_is_not_shortened_again(tmp_path: Path) -> None:
    full = tmp_path / "1.txt"
    full.write_text("all of it", "utf-8")
    text = "x" * 150
    assert bounded(text, {"HARNESS_TOOL_OUTPUT_LIMIT": "100"}, str(full)) == text


def test_a_full_text_that_cannot_be_kept_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    shown = bounded("x" * 200, {"HARNESS_TOOL_OUTPUT_LIMIT": "100"}, str(tmp_path / "file" / "1.txt"))
    assert "could not be kept" in shown


def test_an_error_of_a_tool_is_a_failed_result_with_its_hint() -> None:
    def body(given: dict[str, object], context: Context) -> Result:
        raise BridoonError("no such thing", "look elsewhere")

    assert answer(body, {}, Context({})) == Result("error: no such thing (look elsewhere)", failed=True)
