"""Files beside a database that SQLite would obey, and that may be somebody else's."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from bridoon.ledger.errors import Incompatible

NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that belongs to a change of several databases at once."""

_harmless: set[tuple[str, int, int, int]] = set()
"""The file that was found to be nobody else's."""


def check(path: str, env: Mapping[str, str]) -> None:
    """Raise Incompatible when to open the database would take changes from strangers, or remove some other file.

    SQLite takes a `-wal` or a `-journal` beside a database for changes of it, and puts them into it, from wherever they
    came. When the end of a journal names another one, as after a change of several databases, it removes that file
    then, whatever it is. A ledger changes alone, so it never has such a journal.
    """
    real = os.path.realpath(path)
    if _names_another(real + "-journal"):
        raise Incompatible(f"{real}-journal names another file, which SQLite would remove", "remove that journal")
    for beside in (real + "-journal", real + "-wal"):
        if env.get("HARNESS_TRUST") != "1" and _is_strange(beside, env):
            raise Incompatible(
                f"{beside} came with a checkout, and would change the ledger",
                "remove it, or let it do so once with HARNESS_TRUST=1",
            )


def _is_strange(beside: str, env: Mapping[str, str]) -> bool:
    """Whether there is such a file, and git's index holds it. Asked again when the file has changed."""
    try:
        status = os.lstat(beside)
    except OSError:
        return False
    mark = (beside, status.st_dev, status.st_ino, status.st_ctime_ns)
    if mark in _harmless:
        return False
    from bridoon.catalog.trust import came_with_checkout, may_hold

    if may_hold(beside) and came_with_checkout(beside, env):
        return True
    _harmless.clear()
    _harmless.add(mark)
    return False


def _names_another(journal: str) -> bool:
    try:
        descriptor = os.open(journal, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        return stat.S_ISREG(status.st_mode) and os.pread(descriptor, 8, max(0, status.st_size - 8)) == NAMES_ANOTHER
    except OSError:
        return False
    finally:
        os.close(descriptor)
