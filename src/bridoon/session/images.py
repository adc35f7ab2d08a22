"""Pictures of a session: files in its `images/` folder, named by the messages that show them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bridoon.model.message import Image, Message, ToolResult

LIMIT = 64 << 20
"""Bytes of a file that are read as a picture at most."""

_EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "image/tiff": "tiff",
    "image/svg+xml": "svg",
}


def of(message: Message) -> Iterator[Image]:
    """The pictures of a message, in order."""
    for part in message.parts:
        if isinstance(part, Image):
            yield part
        elif isinstance(part, ToolResult):
            yield from part.images


def names(message: Message) -> list[str]:
    """The file of each picture, relative to the session: `images/<seq>-<n>.<ext>`, n from 1."""
    return [
        f"images/{message.seq:04d}-{number}.{_EXTENSIONS.get(image.mime_type, 'bin')}"
        for number, image in enumerate(of(message), 1)
    ]


def is_inside(path: str) -> bool:
    """Whether a path that a message names stays in its session, by its spelling."""
    return bool(path) and not path.startswith("/") and "\0" not in path and ".." not in path.split("/")


def load(session_dir: str, path: str) -> bytes | None:
    """The bytes of a picture; None when the file is missing, too big, or not inside the session."""
    if not is_inside(path):
        return None
    root, real = os.path.realpath(session_dir), os.path.realpath(os.path.join(session_dir, path))
    if not real.startswith(root + os.sep):
        return None
    try:
        fd = os.open(real, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    with open(fd, "rb") as file:
        try:
            data = file.read(LIMIT + 1)
        except OSError:  # a folder, a pipe
            return None
    return data if len(data) <= LIMIT else None
