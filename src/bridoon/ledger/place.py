"""Where the ledger is: the root of the repository, its database, and the run whose changeset is written."""

# Without `from __future__ import annotations`, see cmdline/command.py.

import os
from collections.abc import Mapping
from typing import NamedTuple

from bridoon.ledger.errors import Invalid

DATABASE = "harness.db"
ENDING = ".changeset.jsonl"
"""How the name of a changeset ends."""
RUN_ID = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
"""Characters of a run id: it becomes the name of a file."""


class Place(NamedTuple):
    """Absolute paths. Nothing here need exist."""

    root: str
    database: str
    cwd: str
    run_id: str = ""
    """HARNESS_RUN_ID, trimmed; empty: no changeset is written."""

    @property
    def changesets(self) -> str:
        """The directory of the changesets."""
        return os.path.join(self.root, ".harness", "changesets")


def holds_changesets(directory: str) -> bool:
    """Whether there is a changeset in a directory."""
    try:
        return any(name.endswith(ENDING) for name in os.listdir(directory))
    except OSError:
        return False


def find(env: Mapping[str, str], cwd: str) -> Place:
    """Resolve root and database from the environment, else by looking upward from `cwd`.

    HARNESS_REPO_ROOT names the root; else it is the nearest directory upward with a `harness.db`, else with a `.git`,
    else with a `.harness` other than $HARNESS_HOME, else `cwd`. HARNESS_DB_PATH (or HARNESS_DB) names the database,
    relative to `cwd`. Empty variables count as unset.
    """
    given = env.get("HARNESS_REPO_ROOT", "")
    root = os.path.normpath(os.path.join(cwd, given)) if given else _look_upward(env, cwd)
    other = env.get("HARNESS_DB_PATH") or env.get("HARNESS_DB") or ""
    database = os.path.normpath(os.path.join(cwd, other)) if other else os.path.join(root, DATABASE)
    return Place(root, database, cwd, env.get("HARNESS_RUN_ID", "").strip())


def is_run_id(text: object) -> bool:
    """Whether it can name a changeset."""
    return (
        isinstance(text, str)
        and 1 <= len(text) <= 128
        and not text.startswith(".")
        and all(char in RUN_ID for char in text)
    )


def check_run_id(run_id: str) -> str:
    """The run id itself. Raises Invalid for one that is no plain name: it never becomes a path outside its folder."""
    if not is_run_id(run_id):
        shown = run_id[:60].encode("unicode_escape", "replace").decode("ascii")
        raise Invalid(
            f"HARNESS_RUN_ID '{shown}' cannot name a changeset",
            "use 1 to 128 of the characters A-Z a-z 0-9 . _ - and no dot in front",
        )
    return run_id


def _look_upward(env: Mapping[str, str], cwd: str) -> str:
    above = [cwd]
    while above[-1] != os.path.dirname(above[-1]):
        above.append(os.path.dirname(above[-1]))
    home = env.get("HARNESS_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".harness")
    own = os.path.realpath(os.path.join(cwd, home))
    for mark in (DATABASE, ".git", ".harness"):
        for directory in above:
            path = os.path.join(directory, mark)
            if os.path.exists(path) and not (mark == ".harness" and os.path.realpath(path) == own):
                return directory
    return cwd
