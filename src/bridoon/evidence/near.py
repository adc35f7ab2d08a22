"""Whether a ledger is near, found without loading anything of it: most runs have none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridoon.loop.run import Run

KEY = "ledger"
"""Of `Run.kept`."""

DATABASE = "harness.db"


def found(run: Run, *, again: bool = False) -> bool:
    """Whether a run takes place where there is a ledger. Looks once for each run and those inside of it.

    `again`: once more when there was none. A command of the run may have made one.
    """
    while run.parent is not None:
        run = run.parent
    known = run.kept.get(KEY)
    if known is None or (again and known == ""):
        here = run.attached and wanted(run.env, run.settings.get("ledger", ""))
        known = run.kept[KEY] = (here and database(run.env, run.session.cwd or os.getcwd())) or ""
    return bool(known)


def forget(run: Run) -> None:
    """Let the rest of a run, and of those around it, take no notice of the ledger."""
    while run.parent is not None:
        run = run.parent
    run.kept[KEY] = False


def database(env: Mapping[str, str], cwd: str) -> str:
    """A file that may be the ledger, by the rules of `bridoon.ledger.place.find`; empty when there is none."""
    other = env.get("HARNESS_DB_PATH") or env.get("HARNESS_DB") or ""
    root = env.get("HARNESS_REPO_ROOT") or ""
    if other or root:
        path = os.path.normpath(os.path.join(cwd, other or os.path.join(root, DATABASE)))
        return path if os.path.isfile(path) else ""
    place = os.path.abspath(cwd)
    while True:
        path = os.path.join(place, DATABASE)
        if os.path.exists(path):
            return path if os.path.isfile(path) else ""
        above = os.path.dirname(place)
        if above == place:
            return ""
        place = above


def wanted(env: Mapping[str, str], setting: str) -> bool:
    """Whether loop and ledger are joined at all: HARNESS_LEDGER, else `ledger` of `settings.conf`, is not `off`."""
    return (env.get("HARNESS_LEDGER") or setting or "on").strip().lower() != "off"
