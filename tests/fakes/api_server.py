"""A model API on this machine that checks every request strictly, and misbehaves when it is told to.

    with api_server() as api:
        api.say("hello", calls=[call("bash", command="ls")])     one answer; further calls queue further
        answers api.then(status(429, {"error": {"message": "slow down"}}, **{"retry-after": "1"}))
        ... run something against api.anthropic_url, api.chat_url or api.responses_url ...
        assert api.problems == []

It speaks Anthropic Messages, Chat Completions and Responses, streamed or not, as the path and the request
say. When the queue is empty it answers "ok". `python tests/fakes/api_server.py` runs it as a program that
prints its URL.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fakes import api_answers, api_rules
from fakes.api_answers import Said

Answer = Callable[["Peer", "Received"], None]
"""Writes an answer to a request, whole or broken."""

PROTOCOLS = {
    "/messages": (api_rules.anthropic, api_answers.anthropic_document, api_answers.anthropic_stream),
    "/chat/completions": (api_rules.chat, api_answers.chat_document, api_answers.chat_stream),
    "/responses": (api_rules.responses, api_answers.responses_document, api_answers.responses_stream),
}


class Received(NamedTuple):
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in small letters."""
    content: bytes
    connection: int
    """Which connection it came on, counted from 1."""

    @property
    def body(self) -> Any:
        """Its JSON."""
        return json.loads(self.content) if self.content else None


class Peer:
    """The other end of one connection."""

    def __init__(self, sock: socket.socket, released: threading.Event) -> None:
        self.sock = sock
        self.released = released
        self.gone = False

    def send(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.sock.sendall(data)

    def head(self, status: int, headers: dict[str, str]) -> None:
        """Write a status line and headers."""
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    def document(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Write a whole JSON answer."""
        data = json.dumps(value).encode()
        self.head(status, {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})})
        self.send(data)

    def begin(self, kind: str = "text/event-stream") -> None:
        """Begin a chunked answer."""
        self.head(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})

    def chunk(self, data: bytes) -> None:
        """Write one chunk."""
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        """End a chunked answer."""
        self.send(b"0\r\n\r\n")

    def hang(self) -> None:
        """Do nothing until the test is over or the client has gone."""
        while not self.released.is_set() and not select.select([self.sock], [], [], 0.02)[0]:
            pass
        self.gone = True

    def close(self, *, reset: bool = False) -> None:
        """Close the connection, with RST if wanted."""
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.gone = True


class Api:
    """The server as the test sees it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.requests: list[Received] = []
        self.problems: list[str] = []
        """What the rules of the APIs forbid in the requests so far."""
        self.strict = True
        """Whether a request with problems is refused with 400, as the APIs do."""
        self.models: list[str] = ["gpt-fake"]
        self.closed = threading.Event()
        """Set when a client closed its connection."""
        self.answered = 0
        """Answers that were sent to their end."""
        self._queue: list[Answer] = []
        self._lock = threading.Condition()

    anthropic_url = property(lambda self: f"{self.url}/v1/messages")
    chat_url = property(lambda self: f"{self.url}/v1/chat/completions")
    responses_url = property(lambda self: f"{self.url}/v1/responses")

    @property
    def bodies(self) -> list[Any]:
        """The JSON of all requests."""
        return [request.body for request in self.requests]

    def say(
        self,
        text: str = "",
        calls: Sequence[tuple[str, str, str]] = (),
        thinking: str = "",
        stop: str = "",
        usage: dict[str, Any] | None = None,
    ) -> None:
        """Queue an answer of the model."""
        self.then(said(Said(text, calls, thinking, stop, usage)))

    def drop_queue(self) -> None:
        """Forget the answers that were not given yet."""
        with self._lock:
            self._queue.clear()

    def then(self, *answers: Answer) -> None:
        """Queue answers that may be anything."""
        with self._lock:
            self._queue += answers

    def respond(self, peer: Peer, request: Received) -> None:
        """Answer one request: refuse it when it breaks the rules, else give the next answer of the queue."""
        with self._lock:
            self.requests.append(request)
        if request.method == "GET":
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in self.models]
            peer.document({"object": "list", "data": listed})
            return
        found = [] if request.path.endswith("/raw") else problems(request)
        with self._lock:
            self.problems += found
            if found and self.strict:
                answer = status(400, {"error": {"type": "invalid_request_error", "message": "; ".join(found)}})
            else:
                answer = self._queue.pop(0) if self._queue else said(Said("ok"))
        answer(peer, request)
        with self._lock:
            self.answered += 1
            self._lock.notify_all()

    def wait_for(self, count: int) -> None:
        """Wait until so many answers were sent."""
        with self._lock:
            assert self._lock.wait_for(lambda: self.answered >= count, 5)


def problems(request: Received) -> list[str]:
    """What the rules of the API that the path names forbid in a request."""
    rules = next((each[0] for end, each in PROTOCOLS.items() if request.path.endswith(end)), None)
    if rules is None:
        return [f"no such endpoint: {request.path}"]
    try:
        return rules(request.body)
    except ValueError as wrong:
        return [f"the body is not JSON: {wrong}"]


# ---- answers


def call(name: str, /, id: str = "", **given: Any) -> tuple[str, str, str]:
    """A call that the model makes. Ids are counted when none is given."""
    call.count += 1  # type: ignore[attr-defined]
    return (id or f"call_{call.count}", name, json.dumps(given))  # type: ignore[attr-defined]


call.count = 0  # type: ignore[attr-defined]


def said(what: Said, *, stream: bool = True) -> Answer:
    """A proper answer in the protocol of the request, as a stream if that asks for one (and `stream`)."""

    def answer(peer: Peer, request: Received) -> None:
        _, document, streamed = next(each for end, each in PROTOCOLS.items() if request.path.endswith(end))
        if not stream or not request.body.get("stream"):
            peer.document(document(what))
            return
        peer.begin()
        for piece in streamed(what):
            peer.chunk(piece)
        peer.end()

    return answer


def events(*data: Any, cut: bool = False, hang: bool = False, reset: bool = False) -> Answer:
    """A stream of events as they are given (bytes, text of `data:`, or JSON).

    `cut` closes the connection in the middle, `reset` with RST, `hang` says nothing more.
    """

    def answer(peer: Peer, request: Received) -> None:
        peer.begin()
        for each in data:
            peer.chunk(each if isinstance(each, bytes) else api_answers.event(each))
        if hang:
            peer.hang()
        elif cut or reset:
            peer.close(reset=reset)
        else:
            peer.end()

    return answer


def cut(what: Said, keep: int, *more: Any, **how: bool) -> Answer:
    """The first `keep` events of a proper stream, then `more`; then the connection closes (see `events`)."""

    def answer(peer: Peer, request: Received) -> None:
        stream = next(each[2] for end, each in PROTOCOLS.items() if request.path.endswith(end))
        events(*stream(what)[:keep], *more, **(how or {"cut": True}))(peer, request)

    return answer


def status(code: int, value: Any = None, **headers: str) -> Answer:
    """A refusal. Underscores in header names stand for dashes."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lambda peer, request: peer.document(value if value is not None else {}, code, named)


def raw(data: bytes, *, close: bool = True) -> Answer:
    """Bytes as they are."""

    def answer(peer: Peer, request: Received) -> None:
        peer.send(data)
        if close:
            peer.close()

    return answer


def hang(peer: Peer, request: Received) -> None:
    """No answer at all."""
    peer.hang()


def hang_up(peer: Peer, request: Received) -> None:
    """The connection closes without an answer."""
    peer.close()


# ---- the server


@contextlib.contextmanager
def api_server(wrap: Callable[[socket.socket], socket.socket] | None = None) -> Iterator[Api]:
    """Serve on a free port until the end of the block. `wrap` may put TLS around each connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    api = Api(listener.getsockname()[1])
    released = threading.Event()
    threads: list[threading.Thread] = []
    count = iter(range(1, 1 << 30))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                thread = threading.Thread(target=_serve, args=(api, sock, wrap, next(count), released))
                threads.append(thread)
                thread.start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield api
    finally:
        released.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(5)
        for thread in threads:
            thread.join(5)


def _serve(
    api: Api,
    sock: socket.socket,
    wrap: Callable[[socket.socket], socket.socket] | None,
    number: int,
    released: threading.Event,
) -> None:
    sock.settimeout(5)
    with contextlib.suppress(OSError), contextlib.closing(wrap(sock) if wrap else sock) as wire:
        wire.settimeout(0.05)
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = Peer(wire, released)
        buffer = b""
        while not released.is_set() and not peer.gone:
            found = _request(buffer, number)
            if found is not None:
                request, buffer = found
                wire.settimeout(10)
                try:
                    api.respond(peer, request)
                except OSError:
                    break
                wire.settimeout(0.05)
                continue
            with contextlib.suppress(TimeoutError):
                data = wire.recv(1 << 16)
                if not data:
                    break
                buffer += data
        api.closed.set()
    sock.close()


def _request(buffer: bytes, number: int) -> tuple[Received, bytes] | None:
    head, mark, rest = buffer.partition(b"\r\n\r\n")
    if not mark:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", "0"))
    if len(rest) < length:
        return None
    method, path, _ = first.split(" ", 2)
    return Received(method, path, headers, rest[:length], number), rest[length:]


if __name__ == "__main__":
    with api_server() as served:
        print(served.url, flush=True)
        threading.Event().wait()
