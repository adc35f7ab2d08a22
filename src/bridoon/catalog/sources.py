"""Which directories can take part in a run, lowest priority first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bridoon.catalog.files import Stamp

if TYPE_CHECKING:
    from bridoon.sdk.script import DropIn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The package directory, which holds the bundled packs."""

HARNESS = ".harness"
"""The name of a directory that extends the harness for what lies below its parent."""


class Source(NamedTuple):
    """A directory that takes part: a bundled pack, a harness directory, or a pack inside one."""

    path: str
    scope: str
    """`bundled`; `home` ($HARNESS_HOME and its packs); `global` (above the user's home directory, or that
    directory's own `.harness` when $HARNESS_HOME is elsewhere); `project` (any other)."""
    pack: str = ""
    """The name of the pack; empty for a harness directory itself."""
    provider: str = ""
    """The provider that the source exists for: it takes part only while that provider, or a variant, is
    active."""

    @property
    def harness(self) -> str:
        """The harness directory that the source is or lies in; for a bundled pack the package directory."""
        return os.path.dirname(os.path.dirname(self.path)) if self.pack else self.path


class Executable(NamedTuple):
    """A drop-in: a command, tool, provider or hook."""

    path: str
    name: str
    kind: str
    """`commands`, `tools`, `providers` or `hooks.d/<stage>`."""
    source: Source
    bundled: bool
    stamp: Stamp = (0, 0, 0)
    """Changes with the file; zeros for bundled files, which nobody edits."""
    declared: DropIn | None = None
    """What is called instead of a file: there is none (`Catalog.lend`)."""

    @property
    def marked(self) -> bool:
        """Whether the first line says that it declares one function: a bundled one is then called
        in-process."""
        known = _marks.get(self.path)
        if known is None or known[0] != self.stamp:
            from bridoon.proc.inline import is_marked

            known = _marks[self.path] = (self.stamp, is_marked(self.path))
        return known[1]


class NearMiss(NamedTuple):
    """Something that was meant to be a drop-in, and why it is none."""

    path: str
    kind: str
    """The kind it was meant to be; also `source`, `settings`, `conf`, `skills`, `prompts`."""
    reason: str


_marks: dict[str, tuple[Stamp, bool]] = {}


def places(env: Mapping[str, str]) -> tuple[str, str]:
    """HARNESS_HOME and HARNESS_ROOT of an environment, absolute, with their defaults."""
    home = env.get("HARNESS_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), HARNESS)
    return os.path.abspath(home), os.path.abspath(env.get("HARNESS_ROOT") or ROOT)


def upward(path: str) -> list[str]:
    """A directory and all that hold it, the path itself first, `/` last. Links are not resolved."""
    found = [os.path.abspath(path)]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def candidates(cwd: str, home: str) -> list[str]:
    """Every path where a harness directory could be, most global first: the home first unless the walk
    meets it."""
    walk = [os.path.join(place, HARNESS) for place in reversed(upward(cwd))]
    return walk if home in walk else [home, *walk]


def scope_of(harness: str, home: str, user_home: str) -> str:
    """The scope of a harness directory that is not the home by another name."""
    if harness == home:
        return "home"
    parent = os.path.dirname(harness)
    return "global" if user_home and (user_home + "/").startswith(parent.rstrip("/") + "/") else "project"


def colon_list(paths: list[str], home: str) -> str:
    """The paths as one colon-joined value for HARNESS_SOURCES.

    A path that holds a colon or a line end is named there through a link in `<home>/.links`; when no link
    can be made it is left out.
    """
    named = [path if ":" not in path and "\n" not in path else _link(path, home) for path in paths]
    return ":".join(path for path in named if path)


def _link(path: str, home: str) -> str:
    import hashlib

    folder = os.path.join(home, ".links")
    link = os.path.join(folder, hashlib.sha256(os.fsencode(path)).hexdigest()[:16])
    if ":" in link or "\n" in link:
        return ""
    try:
        if not os.path.islink(link):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.symlink(path, link)
    except FileExistsError:
        pass
    except OSError:
        return ""
    return link
