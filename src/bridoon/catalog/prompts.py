"""The parts of the system prompt that lie on disk: AGENTS.md files and prompt fragments, global first."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bridoon.catalog.files import TEXT_LIMIT, Watch, decode, entries, exposed, read_file
from bridoon.catalog.sources import NearMiss, Source, upward

AGENTS = "AGENTS.md"


STRAYS = "skipped: a link that came with the checkout and leads out of it"


def strays(path: str, env: Mapping[str, str]) -> bool:
    """Whether a text must not be read, because a link of a checkout leads to something that is not its own."""
    if os.path.realpath(path) == os.path.abspath(path):
        return False
    from bridoon.catalog.trust import leads_out

    return leads_out(path, env)


class Fragment(NamedTuple):
    """A part of the system prompt."""

    path: str
    text: str
    """Without line ends at its end; never empty."""


class Prompts:
    """Collects the fragments. Everything it looks at is remembered in `watch`."""

    def __init__(
        self,
        cwd: str,
        sources: Sequence[Source],
        untrusted: Sequence[Source],
        watch: Watch,
        env: Mapping[str, str],
    ) -> None:
        self._env = env
        self._cwd = cwd
        self._sources = sources
        self._untrusted = untrusted
        self._watch = watch
        self._agents: set[tuple[int, int]] = set()
        self.found: list[Fragment] = []
        self.misses: list[NearMiss] = []

    def collect(self) -> list[Fragment]:
        """All parts in order: bundled prompts; then, from the most global harness directory to the most
        local one, the prompts of its packs, the AGENTS.md beside it, its own prompts. The AGENTS.md nearest
        to the working directory takes part even when no harness directory is beside it.

        An empty `prompts/<name>.md` of a user removes the bundled fragment of that name. Directories that
        came with a checkout and are not trusted contribute their own prompts and AGENTS.md, but remove
        nothing.
        """
        users = [source for source in self._sources if source.scope != "bundled"]
        prompts = {source.path: self._prompts(source) for source in (*users, *self._untrusted)}
        removed = {os.path.basename(path) for source in users for path, size in prompts[source.path] if size == 0}
        for source in self._sources:
            if source.scope == "bundled":
                for path, _ in self._prompts(source):
                    if os.path.basename(path) not in removed:
                        self._add(path, trusted=True)
        for place, station in self._stations(users):
            if station is None or not station.pack:
                self._add_agents(os.path.join(place, AGENTS))
            if station is not None:
                for path, _ in prompts[station.path]:
                    self._add(path, trusted=station in users)
        return self.found

    def _stations(self, users: Sequence[Source]) -> list[tuple[str, Source | None]]:
        """What is visited in turn: a directory, and the source in it (None: only its AGENTS.md counts)."""
        stations: list[tuple[str, Source | None]] = [(os.path.dirname(source.harness), source) for source in users]
        extra: list[tuple[str, Source | None]] = [(os.path.dirname(source.path), source) for source in self._untrusted]
        nearest = self._nearest_agents()
        if nearest:
            extra.append((nearest, None))
        for place, source in extra:
            below = place.rstrip("/") + "/"
            deeper = (
                number for number, (other, _) in enumerate(stations) if other != place and other.startswith(below)
            )
            stations.insert(next(deeper, len(stations)), (place, source))
        return stations

    def _prompts(self, source: Source) -> list[tuple[str, int]]:
        """Path and size of each fragment of a source, in bytewise order of names."""
        folder = os.path.join(source.path, "prompts")
        if source.scope == "bundled":
            return [(entry.path, 1) for entry in entries(folder) if entry.name.endswith(".md")]
        status = self._watch.look(folder)
        if status is None or not stat.S_ISDIR(status.st_mode) or not self._fit(folder, status):
            return []
        found = []
        for entry in entries(folder):
            if not entry.name.startswith(".") and entry.name.endswith(".md"):
                status = self._watch.look(entry.path)
                if status is not None and stat.S_ISREG(status.st_mode) and self._fit(entry.path, status):
                    found.append((entry.path, status.st_size))
        return found

    def _fit(self, path: str, status: os.stat_result) -> bool:
        reason = exposed(status)
        if reason:
            self.misses.append(NearMiss(path, "prompts", f"skipped: {reason}"))
        return not reason

    def _add(self, path: str, *, trusted: bool = False) -> None:
        if not trusted and strays(path, self._env):
            self.misses.append(NearMiss(path, "prompts", STRAYS))
            return
        try:
            content = read_file(path, TEXT_LIMIT + 1)
        except OSError as wrong:
            self.misses.append(NearMiss(path, "prompts", f"cannot be read: {wrong.strerror or wrong}"))
            return
        if len(content) > TEXT_LIMIT:
            self.misses.append(NearMiss(path, "prompts", f"only its first {TEXT_LIMIT} bytes are used"))
        text = decode(content[:TEXT_LIMIT]).rstrip("\r\n")
        if text.strip():
            self.found.append(Fragment(path, text))

    def _add_agents(self, path: str) -> None:
        status = self._watch.look(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            return
        identity = (status.st_dev, status.st_ino)
        if identity in self._agents:
            return
        self._agents.add(identity)
        reason = exposed(status)
        if reason and not status.st_mode & stat.S_IWOTH:
            # Colleagues may own a file of a shared checkout; a directory that anybody can write to is
            # another thing.
            around = self._watch.look(os.path.dirname(path))
            reason = reason if around is None or around.st_mode & stat.S_IWOTH else ""
        if reason:
            self.misses.append(NearMiss(path, "prompts", f"skipped: {reason}"))
        else:
            self._add(path)

    def _nearest_agents(self) -> str:
        """The nearest directory with an AGENTS.md, from the working directory up to the root of its
        repository; only the working directory itself when there is no repository. Empty when there is
        none."""
        nearest = ""
        for place in upward(self._cwd):
            if not nearest and self._is_file(os.path.join(place, AGENTS)):
                nearest = place
            if self._watch.look(os.path.join(place, ".git")) is not None:
                return nearest
        return nearest if nearest == os.path.abspath(self._cwd) else ""

    def _is_file(self, path: str) -> bool:
        status = self._watch.look(path)
        return status is not None and stat.S_ISREG(status.st_mode)
