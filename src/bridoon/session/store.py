"""A session: a directory with `session.conf`, `messages/` and `.stream`, for one process at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from bridoon.errors import BridoonError, NotFound, SessionBusy, UsageError
from bridoon.model.message import Message, Usage
from bridoon.session import conf as codec
from bridoon.session import files, repair
from bridoon.session.messages import Messages, now

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class Waits(Protocol):
    """The part of `bridoon.proc.cancel.Cancel` that waiting for a lock needs."""

    def check(self) -> None: ...
    def wait(self, seconds: float) -> bool: ...


class Session:
    """One conversation on disk. Made by `create` and `open_session`.

    Reading needs no lock; whoever works in a session holds `lock` for the whole run. Threads may share a
    Session.
    """

    def __init__(self, dir: str, conf: dict[str, str]) -> None:
        self.dir = dir
        self.conf = conf
        """All keys of `session.conf`, those that we do not know too. Change them with `update`."""
        self._messages = Messages(dir)
        self._mutex = threading.Lock()
        self._lock_fd = -1
        self._holders = 0

    @property
    def id(self) -> str:
        return os.path.basename(self.dir)

    @property
    def cwd(self) -> str:
        """Where tools run; empty when the file does not say."""
        return self.conf.get("cwd", "")

    @property
    def provider(self) -> str:
        return self.conf.get("provider", "")

    @property
    def model(self) -> str:
        return self.conf.get("model", "")

    @property
    def created(self) -> str:
        """ISO 8601 with offset."""
        return self.conf.get("created", "")

    def messages(self) -> tuple[Message, ...]:
        """The whole history, in order. Cheap to ask for again and again."""
        return self._messages.all()

    def view(self) -> tuple[Message, ...]:
        """The history as a model is given it: compacted, and valid for any provider."""
        return self._messages.view()

    def append(self, message: Message) -> Message:
        """Save a message; returns it with its number and time. Raises BridoonError when the disk refuses."""
        return self._messages.append(message)

    def sync(self, names: bool = True) -> None:
        """Wait until everything appended so far is on the disk, with `names` the folders that name it, too."""
        self._messages.sync(names)

    def refresh(self) -> None:
        """Look at every message file again the next time: somebody may have edited old ones in place."""
        self._messages.refresh()

    def close_open_calls(self, reason: str) -> tuple[Message, ...]:
        """Answer the calls at the end of the history that have no result; returns what was written."""
        return repair.close_open_calls(self, reason)

    def repair(self) -> None:
        """Make good what an interrupted run left. Hold the lock: a run at work looks interrupted too."""
        repair.repair(self)

    def total_usage(self) -> Usage:
        """Tokens of all messages."""
        total = Usage()
        for message in self.messages():
            if message.usage is not None:
                total = total.plus(message.usage)
        return total

    def update(self, **keys: str) -> None:
        """Set keys of `session.conf`; nothing is written when nothing changes."""
        path = f"{self.dir}/session.conf"
        try:
            data = files.read(path)
            there = self.conf if data is None else codec.decode(data)  # plugins write keys of their own
            self.conf = {**there, **keys}
            if self.conf == there and data is not None:
                return
            files.replace(self.dir, path, codec.encode(self.conf))
        except OSError as wrong:
            raise BridoonError(f"cannot write {path}: {wrong.strerror}") from wrong

    @contextlib.contextmanager
    def lock(self, wait: float = 5.0, cancel: Waits | None = None) -> Iterator[None]:
        """Be the only one that works in this session. `wait` is in seconds.

        A Session that holds the lock may take it again. Raises SessionBusy when another process (or another
        Session of this one) keeps it, NotFound when the directory is gone, Cancelled when `cancel` is set.
        """
        with self._mutex:
            if not self._holders:
                self._lock_fd = _acquire(self.dir, wait, cancel)
            self._holders += 1
        try:
            yield
        finally:
            with self._mutex:
                self._holders -= 1
                if not self._holders:
                    _sign(self._lock_fd, b"")
                    os.close(self._lock_fd)


def _acquire(dir: str, wait: float, cancel: Waits | None) -> int:
    path = f"{dir}/.lock"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as wrong:
        if wrong.errno in (errno.ENOENT, errno.ENOTDIR):
            raise NotFound(f"there is no session at {dir}", "hs session list shows them") from None
        raise BridoonError(f"cannot lock {dir}: {wrong.strerror}") from wrong
    try:
        _wait_for(fd, dir, time.monotonic() + wait, cancel)
        if not _is_same(fd, path):
            raise NotFound(f"session {os.path.basename(dir)} was removed just now")
        _sign(fd, f"{os.getpid()}\n".encode())
    except BaseException:
        os.close(fd)
        raise
    return fd


def _sign(fd: int, holder: bytes) -> None:
    """Say in the lock file who holds it, for the message that others get. On a full disk nobody is named."""
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, holder, 0)
    except OSError:
        pass


def _wait_for(fd: int, dir: str, give_up: float, cancel: Waits | None) -> None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        except OSError as wrong:
            raise BridoonError(
                f"cannot lock {dir}: {wrong.strerror}", "HARNESS_SESSIONS may name a folder on a local disk"
            ) from wrong
        left = give_up - time.monotonic()
        if left <= 0:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise SessionBusy(
                f"session {os.path.basename(dir)} is busy (pid {holder})",
                "wait for that run, or fork the session",
            )
        if cancel is None:
            time.sleep(min(0.05, left))
        else:
            cancel.wait(min(0.05, left))
            cancel.check()


def _is_same(fd: int, path: str) -> bool:
    try:
        there = os.stat(path)
    except OSError:
        return False
    return there.st_ino == os.fstat(fd).st_ino


def check_id(text: str) -> str:
    """A session id as a user gives it: one path component of plain characters. Raises UsageError."""
    if not ID.fullmatch(text):
        raise UsageError(
            f"{text[:140]!r} cannot be a session id",
            "ids are letters, digits, dots, dashes and underscores; hs session list shows them",
        )
    return text


def create(root: str, *, cwd: str, provider: str = "", model: str = "", parent: str = "", id: str = "") -> Session:
    """Make a session in `root`. Without an `id` it is named after the time and the process.

    Raises UsageError when `id` is no name or is taken.
    """
    return create_with(root, {"provider": provider, "model": model, "cwd": cwd, "parent": parent}, id=id)


def create_with(root: str, conf: dict[str, str], *, id: str = "", fill: Callable[[str], None] | None = None) -> Session:
    """Make a session whose directory appears with all that `fill` puts into it."""
    wanted = check_id(id) if id else time.strftime("%Y%m%d-%H%M%S-") + str(os.getpid())
    root = os.path.abspath(root)
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        return _create(root, wanted, conf, fixed=bool(id), fill=fill)
    except OSError as wrong:
        raise BridoonError(
            f"cannot make a session in {root}: {wrong.strerror}", "HARNESS_SESSIONS names another folder"
        ) from wrong


def _create(
    root: str, wanted: str, conf: dict[str, str], *, fixed: bool, fill: Callable[[str], None] | None
) -> Session:
    draft = f"{root}/.new-{wanted}-{os.getpid()}-{threading.get_ident()}"
    os.mkdir(draft, 0o700)
    try:
        os.mkdir(f"{draft}/messages", 0o700)
        if fill is not None:
            fill(draft)
        number, name = 1, wanted
        while True:
            known = {
                "id": name,
                "model": conf.get("model", ""),
                "provider": conf.get("provider", ""),
                "created": now(),
                "cwd": conf.get("cwd", ""),
            }
            known.update((key, value) for key, value in conf.items() if key not in known and value)
            with open(f"{draft}/session.conf", "wb") as file:
                file.write(codec.encode(known))
            if _claim(draft, f"{root}/{name}"):
                session = Session(f"{root}/{name}", known)
                session._messages.made()
                return session
            if fixed:
                raise UsageError(f"there is a session {name} already", f"hs {name} '...' continues it")
            number += 1
            name = f"{wanted}-{number}"
    except BaseException:
        import shutil

        shutil.rmtree(draft, ignore_errors=True)
        raise


def _claim(draft: str, place: str) -> bool:
    """Move a finished session to its place, unless something is there. A full folder is never replaced."""
    if os.path.lexists(place):
        return False
    try:
        os.rename(draft, place)
    except OSError as wrong:
        if wrong.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise
    return True


def open_session(dir: str, repair: bool = True) -> Session:
    """The session in a directory. Raises NotFound when it holds none.

    With `repair`, what an interrupted run left is made good first, unless some process is working in the
    session.
    """
    dir = os.path.abspath(dir)
    data = None
    if os.path.isdir(dir):
        try:
            data = files.read(f"{dir}/session.conf")
        except OSError as wrong:
            raise BridoonError(f"cannot read {dir}/session.conf: {wrong.strerror}") from wrong
    if data is None and not os.path.isdir(f"{dir}/messages"):
        raise NotFound(f"there is no session at {dir}", "hs session list shows them")
    session = Session(dir, codec.decode(data or b""))
    if repair:
        try:
            with session.lock(wait=0):
                session.repair()
        except (SessionBusy, OSError):
            pass
        except BridoonError:  # a place that cannot be written can still be read
            pass
    return session
