"""What lies in one source directory: drop-ins that count, and files that nearly do."""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

from bridoon.catalog.files import Stamp, Watch, entries, exposed, is_folder, read_file, stamp_of
from bridoon.catalog.sources import Executable, NearMiss, Source

FOLDERS = ("commands", "tools", "providers")
"""Folders of executables. Hooks lie one level deeper, in `hooks.d/<stage>`."""

STAGES = (
    "sources", "resolve", "auth-set", "start", "assemble", "send", "receive",
    "pre-tool", "tool_exec", "tool_done", "error", "done", "end",
)  # fmt: skip
"""Stages that exist without anybody naming them."""

COMMAND = r"[a-z][a-z0-9_-]*"

LEFTOVERS = ("~", ".bak", ".swp", ".tmp", ".orig", ".rej", ".pyc")
"""Ends of names that editors and tools leave behind. Such files are no drop-ins."""

PAPERS = (".md", ".txt", ".json", ".yaml", ".yml", ".toml")
"""Ends of names that may lie beside drop-ins: no near miss unless they begin with `#!`."""

MISNAMED = {
    "tool": "tools", "command": "commands", "provider": "providers", "hooks": "hooks.d", "hook": "hooks.d",
    "hook.d": "hooks.d", "prompt": "prompts", "skill": "skills", "plugin": "plugins", "packs": "plugins",
}  # fmt: skip


class Variant(NamedTuple):
    """A `providers/<name>.conf` file."""

    name: str
    path: str
    stamp: Stamp
    source: Source


class Shelf(NamedTuple):
    """The contents of one source."""

    source: Source
    executables: dict[str, tuple[Executable, ...]]
    """By kind; each in bytewise order of names."""
    variants: tuple[Variant, ...]
    settings: str
    """The path of its `settings.conf`, empty when there is none."""
    misses: tuple[NearMiss, ...]

    def has_provider(self, name: str) -> bool:
        """Whether an executable provider of that name lies here."""
        return any(each.name == name for each in self.executables.get("providers", ()))

    def has_variant(self, name: str) -> bool:
        """Whether a `.conf` of that name lies here."""
        return any(each.name == name for each in self.variants)


def bundled_shelves(root: str) -> list[Shelf]:
    """The packs in `<root>/plugins`, listed once per process: an installation does not change while it runs.

    Every file in an executable folder counts, whatever its mode: some installers drop the x bit. `core`
    comes first: what it does for everybody, a provider pack may do better.
    """
    known = _bundled.get(root)
    if known is None:
        packs = sorted(entries(os.path.join(root, "plugins")), key=lambda entry: entry.name != "core")
        known = _bundled[root] = [_bundled_pack(entry) for entry in packs if _is_folder(entry)]
    return known


_bundled: dict[str, list[Shelf]] = {}


def _bundled_pack(pack: os.DirEntry[str]) -> Shelf:
    source = Source(pack.path, "bundled", pack.name)
    executables: dict[str, tuple[Executable, ...]] = {}
    variants: list[Variant] = []
    settings = ""
    for entry in entries(pack.path):
        if entry.name in FOLDERS:
            _bundled_folder(entry.path, entry.name, source, executables, variants)
        elif entry.name == "hooks.d":
            for stage in entries(entry.path):
                if _is_folder(stage):
                    _bundled_folder(stage.path, f"hooks.d/{stage.name}", source, executables, variants)
        elif entry.name == "settings.conf":
            settings = entry.path
    shelf = Shelf(source, executables, tuple(variants), settings, ())
    return with_provider(shelf)


def _bundled_folder(
    folder: str,
    kind: str,
    source: Source,
    executables: dict[str, tuple[Executable, ...]],
    variants: list[Variant],
) -> None:
    found = []
    for entry in entries(folder):
        name = entry.name
        if name.startswith((".", "__")) or name.endswith(LEFTOVERS) or is_folder(entry):
            continue
        if kind == "providers" and name.endswith(".conf"):
            variants.append(Variant(name[:-5], entry.path, (0, 0, 0), source))
        else:
            found.append(Executable(entry.path, name, kind, source, True))
    if found:
        executables[kind] = tuple(found)


def with_provider(shelf: Shelf) -> Shelf:
    """The shelf with its source marked as a provider's own, when its directory is named like a provider in
    it."""
    base = os.path.basename(shelf.source.path)
    if not (shelf.has_provider(base) or shelf.has_variant(base)):
        return shelf
    source = shelf.source._replace(provider=base)
    executables = {
        kind: tuple(each._replace(source=source) for each in group) for kind, group in shelf.executables.items()
    }
    variants = tuple(each._replace(source=source) for each in shelf.variants)
    return shelf._replace(source=source, executables=executables, variants=variants)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith((".", "__")) and not entry.name.endswith(LEFTOVERS) and is_folder(entry)


class Reader:
    """Reads one source that belongs to a user. Everything it looks at is remembered in `watch`."""

    def __init__(self, source: Source, watch: Watch) -> None:
        self._source = source
        self._watch = watch
        self._executables: dict[str, tuple[Executable, ...]] = {}
        self._variants: list[Variant] = []
        self._misses: list[NearMiss] = []

    def read(self) -> Shelf:
        """What lies in the source now. The directory itself must have been found fit."""
        settings = ""
        for entry in entries(self._source.path):
            name = entry.name
            if name in FOLDERS:
                self._folder(entry.path, name)
            elif name == "hooks.d":
                self._hooks(entry.path)
            elif name == "settings.conf":
                settings = entry.path if self._fit_file(entry.path, "settings") else ""
            elif name in MISNAMED and is_folder(entry):
                self._miss(entry.path, MISNAMED[name], f"no such folder is read: did you mean {MISNAMED[name]}/ ?")
        shelf = Shelf(self._source, self._executables, tuple(self._variants), settings, tuple(self._misses))
        return with_provider(shelf)

    def _miss(self, path: str, kind: str, reason: str) -> None:
        self._misses.append(NearMiss(path, kind, reason))

    def _fit_folder(self, path: str, kind: str) -> bool:
        status = self._watch.look(path)
        if status is None or not stat.S_ISDIR(status.st_mode):
            return False
        reason = exposed(status)
        if reason:
            self._miss(path, kind, f"skipped: {reason}")
        return not reason

    def _fit_file(self, path: str, kind: str) -> Stamp | None:
        status = self._watch.look(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            self._miss(path, kind, _no_file(status))
            return None
        reason = exposed(status)
        if reason:
            self._miss(path, kind, f"skipped: {reason}")
            return None
        return stamp_of(status)

    def _hooks(self, path: str) -> None:
        if not self._fit_folder(path, "hooks.d"):
            return
        for entry in entries(path):
            if _is_folder(entry):
                self._folder(entry.path, f"hooks.d/{entry.name}")
                near = near_stage(entry.name)
                if near and entries(entry.path):
                    self._miss(entry.path, "hooks.d", f"nothing runs this stage by itself: did you mean {near}/ ?")
            elif not entry.name.startswith(".") and not is_folder(entry) and not entry.name.endswith(PAPERS):
                self._miss(entry.path, "hooks.d", "a hook lies in hooks.d/<stage>/, not directly in hooks.d/")

    def _folder(self, path: str, kind: str) -> None:
        if not self._fit_folder(path, kind):
            return
        found = [drop_in for entry in entries(path) if (drop_in := self._file(entry, kind)) is not None]
        if found:
            self._executables[kind] = tuple(found)

    def _file(self, entry: os.DirEntry[str], kind: str) -> Executable | None:
        """The drop-in that an entry is; None, with a near miss if it was meant to be one."""
        name, path = entry.name, entry.path
        if name.startswith("."):
            return None
        status = self._watch.look(path)
        if status is None or not stat.S_ISREG(status.st_mode):
            if status is None or not stat.S_ISDIR(status.st_mode):
                self._miss(path, kind, _no_file(status))
            return None
        variant = kind == "providers" and name.endswith(".conf")
        runs = bool(status.st_mode & 0o111) and os.access(path, os.X_OK)
        reason = self._reason(name, path, kind, status) if variant or runs else self._not_executable(name, path)
        if reason:
            self._miss(path, kind, reason)
            return None
        if variant:
            self._variants.append(Variant(name[:-5], path, stamp_of(status), self._source))
            return None
        return Executable(path, name, kind, self._source, False, stamp_of(status)) if runs else None

    def _reason(self, name: str, path: str, kind: str, status: os.stat_result) -> str:
        if name.endswith(LEFTOVERS):
            end = next(end for end in LEFTOVERS if name.endswith(end))
            return f"ignored: its name ends in {end}"
        if kind == "commands" and not re.fullmatch(COMMAND, name):
            return "no command can be called that: small letters, digits, - and _ only"
        unfit = exposed(status)
        return f"skipped: {unfit}" if unfit else ""

    def _not_executable(self, name: str, path: str) -> str:
        if name.endswith(LEFTOVERS):
            return ""
        if name.endswith(PAPERS) and not _is_script(path):
            return ""
        return "not executable (chmod +x)"


def _no_file(status: os.stat_result | None) -> str:
    """Why something that is no regular file cannot be used."""
    if status is None:
        return "a link that leads nowhere"
    if stat.S_ISDIR(status.st_mode):
        return "a directory, not a file"
    return "a pipe, socket or device, not a file"


def _is_script(path: str) -> bool:
    try:
        return read_file(path, 2) == b"#!"
    except OSError:
        return False


def near_stage(name: str) -> str:
    """The known stage that a folder of another name was probably meant for; empty when there is none."""
    if name in STAGES:
        return ""
    plain = _plain(name)
    for stage in STAGES:
        if plain == _plain(stage):
            return stage
    if len(plain) > 4:
        for stage in STAGES:
            if _one_slip(plain, _plain(stage)):
                return stage
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[-_. ]", "", name).lower()


def _one_slip(one: str, other: str) -> bool:
    """Whether one letter added, left out, changed or swapped with its neighbour makes `one` of `other`."""
    if abs(len(one) - len(other)) > 1:
        return False
    head = 0
    while head < min(len(one), len(other)) and one[head] == other[head]:
        head += 1
    a, b = one[head:], other[head:]
    swapped = len(a) > 1 and len(b) > 1 and (a[0], a[1]) == (b[1], b[0]) and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped


def clashes(shelves: list[Shelf]) -> list[NearMiss]:
    """Drop-ins of packs that are hidden by another pack of the same harness directory: hardly on purpose."""
    owners: dict[tuple[str, str, str], Executable] = {}
    found = []
    for shelf in shelves:
        if not shelf.source.pack or shelf.source.scope == "bundled":
            continue
        for group in shelf.executables.values():
            for each in group:
                key = (shelf.source.harness, each.kind, each.name)
                if key in owners:
                    reason = f"name clash: the pack {shelf.source.pack} has one of the same name, which counts"
                    found.append(NearMiss(owners[key].path, each.kind, reason))
                owners[key] = each
    return found
