"""The tool `write_file`: exactly the given text, all of it or nothing."""

from __future__ import annotations

import os
from typing import Any

from bridoon.errors import BridoonError
from bridoon.sdk.script import Context, Result
from bridoon.toolkit import arguments, textfile
from bridoon.toolkit.paths import drop_in_note, file_argument, trouble


def write_file(given: dict[str, Any], context: Context) -> Result:
    """Carry out a call of `write_file`. Raises BridoonError; the old content is then as it was."""
    path = file_argument(given, context.cwd)
    data = arguments.encode(arguments.text(given, "content"))
    if path.endswith("/"):
        raise BridoonError(f"{path} names a directory, not a file")
    folder = os.path.dirname(os.path.realpath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BridoonError(f"the directory {folder} cannot be made: a file is in its place") from None
    except OSError as wrong:
        raise trouble(wrong, path) from None
    textfile.replace(path, data)
    note = drop_in_note(path, context.sources)
    return Result(f"wrote {len(data)} bytes to {path}" + (f"\n{note}" if note else ""))
