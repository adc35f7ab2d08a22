"""The tool `read_file`: lines with anchors, pictures as pictures, a clear word about everything else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from bridoon.errors import BridoonError
from bridoon.sdk.script import Context, Picture, Result
from bridoon.toolkit import arguments, picture, textfile
from bridoon.toolkit.hashline import SHOWN, RunningHash, show_piece
from bridoon.toolkit.outcome import output_limit
from bridoon.toolkit.paths import file_argument, trouble

LINES_LIMIT = 2000
"""Lines of a file that is read as a whole, unless HARNESS_READ_LIMIT says otherwise."""

_PIECE = 1 << 16


class ShownLine(NamedTuple):
    """A line as it is shown: a long one without its end."""

    number: int
    hash: str
    text: bytes
    size: int
    """Bytes of the whole line."""


def read_file(given: dict[str, Any], context: Context) -> Result:
    """Carry out a call of `read_file`. Raises BridoonError."""
    path = file_argument(given, context.cwd)
    offset = arguments.whole_number(given, "offset")
    limit = arguments.whole_number(given, "limit")
    with open(textfile.open_regular(path), "rb") as file:
        try:
            start = file.read(textfile.SNIFF)
            if picture.mime_type(start):
                return _picture(path, start, file)
            kind = textfile.binary_kind(start)
            if kind:
                advice = "iconv -f UTF-16 -t UTF-8" if kind == "UTF-16 text" else "file, strings, xxd"
                size = os.fstat(file.fileno()).st_size
                raise BridoonError(f"{path}: {kind}, {size} bytes: use bash ({advice})")
            if offset is None and limit is None:
                _check_length(file, start, context)
            file.seek(len(textfile.BOM) if start.startswith(textfile.BOM) else 0)
            return Result(_show(file, offset or 1, limit or 0, context))
        except OSError as wrong:
            raise trouble(wrong, path) from None


def _picture(path: str, start: bytes, file: BinaryIO) -> Result:
    data = start + file.read(picture.BYTES_LIMIT + 1 - len(start))
    kind = picture.mime_type(start)
    pixels = picture.size(data)
    about = f"{path}: {kind}" + (f", {pixels[0]}x{pixels[1]} pixels" if pixels else "")
    if len(data) > picture.BYTES_LIMIT:
        size = os.fstat(file.fileno()).st_size
        raise BridoonError(f"{about}, {size} bytes: more than {picture.BYTES_LIMIT}, make it smaller")
    if pixels and max(pixels) > picture.PIXELS_LIMIT:
        raise BridoonError(f"{about}: more than {picture.PIXELS_LIMIT} pixels a side, make it smaller")
    return Result(f"{about}, {len(data)} bytes", images=(Picture(kind, data),))


def _check_length(file: BinaryIO, start: bytes, context: Context) -> None:
    """Refuse to read the whole of a file that has too many lines. Raises BridoonError."""
    setting = context.env.get("HARNESS_READ_LIMIT", "")
    allowed = int(setting) if setting.isascii() and setting.isdigit() else LINES_LIMIT
    count = start.count(b"\n")
    while chunk := file.read(1 << 20):
        count += chunk.count(b"\n")
        _check_cancel(context)
    if count > allowed:
        advice = "read a part with offset and limit, or search it with bash (grep -n)"
        raise BridoonError(f"file has {count} lines (limit: {allowed}): {advice}")


def _show(file: BinaryIO, first: int, count: int, context: Context) -> str:
    room = output_limit(context.env)
    room -= min(500, room // 2)
    lines: list[ShownLine] = []
    stopped = 0
    for line in _lines(file, first, count, context):
        room -= min(len(line.text), SHOWN) + len(str(line.number)) + 5
        if room < 0 and lines:
            stopped = line.number
            break
        lines.append(line)
    encoding = textfile.encoding_of(b"\n".join(line.text for line in lines))
    shown = [show_piece(line.number, line.hash, line.text, line.size, encoding) for line in lines]
    if encoding != "utf-8":
        shown.append("[not UTF-8: shown as Latin-1; edit_file writes it back as Latin-1]")
    if stopped:
        shown.append(f"[the result is full: go on with offset={stopped}]")
    return "\n".join(shown)


def _lines(file: BinaryIO, first: int, count: int, context: Context) -> Iterator[ShownLine]:
    """The lines from `first`, `count` of them or (0) all; memory stays small whatever their length."""
    number = 1
    while not count or number < first + count:
        if number % 4096 == 0:
            _check_cancel(context)
        piece = file.readline(_PIECE)
        if not piece:
            return
        wanted = number >= first
        running, kept, size = RunningHash(), b"", 0
        while True:
            whole = piece.endswith(b"\n")
            text = piece[:-1] if whole else piece
            size += len(text)
            if wanted:
                running.feed(text)
                kept += text[: 4 * SHOWN + 4 - len(kept)]
            if whole or not (piece := file.readline(_PIECE)):
                break
            _check_cancel(context)
        if wanted:
            kept = _whole_characters(kept) if len(kept) < size else kept
            yield ShownLine(number, running.letters(number), kept, size)
        number += 1


def _whole_characters(cut: bytes) -> bytes:
    """Without the character that a cut went through."""
    end = len(cut)
    while end and len(cut) - end < 3 and cut[end - 1] & 0xC0 == 0x80:
        end -= 1
    return cut[: end - 1] if end and cut[end - 1] >= 0xC0 else cut[:end]


def _check_cancel(context: Context) -> None:
    if context.cancel is not None:
        context.cancel.check()
