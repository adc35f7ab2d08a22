"""The HTTP client over real sockets: kept connections, limits, proxies, certificates, and letting go."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.api_answers import Said
from fakes.api_server import Answer, Api, Peer, Received, api_server, cut, hang, raw
from providing import KEY, Watched, ask_chat, payload

from bridoon.errors import Cancelled, ConfigError, ProviderError
from bridoon.proc.cancel import Cancel
from bridoon.providers import http, openai_api, retry
from bridoon.providers.http import Pool, Request

AT_ONCE = 1.0
"""Seconds: generous for what must not wait at all, far below every limit that would end it otherwise."""


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as served:
        yield served


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE", 0.01)


def post(pool: Pool, api: Api, env: dict[str, str] | None = None, cancel: Cancel | None = None) -> bytes:
    """One exchange with the fake, whatever the content."""
    response = pool.request(Request(f"{api.url}/raw", {}, b"{}"), env or {}, cancel, idle=5)
    body = b"".join(response)
    response.finish()
    return body


def answer(body: bytes) -> Answer:
    return raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body), close=False)


# ---- connections that are kept


def test_one_connection_serves_many_requests(api: Api, pool: Pool) -> None:
    api.then(answer(b"one"), answer(b"two"), answer(b"three"))
    assert [post(pool, api) for _ in range(3)] == [b"one", b"two", b"three"]
    assert {request.connection for request in api.requests} == {1}


def test_the_calls_of_a_run_share_a_connection_though_no_stream_is_read_to_its_end(api: Api) -> None:
    for _ in range(3):
        api.say("hello")
    context = Watched({"OPENAI_API_URL": api.chat_url, "OPENAI_API_KEY": KEY})
    for count in range(3):
        openai_api.call(payload(protocol="openai"), context)
        api.wait_for(count + 1)
    http.pool().close()
    assert {request.connection for request in api.requests} == {1}


def test_a_kept_connection_that_the_server_closed_is_replaced_without_a_word(api: Api, pool: Pool) -> None:
    def polite(peer: Peer, request: Received) -> None:
        answer(b"one")(peer, request)
        peer.close()

    api.then(polite, answer(b"two"))
    assert post(pool, api) == b"one"
    assert api.closed.wait(5)
    assert post(pool, api) == b"two"


def test_a_kept_connection_that_closes_as_the_request_arrives_is_replaced_once(api: Api, pool: Pool) -> None:
    def hang_up(peer: Peer, request: Received) -> None:
        peer.close()

    api.then(answer(b"one"), hang_up, answer(b"two"))
    assert post(pool, api) == b"one"
    assert post(pool, api) == b"two"
    assert len(api.requests) == 3


def test_a_request_is_not_sent_again_once_a_byte_of_the_answer_came(api: Api, pool: Pool) -> None:
    api.then(answer(b"one"), raw(b"HTTP/1.1 2"))
    post(pool, api)
    with pytest.raises(ProviderError) as caught:
        post(pool, api)
    assert caught.value.kind == "incomplete"
    assert len(api.requests) == 2


def test_an_answer_with_bytes_after_its_end_is_not_reused(api: Api, pool: Pool) -> None:
    api.then(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneGARBAGE", close=False), answer(b"two"))
    assert [post(pool, api), post(pool, api)] == [b"one", b"two"]
    assert [request.connection for request in api.requests] == [1, 2]


def test_interim_answers_are_skipped(api: Api, pool: Pool) -> None:
    api.then(raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", close=False))
    assert post(pool, api) == b"ok"


def test_a_body_that_ends_with_the_connection_is_whole(api: Api, pool: Pool) -> None:
    api.then(raw(b"HTTP/1.0 200 OK\r\n\r\nall of it"))
    assert post(pool, api) == b"all of it"


def test_an_early_refusal_of_a_large_request_is_read(api: Api, pool: Pool) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        sock, _ = listener.accept()
        sock.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlarge")
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1 << 16):  # a server that closed with unread bytes would destroy its own answer
            pass
        sock.close()

    thread = threading.Thread(target=refuse)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    response = pool.request(Request(url, {}, b"x" * (1 << 20)), {}, None, idle=5)
    assert (response.status, response.read(100)) == (413, b"large")
    response.close()
    thread.join()
    listener.close()


def test_ten_megabytes_arrive_whole(api: Api, pool: Pool) -> None:
    api.then(answer(b"x" * (10 << 20)))
    assert len(post(pool, api)) == 10 << 20


# ---- stopping


@pytest.mark.parametrize("how", [hang, cut(Said("some text that goes on"), 3, hang=True)])
def test_a_cancel_ends_a_wait_at_once_and_closes_the_connection(api: Api, how: Answer) -> None:
    api.then(how)
    cancel = Cancel()
    threading.Timer(0.1, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        ask_chat(api.chat_url, Watched(cancel=cancel))
    assert time.monotonic() - started < AT_ONCE
    assert api.closed.wait(AT_ONCE)


def test_a_cancel_ends_the_pause_before_the_next_attempt() -> None:
    cancel = Cancel()
    threading.Timer(0.1, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        retry.sleep(30, cancel)
    assert time.monotonic() - started < AT_ONCE


def test_a_cancel_ends_a_connection_that_does_not_come_about() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        cancel = Cancel()
        threading.Timer(0.1, cancel.set).start()
        started = time.monotonic()
        with pytest.raises((Cancelled, ProviderError)):
            Pool().request(Request(f"http://127.0.0.1:{full.getsockname()[1]}/", {}), {}, cancel, idle=0.5)
        assert time.monotonic() - started < AT_ONCE
        for each in waiting:
            each.close()


def test_a_cancel_that_is_set_already_sends_nothing(api: Api, pool: Pool) -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        post(pool, api, cancel=cancel)
    assert api.requests == []


def test_a_name_that_does_not_resolve_is_told() -> None:
    with pytest.raises(ProviderError, match=r"cannot connect to http://no-such-host\.invalid") as caught:
        Pool().request(Request("http://no-such-host.invalid/", {}), {}, None)
    assert caught.value.kind == "network"


# ---- proxies


class Proxy:
    """A forward proxy for plain requests and tunnels, which remembers what it was asked."""

    def __init__(self, target: int, refuse: bytes = b"") -> None:
        self.heads: list[str] = []
        self._target, self._refuse = target, refuse
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://user:p%40ss@127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        sock, _ = self._listener.accept()
        with sock, socket.create_connection(("127.0.0.1", self._target)) as there:
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(65536)
            self.heads.append(head.decode("latin-1"))
            if self._refuse:
                sock.sendall(self._refuse)
                return
            if head.startswith(b"CONNECT"):
                sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                there.sendall(head)
            back = threading.Thread(target=self._pump, args=(there, sock))
            back.start()
            self._pump(sock, there)
            back.join()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self._thread.join(5)
        self._listener.close()


def port_of(api: Api) -> int:
    return int(api.url.rpartition(":")[2])


def test_a_plain_request_goes_to_the_proxy_with_its_whole_url(api: Api, pool: Pool) -> None:
    proxy = Proxy(port_of(api))
    api.then(answer(b"through"))
    response = pool.request(Request("http://model.invalid/raw", {}, b"{}"), {"http_proxy": proxy.url}, None, idle=5)
    assert b"".join(response) == b"through"
    response.close()
    proxy.close()
    assert proxy.heads[0].startswith("POST http://model.invalid/raw HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic dXNlcjpwQHNz" in proxy.heads[0]


def test_no_proxy_is_honoured(api: Api, pool: Pool) -> None:
    api.then(answer(b"direct"))
    env = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "example.com,127.0.0.1"}
    assert post(pool, api, env) == b"direct"


def test_a_socks_proxy_is_refused_by_name(pool: Pool) -> None:
    with pytest.raises(ConfigError, match="socks5 proxy is not supported"):
        pool.request(Request("https://model.invalid/", {}), {"ALL_PROXY": "socks5://h:1"}, None)


def test_a_proxy_that_wants_a_password_is_told_without_ours(pool: Pool, api: Api) -> None:
    proxy = Proxy(port_of(api), b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(ProviderError, match=r"refused a tunnel to model\.invalid:443: 407") as caught:
        pool.request(Request("https://model.invalid/", {}), {"https_proxy": proxy.url}, None)
    proxy.close()
    assert "p@ss" not in str(caught.value)


# ---- certificates


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for localhost, with its key in the same file."""
    place = tmp_path_factory.mktemp("certificate")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
    words = [*command.split(), "-addext", "subjectAltName=DNS:localhost"]
    made = subprocess.run(words, cwd=place, capture_output=True, check=False)
    if made.returncode:
        pytest.skip("openssl cannot make a certificate here")
    both = place / "both.pem"
    both.write_bytes((place / "cert.pem").read_bytes() + (place / "key.pem").read_bytes())
    return both


@pytest.fixture
def secure(certificate: Path) -> Iterator[Api]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with api_server(lambda sock: context.wrap_socket(sock, server_side=True)) as served:
        yield served


def https(api: Api, pool: Pool, env: dict[str, str]) -> bytes:
    request = Request(f"https://localhost:{port_of(api)}/raw", {}, b"{}")
    response = pool.request(request, env, None, idle=5)
    body = b"".join(response)
    response.finish()
    return body


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_certificate_of_ones_own_is_trusted_when_it_is_named(
    secure: Api, pool: Pool, certificate: Path, variable: str
) -> None:
    secure.then(answer(b"one"), answer(b"two"))
    env = {variable: str(certificate)}
    assert [https(secure, pool, env), https(secure, pool, env)] == [b"one", b"two"]
    assert {request.connection for request in secure.requests} == {1}


def test_an_unknown_certificate_is_refused(secure: Api, pool: Pool) -> None:
    with pytest.raises(ProviderError, match="the certificate of localhost is not trusted"):
        https(secure, pool, {})
    assert secure.requests == []


def test_tls_goes_through_a_proxys_tunnel(secure: Api, pool: Pool, certificate: Path) -> None:
    proxy = Proxy(port_of(secure))
    secure.then(answer(b"tunnelled"))
    env = {"HTTPS_PROXY": proxy.url, "SSL_CERT_FILE": str(certificate)}
    assert https(secure, pool, env) == b"tunnelled"
    pool.close()
    proxy.close()
    assert proxy.heads[0].startswith(f"CONNECT localhost:{port_of(secure)} HTTP/1.1\r\n")
    assert "raw" not in proxy.heads[0]


def test_certificates_that_cannot_be_read_are_named(secure: Api, pool: Pool, tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"cannot read the certificates in .*none\.pem"):
        https(secure, pool, {"SSL_CERT_FILE": str(tmp_path / "none.pem")})


def test_a_stream_over_tls_is_cancelled_at_once(secure: Api, certificate: Path) -> None:
    secure.then(cut(Said("some text that goes on"), 3, hang=True))
    cancel = Cancel()
    threading.Timer(0.2, cancel.set).start()
    url = f"https://localhost:{port_of(secure)}/v1/chat/completions"
    with pytest.raises(Cancelled):
        ask_chat(url, Watched({"SSL_CERT_FILE": str(certificate)}, cancel=cancel))


def test_the_client_brings_neither_ssl_nor_the_email_package_along() -> None:
    heavy = "{'ssl', 'email', 'http.client', 'urllib'}"
    code = f"import sys, bridoon.providers.openai_api; print(*{heavy} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert done.stdout.split() == []
