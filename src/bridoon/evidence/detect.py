"""Whether a run has a ledger, found with almost nothing loaded: most runs have none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bridoon.ledger.place import find

if TYPE_CHECKING:
    from bridoon.loop.run import Run

KEY = "ledger"
"""Of `Run.kept`."""


def has_ledger(run: Run, *, again: bool = False) -> bool:
    """Whether a run takes place where there is a ledger. Looks once for each run and those inside of it.

    `again`: once more when there was none. A command of the run may have made one.
    """
    run = run.outermost
    known = run.kept.get(KEY)
    if known is None or (again and known == ""):
        here = run.attached and wanted(run.env, run.settings.get("ledger", ""))
        known = run.kept[KEY] = (here and database(run.env, run.session.cwd or os.getcwd())) or ""
    return bool(known)


def forget(run: Run) -> None:
    """Let the rest of a run, and of those around it, take no notice of the ledger."""
    run.outermost.kept[KEY] = False


def database(env: Mapping[str, str], cwd: str) -> str:
    """A file that may be the ledger; empty when there is none."""
    path = find(env, cwd).database
    return path if os.path.isfile(path) else ""


def wanted(env: Mapping[str, str], setting: str) -> bool:
    """Whether loop and ledger are joined at all: HARNESS_LEDGER, else `ledger` of `settings.conf`, is not `off`."""
    return (env.get("HARNESS_LEDGER") or setting or "on").strip().lower() != "off"
