"""Files and edits of any content: what is not edited stays, what is read is what is there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bridoon.sdk.script import Context
from bridoon.toolkit.edit import edit_file
from bridoon.toolkit.hashline import RunningHash, line_hash
from bridoon.toolkit.outcome import bounded
from bridoon.toolkit.reading import read_file
from bridoon.toolkit.textfile import TextFile
from bridoon.toolkit.writing import write_file

EXAMPLES = int(os.environ.get("BRIDOON_EXAMPLES", "100"))

line = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=12)
ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Text with lines that end in one way or the other, and perhaps no newline at its end."""
    text = "".join(draw(line) + draw(ends) for _ in range(draw(st.integers(0, 8))))
    return (text + draw(st.just("") | line)).encode()


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=80))
def test_a_file_taken_apart_and_joined_is_the_same(data: bytes) -> None:
    file = TextFile.parse(data)
    assert file.join(list(file.lines)) == data


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 10**6), st.lists(st.binary(max_size=20), max_size=6))
def test_the_hash_of_a_line_does_not_depend_on_how_it_comes(number: int, pieces: list[bytes]) -> None:
    running = RunningHash()
    for piece in pieces:
        running.feed(piece)
    text = b"".join(pieces).replace(b"\r", b"").rstrip(b" \t")
    value = 5381
    for byte in text:
        value = (value * 33 + byte) % 2**32
    if not any(chr(byte).isalnum() and byte < 128 for byte in text):
        value = (value + number * 2654435761) % 2**32
    high, low = divmod(value % 256, 16)
    letters = "ZPMQVRWSNKTXJBYH"
    assert running.letters(number) == line_hash(number, b"".join(pieces)) == letters[high] + letters[low]


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts(), st.data())
def test_edits_do_what_they_would_do_one_by_one_from_the_bottom(data: bytes, draw: st.DataObject) -> None:
    file = TextFile.parse(data)
    count = len(file.lines)
    kinds = ["append_file", "prepend_file"] + (["replace_range", "append_at", "prepend_at"] if count else [])
    model: list[list[bytes]] = [[each.text] for each in file.lines]
    before: dict[int, list[bytes]] = {}
    edits = []
    taken: set[int] = set()
    for _ in range(draw.draw(st.integers(1, 3))):
        kind = draw.draw(st.sampled_from(kinds))
        content = draw.draw(st.lists(line.filter(lambda text: "#" not in text), min_size=1, max_size=3))
        new = [text.encode() for text in content]
        number = draw.draw(st.integers(1, count)) if count else 0
        if kind in ("append_at", "prepend_at", "replace_range") and number in taken:
            continue
        anchor = f"{number}#{line_hash(number, file.lines[number - 1].text)}" if number else ""
        if kind == "replace_range":
            taken.add(number)
            model[number - 1] = new
            edits.append({"type": kind, "pos": anchor, "end": anchor, "content": content})
        elif kind in ("append_at", "prepend_at"):
            taken.add(number)
            after = number if kind == "append_at" else number - 1
            if after in before:
                continue
            before[after] = new
            edits.append({"type": kind, "pos": anchor, "content": content})
        else:
            after = count if kind == "append_file" else 0
            if after in before:
                continue
            before[after] = new
            edits.append({"type": kind, "content": content})
    expected = list(before.get(0, []))
    for number, lines in enumerate(model, 1):
        expected += [*lines, *before.get(number, [])]
    if not edits:
        return
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "a"
        path.write_bytes(data)
        edit_file({"path": str(path), "edits": edits}, Context({}))
        result = path.read_bytes()
    newline = b"\n" if file.final_newline and expected else b""
    assert result.replace(b"\r\n", b"\n") == b"\n".join(expected) + newline
    assert result.count(b"\r\n") in (0, result.count(b"\n")) or b"\r\n" in data


@settings(max_examples=EXAMPLES, deadline=None)
@given(texts(), st.integers(1, 4))
def test_a_file_read_in_parts_is_the_file_read_at_once(data: bytes, size: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "a"
        path.write_bytes(data)
        whole = read_file({"path": str(path)}, Context({})).content
        parts = []
        start = 1
        while part := read_file({"path": str(path), "offset": start, "limit": size}, Context({})).content:
            parts.append(part)
            start += size
    assert "\n".join(parts) == whole


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(max_size=60))
def test_what_is_written_is_what_is_there(text: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "a"
        write_file({"path": str(path), "content": text}, Context({}))
        assert path.read_bytes() == text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


@settings(max_examples=EXAMPLES)
@given(st.text(max_size=300), st.integers(1, 100))
def test_a_bounded_text_is_a_head_and_a_tail_of_it(text: str, limit: int) -> None:
    shown = bounded(text, {"HARNESS_TOOL_OUTPUT_LIMIT": str(limit)})
    whole = text.rstrip("\n")
    if len(whole) <= limit:
        assert shown == whole
    else:
        head = int(limit * 0.7)
        marker = f"\n[... {len(whole) - limit} characters cut ...]\n"
        assert shown == whole[:head] + marker + whole[len(whole) - (limit - head) :]
