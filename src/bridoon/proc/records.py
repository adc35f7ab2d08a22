"""Which harness processes have children, one file each: how a start finds what a killed one left behind."""

from __future__ import annotations

import atexit
import os
import sys
import time

from bridoon.proc import table
from bridoon.proc.environment import OWNER

FOLDER = ".running"
_FORGET_AFTER = 30 * 86400

_written = ""
_inside: bool | None = None


def write(home: str) -> None:
    """Record once, in `<home>/.running/`, that this process has children; removed when it ends by itself.

    A process that runs inside another's call needs none: its children carry that one's mark too. A home that
    cannot be written has no records.
    """
    global _written, _inside
    if _written or not home:
        return
    if _inside is None:
        _inside = _is_inside_another()
    if _inside:
        return
    folder = os.path.join(home, FOLDER)
    path = os.path.join(folder, table.identity())
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, "\n".join(machine()).encode())
        finally:
            os.close(fd)
    except OSError:
        return
    _written = path
    # What it leaves alive without being killed is meant to live.
    atexit.register(remove)


def remove() -> None:
    """This process has no children any more."""
    global _written
    if _written:
        drop(_written)
        _written = ""


def drop(path: str) -> None:
    """Forget a record."""
    try:
        os.unlink(path)
    except OSError:
        pass


def dead_owners(home: str) -> dict[str, str]:
    """The records in `home` whose process died without removing them: identity -> path.

    One listing when there are none. Records of another machine or container that shares this home are left
    alone, for a month.
    """
    folder = os.path.join(home, FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    dead = {}
    for name in names:
        pid, dot, started = name.partition(".")
        path = os.path.join(folder, name)
        if not (dot and pid.isdigit() and started.isdigit()) or path == _written:
            continue
        if _is_elsewhere(path):
            continue
        if not lives(int(pid), started):
            dead[name] = path
    return dead


def _is_inside_another() -> bool:
    owners = (mark.partition(".") for mark in os.environ.get(OWNER, "").split("/"))
    return any(pid.isdigit() and lives(int(pid), started) for pid, _, started in owners)


def lives(pid: int, started: str) -> bool:
    """Whether the process with this pid and start time is still there."""
    if not table.LINUX:
        return table.exists(pid)
    process = table.read(pid)
    return process is not None and process.alive and str(process.started) == started


def _is_elsewhere(path: str) -> bool:
    """Whether a record tells of processes that cannot be seen from here. Drops it if they cannot exist."""
    try:
        with open(path, encoding="utf-8") as record:
            there = record.read().split("\n")
        age = time.time() - os.stat(path).st_mtime
    except (OSError, UnicodeDecodeError):
        return True
    here = machine()
    if there == here or len(there) != len(here):
        return False
    rebooted = there[0] == here[0] and there[1] != here[1]
    if rebooted or age > _FORGET_AFTER:
        drop(path)
    return True


def machine() -> list[str]:
    """Where a pid means what it means here: the host, its boot, and the pid namespace."""
    if sys.platform != "linux":
        return [os.uname().nodename, "", ""]
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            boot_id = boot.read().strip()
        return [os.uname().nodename, boot_id, str(os.stat("/proc/self/ns/pid").st_ino)]
    except OSError:
        return [os.uname().nodename, "", ""]
