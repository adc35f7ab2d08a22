"""Reaching many places at once: TCP connects without blocking, and threads for calls that cannot be interrupted."""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import socket

AT_ONCE = 256
"""Endpoints that are tried at a time, connections that are open, and threads that wait."""
ADDRESSES = 8
"""Addresses of one host name that are tried."""
STALLED = 0.05
"""Seconds without any result after which more threads are set to what is left."""
LONGEST_URL = 8192
PORTS = {"http": 80, "https": 443}

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Address = tuple[int, Any]
"""An address family and what `connect` takes."""


class Endpoint(NamedTuple):
    """Where something may listen."""

    host: str
    port: int


def is_url(text: str) -> bool:
    """Whether a scan target is meant to be an http or https URL."""
    return text[:8].lower().startswith(("http://", "https://"))


def endpoint(url: str) -> Endpoint:
    """Where the server of a URL listens. Raises ValueError, with the reason, for a URL that names no such place."""
    from urllib.parse import urlsplit

    if len(url) > LONGEST_URL:
        raise ValueError(f"longer than {LONGEST_URL} characters")
    if any(char <= " " or char in "\x7f\\" for char in url):
        raise ValueError("no URL holds blanks, backslashes or control characters")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise ValueError("its brackets hold no IPv6 address") from None
    try:
        port = parts.port
    except ValueError:
        raise ValueError(f"bad port: {parts.netloc.rpartition(':')[2][:20]!r}") from None
    if port == 0:
        raise ValueError("bad port: '0'")
    if not host:
        raise ValueError("it names no host")
    if len(host) > 255:
        raise ValueError("its host name is too long")
    return Endpoint(host.replace("%25", "%"), port or PORTS[parts.scheme])


def survey(
    looks: Mapping[Key, Callable[[], Value]], endpoints: Sequence[Endpoint], seconds: float
) -> tuple[dict[Key, Value], dict[Endpoint, str]]:
    """Carry out `looks` and try to reach `endpoints`, all at the same time, for so many seconds.

    What a look returned, by its key, and for each endpoint why it could not be reached (empty: it was). What took too
    long, or raised, is absent. More endpoints than AT_ONCE are taken in turns of as many seconds each.
    """
    seen: dict[Key, Value] = {}
    reached: dict[Endpoint, str] = {}
    rest = dict(looks)
    for start in range(0, max(len(endpoints), 1), AT_ONCE):
        _survey(rest, endpoints[start : start + AT_ONCE], seconds, seen, reached)
        rest = {}
    return seen, reached


def _survey(
    looks: Mapping[Key, Callable[[], Value]],
    endpoints: Sequence[Endpoint],
    seconds: float,
    seen: dict[Key, Value],
    reached: dict[Endpoint, str],
) -> None:
    give_up = time.monotonic() + seconds
    crew, attempts = Crew(), Attempts(reached)
    try:
        for key, look in looks.items():
            crew.add((False, key), look)
        names = 0
        for where in endpoints:
            known = _numeric(where)
            if known:
                attempts.aim(where, known)
            else:
                crew.add((True, where), partial(_resolve, where))
                names += 1
        crew.hire(max(names, 1))
        attempts.watch(crew.reader)
        while (crew.left or attempts.left) and (remaining := give_up - time.monotonic()) > 0:
            attempts.start()
            attempts.wait(min(remaining, STALLED) if crew.waiting else remaining)
            finished = crew.finished()
            for (is_name, key), value in finished:
                if is_name:
                    _aim(attempts, key, value)
                elif not isinstance(value, Exception):
                    seen[key] = value
            if not finished and crew.waiting:
                crew.hire(8)
    finally:
        crew.close()
        attempts.close()


def _aim(attempts: Attempts, where: Endpoint, found: Any) -> None:
    """Try the addresses that a name came to."""
    if isinstance(found, Exception):
        strange = isinstance(found, ValueError)  # what cannot be a name at all
        attempts.outcomes[where] = "no host can be called so" if strange else _said(found)
    else:
        attempts.aim(where, found)


class Crew:
    """Daemon threads for calls that may hang for ever. Who hangs is left behind, and others go on with the rest."""

    def __init__(self) -> None:
        self.left = 0
        """Calls whose outcome has not been handed over."""
        self._calls: deque[tuple[Any, Callable[[], Any]]] = deque()
        self._outcomes: deque[tuple[Any, Any]] = deque()
        self._threads = 0
        self._lock = threading.Lock()
        self._closed = False
        self.reader, self._writer = os.pipe()
        """Readable when an outcome is there."""
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)

    @property
    def waiting(self) -> bool:
        """Whether there are calls that nobody has begun."""
        return bool(self._calls)

    def add(self, key: Any, call: Callable[[], Any]) -> None:
        """Put a call on the list."""
        self._calls.append((key, call))
        self.left += 1

    def hire(self, count: int) -> None:
        """Start threads, as many as are useful and no more than AT_ONCE in all."""
        for _ in range(min(count, len(self._calls), AT_ONCE - self._threads)):
            try:
                threading.Thread(target=self._work, daemon=True).start()
            except RuntimeError:  # the system has no more
                return
            self._threads += 1

    def finished(self) -> list[tuple[Any, Any]]:
        """Keys and values of calls that are over; the value of one that failed is its exception."""
        try:
            os.read(self.reader, 65536)
        except BlockingIOError:
            pass
        found = [self._outcomes.popleft() for _ in range(len(self._outcomes))]
        self.left -= len(found)
        return found

    def close(self) -> None:
        """Let go of what is not finished."""
        with self._lock:
            self._closed = True
            self._calls.clear()
            os.close(self.reader)
            os.close(self._writer)

    def _work(self) -> None:
        while not self._closed:
            try:
                key, call = self._calls.popleft()
            except IndexError:
                return
            try:
                outcome = call()
            except Exception as wrong:
                outcome = wrong
            with self._lock:  # the number of a closed pipe may already be another file's
                if self._closed:
                    return
                self._outcomes.append((key, outcome))
                try:
                    os.write(self._writer, b".")
                except BlockingIOError:
                    pass


class Attempts:
    """TCP connections that are being made. `outcomes` gets the empty text for an endpoint that answered."""

    def __init__(self, outcomes: dict[Endpoint, str]) -> None:
        self.outcomes = outcomes
        self._waiting: deque[tuple[Endpoint, Address]] = deque()
        self._open: dict[int, tuple[socket.socket, Endpoint]] = {}
        self._counts: dict[Endpoint, int] = {}
        self._poll = select.poll()

    @property
    def left(self) -> bool:
        """Whether something is still being tried."""
        return bool(self._waiting or self._open)

    def watch(self, fd: int) -> None:
        """Let `wait` end when this can be read, too."""
        self._poll.register(fd, select.POLLIN)

    def aim(self, where: Endpoint, addresses: Iterable[Address]) -> None:
        """Try these addresses of an endpoint."""
        aimed = list(addresses)[:ADDRESSES]
        self._counts[where] = len(aimed)
        self._waiting.extend((where, address) for address in aimed)

    def start(self) -> None:
        """Begin as many as can be open at a time."""
        while self._waiting and len(self._open) < AT_ONCE:
            where, (family, address) = self._waiting.popleft()
            if self.outcomes.get(where) == "":
                continue
            try:
                self._connect(where, family, address)
            except OSError as wrong:
                if wrong.errno in (errno.EMFILE, errno.ENFILE) and self._open:
                    self._waiting.appendleft((where, (family, address)))
                    return
                self._failed(where, _said(wrong))

    def wait(self, seconds: float) -> None:
        """Wait until something happens, and note what it is."""
        for fd, _ in self._poll.poll(max(seconds, 0) * 1000):
            if fd in self._open:
                import socket

                connection, where = self._open[fd]
                self._over(connection, where, connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))

    def close(self) -> None:
        """Give up what is still being tried."""
        for connection, _ in self._open.values():
            connection.close()
        self._open.clear()

    def _connect(self, where: Endpoint, family: int, address: Any) -> None:
        import socket

        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            code = connection.connect_ex(address)
            if code in (errno.EINPROGRESS, errno.EINTR):
                self._open[connection.fileno()] = (connection, where)
                self._poll.register(connection, select.POLLOUT)
                return
        except BaseException:
            connection.close()
            raise
        self._over(connection, where, code)

    def _over(self, connection: socket.socket, where: Endpoint, code: int) -> None:
        if self._open.pop(connection.fileno(), None):
            self._poll.unregister(connection)
        with connection:
            if code == 0 and not _is_itself(connection):
                self._answered(where)
            else:
                self._failed(where, _said(OSError(code or errno.ECONNREFUSED, "")))

    def _answered(self, where: Endpoint) -> None:
        """One address is enough: the others are not waited for."""
        self.outcomes[where] = ""
        for connection in [connection for connection, other in self._open.values() if other == where]:
            del self._open[connection.fileno()]
            self._poll.unregister(connection)
            connection.close()

    def _failed(self, where: Endpoint, reason: str) -> None:
        self._counts[where] -= 1
        if self._counts[where] <= 0 and self.outcomes.get(where) != "":
            self.outcomes[where] = reason


def _is_itself(connection: socket.socket) -> bool:
    """Whether it was connected to itself, as happens on loopback when the system picks the very port that is tried."""
    try:
        return bool(connection.getsockname() == connection.getpeername())
    except OSError:
        return False


def _numeric(where: Endpoint) -> list[Address]:
    """The address when the host is written as one; no name is asked for."""
    import socket

    try:
        return _addresses(where, socket.AI_NUMERICHOST)
    except (OSError, ValueError):
        return []


def _resolve(where: Endpoint) -> list[Address]:
    return _addresses(where, 0)


def _addresses(where: Endpoint, flags: int) -> list[Address]:
    import socket

    found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys((int(family), address) for family, _, _, _, address in found))


def _said(wrong: BaseException) -> str:
    """What an error of the network means, in a few words."""
    import socket

    if isinstance(wrong, socket.gaierror):
        unknown = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
        return "there is no such host" if wrong.errno in unknown else (wrong.strerror or str(wrong)).lower()
    if isinstance(wrong, OSError) and wrong.errno:
        return os.strerror(wrong.errno).lower()
    return str(wrong) or type(wrong).__name__
