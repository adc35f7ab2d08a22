"""Reading changesets: what is taken, and what is refused with the file, the line and the reason."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from bridoon.ledger.errors import Incompatible, Missing
from bridoon.ledger.store import changeset
from bridoon.ledger.store.changeset import Changeset, parse, read
from bridoon.ledger.store.op import KINDS

HEAD = {"base_schema_version": 14, "op": "changeset.header", "run_id": "run-1", "version": 1}
UID = "ink_" + "0a" * 16
INTAKE = {
    "op": "intake.add",
    "version": 2,
    "uid": UID,
    "payload": {
        "input_type": "maintenance",
        "summary": "s",
        "risk_lane": "tiny",
        "created_at": "2026-01-31 23:59:59",
    },
}
UPDATE = {"op": "story.update", "version": 1, "id": "US-1", "payload": {"unit_proof": 1}}


def text(*lines: Any) -> bytes:
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def reading(*lines: Any) -> Changeset:
    found = parse(text(*lines), "x.jsonl")
    found.ops()
    return found


def refusal(*lines: Any) -> str:
    with pytest.raises(Incompatible) as caught:
        reading(*lines)
    return str(caught.value)


def with_(op: dict[str, Any], /, **changes: Any) -> dict[str, Any]:
    """An operation with other members; those of the payload are given as `payload__name`."""
    found = {**op, "payload": dict(op["payload"])}
    for name, value in changes.items():
        place = found["payload"] if name.startswith("payload__") else found
        place[name.removeprefix("payload__")] = value
    return found


def test_a_changeset_has_a_run_id_and_the_hash_of_its_bytes() -> None:
    content = text(HEAD, b"", b"  \t\r", INTAKE, UPDATE)
    found = parse(content, "x.jsonl")
    assert (found.run_id, found.size) == ("run-1", len(content))
    assert found.sha256 == hashlib.sha256(content).hexdigest()
    assert found.numbers == [4, 5]
    assert [op.name for op in found.ops()] == ["intake.add", "story.update"]


def test_an_operation_gets_every_field_of_its_kind_and_no_other() -> None:
    (op,) = reading(HEAD, with_(UPDATE, payload__revision=7, payload__id="other", surprise=1)).ops()
    assert set(op.payload) == {field.name for field in KINDS["story.update"].fields if field.since == 1}
    assert (op.id, op.get("unit_proof"), op.get("status")) == ("US-1", 1, None)


def test_line_ends_of_windows_change_nothing_in_the_operations() -> None:
    found = parse(text(HEAD, INTAKE).replace(b"\n", b"\r\n"), "x.jsonl")
    assert found.digest() == parse(text(HEAD, INTAKE), "x.jsonl").digest()


def test_line_separators_inside_a_text_do_not_end_the_line() -> None:
    line = json.dumps(with_(INTAKE, payload__summary="a\u2028b\x85c"), ensure_ascii=False).encode()
    assert reading(HEAD, line).op(0).get("summary") == "a\u2028b\x85c"


@pytest.mark.parametrize("summary", ["", "\x00 \x1b[31m", "z" * 1_000_000, "😀" * 1000, "\\u0041\"'"])
def test_any_text_can_stand_in_a_field(summary: str) -> None:
    assert reading(HEAD, with_(INTAKE, payload__summary=summary)).op(0).get("summary") == summary


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "version 2"),
        ({"version": True}, "version true"),
        ({"base_schema_version": 0}, "base_schema_version"),
        ({"base_schema_version": 15}, "base_schema_version"),
        ({"base_schema_version": "14"}, "base_schema_version"),
        ({"run_id": ""}, "run_id"),
        ({"run_id": "../../../x"}, "run_id"),
        ({"run_id": ".hidden"}, "run_id"),
        ({"run_id": "a/b"}, "run_id"),
        ({"run_id": "r" * 129}, "run_id"),
        ({"run_id": 7}, "run_id"),
        ({"op": "intake.add"}, "begins with"),
    ],
)
def test_a_header_of_another_kind_is_refused(change: dict[str, Any], reason: str) -> None:
    wrong = refusal({**HEAD, **change})
    assert wrong.startswith("x.jsonl:1: ")
    assert reason in wrong


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "intake.ad"}, "unknown operation"),
        ({"op": None}, "unknown operation"),
        ({"op": ["intake.add"]}, "unknown operation"),
        ({"version": 0}, "version"),
        ({"version": 4}, "version"),
        ({"version": "2"}, "version"),
        ({"version": None}, "version"),
        ({"uid": None}, "uid"),
        ({"uid": "trc_" + "0a" * 16}, "uid"),
        ({"uid": "ink_" + "0A" * 16}, "uid"),
        ({"uid": UID + "0"}, "uid"),
        ({"uid": UID + "\n"}, "uid"),
        ({"payload__summary": None}, "lacks summary"),
        ({"payload__summary": 1}, "summary of intake.add must be a text"),
        ({"payload__notes": 1}, "notes"),
        ({"payload__notes": {"a": 1}}, "notes"),
        ({"payload__created_at": None}, "lacks created_at"),
        ({"payload__created_at": "2026-01-31T23:59:59"}, "created_at"),
        ({"payload__created_at": "2026-02-30 00:00:00"}, "created_at"),
        ({"payload__created_at": "2026-01-31 23:59:59Z"}, "created_at"),
        ({"payload__created_at": "2026-01-31 23:59"}, "created_at"),
        ({"recorded_at_unix_ns": -1}, "recorded_at_unix_ns"),
        ({"recorded_at_unix_ns": 2**63}, "recorded_at_unix_ns"),
        ({"recorded_at_unix_ns": "1"}, "recorded_at_unix_ns"),
        ({"expected_revision": 1}, "expected_revision"),
        ({"payload": None}, "no payload"),
        ({"payload": []}, "payload"),
    ],
)
def test_a_bad_operation_is_refused_with_file_line_and_reason(change: dict[str, Any], reason: str) -> None:
    line = {**INTAKE, "payload": change["payload"]} if "payload" in change else with_(INTAKE, **change)
    wrong = refusal(HEAD, b"", line)
    assert wrong.startswith("x.jsonl:3: ")
    assert reason in wrong


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"{} {}",
        b'{"op":"tool.remove","op":"tool.remove","id":"a","version":1,"payload":{}}',
        b'{"op":"tool.remove","id":"a","version":1,"payload":{"x":1,"x":2}}',
        b'{"op":"tool.remove","id":"a","version":1,"payload":{"x":NaN}}',
        b'{"op":"tool.remove","id":"a","version":1,"payload":{"x":' + b"9" * 5000 + b"}}",
        b'{"op":"tool.remove","id":"a\x00b","version":1,"payload":{}}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\x00\x00\x00",
        b"\xef\xbb\xbf{}",
        json.dumps(HEAD).encode(),
    ],
)
def test_what_is_no_operation_is_refused_with_its_line(line: bytes) -> None:
    assert refusal(HEAD, UPDATE, line).startswith("x.jsonl:3: ")


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    assert refusal(HEAD, UPDATE, b'{"op":"\xff"}') == "x.jsonl:3: it is not UTF-8"


@pytest.mark.parametrize("row", [None, 1, "1", True, 2**63])
def test_an_operation_of_version_1_names_its_row_by_an_id_of_the_right_type(row: object) -> None:
    closing = {"op": "backlog.close", "version": 1, "id": row, "payload": {"status": "rejected"}}
    story = {"op": "story.verify", "version": 1, "id": row, "payload": {"result": "pass"}}
    assert (type(row) is int and row == 1) or "id of backlog.close" in refusal(HEAD, closing)
    assert isinstance(row, str) or "id of story.verify" in refusal(HEAD, story)


def test_a_revision_is_expected_from_version_3_on_and_only_where_rows_have_one() -> None:
    (op,) = reading(HEAD, with_(UPDATE, version=3, expected_revision=4)).ops()
    assert op.expected_revision == 4
    assert "lacks expected_revision" in refusal(HEAD, with_(UPDATE, version=3))
    assert "cannot have" in refusal(HEAD, with_(UPDATE, version=2, expected_revision=4))
    assert "no revision" in refusal(HEAD, with_(UPDATE, version=3, expected_revision=-1))
    assert "no row that has a revision" in refusal(HEAD, with_(INTAKE, version=3, expected_revision=0))


def test_an_integer_has_64_bits() -> None:
    assert reading(HEAD, with_(UPDATE, payload__unit_proof=-(2**63))).op(0).get("unit_proof") == -(2**63)
    assert "64 bits" in refusal(HEAD, with_(UPDATE, payload__unit_proof=2**63))
    assert "64 bits" in refusal(HEAD, with_(UPDATE, payload__unit_proof=1.0))
    assert "64 bits" in refusal(HEAD, with_(UPDATE, payload__unit_proof=True))


def test_a_line_has_a_largest_length() -> None:
    assert "longer than" in refusal(HEAD, b" " + b'"' + b"x" * (changeset.LARGEST_LINE + 1) + b'"')


def test_an_empty_file_is_no_changeset() -> None:
    assert "empty" in refusal(b"", b"  ")


def test_only_a_file_that_is_there_is_read(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no changeset at gone"):
        read(str(tmp_path / "gone"), "gone")
    with pytest.raises(Missing):
        read(str(tmp_path / "gone" / "below"))
    with pytest.raises(Incompatible, match="not a file"):
        read(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Incompatible, match="not a file"):
        read(str(tmp_path / "pipe"))
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(changeset.LARGEST_FILE + 1)
    with pytest.raises(Incompatible, match="larger than"):
        read(str(big))


def test_a_socket_is_no_changeset(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(Exception, match="cannot be read"):
            read(str(tmp_path / "s"))
