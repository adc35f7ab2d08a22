"""One HTTP client for a process: streaming answers, connections that are kept, and waits that a cancel ends.

Written on sockets because `http.client` brings the `email` package and `ssl` along: 18 ms of the start of
every run.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bridoon.errors import ProviderError
from bridoon.providers import address as addresses
from bridoon.providers.address import Address
from bridoon.providers.connect import Wire, authorization, connect
from bridoon.sdk.script import Stoppable
from bridoon.wire import http1

IDLE_LIMIT = 120.0
"""Seconds without a byte before an answer is given up."""

BODY_LIMIT = 256 << 20
"""Bytes of one answer."""

SETTLE = 0.02
"""Seconds that the rest of an answer may take which nobody waits for."""

KEEP = 4
"""Connections that are kept per host."""

Key = tuple[str, str, int, str]


class Request(NamedTuple):
    """What to send where."""

    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    method: str = "POST"


class Response:
    """An answer whose head has arrived. Iterate over it for the body; then call `finish`, or `close` to
    break off.

    Iterating raises ProviderError: kind `network` when nothing comes for the idle limit, `incomplete` when
    the connection ends early or what comes is no HTTP.
    """

    def __init__(self, pool: Pool, key: Key, wire: Wire, parser: http1.Response, pieces: list[bytes], idle: float):
        assert parser.head is not None
        self.status = parser.head.status
        self.reason = parser.head.reason
        self.headers = parser.head.headers
        self._pool, self._key, self._wire, self._parser = pool, key, wire, parser
        self._pieces = pieces
        self._idle = idle

    def __iter__(self) -> Iterator[bytes]:
        """The pieces of the body as they arrive, none of them empty.

        What arrived together is one piece, however small the server's chunks are.
        """
        while True:
            pieces, self._pieces = self._pieces, []
            if pieces:
                yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
            if self._parser.done:
                return
            self._more()

    def beginning(self) -> bytes:
        """The first piece of the body, which is still to be read; empty when there is none."""
        while not self._pieces and not self._parser.done:
            self._more()
        return self._pieces[0] if self._pieces else b""

    def limit_idle(self, seconds: float) -> None:
        """Change how long the next pieces may take."""
        self._idle = seconds

    def read(self, limit: int) -> bytes:
        """The body, or its first `limit` bytes when there is more (the connection is closed then)."""
        pieces: list[bytes] = []
        size = 0
        for piece in self:
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                self.close()
                break
        return b"".join(pieces)[:limit]

    def finish(self) -> None:
        """Give the connection back for the next request. Never waits, even if the end of the body is still
        to come.
        """
        self._pool.keep(self._key, self._wire, self._parser)

    def close(self) -> None:
        """Close the connection: nobody wants the rest."""
        self._wire.close()
        self._parser.done, self._parser.keep_alive = True, False

    def _more(self) -> None:
        try:
            data = self._wire.receive(self._idle)
        except TimeoutError:
            self.close()
            raise ProviderError(f"no bytes came for {self._idle:.0f} s: the answer was given up", "network") from None
        except OSError as wrong:
            self.close()
            text = f"the connection broke in the middle of the answer: {wrong.strerror or wrong}"
            raise ProviderError(text, "incomplete") from None
        except BaseException:
            self.close()
            raise
        try:
            if data:
                self._pieces = self._parser.feed(data)
            else:
                self._parser.end()
            if self._parser.received > BODY_LIMIT:
                raise http1.BadResponse(f"the answer is larger than {BODY_LIMIT} bytes")
        except http1.BadResponse as wrong:
            self.close()
            raise ProviderError(str(wrong), "incomplete") from None


class Pool:
    """Connections of this process, kept for the next request to the same host. Safe to use from several
    threads.
    """

    def __init__(self) -> None:
        self._kept: dict[Key, list[tuple[Wire, http1.Response]]] = {}
        self._lock = threading.Lock()

    def request(
        self,
        request: Request,
        env: Mapping[str, str],
        cancel: Stoppable | None = None,
        idle: float = IDLE_LIMIT,
    ) -> Response:
        """Send a request and wait for the head of the answer.

        `env` names proxies and certificates. Raises ProviderError (kind `network`, `incomplete`; `invalid`
        for a request that cannot be sent) and Cancelled. A kept connection that turns out to be closed is
        replaced once, if no byte of an answer has come.
        """
        address = addresses.parse(request.url)
        proxy = addresses.proxy_for(address, env)
        key = (address.scheme, address.host, address.port, proxy.origin if proxy else "")
        head = _head(request, address, proxy)
        kept = self._take(key, cancel)
        if kept is not None:
            answer = self._exchange(key, kept, head, request, idle, reused=True)
            if answer is not None:
                return answer
        wire = connect(address, proxy, env, cancel)
        answer = self._exchange(key, wire, head, request, idle, reused=False)
        assert answer is not None
        return answer

    def keep(self, key: Key, wire: Wire, parser: http1.Response) -> None:
        """Put a connection aside for later, or close it when it cannot be used again."""
        wire.cancel = None
        with self._lock:
            kept = self._kept.setdefault(key, [])
            if (parser.keep_alive or not parser.done) and len(kept) < KEEP:
                kept.append((wire, parser))
                return
        wire.close()

    def close(self) -> None:
        """Close what is kept. The pool may be used again."""
        with self._lock:
            kept, self._kept = self._kept, {}
        for wires in kept.values():
            for wire, _ in wires:
                wire.close()

    def _take(self, key: Key, cancel: Stoppable | None) -> Wire | None:
        while True:
            with self._lock:
                kept = self._kept.get(key)
                if not kept:
                    return None
                wire, parser = kept.pop()
            if _quiet(wire, parser):
                wire.cancel = cancel
                return wire
            wire.close()

    def _exchange(
        self, key: Key, wire: Wire, head: bytes, request: Request, idle: float, *, reused: bool
    ) -> Response | None:
        """One request on one connection; None when a reused connection had been closed by the server."""
        parser = http1.Response(body_expected=request.method != "HEAD")
        pieces: list[bytes] = []
        try:
            try:
                wire.send(head + request.body, idle)
            except TimeoutError:
                raise
            except OSError:
                # The server may have answered before it had read everything (413), and then closed.
                pass
            while parser.head is None:
                data = wire.receive(idle)
                if not data:
                    parser.end()
                pieces += parser.feed(data)
        except TimeoutError:
            wire.close()
            raise ProviderError(f"no answer came for {idle:.0f} s", "network") from None
        except (OSError, http1.BadResponse) as wrong:
            wire.close()
            if reused and not parser.received:
                return None
            said = wrong.strerror if isinstance(wrong, OSError) else None
            kind = "incomplete" if parser.received else "network"
            raise ProviderError(f"no answer from {request_origin(request)}: {said or wrong}", kind) from None
        except BaseException:
            wire.close()
            raise
        return Response(self, key, wire, parser, pieces, idle)


def request_origin(request: Request) -> str:
    """Scheme, host and port of a request."""
    return addresses.parse(request.url).origin


def _head(request: Request, address: Address, proxy: Address | None) -> bytes:
    headers = {
        "Host": address.authority,
        "User-Agent": "bridoon",
        "Accept-Encoding": "identity",
        **request.headers,
    }
    if request.body or request.method == "POST":
        headers["Content-Length"] = str(len(request.body))
    target = address.target
    if proxy is not None and address.scheme == "http":
        target = address.origin + target
        headers.update(authorization(proxy))
    try:
        return http1.request_head(request.method, target, headers)
    except ValueError as wrong:
        raise ProviderError(str(wrong), "invalid") from None


def _quiet(wire: Wire, parser: http1.Response) -> bool:
    """Whether a kept connection is open and its last answer complete.

    The end of an answer is often a packet of its own. It is given a moment: a new connection takes longer.
    """
    deadline = time.monotonic() + SETTLE
    while True:
        data = wire.peek()
        if data is None and parser.done:
            return parser.keep_alive
        if data is None:
            try:
                wire.wait(select.POLLIN, deadline)
            except TimeoutError:
                return False
            continue
        if not data or parser.done or time.monotonic() > deadline:
            return False
        try:
            parser.feed(data)
        except http1.BadResponse:
            return False


_pool: Pool | None = None


def pool() -> Pool:
    """The pool of this process, made when it is first asked for."""
    global _pool
    if _pool is None:
        _pool = Pool()
    return _pool
