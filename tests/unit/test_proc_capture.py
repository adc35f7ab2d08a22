"""A stream is kept within bounds, its head and tail shown, all of it on disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bridoon.proc.capture import Capture


def captured(data: bytes, *, memory: int = 100, spill: str = "", chunk: int = 7, **options: int) -> Capture:
    capture = Capture(memory, spill, **options)
    for start in range(0, len(data), chunk):
        capture.feed(data[start : start + chunk])
    capture.finish()
    return capture


def test_a_short_stream_is_kept_whole_and_writes_no_file(tmp_path: Path) -> None:
    capture = captured(b"hello\n", spill=str(tmp_path / "full.txt"))
    assert (capture.text(), capture.total, capture.truncated, capture.spill_path) == ("hello\n", 6, False, "")
    assert list(tmp_path.iterdir()) == []


def test_a_long_stream_shows_head_and_tail_and_where_the_rest_is(tmp_path: Path) -> None:
    path = tmp_path / "made" / "full.txt"
    data = b"a" * 500 + b"z" * 500
    capture = captured(data, spill=str(path))
    assert capture.text() == f"{'a' * 68}\n[... 900 characters cut; the full text is in {path} ...]\n{'z' * 32}"
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_stream_that_memory_holds_but_the_reader_does_not_want_whole_is_on_disk_too(tmp_path: Path) -> None:
    path = tmp_path / "full.txt"
    capture = captured(b"0123456789", spill=str(path))
    expected = f"012\n[... 5 characters cut; the full text is in {path} ...]\n89"
    assert [capture.text(5), capture.text(5)] == [expected, expected]
    assert path.read_bytes() == b"0123456789"


def test_the_file_stops_growing_at_its_limit_and_the_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "full.txt"
    capture = captured(b"x" * 1000, spill=str(path), spill_limit=300)
    assert path.stat().st_size == 300
    assert f"; the first 300 of 1000 bytes are in {path} ..." in capture.text()


def test_a_disk_that_fails_costs_the_file_and_not_the_text() -> None:
    capture = captured(b"x" * 1000, spill="/proc/nowhere/full.txt")
    assert "[... 900 characters cut; the full text could not be kept: " in capture.text()
    assert capture.spill_path == ""


def test_a_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    (tmp_path / "full.txt").symlink_to(victim)
    captured(b"x" * 1000, spill=str(tmp_path / "full.txt"))
    assert victim.read_text(encoding="utf-8") == "precious"


def test_characters_are_counted_not_bytes() -> None:
    text = captured("é".encode() * 1000, memory=200).text()
    assert text == f"{'é' * 70}\n[... 900 characters cut ...]\n{'é' * 30}"


@pytest.mark.parametrize("cut", range(4))
def test_a_cut_never_splits_a_character(cut: int) -> None:
    text = captured(b"." * cut + "𝄞".encode() * 100, memory=100).text()
    assert "\ufffd" not in text


def test_what_is_not_utf8_is_shown_with_replacement_characters() -> None:
    assert captured(b"\xff\x00ok").text() == "\ufffd\0ok"


def test_a_stream_of_one_byte_chunks_keeps_a_bounded_tail() -> None:
    data = b"".join(b"%05d\n" % n for n in range(2000))
    assert captured(data, memory=60, chunk=1).data == data[:40] + data[-20:]


@given(some.binary(max_size=400), some.integers(1, 60), some.integers(0, 120), some.integers(1, 50))
def test_chunking_does_not_matter(data: bytes, chunk: int, memory: int, limit: int) -> None:
    whole, pieces = captured(data, memory=memory, chunk=1000), captured(data, memory=memory, chunk=chunk)
    assert (whole.data, whole.text(limit), whole.text()) == (pieces.data, pieces.text(limit), pieces.text())


@given(some.text(max_size=300), some.integers(0, 300))
def test_what_is_cut_and_what_is_shown_add_up(text: str, limit: int) -> None:
    data = text.encode("utf-8", "surrogatepass")
    decoded = data.decode("utf-8", "replace")
    shown = captured(data, memory=4 * limit).text(limit)
    if len(decoded) <= limit:
        assert shown == decoded
    else:
        head, tail = int(limit * 0.7), limit - int(limit * 0.7)
        cut = f"\n[... {len(decoded) - limit} characters cut ...]\n"
        assert shown == decoded[:head] + cut + decoded[len(decoded) - tail :]
