"""The gates of a run, as they were when it began: a model cannot take its own leash off."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from bridoon.catalog.lookup import Catalog, Executable

STAGES = ("tool_exec", "pre-tool")
"""Stages whose hooks decide whether a call runs."""

Mark = tuple[int, int, int, int]


class Pin(NamedTuple):
    """One hook of a gate stage, remembered."""

    hook: Executable
    content: bytes
    mark: Mark


def _mark(path: str) -> Mark | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)


class Pins:
    """Remembers the gate hooks at the start of a run and gives them back, whatever happens to their files.

    Bundled files are remembered by path only. Others are read (they are small programs); when such a file is
    changed, removed, overridden or made non-executable, its first content is run from a private copy.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._pins: dict[str, dict[str, Pin]] = {}
        for stage in STAGES:
            self._pins[stage] = {hook.name: _pin(hook) for hook in catalog.hooks(stage)}

    def hooks(
        self, stage: str, current: list[Executable], keep: str, notice: Callable[[str], None]
    ) -> list[tuple[Executable, bool]]:
        """The hooks of a gate stage now, in order, each with whether it is new in this run.

        `keep` is a directory for private copies. `notice` is told which changes wait for the next run.
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
        same_file = now is not None and now.path == pin.hook.path
        if same_file and (pin.hook.bundled or _mark(pin.hook.path) == pin.mark):
            return pin.hook
        what = "changed" if same_file else "removed" if now is None else "replaced"
        notice(f"{stage}/{pin.hook.name} was {what} during this run: that takes effect in the next run")
        return pin.hook if pin.hook.bundled else _copy(stage, pin, keep)


def _pin(hook: Executable) -> Pin:
    if hook.bundled:
        return Pin(hook, b"", (0, 0, 0, 0))
    mark = _mark(hook.path) or (0, 0, 0, 0)
    try:
        with open(hook.path, "rb") as file:
            return Pin(hook, file.read(), mark)
    except OSError:
        return Pin(hook, b"", mark)


def _copy(stage: str, pin: Pin, keep: str) -> Executable:
    """A private copy of the hook as it was, written anew when it is not what was remembered."""
    folder = os.path.join(keep, stage)
    path = os.path.join(folder, pin.hook.name)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        with open(path, "rb") as file:
            intact = file.read() == pin.content and stat.S_IMODE(os.stat(path).st_mode) & 0o100
    except OSError:
        intact = False
    if not intact:
        fresh = f"{path}.{os.getpid()}"
        with open(fresh, "wb") as out:
            out.write(pin.content)
        os.chmod(fresh, 0o700)
        os.replace(fresh, path)
    return pin.hook._replace(path=path)
