"""Whether the commands and endpoints that a database names may be used: it may be somebody else's text."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from bridoon.catalog.files import exposed
from bridoon.catalog.survey import IN_INDEX
from bridoon.catalog.trust import GRANTED, REVOKED, Trust
from bridoon.evidence import excerpt
from bridoon.ledger.place import Place

if TYPE_CHECKING:
    from bridoon.evidence.registry import Snapshot

ONLY = "its tools are listed, not run"
MOST_NAMED = 8
"""Tools that a notice names."""

Files = tuple[int, ...]
"""Tells one set of files from another that came into its place."""


def files(place: Place) -> list[str]:
    """The database, and what SQLite takes changes from: the files beside the place that links lead to."""
    real = os.path.realpath(place.database)
    there = [place.database, real + "-wal", real + "-journal"]
    return [path for path in there if os.path.lexists(path)]


def identity(place: Place) -> Files:
    """Which files there are now. What was found of them holds as long as it is the same."""
    found: list[int] = []
    for path in files(place):
        try:
            status = os.stat(path)
        except OSError:
            continue
        found += [status.st_dev, status.st_ino, status.st_mode, status.st_uid]
    return tuple(found)


def distrust(trust: Trust, env: Mapping[str, str], place: Place) -> str:
    """Why registered tools are neither run nor probed; empty when they may be.

    A database that came with a checkout, or that others can write, is not the user's own. `hs trust` for the
    `.harness` beside it, and HARNESS_TRUST=1, say yes.
    """
    database = place.database
    if reason := open_to_others(place):
        return reason
    if granted(trust, env, place):
        return ""
    beside = harness(place)
    if beside and trust.state(beside) == REVOKED:
        return f"{beside} is not trusted any more: the tools of {database} are listed, not run"
    if trust.allowed(database):
        return ""
    return f"{database} {IN_INDEX}: {ONLY}, {_until(place)}"


def open_to_others(place: Place) -> str:
    """Why nobody can answer for a database: others can write it. Empty when they cannot."""
    for path in files(place):
        try:
            reason = exposed(os.stat(path))
        except FileNotFoundError:
            continue  # another process has just closed the database
        except OSError:
            reason = "it cannot be looked at"
        if reason:
            return f"{path}: {reason}; {ONLY}"
    return ""


def granted(trust: Trust, env: Mapping[str, str], place: Place) -> bool:
    """Whether a person said that everything here may be used, whoever it is from."""
    if env.get("HARNESS_TRUST") == "1":
        return True
    beside = harness(place)
    return bool(beside) and trust.state(beside) == GRANTED and trust.allowed(beside)


def barred(trust: Trust, env: Mapping[str, str], place: Place, seen: Snapshot, why: str) -> dict[str, str]:
    """The names of the tools that may not be used, each with the reason. `why`: what `distrust` said."""
    if why:
        return {tool.name: why for tool in seen.tools}
    if not seen.foreign or granted(trust, env, place):
        return {}
    return dict.fromkeys(seen.foreign, f"it came in a changeset: listed, not run, {_until(place)}")


def told(names: Collection[str], place: Place, why: str) -> str:
    """What a person is told of tools that are listed only. `why`: what `distrust` said."""
    shown = ", ".join(excerpt.several([excerpt.line(name, 60) for name in sorted(names)], MOST_NAMED))
    if why:
        return f"{why}; they are: {shown}"
    count = f"{len(names)} tools" if len(names) > 1 else "a tool"
    return f"{count} of {place.database} ({shown}) came in a changeset: listed, not run, {_until(place)}"


def allowed_now(lines: list[str]) -> str:
    """What a person is told of tools that may be used because of a yes that was said before they came."""
    shown = "; ".join(excerpt.several(lines, MOST_NAMED))
    return f"registered by others in changesets, and may be used since you trust what is here: {shown}"


def harness(place: Place) -> str:
    """The `.harness` beside a database. A link that came with a checkout must not borrow what was said of another."""
    path = os.path.join(os.path.dirname(place.database), ".harness")
    return path if os.path.isdir(path) and not os.path.islink(path) else ""


def _until(place: Place) -> str:
    first = "" if harness(place) else "makes a .harness directory beside it and "
    return f"until a person {first}says hs trust {os.path.dirname(place.database)}"
