"""Tables, cells and comma-separated values."""

from __future__ import annotations

import time

import pytest

from bridoon.ledger.show.array import pretty
from bridoon.ledger.show.cell import real
from bridoon.ledger.show.csv import sheet
from bridoon.ledger.show.table import layout
from bridoon.ledger.show.text import clean, clean_lines, width


def test_columns_are_padded_to_their_widest_cell_the_last_one_too() -> None:
    assert layout(["id", "title"], [(1, "a"), (22, "longer")]) == (
        "id  title \n"
        "--  ------\n"
        "1   a     \n"
        "22  longer\n"
    )  # fmt: skip


def test_no_rows_leave_the_headings() -> None:
    assert layout(["id", "title"], []) == "id  title\n--  -----\n"


def test_no_columns_are_two_blank_lines() -> None:
    assert layout([], []) == "\n\n"


def test_null_is_empty_and_bytes_are_counted() -> None:
    assert layout(["a", "b"], [(None, b"\x00\x01")]).splitlines()[2] == "   <2 bytes>"


def test_wide_and_combining_characters_are_measured_as_they_are_drawn() -> None:
    rows = [("日本",), ("abcd",), ("e\u0301e\u0301",), ("👍",), ("\u200bab",)]
    lines = layout(["name"], rows).splitlines()
    assert {width(line) for line in lines} == {4}
    assert lines[2:4] == ["日本", "abcd"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\nb", "a\\nb"), ("\t\r", "\\t\\r"), ("\x1b[31m", "\\x1b[31m"), ("\u202eabc\u2066", "\\u202eabc\\u2066"),
     ("\x85\x9b", "\\x85\\x9b"), ("\u2028", "\\u2028"), ("\udc80", "\\udc80"), ("\x7f", "\\x7f"),
     ("👩‍👩‍👧 é 日本\u00a0\u3000", "👩‍👩‍👧 é 日本\u00a0\u3000")],
)  # fmt: skip
def test_what_acts_on_a_terminal_is_shown_instead(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_line_ends_and_tabs_stay_in_text_of_several_lines() -> None:
    assert clean_lines("a\tb\n\x1bc\r\n") == "a\tb\n\\x1bc\\r\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2.5, "2.5"), (1.0, "1"), (1e20, "100000000000000000000"), (1e-7, "0.0000001"), (0.1, "0.1"), (-0.0, "-0"),
     (1e16, "10000000000000000"), (123456789.125, "123456789.125"), (float("inf"), "inf"), (float("-inf"), "-inf"),
     (-1.5e-10, "-0.00000000015")],
)  # fmt: skip
def test_numbers_are_written_in_full(value: float, shown: str) -> None:
    assert real(value) == shown


def test_a_large_table_is_laid_out_quickly() -> None:
    rows = [(f"S-{number}", "title " * 5, "ü" * 20, number, None, "e" * 50) for number in range(10_000)]
    start = time.perf_counter()
    text = layout(["id", "title", "other", "number", "none", "evidence"], rows)
    assert time.perf_counter() - start < 2.0
    assert text.count("\n") == 10_002


def test_a_pretty_list_has_one_key_per_line() -> None:
    assert pretty([]) == b"[\n]\n"
    assert pretty([{"a": 1, "b": [{"c": "\x1b\u2028"}]}, {"a": None}]) == (
        b'[\n  {\n    "a": 1,\n    "b": [{"c":"\\u001b\xe2\x80\xa8"}]\n  },\n  {\n    "a": null\n  }\n]\n'
    )


def test_comma_separated_values_tell_null_from_nothing() -> None:
    assert sheet(["a", "b"], [(None, ""), ('x"y', "1,2"), ("l\nm", 1.5), (" pad", b"abc")]) == (
        'a,b\n,""\n"x""y","1,2"\n"l\nm",1.5\n" pad",<3 bytes>\n'
    )
