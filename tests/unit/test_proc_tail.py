"""Lines that others append to a file are read once, whole, and in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bridoon.proc.tail import Follower


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".stream"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_only_whole_new_lines_are_read(path: Path) -> None:
    follower = Follower(str(path))
    assert follower.lines() == []
    append(path, b"one\ntw")
    assert follower.lines() == [b"one"]
    append(path, b"o\n\nthree\n")
    assert follower.lines() == [b"two", b"", b"three"]
    assert follower.lines() == []


def test_what_was_there_before_can_be_left_out(path: Path) -> None:
    append(path, b"old\n")
    follower = Follower(str(path), at_end=True)
    append(path, b"new\n")
    assert follower.lines() == [b"new"]
    append(path, b"skipped\n")
    follower.skip_to_end()
    assert follower.lines() == []


def test_a_file_that_shrinks_is_read_from_its_beginning(path: Path) -> None:
    append(path, b"a long first line\nhalf")
    follower = Follower(str(path))
    follower.lines()
    path.write_bytes(b"again\n")
    assert follower.lines() == [b"again"]


def test_a_file_that_is_replaced_is_read_from_its_beginning(path: Path) -> None:
    append(path, b"one\n")
    follower = Follower(str(path))
    follower.lines()
    other = path.with_name("other")
    other.write_bytes(b"two\nthree\n")
    other.rename(path)
    assert follower.lines() == [b"two", b"three"]


def test_a_file_that_vanishes_and_comes_back_is_read_from_its_beginning(path: Path) -> None:
    append(path, b"one\n")
    follower = Follower(str(path))
    follower.lines()
    path.unlink()
    assert follower.lines() == []
    append(path, b"one\n")
    assert follower.lines() == [b"one"]


def test_a_line_without_end_takes_bounded_memory_and_is_left_out(path: Path) -> None:
    follower = Follower(str(path), limit=10)
    append(path, b"x" * 50)
    assert follower.lines() == []
    append(path, b"y" * 50)
    assert follower.lines() == []
    append(path, b"z\nshort\n" + b"w" * 11 + b"\nlast\n")
    assert follower.lines() == [b"short", b"last"]
    assert follower.left_out == 2


@given(some.lists(some.binary(max_size=20).filter(bool), max_size=20))
def test_however_it_is_written_the_lines_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("tail") / "f"
    follower, found = Follower(str(path)), []
    for part in parts:
        append(path, part)
        found += follower.lines()
    assert found == b"".join(parts).split(b"\n")[:-1]
