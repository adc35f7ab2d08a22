"""Which files a gate leans on: those of its own source directory that it names, and those that these name."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bridoon.catalog.files import read_file

FILE_LIMIT = 1 << 20
"""Bytes of one file that is kept. Larger ones are left where they are."""

MOST_FILES, MOST_BYTES, MOST_LOOKED_AT = 64, 4 << 20, 2000
"""Bounds of what is kept for one gate, and of the entries that are looked at for it."""

_ASIDE = frozenset({"sessions", "node_modules", "__pycache__"})
_COMMON = frozenset(
    {"hooks.d", "tool_exec", "pre-tool", "tools", "commands", "providers", "prompts", "skills", "plugins"}
)


def companions(source: str, hook: str, text: bytes) -> dict[str, bytes]:
    """Path and content of the files below the directory `source` that the gate at `hook`, which says `text`, uses.

    A file counts when its name, its name without `.py`, or the name of a folder that holds it is a part of the text.
    What a gate reads from elsewhere is not known.
    """
    waiting = {path: _names(os.path.relpath(path, source)) for path in _below(source) if path != hook}
    found: dict[str, bytes] = {}
    size, texts = 0, [text]
    while texts:
        text = texts.pop()
        for path in [path for path, names in waiting.items() if any(name in text for name in names)]:
            del waiting[path]
            try:
                content = read_file(path, FILE_LIMIT + 1)
            except OSError:
                continue
            if len(content) > FILE_LIMIT or size + len(content) > MOST_BYTES or len(found) >= MOST_FILES:
                continue
            found[path] = content
            size += len(content)
            texts.append(content)
    return found


def _below(source: str) -> Iterator[str]:
    looked_at = 0
    for folder, folders, files in os.walk(source):
        folders[:] = [name for name in folders if name not in _ASIDE and not name.startswith(".")]
        for name in files:
            yield os.path.join(folder, name)
        looked_at += len(folders) + len(files)
        if looked_at > MOST_LOOKED_AT:
            return


def _names(relative: str) -> list[bytes]:
    *folders, name = relative.split(os.sep)
    names = {name, name.removesuffix(".py"), *folders} - _COMMON
    return [os.fsencode(each) for each in names if each]
