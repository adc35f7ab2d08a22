"""One look at the file system: which sources are there, which may take part, and what lies in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable

from bridoon.catalog.files import Watch, entries, exposed, foreign_link
from bridoon.catalog.shelf import Reader, Shelf, bundled_shelves
from bridoon.catalog.sources import NearMiss, Source, candidates, scope_of

IN_INDEX = "is in git's index, so it may have come with a checkout"
NOT_TRUSTED = f"not trusted: it {IN_INDEX}; run hs trust to use it"

Identity = tuple[int, int]
"""Device and inode: two paths with one identity are one directory."""


class Survey:
    """What is there at one moment. Everything it looked at is in `watch`."""

    def __init__(
        self, cwd: str, home: str, root: str, user_home: str, allowed: Callable[[list[str]], list[str]]
    ) -> None:
        self.watch = Watch()
        self.misses: list[NearMiss] = []
        self.untrusted: list[Source] = []
        """Harness directories that came with a checkout, most global first. Only text of theirs is read."""
        self.harness_dirs: list[Source] = []
        """Those that take part, most global first."""
        self.alarms: list[str] = []
        """What a person should know although nothing of it will happen: skipped directories."""
        self._home, self._user_home, self._root = home, user_home, root
        self._allowed = allowed
        self._shelves: dict[str, Shelf] = {}
        self._walk = self._look_around(cwd)

    def walk(self) -> list[Shelf]:
        """The standard list: bundled packs, then each harness directory after its packs, most global
        first."""
        return self._walk

    def bootstrap(self) -> list[Shelf]:
        """The bundled packs and the home: where hooks of the `sources` stage are looked for first."""
        return [shelf for shelf in self._walk if shelf.source.scope == "bundled" or self._is_home(shelf.source)]

    def resolve(self, paths: Iterable[str]) -> list[Shelf]:
        """The shelves of directories that a `sources` hook named; those that may not take part are left
        out."""
        known = {shelf.source.path: shelf for shelf in self._walk}
        found: dict[str, Shelf] = {}
        for path in paths:
            path = os.path.normpath(path) if os.path.isabs(path) else ""
            shelf = known.get(path) or self._elsewhere(path)
            if shelf is not None:
                found.pop(shelf.source.path, None)
                found[shelf.source.path] = shelf
        return list(found.values())

    def _is_home(self, source: Source) -> bool:
        return source.scope == "home" and not source.pack

    def _look_around(self, cwd: str) -> list[Shelf]:
        there: dict[Identity, Source] = {}
        home = self.watch.look(self._home)
        home_identity = _identity(home) if home else None
        for path in candidates(cwd, self._home):
            status = self.watch.look(path)
            if status is None or not stat.S_ISDIR(status.st_mode) or not self._fit(path, status):
                continue
            identity = _identity(status)
            scope = "home" if identity == home_identity else scope_of(path, self._home, self._user_home)
            there.pop(identity, None)  # a directory that is met twice has the higher place
            there[identity] = Source(path, scope)
        shelves = list(bundled_shelves(self._root))
        for source in self._trusted(list(there.values())):
            shelves += self._packs(source)
            shelves.append(self._read(source))
        return self._without_doubles(shelves)

    def _fit(self, path: str, status: os.stat_result) -> bool:
        reason = exposed(status) or foreign_link(path)
        if reason:
            self.misses.append(NearMiss(path, "source", f"skipped: {reason}"))
            self.alarms.append(f"{path} is skipped: {reason}")
        return not reason

    def _trusted(self, found: list[Source]) -> list[Source]:
        asked = [source.path for source in found if source.scope != "home"]
        allowed = set(self._allowed(asked)) if asked else set()
        taken = []
        for source in found:
            if source.scope == "home" or source.path in allowed:
                taken.append(source)
            else:
                from bridoon.catalog.trust import listing

                self.untrusted.append(source)
                if listing(source.path):  # data alone, such as changesets, lacks nothing
                    self.misses.append(NearMiss(source.path, "source", NOT_TRUSTED))
        self.harness_dirs += taken
        return taken

    def _packs(self, harness: Source) -> list[Shelf]:
        folder = os.path.join(harness.path, "plugins")
        status = self.watch.look(folder)
        if status is None or not stat.S_ISDIR(status.st_mode) or not self._fit(folder, status):
            return []
        found = []
        for entry in entries(folder):
            if entry.name.startswith((".", "__")):
                continue
            status = self.watch.look(entry.path)
            if status is not None and stat.S_ISDIR(status.st_mode) and self._fit(entry.path, status):
                found.append(self._read(Source(entry.path, harness.scope, entry.name)))
        return found

    def _read(self, source: Source) -> Shelf:
        shelf = self._shelves[source.path] = Reader(source, self.watch).read()
        self.alarms += [f"{miss.path} is {miss.reason}" for miss in shelf.misses if miss.reason.startswith("skipped:")]
        return shelf

    def _without_doubles(self, shelves: list[Shelf]) -> list[Shelf]:
        """Each directory once, in its highest place."""
        kept: dict[Identity, Shelf] = {}
        for shelf in shelves:
            identity = _identity(os.stat(shelf.source.path))
            kept.pop(identity, None)
            kept[identity] = shelf
        return list(kept.values())

    def _elsewhere(self, path: str) -> Shelf | None:
        """A source that the standard walk does not meet."""
        if not path or path in self._shelves:
            return self._shelves.get(path)
        status = self.watch.look(path)
        if status is None or not stat.S_ISDIR(status.st_mode):
            return self._refuse(path, "named by a sources hook, but no directory")
        reason = exposed(status) or foreign_link(path)
        if reason:
            return self._refuse(path, f"skipped: {reason}")
        above = os.path.dirname(path)
        pack = os.path.basename(path) if os.path.basename(above) == "plugins" else ""
        source = Source(path, "project", pack)
        source = source._replace(scope=scope_of(source.harness, self._home, self._user_home))
        if source.scope != "home" and not self._allowed([source.harness]):
            return self._refuse(path, NOT_TRUSTED)
        return self._read(source)

    def _refuse(self, path: str, reason: str) -> Shelf | None:
        miss = NearMiss(path, "source", reason)
        if miss not in self.misses:
            self.misses.append(miss)
            self.alarms.append(f"{path} is left out: {reason}")
        return None


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
