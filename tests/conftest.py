"""Fixtures: `project`, which runs the installed `hs`; `ledger`, which runs `harness-cli`; `no_strays`, on for every test."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ledgers import Place
from project import MARK, Project

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Started in the background of a shell: what we start would ignore Ctrl-C as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # started by nohup

GRACE = 3.0
"""Seconds within which everything that a run started must be gone."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(*ids): proves these rows of tests/requirements.py")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project directory with an empty `.harness`, a home of its own and a clean environment."""
    above = [str(place / ".harness") for place in tmp_path.parents if (place / ".harness").exists()]
    assert not above, f"{above} would take part in this test: move it away, or give pytest another --basetemp"
    return Project(tmp_path)


@pytest.fixture
def bare(tmp_path: Path) -> Place:
    """A repository without a ledger, in which `harness-cli` is run."""
    return Place(tmp_path)


@pytest.fixture
def ledger(bare: Place) -> Place:
    """A repository with a fresh ledger."""
    assert bare.run("init").code == 0
    return bare


@pytest.fixture
def ledger6(bare: Place) -> Place:
    """A repository with an empty ledger of schema 6, as the program that was there first makes it."""
    bare.make(6)
    return bare


@pytest.fixture(autouse=True)
def no_strays(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a process behind: a child of ours, or one that carries its project's mark."""
    before = _children()
    yield
    project = request.node.funcargs.get("project")
    mark = f"{MARK}={project.mark}".encode() if isinstance(project, Project) and project.started else b""
    end = time.monotonic() + GRACE
    left = _strays(before, mark)
    while left and time.monotonic() < end:
        time.sleep(0.02)
        left = _strays(before, mark)
    told = {pid: _command(pid) for pid in left}
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, 9)
    if told:
        pytest.fail(f"processes left behind: {told}")


def _strays(before: set[int], mark: bytes) -> set[int]:
    return (_children() - before) | (_marked(mark) if mark else set())


def _children() -> set[int]:
    """Living children of this process, whatever thread started them."""
    found = set()
    for task in os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else ():
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in Path(f"/proc/self/task/{task}/children").read_text("ascii").split()}
    return {pid for pid in found if _state(pid) not in ("Z", "")}


def _marked(mark: bytes) -> set[int]:
    found = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0") and _state(int(name)) != "Z":
                    found.add(int(name))
    return found


def _state(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    return ""


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return "?"
