"""Probes against real files and real sockets, that answer, refuse, or never say anything."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from listeners import answering, has_ipv6, refusing, silent

from bridoon.ledger.judge.probe import Verdict, probe
from bridoon.ledger.judge.reach import Endpoint, survey


class Tool(NamedTuple):
    kind: str
    scan_target: str | None = None
    command: str = ""
    name: str = "t"


def one(tool: Tool, root: Path | str = "/nonexistent", budget: float = 2.0, **env: str) -> tuple[str, str]:
    (verdict,) = probe([tool], str(root), env, budget)
    return verdict.status, verdict.detail


@pytest.mark.parametrize("kind", ["http", "mcp", "skill"])
def test_an_endpoint_that_answers_is_present_and_gets_no_byte(kind: str) -> None:
    with answering() as (listener, port):
        url = f"http://user:secret@127.0.0.1:{port}?health#now"
        assert one(Tool(kind, f" {url} ")) == ("present", url)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1) == b""


def test_an_endpoint_that_refuses_is_missing() -> None:
    with refusing() as port:
        url = f"https://127.0.0.1:{port}/"
        assert one(Tool("http", url)) == ("missing", f"{url} (connection refused)")


def test_an_endpoint_that_never_answers_is_missing_when_its_time_is_over() -> None:
    with silent() as port:
        start = time.monotonic()
        assert one(Tool("http", f"http://127.0.0.1:{port}"), budget=0.3)[0] == "missing"
        assert 0.25 < time.monotonic() - start < 1.5


def test_an_ipv6_address_is_understood() -> None:
    if not has_ipv6():
        pytest.skip("no IPv6 on loopback")
    with answering("::1") as (_, port):
        assert one(Tool("http", f"HTTP://[::1]:{port}"))[0] == "present"


def test_a_name_whose_first_address_refuses_or_hangs_is_present_when_another_answers() -> None:
    with answering() as (_, port):
        assert one(Tool("http", f"http://localhost:{port}"))[0] == "present"


def test_one_address_that_answers_is_enough() -> None:
    with answering() as (_, port), silent() as quiet:
        from bridoon.ledger.judge.reach import Attempts

        outcomes: dict[Endpoint, str] = {}
        attempts = Attempts(outcomes)
        where = Endpoint("both", port)
        attempts.aim(where, [(socket.AF_INET, ("127.0.0.1", quiet)), (socket.AF_INET, ("127.0.0.1", port))])
        start = time.monotonic()
        while attempts.left:
            attempts.start()
            attempts.wait(5)
        assert outcomes == {where: ""}
        assert time.monotonic() - start < 2
        attempts.close()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:http/", "bad port: 'http'"),
        ("http://nobody.invalid/", "there is no such host"),
        ("http://" + "é" * 200 + "/", "no host can be called so"),
        ("http://a..b/", "no host can be called so"),
    ],
)
def test_a_url_that_leads_nowhere_is_missing_with_its_reason(url: str, reason: str) -> None:
    status, detail = one(Tool("http", url))
    assert status == "missing"
    assert detail == f"{url} ({reason})" or "nobody.invalid" in url  # a machine without any resolver says more


def test_paths_decide_for_skills_and_servers_and_for_http_without_a_url(tmp_path: Path) -> None:
    (tmp_path / ".c3").mkdir()
    for kind in ("mcp", "skill", "http"):
        assert one(Tool(kind, " .c3 "), tmp_path) == ("present", ".c3")
        assert one(Tool(kind, "~/.c3"), "/nonexistent", HOME=str(tmp_path)) == ("present", "~/.c3")
        assert one(Tool(kind, "~"), "/nonexistent", HOME=str(tmp_path)) == ("present", "~")
        assert one(Tool(kind, str(tmp_path / ".c3"))) == ("present", str(tmp_path / ".c3"))
        assert one(Tool(kind, ".d4"), tmp_path) == ("missing", ".d4 (there is no such path)")
    (tmp_path / "broken").symlink_to("nowhere")
    assert one(Tool("skill", "broken"), tmp_path)[0] == "missing"


def test_an_endpoint_without_a_scheme_is_told_how_it_is_written() -> None:
    assert one(Tool("http", "localhost:80"))[1].endswith("an endpoint is written http://HOST:PORT/)")


@pytest.mark.parametrize("kind", ["mcp", "skill", "http"])
@pytest.mark.parametrize("target", [None, "", "  \t"])
def test_without_a_target_the_status_is_unknown(kind: str, target: str | None) -> None:
    assert one(Tool(kind, target)) == ("unknown", "no scan target: confirm at call time")


def test_a_command_is_present_when_it_can_be_run(tmp_path: Path) -> None:
    script = tmp_path / "check.sh"
    script.write_text("#!/bin/sh\ntouch ran\n")
    for kind in ("cli", "binary"):
        script.chmod(0o755)
        assert one(Tool(kind, None, "./check.sh --all"), tmp_path) == ("present", "./check.sh --all")
        script.chmod(0o644)
        assert one(Tool(kind, None, "./check.sh --all"), tmp_path) == ("missing", "./check.sh --all (not executable)")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "tool",
    [
        Tool("sorcery", "x"),
        Tool("", None),
        Tool("k" * 1_000_000, None),
        Tool("cli", None, "\0"),
        Tool("cli", None, "x" * 1_000_000),
        Tool("cli", None, "'" * 99_999),
        Tool("skill", "a\0b"),
        Tool("skill", "x/" * 500_000),
        Tool("skill", "\x1b[31m\n"),
        Tool("http", "http://" + "x" * 1_000_000),
        Tool("http", "http://h/\0"),
        Tool("http", "http://[" + ":" * 4000),
        Tool("mcp", "\ud800"),
        Tool("cli", None, "./\ud800"),
    ],
    ids=lambda tool: tool.kind[:8] + repr((tool.scan_target or tool.command)[:8]),
)
def test_nonsense_is_never_present_and_never_an_error(tool: Tool) -> None:
    status, detail = one(tool, "/nonexistent", PATH="/usr/bin")
    assert status in ("missing", "unknown")
    assert len(detail) < 600


def test_verdicts_come_in_the_order_of_the_tools() -> None:
    with answering() as (_, port):
        tools = [Tool("http", f"http://127.0.0.1:{port}/{n}" if n % 2 else "/", name=str(n)) for n in range(40)]
        assert [verdict.name for verdict in probe(tools, "/", {})] == [str(n) for n in range(40)]
    assert probe([], "/", {}) == []


def test_two_hundred_tools_take_no_longer_than_one() -> None:
    with contextlib.ExitStack() as stack:
        dead = [stack.enter_context(silent()) for _ in range(50)]
        _, alive = stack.enter_context(answering())
        tools = [Tool("http", f"http://127.0.0.1:{port}/") for port in dead]
        tools += [Tool("cli", None, "sh -c true") for _ in range(100)]
        tools += [Tool("http", f"http://localhost:{alive}/{n}") for n in range(50)]
        start = time.monotonic()
        found = probe(tools, "/", {"PATH": os.environ["PATH"]}, budget=0.5)
        assert time.monotonic() - start < 1.5
    assert [verdict.status for verdict in found] == ["missing"] * 50 + ["present"] * 150


def test_few_file_descriptors_are_enough() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with answering() as (_, port), contextlib.ExitStack() as stack:
        addresses = [f"127.0.{n // 200}.{n % 200 + 1}" for n in range(60)]
        dead = [stack.enter_context(silent()) for _ in range(3)]
        tools = [Tool("http", f"http://127.0.0.1:{number}") for number in dead]
        tools += [Tool("http", f"http://{address}:{port}") for address in addresses]
        used = len(os.listdir("/dev/fd")) if os.path.isdir("/dev/fd") else 64
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 12, limits[1]))
        try:
            found = probe(tools, "/", {}, budget=0.5)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert {verdict.status for verdict in found[:3]} == {"missing"}
    assert all("connection refused" in verdict.detail or verdict.status == "present" for verdict in found[3:])


def test_what_hangs_keeps_nobody_else_waiting() -> None:
    release = threading.Event()

    def hang() -> str:
        release.wait(30)
        return "late"

    looks = {n: hang if n < 20 else lambda: "seen" for n in range(200)}
    try:
        seen, reached = survey(looks, [], 1.5)
    finally:
        release.set()
    assert seen == dict.fromkeys(range(20, 200), "seen")
    assert reached == {}


def test_what_raises_is_left_out() -> None:
    def fail() -> str:
        raise RuntimeError("no")

    assert survey({1: fail, 2: lambda: "seen"}, [], 1.0) == ({2: "seen"}, {})


def test_more_endpoints_than_fit_are_taken_in_turns() -> None:
    with answering() as (_, port):
        endpoints = [Endpoint(f"127.0.{n // 200}.{n % 200 + 1}", port) for n in range(600)]
        _, reached = survey({}, endpoints, 1.0)
    assert set(reached) == set(endpoints)
    assert reached[Endpoint("127.0.0.1", port)] == ""
    assert set(reached.values()) == {"", "connection refused"}


def test_nothing_is_left_open() -> None:
    before = len(os.listdir("/dev/fd"))
    with answering() as (_, port), silent() as quiet, refusing() as shut:
        for _ in range(3):
            probe([Tool("http", f"http://127.0.0.1:{number}") for number in (port, quiet, shut)], "/", {}, budget=0.1)
    assert len(os.listdir("/dev/fd")) == before


def test_a_verdict_tells_name_status_and_detail() -> None:
    assert probe([Tool("skill", "/", name="s")], "/", {}) == [Verdict("s", "present", "/")]
