"""What a run leaves on disk beside the ledger: a record while it goes on, and its trace while that cannot be stored.

Both lie in `$HARNESS_HOME/.ledger/<number of the database>/`, readable for their owner alone:

    <run>.run.json             the run goes on, or its process died
    <id>.trace.json            a trace that the ledger could not take
    <either>~<process>         one of them that a process has taken in hand
    known-tools.json           tools of others that may be used, as a person was told of them

Whoever renames a file has it: of several processes that start at the same time one writes the trace.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bridoon.proc import records, table
from bridoon.session import files

RUN, TRACE, TAKEN = ".run.json", ".trace.json", "~"
KNOWN = "known-tools.json"
MOST = 500
"""Traces that wait for one ledger. The oldest go when there are more."""
MONTH = 30 * 86400.0
LIMIT = 4 << 20
"""Bytes of a record that are read."""


class Taken(NamedTuple):
    """A file that this process has in hand."""

    path: str
    kind: str
    """`RUN` or `TRACE`."""
    content: dict[str, Any]

    def done(self) -> None:
        """It is not needed any more."""
        files.remove(self.path)

    def give_back(self) -> None:
        """Let others have it."""
        place, name = os.path.split(self.path)
        try:
            os.rename(self.path, os.path.join(place, name.partition(TAKEN)[0]))
        except OSError:
            pass


def folder(home: str, database: str) -> str:
    """Where things that concern one database lie."""
    import zlib

    name = os.fsencode(os.path.realpath(database))
    return os.path.join(home, ".ledger", f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}")


def write(place: str, name: str, content: Mapping[str, Any]) -> str:
    """Write a file, all of it at once; its path. Raises OSError."""
    os.makedirs(place, mode=0o700, exist_ok=True)
    path = os.path.join(place, name)
    files.replace(place, path, json.dumps(content).encode("ascii"))
    return path


def run_name(run: str) -> str:
    """The name of the record of a run."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", run)[:180] + RUN


def owner() -> dict[str, Any]:
    """This process, so that another one can tell whether it is still there."""
    return {"process": table.identity(), "machine": records.machine()}


def read(path: str) -> dict[str, Any] | None:
    """The content of a file of ours; None for anything else."""
    from bridoon.catalog.files import read_file

    try:
        content = json.loads(read_file(path, LIMIT))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def any_waiting(place: str, own: str) -> bool:
    """Whether anything besides the record of this run may have to be written."""
    try:
        return any(name != KNOWN and os.path.join(place, name) != own for name in os.listdir(place))
    except OSError:
        return False


def waiting(place: str) -> Iterator[Taken]:
    """What dead runs left, and traces that wait, each taken in hand: finish it with `done` or `give_back`."""
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    traces = [os.path.join(place, name) for name in names if name.endswith(TRACE)]
    if len(traces) > MOST:
        for path in sorted(traces, key=_age)[MOST:]:
            files.remove(path)
    for name in names:
        found = _take(place, name)
        if found is not None:
            yield found


def _take(place: str, name: str) -> Taken | None:
    plain, _, taker = name.partition(TAKEN)
    kind = next((kind for kind in (RUN, TRACE) if plain.endswith(kind)), "")
    path = os.path.join(place, name)
    if name.startswith(files.TMP):
        _forget_old(path)
    if not kind or (taker and _alive(taker)):
        return None
    content = read(path)
    if content is None:
        _forget_old(path)
        return None
    if kind == RUN and not _dead(content.get("owner"), path):
        return None
    mine = os.path.join(place, f"{plain}{TAKEN}{table.identity()}")
    try:
        os.rename(path, mine)
    except OSError:  # somebody else was quicker
        return None
    return Taken(mine, kind, content)


def _dead(owner: Any, path: str) -> bool:
    """Whether the process that wrote a record is certainly gone."""
    if not isinstance(owner, dict):
        return True
    there, here = owner.get("machine"), records.machine()
    if there == here:
        return not _alive(str(owner.get("process")))
    if isinstance(there, list) and len(there) == len(here) and there[0] == here[0] and there[1] != here[1]:
        return True  # the machine has been started anew since
    return _age(path) > MONTH


def _alive(identity: str) -> bool:
    pid, _, started = identity.partition(".")
    return pid.isdigit() and len(pid) < 12 and records.lives(int(pid), started)


def _age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0


def _forget_old(path: str) -> None:
    if _age(path) > MONTH:
        files.remove(path)
