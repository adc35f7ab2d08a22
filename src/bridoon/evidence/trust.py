"""Whether the commands and endpoints that a database names may be used: it may be somebody else's text."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bridoon.catalog.files import exposed
from bridoon.catalog.lookup import Catalog
from bridoon.catalog.trust import GRANTED, REVOKED, came_with_checkout
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
    database, there = place.database, files(place)
    for path in there:
        try:
            reason = exposed(os.stat(path))
        except FileNotFoundError:
            continue  # another process has just closed the database
        except OSError:
            reason = "it cannot be looked at"
        if reason:
            return f"{path}: {reason}; {ONLY}"
    if env.get("HARNESS_TRUST") == "1":
        return ""
    beside = os.path.dirname(database)
    harness = os.path.join(beside, ".harness")
    # A link that came with the checkout must not borrow what was said of another project.
    own = os.path.isdir(harness) and not os.path.islink(harness)
    said = catalog.trust.state(harness) if own else ""
    if said == GRANTED and catalog.trust.allowed(harness):
        return ""
    if said == REVOKED:
        return f"{harness} is not trusted any more: the tools of {database} are listed, not run"
    if catalog.trust.allowed(database) and not any(came_with_checkout(path, env) for path in there[1:]):
        return ""
    first = "" if own else "make a .harness directory beside it and "
    return f"{database} came with a checkout: {ONLY}, until you {first}say hs trust {beside}"
