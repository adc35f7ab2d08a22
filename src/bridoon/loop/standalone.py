"""A run for a bundled hook that is started as a program: everything comes from its environment."""

from __future__ import annotations

from bridoon.errors import UsageError
from bridoon.loop.env import start_environment
from bridoon.loop.place import catalog_of
from bridoon.loop.run import Run
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
