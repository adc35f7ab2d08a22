"""Whatever a cell holds: tables stay aligned, JSON stays JSON, comma-separated values can be read back."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridoon.ledger import protocol
from bridoon.ledger.show.array import pretty
from bridoon.ledger.show.csv import sheet
from bridoon.ledger.show.table import layout
from bridoon.ledger.show.text import clean, width

TEXTS = st.text(st.characters(), max_size=30)
CELLS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.binary(max_size=5), TEXTS)
VALUES = st.recursive(
    st.one_of(CELLS, st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=15,
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    wide = draw(st.integers(1, 5))
    columns = draw(st.lists(TEXTS, min_size=wide, max_size=wide))
    rows = draw(st.lists(st.lists(CELLS, min_size=wide, max_size=wide), max_size=6))
    return columns, rows


@given(tables())
def test_every_line_of_a_table_is_equally_wide_and_there_is_one_for_each_row(
    table: tuple[list[str], list[list[Any]]],
) -> None:
    columns, rows = table
    lines = layout(columns, rows).split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(rows) + 2
    assert len({width(line) for line in lines}) == 1
    dashes = [len(part) for part in lines[1].split("  ")] if all(clean(each) for each in columns) else []
    assert sum(dashes) + 2 * (len(columns) - 1) == width(lines[0]) or not dashes


@given(TEXTS)
def test_a_cleaned_text_disturbs_no_terminal(text: str) -> None:
    cleaned = clean(text)
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char in "\u202a\u202e\u2028" for char in cleaned)
    cleaned.encode()
    assert clean(cleaned) == cleaned


@given(VALUES)
def test_every_answer_is_one_line_of_json(value: Any) -> None:
    line = protocol.answered("x", value, {"HARNESS_REQUEST_ID": "r"})
    assert line.count(b"\n") == 1
    assert set(json.loads(line.decode(), parse_constant=_never)) == {
        "operation", "protocol_version", "request_id", "result"
    }  # fmt: skip


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=4))
def test_a_pretty_list_is_json(objects: list[dict[str, Any]]) -> None:
    assert len(json.loads(pretty(objects).decode(), parse_constant=_never)) == len(objects)


@given(TEXTS)
def test_a_text_comes_back_from_json_as_it_was(text: str) -> None:
    assert json.loads(protocol.line({"a": text}).decode())["a"] == text


@given(tables())
def test_comma_separated_values_can_be_read_back(table: tuple[list[str], list[list[Any]]]) -> None:
    columns, rows = table
    columns = [column.replace("\x00", "") for column in columns]
    rows = [[cell.replace("\x00", "") if isinstance(cell, str) else cell for cell in row] for row in rows]
    found = list(csv.reader(io.StringIO(sheet(columns, rows), newline=""), strict=True))
    if len(columns) > 1:
        assert found[0] == columns
        assert [len(row) for row in found[1:]] == [len(columns)] * len(rows)
        for row, read in zip(rows, found[1:], strict=True):
            assert [cell for cell in row if isinstance(cell, str)] == [
                text for cell, text in zip(row, read, strict=True) if isinstance(cell, str)
            ]


def _never(word: str) -> Any:
    raise AssertionError(f"{word} is no JSON")
