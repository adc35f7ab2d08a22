"""The tools `read_file` and `write_file`, and what they say about files that they do not take."""

from __future__ import annotations

import os
import socket
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from bridoon.errors import BridoonError
from bridoon.sdk.script import Context, Result
from bridoon.toolkit.hashline import SHOWN, line_hash
from bridoon.toolkit.reading import read_file
from bridoon.toolkit.writing import write_file


def read(path: Path | str, env: dict[str, str] | None = None, **more: Any) -> Result:
    return read_file({"path": str(path), **more}, Context(env or {}))


def write(path: Path | str, content: Any, env: dict[str, str] | None = None) -> Result:
    return write_file({"path": str(path), "content": content}, Context(env or {}))


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def test_lines_are_shown_with_their_anchors(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"#!/bin/sh\necho hi\n  }\n")
    assert read(tmp_path / "a").content == "1#KX:#!/bin/sh\n2#QR:echo hi\n3#XR:  }"


def test_offset_and_limit_choose_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a\nb\nc\nd\n")
    assert read(tmp_path / "a", offset=2, limit=2).content == f"2#ZS:b\n3#{line_hash(3, b'c')}:c"
    assert read(tmp_path / "a", offset="3", limit=0).content.count("\n") == 1
    assert read(tmp_path / "a", offset=9).content == ""


def test_a_path_is_relative_to_the_session_and_a_tilde_is_a_letter(tmp_path: Path) -> None:
    (tmp_path / "~").write_bytes(b"a\n")
    assert read("~", {"HARNESS_CWD": str(tmp_path)}).content == "1#ZW:a"


def test_a_long_file_is_refused_as_a_whole_and_read_in_parts(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\n" * 2001)
    with pytest.raises(BridoonError, match=r"file has 2001 lines \(limit: 2000\): .*offset"):
        read(tmp_path / "a")
    with pytest.raises(BridoonError, match=r"file has 2001 lines \(limit: 10\)"):
        read(tmp_path / "a", {"HARNESS_READ_LIMIT": "10"})
    assert read(tmp_path / "a", limit=0).content.count("\n") == 2000


def test_a_huge_line_is_cut_and_keeps_the_anchor_of_the_whole_line(tmp_path: Path) -> None:
    line = b"y" * 300_000 + b" \t\r"
    (tmp_path / "a").write_bytes(line + b"\nshort\n")
    first, second = read(tmp_path / "a").content.split("\n")
    assert first == f"1#{line_hash(1, line)}:{'y' * SHOWN} [... line of 300003 bytes, cut here]"
    assert second.endswith(":short")


def test_a_full_result_says_where_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"z" * 90 + b"\n" + b"w" * 90 + b"\n" + b"v" * 900 + b"\n")
    lines = read(tmp_path / "a", {"HARNESS_TOOL_OUTPUT_LIMIT": "500"}).content.split("\n")
    assert len(lines) == 3
    assert lines[-1] == "[the result is full: go on with offset=3]"


def test_text_that_is_not_utf8_is_shown_as_latin1_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"caf\xe9\n")
    first, note = read(tmp_path / "a").content.split("\n")
    assert first == f"1#{line_hash(1, b'caf' + bytes([0xE9]))}:caf\u00e9"
    assert "not UTF-8" in note


def test_one_broken_byte_does_not_make_utf8_text_latin1(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("häß".encode() + b"\xff\n")
    assert read(tmp_path / "a").content.endswith(":häß\ufffd")


def test_a_binary_file_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF\0\1\2")
    with pytest.raises(BridoonError, match="binary file, 7 bytes: use bash"):
        read(tmp_path / "a")
    (tmp_path / "b").write_bytes("hi".encode("utf-16"))
    with pytest.raises(BridoonError, match="UTF-16 text, 6 bytes: use bash"):
        read(tmp_path / "b")


@pytest.mark.parametrize(
    ("name", "data", "about"),
    [
        ("a.png", png(640, 480), "image/png, 640x480 pixels"),
        ("a.gif", b"GIF89a" + struct.pack("<HH", 3, 4) + b"\0" * 20, "image/gif, 3x4 pixels"),
        ("a.webp", b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + b"\x09\0\0\x07\0\0", "image/webp, 10x8 pixels"),
        (
            "a.jpg",
            b"\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x11\x08\0\x05\0\x06\3" + b"\0" * 9,
            "image/jpeg, 6x5 pixels",
        ),
        ("no-suffix", b"\xff\xd8\xff\xd9", "image/jpeg"),
    ],
)
def test_a_picture_is_read_as_a_picture(tmp_path: Path, name: str, data: bytes, about: str) -> None:
    (tmp_path / name).write_bytes(data)
    result = read(tmp_path / name)
    assert result.content == f"{tmp_path / name}: {about}, {len(data)} bytes"
    assert result.images[0].data == data
    assert about.startswith(result.images[0].mime_type)


def test_a_picture_that_no_model_takes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wide.png").write_bytes(png(9000, 1))
    with pytest.raises(BridoonError, match="9000x1 pixels: more than 8000"):
        read(tmp_path / "wide.png")
    (tmp_path / "big.png").write_bytes(png(10, 10) + b"\0" * 4_000_000)
    with pytest.raises(BridoonError, match="make it smaller"):
        read(tmp_path / "big.png")


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    place = str(tmp_path / "sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        for path, said in [
            (tmp_path, "is a directory: use bash"),
            (tmp_path / "pipe", "is a named pipe"),
            (Path(place), "is a socket"),
            (Path("/dev/zero"), "is a device"),
            (tmp_path / "none", "file not found"),
        ]:
            with pytest.raises(BridoonError, match=said):
                read(path)
    with pytest.raises(BridoonError, match="named pipe"):
        write(tmp_path / "pipe", "x")
    with pytest.raises(BridoonError, match="is a directory"):
        write(tmp_path, "x")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (None, "path is required"),
        ("", "path is required"),
        (7, "path must be a string, not a number"),
        (["a"], "path must be a string, not an array"),
        ("a\0b", "NUL"),
        ("x" * 5000, "file name too long"),
        ("bad\ud800name", "no file name can have"),
    ],
)
def test_a_path_that_is_none_is_explained(path: Any, said: str) -> None:
    for tool in (read_file, write_file):
        with pytest.raises(BridoonError, match=said):
            tool({"path": path, "content": "x"}, Context({"HARNESS_CWD": "/nowhere"}))


@pytest.mark.parametrize(("offset", "said"), [("x", "'x'"), (-1, "-1"), (1.5, "1.5"), (True, "True"), ([], "an array")])
def test_an_offset_that_is_no_number_is_explained(tmp_path: Path, offset: Any, said: str) -> None:
    (tmp_path / "a").write_bytes(b"a\n")
    with pytest.raises(BridoonError, match=f"offset must be a whole number from 0, not {said}"):
        read(tmp_path / "a", offset=offset)


def test_exactly_the_content_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "a"
    content = "line1\r\nline2\n\n\0end \u00e9"
    assert write(path, content).content == f"wrote {len(content.encode())} bytes to {path}"
    assert path.read_bytes() == content.encode()
    write(path, "")
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "content is required"), ({"a": 1}, "a string, not an object"), (5, "not a number")],
)
def test_content_has_to_be_text(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(BridoonError, match=said):
        write(tmp_path / "a", content)
    assert not (tmp_path / "a").exists()


def test_half_a_surrogate_pair_becomes_a_replacement_character(tmp_path: Path) -> None:
    write(tmp_path / "a", "\ud83d\ude00 \ud800!")
    assert (tmp_path / "a").read_text("utf-8") == "\U0001f600 \ufffd!"


def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write(tmp_path / "new", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o755)
    write(tmp_path / "new", "y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o755


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("deep/target")
    write(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "target").read_text("utf-8") == "x"


def test_a_file_in_the_place_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(BridoonError, match=f"directory {tmp_path}/file/sub cannot be made"):
        write(tmp_path / "file" / "sub" / "a", "x")
    with pytest.raises(BridoonError, match="names a directory"):
        write(f"{tmp_path}/new/", "x")


def test_a_loop_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for use in (lambda: read(tmp_path / "a"), lambda: write(tmp_path / "a", "x")):
        with pytest.raises(BridoonError, match="too many levels of symbolic links"):
            use()


@pytest.mark.parametrize(
    ("place", "note"),
    [
        (".harness/tools/x", True),
        (".harness/hooks.d/tool_exec/05-x", True),
        (".harness/plugins/pack/providers/x", True),
        ("elsewhere/commands/x", True),
        (".harness/tools/lib/x", False),
        (".harness/prompts/x", False),
        ("src/tools/x", False),
    ],
)
def test_a_program_in_a_drop_in_folder_is_reminded_of_its_x_bit(tmp_path: Path, place: str, note: bool) -> None:
    sources = {"HARNESS_SOURCES": f"/a:{tmp_path}/elsewhere"}
    result = write(tmp_path / place, "#!/bin/sh\n", sources)
    assert result.content.endswith("\nnote: not executable yet (chmod +x)") is note
    assert "note" not in write(tmp_path / place, "no program\n", sources).content
