"""Recognises pictures by their first bytes, and tells their size in pixels."""

from __future__ import annotations

import struct

BYTES_LIMIT = 3_900_000
"""What still fits into the 5 MiB of base64 that model APIs take."""

PIXELS_LIMIT = 8000
"""The longest side that model APIs take."""

START = 32
"""How many bytes `mime_type` needs."""


def mime_type(start: bytes) -> str:
    """The type of the picture that begins so (png, jpeg, gif, webp); empty for anything else."""
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "image/webp"
    return ""


def size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None when the file does not say."""
    try:
        match mime_type(data[:START]):
            case "image/png":
                return struct.unpack(">II", data[16:24])
            case "image/gif":
                return struct.unpack("<HH", data[6:10])
            case "image/webp":
                return _webp_size(data)
            case "image/jpeg":
                return _jpeg_size(data)
    except (struct.error, IndexError):
        pass
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walk the segments up to the frame header."""
    at = 2
    while data[at] == 0xFF:
        kind = data[at + 1]
        if kind == 0xFF or kind == 0x01 or 0xD0 <= kind <= 0xD8:
            at += 1 if kind == 0xFF else 2
            continue
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None
