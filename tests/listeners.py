"""Sockets on loopback that answer, that refuse, and that never say anything."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def answering(host: str = "127.0.0.1") -> Iterator[tuple[socket.socket, int]]:
    """A listener and its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen(16)
        yield listener, listener.getsockname()[1]


@contextlib.contextmanager
def refusing(host: str = "127.0.0.1") -> Iterator[int]:
    """A port that is taken, so that nobody else listens there, and refuses."""
    with socket.socket() as bound:
        bound.bind((host, 0))
        yield bound.getsockname()[1]


@contextlib.contextmanager
def silent(host: str = "127.0.0.1") -> Iterator[int]:
    """A port where attempts to connect hang: its listener accepts nobody, and the queue before it is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((host, 0))
        listener.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            assert waiting.connect_ex(listener.getsockname()) in (0, errno.EINPROGRESS)
        yield listener.getsockname()[1]


def has_ipv6() -> bool:
    """Whether loopback has an IPv6 address here."""
    try:
        with answering("::1"):
            return True
    except OSError:
        return False
