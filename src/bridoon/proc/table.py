"""What the kernel says about processes, and how to signal one without hitting its successor.

Linux tells all of it. Elsewhere there are only process groups: the functions here then answer "unknown".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

LINUX = sys.platform == "linux" and os.path.exists("/proc/self/stat")

_PR_SET_CHILD_SUBREAPER = 36


class Process(NamedTuple):
    """One line of the process table."""

    pid: int
    state: str
    """`Z` and `X` are dead, `T` and `t` stopped."""
    parent: int
    group: int
    session: int
    started: int
    """Clock ticks since boot: with the pid, the identity of a process."""

    @property
    def alive(self) -> bool:
        return self.state not in "ZX"

    @property
    def identity(self) -> str:
        return f"{self.pid}.{self.started}"


def read(pid: int) -> Process | None:
    """The process with this pid, None when there is none or the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            # The command's name may hold blanks and parentheses; nothing after the last one does.
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20:
        return None
    parent, group, session = (int(field) for field in fields[1:4])
    return Process(pid, fields[0].decode("ascii"), parent, group, session, int(fields[19]))


def everyone() -> dict[int, Process]:
    """All processes that this one can see."""
    if not LINUX:
        return {}
    found = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def below(roots: Iterable[int], table: Mapping[int, Process]) -> dict[int, Process]:
    """The processes `roots` and everything that descends from them."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: dict[int, Process] = {}
    waiting = [pid for pid in roots if pid in table]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found[pid] = table[pid]
            waiting += children.get(pid, ())
    return found


def above(pid: int, table: Mapping[int, Process]) -> set[int]:
    """This process and its ancestors."""
    found: set[int] = set()
    while pid in table and pid not in found:
        found.add(pid)
        pid = table[pid].parent
    return found


def own_children() -> set[int]:
    """The pids of this process's children, dead ones that nobody has waited for included."""
    found: set[int] = set()
    if not LINUX:
        return found
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", "rb") as children:
                found.update(map(int, children.read().split()))
    except FileNotFoundError:
        # A thread ended meanwhile, or the kernel has no such file.
        me = os.getpid()
        return {process.pid for process in everyone().values() if process.parent == me}
    return found


def marks(pid: int, variable: str) -> frozenset[str]:
    """The parts of a `/`-joined variable in the environment that a process was started with."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            content = b"\0" + environ.read()
    except OSError:
        return frozenset()
    _, found, rest = content.partition(b"\0" + variable.encode() + b"=")
    value = rest.partition(b"\0")[0].decode("utf-8", "replace")
    return frozenset(value.split("/")) if found else frozenset()


def command_line(pid: int) -> str:
    """What was started, as one line; empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            words = cmdline.read().rstrip(b"\0").split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode("utf-8", "replace") for word in words)


def age(process: Process) -> float:
    """Seconds since the process was started."""
    import time

    return time.clock_gettime(time.CLOCK_BOOTTIME) - process.started / os.sysconf("SC_CLK_TCK")


def send(process: Process, signum: int) -> None:
    """Signal exactly this process; nothing happens when it is gone, even if its pid is in use again."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        _send_by_pid(process, signum)
        return
    try:
        # Checked while the handle pins the process: what it shows now is what gets the signal.
        now = read(process.pid)
        if now is not None and now.started == process.started:
            import signal

            signal.pidfd_send_signal(handle, signum)
    except OSError:
        pass
    finally:
        os.close(handle)


def send_group(group: int, signum: int) -> bool:
    """Signal a process group; False when it has no members any more. Signal 0 only asks."""
    try:
        os.killpg(group, signum)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def exists(pid: int) -> bool:
    """Whether there is a process with this pid, whoever it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def identity() -> str:
    """`<pid>.<start time>` of this process: no two processes since boot share it."""
    pid = os.getpid()
    if _identity[0] != pid:
        process = read(pid) if LINUX else None
        _identity[:] = [pid, process.identity if process else f"{pid}.0"]
    return str(_identity[1])


def adopt_orphans(yes: bool = True) -> bool:
    """Make this process the parent of every descendant that loses its own; False where that is impossible."""
    if not LINUX:
        return False
    arguments = (_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)
    try:
        # A tenth of what importing ctypes costs, and this stands before the first tool of every run.
        import _ctypes

        this_program: Any = None
        prctl = _ctypes.dlsym(_ctypes.dlopen(this_program, 0), "prctl")
        return bool(_ctypes.call_function(prctl, arguments) == 0)
    except (ImportError, AttributeError, OSError, TypeError):
        return _prctl_portably(arguments)


def _prctl_portably(arguments: tuple[int, ...]) -> bool:
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(*arguments) == 0)
    except (ImportError, AttributeError, OSError):
        return False


def _send_by_pid(process: Process, signum: int) -> None:
    now = read(process.pid) if LINUX else process
    if now is not None and now.started == process.started:
        try:
            os.kill(process.pid, signum)
        except OSError:
            pass


_identity: list[object] = [0, ""]
