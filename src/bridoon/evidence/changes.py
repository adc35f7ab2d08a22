"""Which files of a repository changed during a run: told by git's list of names and the system's times of change.

`git status` is not asked: comparing contents runs the filters that a repository's configuration names. The time of the
last change of a file cannot be set back, so it also shows what was changed and committed, and passes over what was
dirty before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from bridoon.catalog import git
from bridoon.catalog.sources import upward

PATIENCE = 1.0
"""Seconds for each question to git."""

MOST_BYTES = 4 << 20
"""Of names. A repository with more is not looked at."""

MOST_CHANGED = 400
TICK = 0.02
"""Seconds: file systems stamp with a coarse clock."""


class Repository(NamedTuple):
    """A repository that can be asked."""

    path: str
    program: str
    env: Mapping[str, str]


def find(env: Mapping[str, str], cwd: str) -> Repository | None:
    """The repository that a directory lies in; None when there is none, or no git."""
    for place in upward(cwd):
        if os.path.lexists(os.path.join(place, ".git")):
            program = git.find(env, place)
            return Repository(place, program, env) if program else None
    return None


def gone(repository: Repository) -> list[str] | None:
    """Names in the index whose files are not there; None when git does not tell."""
    return _names(repository, ["ls-files", "-z", "--deleted"])


def changed(repository: Repository, since: float, until: float, before: list[str] | None) -> tuple[list[str], str]:
    """Absolute paths of files that changed between two times, and why they cannot be told.

    Files that git ignores are left out. `before`: what `gone` gave at the beginning; when that is not known, files
    that are not there now are not told.
    """
    names = _names(repository, ["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    if names is None:
        return [], "files that commands changed are not known: git did not list the repository, or it is too large"
    there = None if before is None else set(before)
    absent = [name for name in gone(repository) or [] if name not in there] if there is not None else []
    found = []
    for name in dict.fromkeys(names):
        try:
            time = os.lstat(os.path.join(repository.path, name)).st_ctime
        except (OSError, ValueError):
            continue
        if since - TICK <= time <= until + TICK:
            found.append(name)
    found = sorted([*found, *absent])
    more = f"{len(found)} files of the repository changed; not all are named" if len(found) > MOST_CHANGED else ""
    return [os.path.join(repository.path, name) for name in found[:MOST_CHANGED]], more


def _names(repository: Repository, words: list[str]) -> list[str] | None:
    listed = git.ask(repository.program, words, repository.path, repository.env, timeout=PATIENCE, out_limit=MOST_BYTES)
    if listed is None or len(listed) >= MOST_BYTES:
        return None
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]
