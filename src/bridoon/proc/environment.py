"""The one place that builds the environment of a child: the user's own, the harness on PATH, and our marks.

A mark names the process that a child belongs to (`HARNESS_OWNER`) and the call that started it
(`HARNESS_CALL`). Both are `/`-joined, outermost first: whatever runs inside a tool stays a part of its call,
however deep. They are how descendants that left their group and their session are found again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from bridoon.proc.table import identity

OWNER, CALL = "HARNESS_OWNER", "HARNESS_CALL"


def child_env(base: Mapping[str, str], *, root: str, extra: Mapping[str, object] | None = None) -> dict[str, str]:
    """The environment of a child: everything in `base`, with `extra` on top.

    `<root>/bin` stands first in PATH, once. Nothing of the user's is dropped but what no process can be
    given: names that are empty or hold `=`, and anything with a NUL. Values of `extra` become text; None
    removes one.
    """
    env = {**base, "HARNESS_PYTHON": sys.executable}
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    first = os.path.join(root, "bin")
    rest = env.get("PATH") or os.defpath
    env["PATH"] = ":".join([first, *(part for part in rest.split(":") if part != first)])
    return {name: value for name, value in mark(env).items() if _can_be_given(name, value)}


def mark(env: Mapping[str, str], call: str = "") -> dict[str, str]:
    """A copy of `env` that says who owns the process, and which call it is a part of."""
    return {
        **env,
        OWNER: _with_part(env.get(OWNER, ""), identity()),
        **({CALL: _with_part(env.get(CALL, ""), call)} if call else {}),
    }


def _with_part(chain: str, part: str) -> str:
    parts = chain.split("/") if chain else []
    return chain if part in parts else "/".join([*parts, part])


def _can_be_given(name: str, value: str) -> bool:
    return bool(name) and "=" not in name and "\0" not in name and "\0" not in value
