"""A run for a bundled hook that is started as a program: everything comes from its environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from bridoon.catalog.lookup import Catalog
from bridoon.errors import UsageError
from bridoon.loop.chain import parse, spawn
from bridoon.loop.env import start_environment
from bridoon.loop.run import Run
from bridoon.proc import inline
from bridoon.proc.cancel import Cancel
from bridoon.sdk.script import Context
from bridoon.session import store


def run_of(context: Context) -> Run:
    """The run that a drop-in is part of; one made from its environment when it is a program of its own."""
    if isinstance(context.run, Run):
        return context.run
    if not context.session:
        raise UsageError("this needs a session", "set HARNESS_SESSION to a session's directory")
    session = store.open_session(context.session, repair=False)
    env = start_environment(context.env, context.cwd)
    catalog = catalog_of(env, session.cwd or context.cwd)
    return Run(session, catalog, env, cancel=Cancel())


def catalog_of(env: Mapping[str, str], cwd: str, *, warn: bool = True, ask_trust: object = None) -> Catalog:
    """The catalog for a working directory, read once. Notices go to standard error."""

    def notice(text: str) -> None:
        if warn:
            sys.stderr.write(f"harness: {text}\n")

    catalog = Catalog(
        env,
        cwd if os.path.isdir(cwd) else os.getcwd(),
        home=env["HARNESS_HOME"],
        root=env["HARNESS_ROOT"],
        provider=env.get("HARNESS_PROVIDER", ""),
        notice=notice,
        ask_trust=ask_trust if callable(ask_trust) else None,
    )
    catalog.refresh()
    return catalog


__all__ = ["catalog_of", "inline", "parse", "run_of", "spawn"]
