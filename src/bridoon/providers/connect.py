"""Opens a connection: look-up, TCP, the proxy's tunnel, TLS. A cancel or one time limit ends every step."""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

from bridoon.errors import ProviderError
from bridoon.providers.address import Address
from bridoon.sdk.script import Stoppable
from bridoon.wire import http1

CONNECT_LIMIT = 10.0
"""Seconds until a connection stands, TLS included."""

SLICE = 1.5
"""Seconds that one of several addresses of a host may take before the next is tried."""

LONGEST_WAIT = 1e6
"""Seconds of one wait: the system takes no more than a month."""

_tls: dict[tuple[str, ...], Any] = {}


class Wire:
    """A non-blocking socket, plain or TLS, whose waits end early when `cancel` is set.

    Its owner closes it. `cancel` may be replaced between two uses: a pooled connection serves many requests.
    """

    def __init__(self, sock: Any, cancel: Stoppable | None) -> None:
        self.sock = sock
        self.cancel = cancel
        self.want_read: tuple[type[OSError], ...] = (BlockingIOError,)
        self.want_write: tuple[type[OSError], ...] = (BlockingIOError,)

    def secure(self, context: Any, host: str, deadline: float) -> None:
        """Put TLS on top. Raises ProviderError when the certificate is not trusted."""
        import ssl

        self.want_read, self.want_write = (ssl.SSLWantReadError,), (ssl.SSLWantWriteError,)
        try:
            self.sock = context.wrap_socket(self.sock, server_hostname=host, do_handshake_on_connect=False)
            while not self._try_handshake(deadline):
                pass
        except ssl.SSLCertVerificationError as wrong:
            message = f"the certificate of {host} is not trusted: {wrong.verify_message}"
            raise ProviderError(f"{message} (SSL_CERT_FILE names another set of authorities)", "invalid") from None
        except ssl.SSLError as wrong:
            raise ProviderError(f"no TLS with {host}: {wrong.reason or wrong}", "network") from None

    def _try_handshake(self, deadline: float) -> bool:
        try:
            self.sock.do_handshake()
        except self.want_read:
            self.wait(select.POLLIN, deadline)
            return False
        except self.want_write:
            self.wait(select.POLLOUT, deadline)
            return False
        return True

    def send(self, data: bytes, limit: float) -> None:
        """Send everything. Raises OSError when the peer is gone, TimeoutError when nothing moves for `limit`
        s.
        """
        view = memoryview(data)
        while view:
            try:
                view = view[self.sock.send(view[: 1 << 18]) :]
            except self.want_write:
                self.wait(select.POLLOUT, time.monotonic() + limit)
            except self.want_read:
                self.wait(select.POLLIN, time.monotonic() + limit)

    def receive(self, limit: float) -> bytes:
        """What has arrived, waiting at most `limit` seconds for it; empty at the end. Raises TimeoutError,
        OSError.
        """
        deadline = time.monotonic() + limit
        while True:
            try:
                return self.sock.recv(1 << 16)  # type: ignore[no-any-return]
            except self.want_read:
                self.wait(select.POLLIN, deadline)
            except self.want_write:
                self.wait(select.POLLOUT, deadline)

    def peek(self) -> bytes | None:
        """What has arrived, without waiting: None for nothing, empty at the end or when the connection is
        broken.
        """
        try:
            return self.sock.recv(1 << 16)  # type: ignore[no-any-return]
        except (*self.want_read, *self.want_write):
            return None
        except OSError:
            return b""

    def wait(self, event: int, deadline: float) -> None:
        """Wait until the socket is ready. Raises TimeoutError, and Cancelled as soon as `cancel` is set."""
        wait_for(self.sock.fileno(), event, self.cancel, deadline)

    def close(self) -> None:
        self.sock.close()


def wait_for(fd: int, event: int, cancel: Stoppable | None, deadline: float) -> None:
    """Wait until a descriptor is ready. Raises TimeoutError at the deadline, Cancelled when `cancel` is
    set.
    """
    poll = select.poll()
    poll.register(fd, event)
    stop = -1
    if cancel is not None:
        cancel.check()
        stop = cancel.fileno()
        poll.register(stop, select.POLLIN)
    ready = poll.poll(min(max(0.0, deadline - time.monotonic()), LONGEST_WAIT) * 1000)
    if cancel is not None:
        cancel.check()
    if not any(found == fd for found, _ in ready):
        raise TimeoutError(errno.ETIMEDOUT, "timed out")


def connect(address: Address, proxy: Address | None, env: Mapping[str, str], cancel: Stoppable | None) -> Wire:
    """A connection to `address`, through `proxy` if there is one. Raises ProviderError of kind `network`."""
    # Reading the certificates takes a while: before the server begins to wait for us.
    context = _context(env) if address.scheme == "https" else None
    deadline = time.monotonic() + CONNECT_LIMIT
    via = proxy or address
    try:
        wire = Wire(_tcp(via, cancel, deadline), cancel)
    except OSError as wrong:
        raise _no_way(f"the proxy {via.origin}" if proxy else via.origin, wrong) from None
    try:
        if context is not None:
            if proxy is not None:
                _tunnel(wire, address, proxy, deadline)
            wire.secure(context, address.host, deadline)
    except OSError as wrong:
        wire.close()
        raise _no_way(address.origin, wrong) from None
    except BaseException:
        wire.close()
        raise
    return wire


def _no_way(where: str, wrong: OSError) -> ProviderError:
    if isinstance(wrong, TimeoutError):
        return ProviderError(f"{where} does not answer within {CONNECT_LIMIT:.0f} s", "network")
    return ProviderError(f"cannot connect to {where}: {wrong.strerror or wrong}", "network")


def _tcp(via: Address, cancel: Stoppable | None, deadline: float) -> socket.socket:
    addresses = _look_up(via.host, via.port, cancel, deadline)
    failure: OSError = TimeoutError()
    for left, (family, kind, protocol, _, where) in zip(range(len(addresses), 0, -1), addresses, strict=True):
        until = min(deadline, time.monotonic() + SLICE) if left > 1 else deadline
        sock = socket.socket(family, kind, protocol)
        try:
            _reach(sock, where, cancel, until)
        except OSError as wrong:
            sock.close()
            failure = wrong
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


def _reach(sock: socket.socket, where: Any, cancel: Stoppable | None, deadline: float) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    code = sock.connect_ex(where)
    if code == errno.EINPROGRESS:
        wait_for(sock.fileno(), select.POLLOUT, cancel, deadline)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


def _look_up(host: str, port: int, cancel: Stoppable | None, deadline: float) -> list[Any]:
    """The addresses of a host. The look-up itself cannot be interrupted, so names are resolved by a
    thread.
    """
    if host.endswith(".localhost"):
        host = "localhost"  # this machine, whatever a name server says
    name = host.encode("ascii")  # as bytes: for text, Python brings the tables of its idna codec along
    try:
        return socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        pass
    answer: list[Any] = []
    done, tell = os.pipe()

    def ask() -> None:
        try:
            answer.append(socket.getaddrinfo(name, port, type=socket.SOCK_STREAM))
        except OSError as wrong:
            answer.append(wrong)
        os.close(tell)

    try:
        threading.Thread(target=ask, daemon=True).start()
        wait_for(done, select.POLLIN | select.POLLHUP, cancel, deadline)
    finally:
        os.close(done)
    found = answer[0]
    if isinstance(found, OSError):
        raise found
    return list(found)


def _tunnel(wire: Wire, address: Address, proxy: Address, deadline: float) -> None:
    """Ask the proxy for a connection to the address (CONNECT)."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    name = f"{host}:{address.port}"
    head = {"Host": name, **authorization(proxy)}
    wire.send(http1.request_head("CONNECT", name, head), deadline - time.monotonic())
    response = http1.Response(body_expected=False)
    try:
        while response.head is None:
            data = wire.receive(deadline - time.monotonic())
            if not data:
                response.end()
            response.feed(data)
    except http1.BadResponse as wrong:
        raise ProviderError(f"the proxy {proxy.origin} gave no tunnel to {name}: {wrong}", "network") from None
    status = response.head.status
    if status != 200 or response.surplus:
        raise ProviderError(
            f"the proxy {proxy.origin} refused a tunnel to {name}: {status} {response.head.reason}",
            "auth" if status == 407 else "network" if status >= 500 else "invalid",
            status=status,
        )


def authorization(proxy: Address) -> dict[str, str]:
    """The header that shows a proxy the name and password of its URL."""
    if not proxy.user:
        return {}
    from binascii import b2a_base64

    return {"Proxy-Authorization": "Basic " + b2a_base64(proxy.user.encode(), newline=False).decode("ascii")}


def _context(env: Mapping[str, str]) -> Any:
    """The TLS settings of a run: the system's authorities, or those that the environment names."""
    import ssl

    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    bundle = next((env[name] for name in names if env.get(name)), "")
    folder = env.get("SSL_CERT_DIR", "")
    if os.path.isdir(bundle):
        bundle, folder = "", bundle
    key = (bundle, folder)
    if key not in _tls:
        try:
            if bundle or folder:
                context = ssl.create_default_context(cafile=bundle or None, capath=folder or None)
            else:
                context = ssl.create_default_context()
        except OSError as wrong:
            place = bundle or folder
            raise ProviderError(
                f"cannot read the certificates in {place}: {wrong.strerror or wrong}", "invalid"
            ) from None
        context.set_alpn_protocols(["http/1.1"])
        _tls[key] = context
    return _tls[key]
