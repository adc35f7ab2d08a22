"""The gates of a run, as they were when it began: a model cannot take its own leash off."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from bridoon.catalog.files import read_file
from bridoon.catalog.lookup import Catalog, Executable
from bridoon.errors import HookFailed
from bridoon.loop.companions import companions

STAGES = ("tool_exec", "pre-tool")
"""Stages whose hooks decide whether a call runs."""

Mark = tuple[int, int, int, int, int]

UNREADABLE: Mark = (0, 0, 0, 0, 0)


class Kept:
    """A file as it was: its content, and the mark by which one `stat` tells that nobody touched it since."""

    __slots__ = ("content", "mark", "path", "runs")

    def __init__(self, path: str, content: bytes | None = None) -> None:
        self.path = path
        self.mark = _mark(path)
        self.runs = bool(self.mark[3] & 0o111)
        try:
            self.content = read_file(path, 1 << 62) if content is None else content
        except OSError:
            self.content = b""

    def intact(self) -> bool:
        """Whether the file still is what it was. The time of the last change cannot be set back, so it is believed."""
        now = _mark(self.path)
        if now == self.mark:
            return now != UNREADABLE
        if bool(now[3] & 0o111) != self.runs or not holds(self.path, self.content):
            return False
        self.mark = now
        return True


class Pin(NamedTuple):
    """One hook of a gate stage, remembered with the files that it uses. Nothing is kept of a bundled one."""

    hook: Executable
    files: tuple[Kept, ...]
    """The hook itself first."""

    def altered(self) -> str:
        """The first of its files that is not what it was; empty when all are."""
        return next((file.path for file in self.files if not file.intact()), "")


def _mark(path: str) -> Mark:
    try:
        found = os.stat(path)
    except OSError:
        return UNREADABLE
    return (found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode, found.st_dev)


def holds(path: str, content: bytes) -> bool:
    """Whether a regular file has this content. Never waits for a pipe."""
    try:
        return read_file(path, len(content) + 1) == content
    except OSError:
        return False


class Pins:
    """Remembers the gate hooks at the start of a run and gives them back, whatever happens to their files.

    Bundled files are remembered by path only. Others are read, and so are the files of their source directory that
    they name. As long as all of that is what it was, a gate runs where it lies, whatever is found in its place now;
    otherwise from a private copy that has the same files around it.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._pins: dict[str, dict[str, Pin]] = {}
        self._copies: dict[str, str] = {}
        for stage in STAGES:
            self._pins[stage] = {hook.name: _pin(hook) for hook in catalog.hooks(stage)}

    def hooks(
        self, stage: str, current: list[Executable], keep: str, notice: Callable[[str], None]
    ) -> list[tuple[Executable, bool]]:
        """The hooks of a gate stage now, in order, each with whether it is new in this run.

        `keep` is a directory for private copies. `notice` is told which changes wait for the next run. Raises
        HookFailed when a gate that was changed cannot be restored: without it no call may pass.
        """
        pins = self._pins.get(stage, {})
        now = {hook.name: hook for hook in current}
        chosen: list[tuple[Executable, bool]] = []
        for name in sorted({*pins, *now}, key=os.fsencode):
            pin = pins.get(name)
            if pin is None:
                chosen.append((now[name], True))
            else:
                chosen.append((self._pinned(stage, pin, now.get(name), keep, notice), False))
        return chosen

    def _pinned(
        self, stage: str, pin: Pin, now: Executable | None, keep: str, notice: Callable[[str], None]
    ) -> Executable:
        altered = pin.altered()
        same_place = now is not None and now.path == pin.hook.path
        if same_place and not altered:
            return pin.hook
        what = "removed" if now is None else "changed" if same_place else "replaced"
        which = f"{stage}/{pin.hook.name}"
        if altered not in ("", pin.hook.path):
            which, what = f"{altered}, which {which} uses,", "changed"
        notice(f"{which} was {what} during this run: that takes effect in the next run")
        return self._copy(stage, pin, keep) if altered else pin.hook

    def _copy(self, stage: str, pin: Pin, keep: str) -> Executable:
        """A private copy of a hook and its files as they were, made anew when it is not what was remembered."""
        hook, source = pin.hook, pin.hook.source.path
        places = [os.path.relpath(file.path, source) for file in pin.files]
        folder = self._copies.get(hook.path, "")
        if not (
            folder and all(_copied(os.path.join(folder, at), file) for at, file in zip(places, pin.files, strict=True))
        ):
            try:
                folder = self._copies[hook.path] = _new_folder(keep)
                for at, file in zip(places, pin.files, strict=True):
                    _write(os.path.join(folder, at), file)
            except OSError as wrong:
                message = f"hook {hook.path} was changed during this run and cannot be restored: {wrong}"
                raise HookFailed(message, stage=stage, hook=hook.path) from None
        return hook._replace(path=os.path.join(folder, places[0]))


def _pin(hook: Executable) -> Pin:
    if hook.bundled:
        return Pin(hook, ())
    gate = Kept(hook.path)
    used = companions(hook.source.path, hook.path, gate.content)
    return Pin(hook, (gate, *(Kept(path, content) for path, content in sorted(used.items()))))


def _copied(path: str, file: Kept) -> bool:
    return holds(path, file.content) and bool(_mark(path)[3] & 0o100) == file.runs


def _new_folder(keep: str) -> str:
    """A folder whose name nobody could guess beforehand."""
    os.makedirs(keep, mode=0o700, exist_ok=True)
    folder = os.path.join(keep, os.urandom(8).hex())
    os.mkdir(folder, 0o700)
    return folder


def _write(path: str, file: Kept) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o700 if file.runs else 0o600)
    with open(descriptor, "wb") as out:
        out.write(file.content)
