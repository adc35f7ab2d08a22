"""Who descends from this process, which call each of them belongs to, and how they end.

Every orphan below us becomes our child (a Linux sub-reaper), so nothing that a tool started can leave our
tree, and the marks in its environment say whose it is. Without /proc (macOS) only process groups are known.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from bridoon.proc import records, table
from bridoon.proc.environment import CALL, OWNER
from bridoon.proc.table import Process

if TYPE_CHECKING:
    from subprocess import Popen
    from types import FrameType

STATUS_LOST = 255
"""The exit code of a child whose status somebody else took: never a success."""
KILL_PATIENCE = 1.0
"""Seconds to wait for processes to be gone after SIGKILL."""
STALE_GRACE = 0.5
"""Seconds that the remains of a killed harness process get between TERM and KILL."""


class Job(NamedTuple):
    """A background process that outlived its call."""

    pid: int
    command: str
    started: float
    """Seconds since the epoch."""
    call: str
    """The id of the call that started it (`Completed.call`), empty when that is not known."""


class _Left(NamedTuple):
    process: Process
    call: str


class _State:
    """What this process knows about its children; read and written under `lock`."""

    def __init__(self) -> None:
        self.lock = RLock()
        """Re-entrant: `end_all` may be called by a signal handler, in the middle of anything."""
        self.waited: dict[int, str] = {}
        """Children that a `run` waits for, with their calls: nobody else may reap these."""
        self.background: dict[str, _Left] = {}
        """What finished calls left alive, by identity."""
        self.adopts: bool | None = None
        """Whether orphans become our children; None until the first child starts."""


_state = _State()
_numbers = itertools.count(1)


def guard(home: str = "") -> None:
    """Get ready to have children; costs something only the first time. `home` is where the record is kept."""
    with _state.lock:
        if _state.adopts is None:
            _state.adopts = table.adopt_orphans()
            _hear_of_deaths()
            _take_children_along()
        records.write(home)


def let_go() -> None:
    """This process is about to become another program, which knows nothing of orphans and records."""
    if _state.adopts:
        table.adopt_orphans(False)
    records.remove()


def new_call() -> str:
    """An id for one call, unique since boot."""
    return f"{table.identity()}.{next(_numbers)}"


def begin(start: Callable[[], Popen[bytes]], call: str) -> Popen[bytes]:
    """Start a child and remember that somebody waits for it, before anyone can take it for an orphan."""
    with _state.lock:
        child = start()
        _state.waited[child.pid] = call
    return child


def reap(child: Popen[bytes]) -> int | None:
    """The exit code of a child from `begin` (negative: the signal that killed it), None while it runs."""
    with _state.lock:
        if child.returncode is None:
            try:
                pid, status = os.waitpid(child.pid, os.WNOHANG)
            except ChildProcessError:
                child.returncode = STATUS_LOST
            else:
                child.returncode = os.waitstatus_to_exitcode(status) if pid else None
        if child.returncode is not None:
            _state.waited.pop(child.pid, None)
    return child.returncode


def left_behind(call: str, leader: int) -> list[Process]:
    """What is alive of a call whose first process, `leader`, has been reaped. Cheap when nothing is."""
    if not (table.LINUX and _state.adopts):
        return members(call, leader)
    strays = _strays()
    if not strays:
        return []
    found = members(call, leader)
    with _state.lock:
        running = set(_state.waited.values()) | {call}
        for process in strays:
            calls = table.marks(process.pid, CALL)
            if calls and not calls & running:
                # A late orphan of an earlier call: from now on it costs nobody a look at the whole table.
                _state.background[process.identity] = _Left(process, _own_part(calls))
    return found


def members(call: str, leader: int) -> list[Process]:
    """The living processes of a call: its group and session, their descendants, and what has its mark."""
    if not table.LINUX:
        return _group(leader)
    everyone = table.everyone()
    me = os.getpid()
    with _state.lock:
        waited, background = dict(_state.waited), set(_state.background)
    only_call = not set(waited.values()) - {call}

    def is_root(process: Process) -> bool:
        if process.pid == me or waited.get(process.pid, call) != call:
            return False
        if leader in (process.pid, process.group, process.session):
            return True
        calls = table.marks(process.pid, CALL)
        if calls:
            return call in calls
        # Somebody emptied its environment. With one call running, there is only one it can be of.
        unknown = process.parent == me and process.identity not in background
        return only_call and unknown and not _foreign(process)

    # Unless orphans come to us, they can be anywhere.
    pool = table.below([me], everyone) if _state.adopts else everyone
    roots = [process.pid for process in pool.values() if is_root(process)]
    found = [process for process in table.below(roots, everyone).values() if process.alive]
    # One that forks and exits again and again can slip through a list that takes time to read, but then its
    # latest child has just become ours.
    return found or [process for process in _strays() if is_root(process)]


def leave(processes: Iterable[Process], call: str) -> int:
    """Let what is left of a finished call live on in the background; return how many processes that are."""
    left = {process.identity: _Left(process, call) for process in processes}
    with _state.lock:
        still = {name: one for name, one in _state.background.items() if _still_there(one.process)}
        _state.background = still | left
    return len(left)


def jobs() -> list[Job]:
    """The background processes of finished calls, oldest first."""
    with _state.lock:
        running, background = set(_state.waited.values()), dict(_state.background)
    if not table.LINUX:
        alive = (left for left in background.values() if _still_there(left.process))
        return [Job(left.process.pid, "", 0.0, left.call) for left in alive]
    found = []
    for process in _strays(known=True):
        calls = table.marks(process.pid, CALL)
        if not calls & running:
            left = background.get(process.identity)
            started = time.time() - table.age(process)
            call = left.call if left else _own_part(calls)
            found.append(Job(process.pid, table.command_line(process.pid), started, call))
    return sorted(found, key=lambda job: job.started)


def kill_tree(find: Callable[[], list[Process]], *, grace: float, wait: Callable[[float], object] = time.sleep) -> bool:
    """End whatever `find` finds: TERM, `grace` seconds, KILL; True when it finds nothing more.

    `wait(seconds)` lets time pass. All in all this takes `grace` + `KILL_PATIENCE` at most.
    """
    for signum, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, KILL_PATIENCE)):
        deadline = time.monotonic() + patience
        pause = 0.002
        told: set[str | int] = set()
        while patience > 0:
            found = find()
            if not found:
                return True
            # Nobody gets TERM twice: many programs take that for impatience.
            _signal(found, signum, told if signum == signal.SIGTERM else set())
            left = deadline - time.monotonic()
            if left <= 0:
                break
            wait(min(pause, left))
            # What gets KILL and is still there is forking: it is a matter of being quick.
            pause = min(pause * 1.5, 0.05 if signum == signal.SIGTERM else 0.005)
    return not find()


def end_all(grace: float = 1.0, *, keep: bool = False) -> bool:
    """The end of this process: end everything that descends from it, in `grace` + 1 seconds at most.

    With `keep`, what finished calls left in the background lives on. True when nothing else is left.
    """
    gone = True
    if not table.LINUX:
        with _state.lock:
            groups = {*_state.waited, *(() if keep else (left.process.pid for left in _lefts()))}
        gone = kill_tree(lambda: [one for group in groups for one in _group(group)], grace=grace)
    elif table.own_children():
        gone = kill_tree(lambda: _descendants(keep), grace=grace)
    if gone:
        records.remove()
    return gone


def sweep_stale(home: str) -> int:
    """Kill what killed harness processes left alive; return how many processes that were.

    One listing of `<home>/.running` when there is nothing to do. Never this process or one that it runs in.
    """
    killed: set[str] = set()
    # What a dead one ran may have been a harness process too, whose own children are the next round's.
    for _ in range(5):
        dead = records.dead_owners(home)
        if not dead:
            break
        spared = table.above(os.getpid(), table.everyone())

        def remains(owners: Mapping[str, str] = dead, spared: set[int] = spared) -> list[Process]:
            everyone = table.everyone()
            marked = [pid for pid in everyone if table.marks(pid, OWNER) & owners.keys()]
            found = table.below(marked, everyone).values()
            return [one for one in found if one.alive and one.pid not in spared]

        killed.update(process.identity for process in remains())
        gone = kill_tree(remains, grace=STALE_GRACE)
        if not gone or any(table.marks(pid, OWNER) & dead.keys() for pid in spared):
            break
        for path in dead.values():
            records.drop(path)
    return len(killed)


def reap_orphans() -> None:
    """Bury adopted children that have died. Never takes the status of a child that somebody waits for."""
    _strays()


def _strays(known: bool = False) -> list[Process]:
    """Living children that nobody waits for; with `known`, also those in the background. Buries the dead."""
    found = []
    with _state.lock:
        for pid in table.own_children() - _state.waited.keys():
            process = table.read(pid)
            if process is None or _foreign(process):
                continue
            if not process.alive:
                _state.background.pop(process.identity, None)
                _bury(pid)
            elif known or process.identity not in _state.background:
                found.append(process)
    return found


def _foreign(process: Process) -> bool:
    """A child that other code in this process started: all of ours begin in a group of their own."""
    return process.group == os.getpgrp() and not table.marks(process.pid, CALL)


def _descendants(keep: bool) -> list[Process]:
    strays = {process.pid for process in _strays(known=not keep)}
    with _state.lock:
        roots = strays | _state.waited.keys()
    return [process for process in table.below(roots, table.everyone()).values() if process.alive]


def _group(leader: int) -> list[Process]:
    """A process group as if it were one process: all there is to know without /proc."""
    return [Process(leader, "?", 0, leader, leader, 0)] if table.send_group(leader, 0) else []


def _lefts() -> list[_Left]:
    return list(_state.background.values())


def _still_there(process: Process) -> bool:
    if not table.LINUX:
        return table.send_group(process.group, 0)
    now = table.read(process.pid)
    return now is not None and now.started == process.started


def _own_part(calls: Iterable[str]) -> str:
    """Of the nested calls that a process is a part of, the one that this process made."""
    return next((call for call in calls if call.startswith(table.identity() + ".")), "")


def _signal(processes: list[Process], signum: int, told: set[str | int]) -> None:
    """Signal whole groups, so that nobody forks away meanwhile. Skips what is in `told`, and adds to it."""
    groups = {process.group for process in processes} - {0, 1, os.getpgrp()} - told
    for group in groups:
        table.send_group(group, signum)
    for process in processes:
        if process.group not in groups and process.identity not in told:
            table.send(process, signum)
        if process.state in "Tt":
            table.send(process, signal.SIGCONT)
        told.add(process.identity)
    told.update(groups)


def _bury(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def _take_children_along() -> None:
    """Let a TERM or HUP that nobody else deals with end what we started before it ends us."""
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) == signal.SIG_DFL:
            try:
                signal.signal(signum, _die)
            except ValueError:
                return  # Only the main thread may.


def _die(signum: int, frame: FrameType | None) -> None:
    signal.signal(signum, signal.SIG_DFL)  # a second one ends us at once
    end_all(grace=STALE_GRACE)
    os.kill(os.getpid(), signum)


def _hear_of_deaths() -> None:
    """Undo an inherited "ignore SIGCHLD": with it, the kernel throws exit codes away."""
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        except ValueError:
            # Only the main thread may. Lost codes then count as failures.
            pass
