"""The tool `edit_file`: anchors are checked, edits count lines of the original, the rest stays as it is."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from bridoon.errors import BridoonError
from bridoon.sdk.script import Context, Result
from bridoon.toolkit.edit import edit_file
from bridoon.toolkit.hashline import line_hash


def anchor(file: Path, number: int) -> str:
    line = file.read_bytes().split(b"\n")[number - 1]
    return f"{number}#{line_hash(number, line)}"


def edit(file: Path, *edits: Any, **more: Any) -> Result:
    return edit_file({"path": str(file), "edits": list(edits), **more}, Context({}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "poem.txt"
    path.write_bytes(b"one\ntwo\nthree\nfour\n")
    return path


def test_a_range_is_replaced_and_the_new_anchors_are_shown(file: Path) -> None:
    result = edit(
        file, {"type": "replace_range", "pos": anchor(file, 2), "end": anchor(file, 3), "content": ["2", "3"]}
    )
    assert file.read_bytes() == b"one\n2\n3\nfour\n"
    assert result.content.split("\n")[:3] == [f"edited {file}:", "  - replaced lines 2-3", ""]
    assert f"{anchor(file, 2)}:2" in result.content


def test_every_type_of_edit_says_what_it_did(file: Path) -> None:
    result = edit(
        file,
        {"type": "append_at", "pos": anchor(file, 1), "content": "after"},
        {"type": "prepend_at", "pos": anchor(file, 4), "content": ["before"]},
        {"type": "append_file", "content": "end"},
        {"type": "prepend_file", "content": "start"},
    )
    assert file.read_text("utf-8") == "start\none\nafter\ntwo\nthree\nbefore\nfour\nend\n"
    assert result.content.split("\n")[1:5] == [
        "  - appended after line 1",
        "  - prepended before line 4",
        "  - appended to end of file",
        "  - prepended to start of file",
    ]


def test_null_content_deletes_a_range(file: Path) -> None:
    edit(file, {"type": "replace_range", "pos": anchor(file, 1), "end": anchor(file, 3), "content": None})
    assert file.read_bytes() == b"four\n"


def test_several_insertions_at_one_place_keep_their_order(file: Path) -> None:
    edit(file, {"type": "append_file", "content": "A"}, {"type": "append_file", "content": "B"})
    assert file.read_bytes().endswith(b"four\nA\nB\n")


def test_the_short_spelling_replaces_inserts_and_deletes(file: Path) -> None:
    edit(
        file,
        {"at": anchor(file, 1), "content": ["ONE"]},
        {"at": anchor(file, 2), "end": anchor(file, 3), "content": None},
        {"after": anchor(file, 4), "content": ["five"]},
        {"after": "0", "content": ["zero"]},
    )
    assert file.read_bytes() == b"zero\nONE\nfour\nfive\n"


def test_the_short_spelling_refuses_an_edit_that_changes_nothing(file: Path) -> None:
    with pytest.raises(BridoonError, match="nothing to change"):
        edit(file, {"at": anchor(file, 1), "content": ["one"]})


def test_a_stale_tag_is_refused(file: Path) -> None:
    tag = hashlib.md5(file.read_bytes()).hexdigest()[:8]
    edit(file, {"at": anchor(file, 1), "content": ["ONE"]}, tag=tag)
    with pytest.raises(BridoonError, match="changed since it was read"):
        edit(file, {"at": anchor(file, 1), "content": ["again"]}, tag=tag)


def test_a_mismatch_shows_the_lines_around_and_changes_nothing(file: Path) -> None:
    before = file.read_bytes()
    result = edit(
        file,
        {"type": "append_file", "content": "x"},
        {"type": "append_at", "pos": "2#ZZ", "content": "x"},
    )
    assert result.failed
    assert result.content.split("\n") == [
        f"MISMATCH at line 2: expected ZZ, got {line_hash(2, b'two')}",
        f"    {anchor(file, 1)}:one",
        f">>> {anchor(file, 2)}:two",
        f"    {anchor(file, 3)}:three",
        f"    {anchor(file, 4)}:four",
    ]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([{"type": "replace_range", "pos": "3#{3}", "end": "2#{2}", "content": "x"}], "invalid range 3-2"),
        ([{"type": "append_at", "pos": "0#ZR", "content": "x"}], "invalid anchor 0#ZR: the file has 4 lines"),
        ([{"type": "append_at", "pos": "9#QY", "content": "x"}], "invalid anchor 9#QY"),
        ([{"type": "append_at", "pos": "two", "content": "x"}], "invalid pos anchor 'two'"),
        ([{"type": "append_at", "pos": 2, "content": "x"}], "invalid pos anchor"),
        ([{"type": "replace_range", "pos": "2#{2}", "content": "x"}], "requires both pos and end anchors"),
        ([{"type": "append_at", "content": "x"}], "requires a pos anchor"),
        ([{"type": "append_file"}], "requires content"),
        ([{"type": "swap", "content": "x"}], "unknown edit type 'swap'"),
        ([{"content": "x"}], "needs `type`"),
        ([], "no edits provided"),
        (None, "no edits provided"),
        ("x", "edits must be an array of objects, not a string"),
        (["x"], "edit 1 is a string, not an object"),
        ([{"type": "append_file", "content": [1]}], "content must hold strings, not a number"),
        ([{"type": "append_file", "content": {}}], "content must be an array of strings"),
        (
            [
                {"type": "replace_range", "pos": "1#{1}", "end": "3#{3}", "content": "x"},
                {"type": "replace_range", "pos": "2#{2}", "end": "4#{4}", "content": "y"},
            ],
            "edits overlap: replaced lines 1-3, replaced lines 2-4",
        ),
        (
            [
                {"type": "append_at", "pos": "2#{2}", "content": "y"},
                {"type": "replace_range", "pos": "1#{1}", "end": "3#{3}", "content": "x"},
            ],
            "edits overlap: replaced lines 1-3, appended after line 2",
        ),
    ],
)
def test_edits_that_make_no_sense_are_refused_and_change_nothing(file: Path, edits: Any, said: str) -> None:
    before = file.read_bytes()
    hashes = {str(number): anchor(file, number).split("#")[1] for number in range(1, 5)}
    for each in edits if isinstance(edits, list) else ():
        for key in ("pos", "end"):
            if isinstance(each, dict) and isinstance(each.get(key), str):
                for number, letters in hashes.items():
                    each[key] = each[key].replace("{" + number + "}", letters)
    with pytest.raises(BridoonError) as refusal:
        edit_file({"path": str(file), "edits": edits}, Context({}))
    assert said in refusal.value.message
    assert file.read_bytes() == before


def test_two_hashes_for_one_line_cannot_both_be_right(file: Path) -> None:
    result = edit(file, {"type": "replace_range", "pos": anchor(file, 2), "end": "2#ZZ", "content": "x"})
    assert "MISMATCH at line 2: expected ZZ" in result.content


def test_copied_anchors_are_taken_off_only_when_every_line_has_one(file: Path) -> None:
    edit(file, {"type": "append_file", "content": ["5#ZM:five", "6#QR:six"]})
    edit(file, {"type": "append_file", "content": ["10#PN:keepme", "plain"]})
    assert file.read_text("utf-8").split()[4:] == ["five", "six", "10#PN:keepme", "plain"]


def test_mode_and_link_survive_an_edit(file: Path, tmp_path: Path) -> None:
    file.chmod(0o750)
    link = tmp_path / "link"
    link.symlink_to(file)
    edit(link, {"type": "append_file", "content": "five"})
    assert link.is_symlink()
    assert file.read_bytes().endswith(b"five\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert sorted(os.listdir(tmp_path)) == ["link", "poem.txt"]


def test_new_lines_get_the_line_end_that_most_lines_have(file: Path) -> None:
    file.write_bytes(b"one\r\ntwo\r\nthree\n")
    edit(file, {"type": "append_at", "pos": anchor(file, 1), "content": ["new\r", "newer"]})
    assert file.read_bytes() == b"one\r\nnew\r\nnewer\r\ntwo\r\nthree\n"


def test_a_missing_final_newline_stays_missing(file: Path) -> None:
    file.write_bytes(b"one\ntwo")
    edit(file, {"type": "append_file", "content": "three"})
    assert file.read_bytes() == b"one\ntwo\nthree"


def test_an_empty_file_can_be_filled(file: Path) -> None:
    file.write_bytes(b"")
    edit(file, {"type": "append_file", "content": ["one", "two"]})
    assert file.read_bytes() == b"one\ntwo\n"


def test_lines_that_are_not_utf8_go_back_byte_for_byte(file: Path) -> None:
    file.write_bytes(b"caf\xe9\nna\xefve\n")
    edit(file, {"type": "append_file", "content": "gar\u00e7on"})
    assert file.read_bytes() == b"caf\xe9\nna\xefve\ngar\xe7on\n"
    with pytest.raises(BridoonError, match="Latin-1"):
        edit(file, {"type": "append_file", "content": "\u2192"})


def test_a_byte_order_mark_stays_in_front(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfone\ntwo\n")
    first = f"1#{line_hash(1, b'one')}"
    edit(file, {"type": "replace_range", "pos": first, "end": first, "content": "1"})
    assert file.read_bytes() == b"\xef\xbb\xbf1\ntwo\n"


def test_a_long_file_shows_the_places_that_changed_with_their_new_anchors(file: Path) -> None:
    file.write_bytes(b"".join(b"line %d\n" % number for number in range(1, 201)))
    result = edit(
        file,
        {"type": "append_at", "pos": anchor(file, 10), "content": "first"},
        {"type": "append_at", "pos": anchor(file, 150), "content": "second"},
    )
    lines = result.content.split("\n")
    assert lines[-1] == "(202 lines — use read_file to view)"
    assert f"{anchor(file, 11)}:first" in lines
    assert f"{anchor(file, 152)}:second" in lines
    assert len(lines) < 20


def test_a_binary_file_is_not_edited(file: Path) -> None:
    file.write_bytes(b"a\0b\n")
    with pytest.raises(BridoonError, match="binary file"):
        edit(file, {"type": "append_file", "content": "x"})


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(BridoonError, match=f"file not found: {tmp_path}/none"):
        edit(tmp_path / "none", {"type": "append_file", "content": "x"})


def test_a_program_that_lost_its_x_bit_is_mentioned(tmp_path: Path) -> None:
    tool = tmp_path / ".harness" / "tools" / "greet"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n", "utf-8")
    assert edit(tool, {"type": "append_file", "content": "echo hi"}).content.endswith("(chmod +x)")
    tool.chmod(0o755)
    assert "chmod" not in edit(tool, {"type": "append_file", "content": "echo ho"}).content
