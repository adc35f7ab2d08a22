"""Which file a tool's `path` argument means, and what to say about that file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bridoon.errors import BridoonError
from bridoon.toolkit import arguments

_DROP_IN_FOLDER = re.compile(r"(?P<source>.*)/(?:tools|commands|providers|hooks\.d/[^/]+)/[^/]+", re.DOTALL)


def file_argument(given: Mapping[str, Any], cwd: str) -> str:
    """The absolute path that `given["path"]` means in the directory `cwd`; `~` is an ordinary character.

    Raises BridoonError when there is none, or none that the system could take.
    """
    path = arguments.text(dict(given), "path")
    if not path:
        raise BridoonError("path is required")
    if "\0" in path:
        raise BridoonError("path contains a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise BridoonError("path contains characters that no file name can have") from None
    return os.path.join(cwd, path)


def trouble(wrong: OSError, path: str) -> BridoonError:
    """An operating system's refusal in the words of these tools."""
    match wrong:
        case FileNotFoundError() | NotADirectoryError():
            return BridoonError(f"file not found: {path}")
        case PermissionError():
            return BridoonError(f"permission denied: {path}")
        case _:
            shown = path if len(path) <= 200 else f"{path[:200]}..."
            return BridoonError(f"{(wrong.strerror or str(wrong)).lower()}: {shown}")


def drop_in_note(path: str, sources: Iterable[str]) -> str:
    """A reminder for a program in a drop-in folder that lacks the x bit: such a file is ignored. Else empty.

    A folder counts when it lies in one of `sources`, or in a `.harness` that is not among them yet.
    """
    found = _DROP_IN_FOLDER.fullmatch(path)
    if found is None:
        return ""
    source = found["source"]
    parts = source.split("/")
    in_harness = parts[-1] == ".harness" or (len(parts) > 2 and parts[-3:-1] == [".harness", "plugins"])
    if not in_harness and os.path.normpath(source) not in {os.path.normpath(each) for each in sources}:
        return ""
    try:
        with open(path, "rb") as file:
            program = file.read(2) == b"#!"
        executable = os.stat(path).st_mode & 0o111 != 0
    except OSError:
        return ""
    return "note: not executable yet (chmod +x)" if program and not executable else ""
