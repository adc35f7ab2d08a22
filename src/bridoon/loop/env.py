"""The variables of a run: what is exported before anything else starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from bridoon import __version__
from bridoon.wire.digits import whole_number

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The package directory: HARNESS_ROOT of a run unless the environment says otherwise."""

MAX_TURNS = 100
"""Model calls per run when HARNESS_MAX_TURNS does not say."""


def start_environment(environ: Mapping[str, str], cwd: str) -> dict[str, str]:
    """The environment of a run: the user's own, plus the documented variables with their defaults.

    HARNESS_HOME and the sessions directory are made absolute. Nothing is created on disk.
    """
    env = dict(environ)
    env["HARNESS_VERSION"] = __version__
    env.setdefault("HARNESS_ROOT", ROOT)
    home = env.get("HARNESS_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".harness")
    env["HARNESS_HOME"] = os.path.normpath(os.path.join(cwd, home))
    env["HARNESS_SESSIONS"] = sessions_directory(env, cwd)
    env.setdefault("HARNESS_MODEL", "")
    env.setdefault("HARNESS_PROVIDER", "")
    env.setdefault("HARNESS_MAX_TURNS", str(MAX_TURNS))
    env.setdefault("HARNESS_LOG", "/dev/stderr")
    env.setdefault("HARNESS_DEPTH", "0")
    env["HARNESS_PYTHON"] = sys.executable
    return env


def sessions_directory(env: Mapping[str, str], cwd: str) -> str:
    """Where sessions are kept: HARNESS_SESSIONS, else the nearest `.harness/sessions` upward, else the home's."""
    given = env.get("HARNESS_SESSIONS")
    if given:
        return os.path.normpath(os.path.join(cwd, given))
    place = os.path.abspath(cwd)
    while place != os.path.dirname(place):
        candidate = os.path.join(place, ".harness", "sessions")
        if os.path.isdir(candidate):
            return candidate
        place = os.path.dirname(place)
    return os.path.join(env["HARNESS_HOME"], "sessions")


def turn_limit(env: Mapping[str, str], warn: object = None) -> int:
    """HARNESS_MAX_TURNS as a number of at least 1; anything else counts as the default, with a warning."""
    text = env.get("HARNESS_MAX_TURNS", "").strip()
    if whole_number(text):
        return whole_number(text)
    if text and callable(warn):
        warn(f"HARNESS_MAX_TURNS={text[:40]!r} is not a number of turns: using {MAX_TURNS}")
    return MAX_TURNS


def seconds(env: Mapping[str, str], name: str, default: float | None) -> float | None:
    """A time limit from the environment, in seconds; the default when it is unset or no positive number."""
    try:
        value = float(env.get(name) or "nan")
    except ValueError:
        return default
    return value if value > 0 else default
