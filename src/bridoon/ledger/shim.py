"""`scripts/bin/harness-cli`: a launcher in the repository for the harness-cli that is installed on the machine."""

from __future__ import annotations

import os

from bridoon.ledger.errors import Conflict, LedgerError

WHERE = os.path.join("scripts", "bin", "harness-cli")
MARK = "# Launcher of harness-cli, written by `harness-cli init --shim`."

TEXT = f"""\
#!/bin/sh
{MARK}
# Runs the harness-cli that is installed on this machine on the repository that this file is in.

self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self") || break
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
root=$(CDPATH='' cd "$(dirname "$self")/../.." && pwd -P) || exit 1

# The first on PATH that is no launcher like this one.
find_installed() {{
  rest=$PATH:
  while [ -n "$rest" ]; do
    directory=${{rest%%:*}}
    rest=${{rest#*:}}
    candidate=$directory/harness-cli
    [ -n "$directory" ] && [ -f "$candidate" ] && [ -x "$candidate" ] || continue
    mark=
    {{ read -r _ && IFS= read -r mark; }} < "$candidate" 2>/dev/null
    case $mark in
      '{MARK}') ;;
      *) return 0 ;;
    esac
  done
  return 1
}}

if ! find_installed; then
  echo "error: harness-cli is not installed: no other harness-cli is on PATH" >&2
  echo "  the package bridoon is not installed, or the directory of its programs is not on PATH" >&2
  exit 127
fi

: "${{HARNESS_REPO_ROOT:=$root}}"
export HARNESS_REPO_ROOT
exec "$candidate" "$@"
"""


def check(root: str) -> None:
    """Raise Conflict when something else has the launcher's place, or its directory is a link out of the root."""
    path = os.path.join(root, WHERE)
    if os.path.lexists(path) and not _ours(path):
        raise Conflict(f"{path} is there and is no launcher of ours", "move it away; nothing was changed")
    inside, directory = os.path.realpath(root), os.path.realpath(os.path.dirname(path))
    if os.path.commonpath([inside, directory]) != inside:
        raise Conflict(
            f"{os.path.dirname(path)} leads out of the repository, to {directory}",
            "make it a directory of its own; nothing was changed",
        )


def write(root: str) -> tuple[str, bool]:
    """Write the launcher; its path, and whether anything changed. Raises Conflict, LedgerError."""
    path = os.path.join(root, WHERE)
    check(root)
    if os.path.exists(path) and _read(path) == TEXT and os.access(path, os.X_OK):
        return path, False
    fresh = f"{path}.{os.getpid()}-{os.urandom(6).hex()}.new"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o777)
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(TEXT)
            os.replace(fresh, path)
        except BaseException:
            os.unlink(fresh)
            raise
    except OSError as wrong:
        raise LedgerError(f"{path} cannot be written: {wrong.strerror}") from wrong
    return path, True


def _ours(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path) and MARK in _read(path).splitlines()[1:2]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(len(TEXT) * 4)
    except OSError:
        return ""
