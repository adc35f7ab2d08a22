"""Whether the commands and endpoints that a database names may be used: it may be somebody else's text."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from bridoon.catalog.files import exposed
from bridoon.catalog.lookup import Catalog
from bridoon.catalog.trust import GRANTED, REVOKED
from bridoon.ledger.place import Place

ONLY = "its tools are listed, not run"

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


def distrust(catalog: Catalog, env: Mapping[str, str], place: Place) -> str:
    """Why registered tools are neither run nor probed; empty when they may be.

    A database that came with a checkout, or that others can write, is not the user's own. `hs trust` for the
    `.harness` beside it, and HARNESS_TRUST=1, say yes.
    """
    database = place.database
    for path in files(place):
        try:
            reason = exposed(os.stat(path))
        except FileNotFoundError:
            continue  # another process has just closed the database
        except OSError:
            reason = "it cannot be looked at"
        if reason:
            return f"{path}: {reason}; {ONLY}"
    if granted(catalog, env, place):
        return ""
    harness = _harness(place)
    if harness and catalog.trust.state(harness) == REVOKED:
        return f"{harness} is not trusted any more: the tools of {database} are listed, not run"
    if catalog.trust.allowed(database):
        return ""
    return f"{database} came with a checkout: {ONLY}, {_until(place)}"


def granted(catalog: Catalog, env: Mapping[str, str], place: Place) -> bool:
    """Whether a person said that everything here may be used, whoever it is from."""
    if env.get("HARNESS_TRUST") == "1":
        return True
    harness = _harness(place)
    return bool(harness) and catalog.trust.state(harness) == GRANTED and catalog.trust.allowed(harness)


def barred(catalog: Catalog, env: Mapping[str, str], place: Place, foreign: frozenset[str]) -> frozenset[str]:
    """Which of the tools that a changeset registered may not be used, in a ledger of the user's own."""
    return frozenset() if foreign and granted(catalog, env, place) else foreign


def told(names: Collection[str], place: Place) -> str:
    """What is said of tools that a changeset registered, in a ledger of the user's own."""
    count = f"{len(names)} tools" if len(names) > 1 else "a tool"
    return f"{count} of {place.database} came in a changeset: listed, not run, {_until(place)}"


def _harness(place: Place) -> str:
    """The `.harness` beside a database. A link that came with a checkout must not borrow what was said of another."""
    path = os.path.join(os.path.dirname(place.database), ".harness")
    return path if os.path.isdir(path) and not os.path.islink(path) else ""


def _until(place: Place) -> str:
    first = "" if _harness(place) else "make a .harness directory beside it and "
    return f"until you {first}say hs trust {os.path.dirname(place.database)}"
