"""Ctrl-C and SIGTERM in every phase of a request end `hs` within half a second, with one result line."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from project import Project

AT_ONCE = 0.5
"""Seconds."""

SLOW_NAMES = """
import socket, time, os
_ask = socket.getaddrinfo
def getaddrinfo(host, port, *rest, flags=0, **more):
    if flags & socket.AI_NUMERICHOST:
        return _ask(host, port, *rest, flags=flags, **more)
    open(os.environ["BRIDOON_TEST_REACHED"], "w").close()
    time.sleep(30)
socket.getaddrinfo = getaddrinfo
"""

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
PIECE = b'data: {"choices": [{"delta": {"content": "begun"}}]}\n\n'
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\nRetry-After: 30\r\n\r\n{}"


class Silent:
    """A server that answers the first bytes of a client with `reply` and then says nothing more."""

    def __init__(self, reply: bytes) -> None:
        self.reached = threading.Event()
        self._reply = reply
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            sock, _ = self._listener.accept()
            with sock:
                sock.settimeout(20)
                sock.recv(1 << 16)
                sock.sendall(self._reply)
                self.reached.set()
                while sock.recv(1 << 16):
                    pass

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@pytest.fixture
def silent() -> Iterator[Callable[[bytes], Silent]]:
    made: list[Silent] = []

    def make(reply: bytes = b"") -> Silent:
        made.append(Silent(reply))
        return made[-1]

    yield make
    for each in made:
        each.close()


def stop(project: Project, reached: Callable[[], object], number: int, **env: str) -> tuple[float, int, list[bytes]]:
    """Run `hs` until it has got somewhere, stop it, and tell how long that took, its code and its lines."""
    process = project.start("--json", "-p", "openai", "-m", "m", "hello", env={"OPENAI_API_KEY": "k", **env})
    end = time.monotonic() + 15
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it never got there"
        select.select([], [], [], 0.01)
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    took = time.monotonic() - began
    assert b"Traceback" not in err
    return took, process.returncode, out.splitlines()


def stopped(took: float, code: int, lines: list[bytes], number: int) -> None:
    assert took < AT_ONCE
    assert code == 128 + number
    results = [each for each in map(json.loads, lines) if each["type"] == "result"]
    assert [each["exit_code"] for each in results] == [code]
    assert json.loads(lines[-1])["stop"] == "cancelled"


@pytest.mark.parametrize(
    "reply",
    [b"", b"HTTP/1.1 200", STREAM, STREAM + PIECE, BUSY],
    ids=["request", "head", "body", "text", "pause"],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_server_is_slow_ends_the_run_at_once(
    project: Project, silent: Callable[[bytes], Silent], reply: bytes, number: int
) -> None:
    server = silent(reply)
    stopped(
        *stop(project, server.reached.is_set, number, OPENAI_BASE_URL=f"http://127.0.0.1:{server.port}"),
        number,
    )


def test_a_signal_during_a_tls_handshake_ends_the_run_at_once(
    project: Project, silent: Callable[[bytes], Silent]
) -> None:
    server = silent(b"")
    url = f"https://127.0.0.1:{server.port}"
    stopped(*stop(project, server.reached.is_set, signal.SIGINT, OPENAI_BASE_URL=url), signal.SIGINT)


def test_a_signal_while_a_proxy_makes_its_tunnel_ends_the_run_at_once(
    project: Project, silent: Callable[[bytes], Silent]
) -> None:
    proxy = silent(b"HTTP/1.1 200")
    env = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "OPENAI_BASE_URL": "https://api.example"}
    stopped(*stop(project, proxy.reached.is_set, signal.SIGINT, **env), signal.SIGINT)


def test_a_signal_while_a_connection_does_not_come_about_ends_the_run_at_once(project: Project) -> None:
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):  # a full queue: the next one's request is not answered
            other = stack.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex(full.getsockname())
        port = full.getsockname()[1]

        if not os.path.exists("/proc/net/tcp"):
            pytest.skip("there is no /proc/net/tcp to see the connection in")

        def under_way() -> int:
            with open("/proc/net/tcp", encoding="ascii") as table:
                return sum(f":{port:04X} 02 " in line for line in table)

        ours = under_way()
        url = f"http://127.0.0.1:{port}"
        stopped(*stop(project, lambda: under_way() > ours, signal.SIGINT, OPENAI_BASE_URL=url), signal.SIGINT)


def test_a_signal_while_a_name_is_looked_up_ends_the_run_at_once(project: Project) -> None:
    place = project.dir.parent / "patched"
    place.mkdir()
    (place / "sitecustomize.py").write_text(SLOW_NAMES, "utf-8")
    reached = place / "reached"
    env = {
        "PYTHONPATH": str(place),
        "BRIDOON_TEST_REACHED": str(reached),
        "OPENAI_BASE_URL": "http://models.example",
    }
    stopped(*stop(project, reached.exists, signal.SIGINT, **env), signal.SIGINT)


def test_a_signal_before_a_run_has_begun_still_ends_with_a_result(project: Project) -> None:
    place = project.dir.parent / "patched"
    place.mkdir()
    halt = "import os, time; open(os.environ['BRIDOON_TEST_REACHED'], 'w').close(); time.sleep(30)"
    (place / "bridoon_halt.py").write_text(halt, "utf-8")
    (place / "sitecustomize.py").write_text(
        "import sys, importlib.abc\n"
        "class Halt(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'bridoon.cli.dispatch': import bridoon_halt\n"
        "sys.meta_path.insert(0, Halt())\n",
        "utf-8",
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        reached = place / f"reached{number}"
        env = {"PYTHONPATH": str(place), "BRIDOON_TEST_REACHED": str(reached)}
        stopped(*stop(project, reached.exists, number, **env), number)


def test_a_signal_while_a_pipe_is_silent_ends_the_run_at_once(project: Project) -> None:
    process = project.start("--json", "-p", "scripted", stdin=subprocess.PIPE)
    select.select([], [], [], 0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    process.wait(10)
    stopped(time.monotonic() - began, process.returncode, lines, signal.SIGTERM)
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
