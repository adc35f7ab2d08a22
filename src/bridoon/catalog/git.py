"""Asks git about a repository in a way that runs nothing that the repository itself names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

LIMIT = 10.0
"""Seconds that git may take to answer."""


def ask(
    program: str,
    words: Sequence[str],
    repository: str,
    env: Mapping[str, str],
    *,
    timeout: float = LIMIT,
    out_limit: int = 4000,
) -> bytes | None:
    """What git prints, the first `out_limit` bytes and more when it is cut; None when it fails or takes too long.

    `program` comes from `find`. Only commands that read the index and the names of files are safe here: those that
    compare contents (`status`, `diff`) run the filters of the repository's configuration.
    """
    from bridoon.proc.run import CannotStart, run

    # Nothing that the repository's own configuration names may run: no fsmonitor, no hooks, no transport.
    argv = [program, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *words]
    clean = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    clean.update(
        GIT_OPTIONAL_LOCKS="0",
        GIT_TERMINAL_PROMPT="0",
        GIT_NO_LAZY_FETCH="1",
        GIT_ALLOW_PROTOCOL="",
        GIT_CEILING_DIRECTORIES=os.path.dirname(repository),
        LC_ALL="C",
    )
    try:
        done = run(argv, cwd=repository, env=clean, timeout=timeout, out_limit=out_limit)
    except CannotStart:
        return None
    return done.stdout.data if done.code == 0 and not done.timed_out else None


def find(env: Mapping[str, str], repository: str) -> str:
    """The git program, from absolute entries of PATH that do not lie in the repository; empty when there is none."""
    for folder in (env.get("PATH") or os.defpath).split(os.pathsep):
        path = os.path.join(folder, "git")
        inside = f"{os.path.realpath(folder)}/".startswith(f"{repository}/") and repository != "/"
        if not os.path.isabs(folder) or inside:
            continue
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""
