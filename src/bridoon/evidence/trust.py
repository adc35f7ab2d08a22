"""Whether the commands and endpoints that a database names may be used: it may be somebody else's text."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bridoon.catalog.files import exposed
from bridoon.catalog.lookup import Catalog
from bridoon.catalog.trust import GRANTED, REVOKED, came_with_checkout
from bridoon.ledger.place import Place

ONLY = "its tools are listed, not run"


def distrust(catalog: Catalog, env: Mapping[str, str], place: Place) -> str:
    """Why registered tools are neither run nor probed; empty when they may be.

    A database that came with a checkout, or that others can write, is not the user's own. SQLite takes changes from
    the files beside it, so they count, too. `hs trust` for the `.harness` beside it, and HARNESS_TRUST=1, say yes.
    """
    database = place.database
    there = [path for path in (database, database + "-wal", database + "-journal") if os.path.lexists(path)]
    for path in there:
        try:
            reason = exposed(os.stat(path))
        except FileNotFoundError:
            continue  # another process has just closed the database
        except OSError:
            reason = "it cannot be looked at"
        if reason:
            return f"{path}: {reason}; {ONLY}"
    harness = os.path.join(place.root, ".harness")
    if env.get("HARNESS_TRUST") == "1":
        return ""
    said = catalog.trust.state(harness) if os.path.isdir(harness) else ""
    if said == GRANTED and catalog.trust.allowed(harness):
        return ""
    if said == REVOKED:
        return f"{harness} is not trusted any more: the tools of {database} are listed, not run"
    if catalog.trust.allowed(database) and not any(came_with_checkout(path, env) for path in there[1:]):
        return ""
    first = "" if os.path.isdir(harness) else "make a .harness directory beside it and "
    return f"{database} came with a checkout: {ONLY}, until you {first}say hs trust {place.root}"
