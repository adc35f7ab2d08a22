"""The permission gate as a hook, run both ways; files that survive what goes wrong; line hashes in awk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bridoon
from bridoon.loop.standalone import run_of
from bridoon.proc import inline
from bridoon.proc.start import command_for
from bridoon.sdk.script import Context
from bridoon.session import store
from bridoon.toolkit.hashline import show

ROOT = Path(bridoon.__file__).parent
GATE = str(ROOT / "plugins" / "permissions" / "hooks.d" / "tool_exec" / "04-permissions")
TOOLS = ROOT / "plugins" / "core" / "tools"
AWK = ROOT / "plugins" / "core" / "lib" / "hashline.awk"


class Place:
    """A project with settings, a home, and a session in it."""

    def __init__(self, base: Path) -> None:
        self.dir, self.home = base / "project", base / "home" / ".harness"
        (self.dir / ".harness").mkdir(parents=True)
        self.home.mkdir(parents=True)
        self.session = store.create(str(base / "sessions"), cwd=str(self.dir))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / "home"),
            "HARNESS_HOME": str(self.home),
            "HARNESS_ROOT": str(ROOT),
            "HARNESS_CWD": str(self.dir),
            "HARNESS_SESSION": self.session.dir,
            "HARNESS_STAGE": "tool_exec",
            "HARNESS_TRUST": "1",
        }

    def both(self, name: str, given: dict[str, Any], mode: str = "") -> str:
        """`pass`, or the reason of the refusal, which has to be the same inline and as a program."""
        call = {"id": "c1", "name": name, "input": given}
        payload = {**call, "tool_calls": [call, {"id": "c2", "name": "x", "input": {}}]}
        env = self.env | ({"HARNESS_PERMISSIONS": mode} if mode else {})
        done = subprocess.run(
            command_for(GATE, marked=True), input=json.dumps(payload).encode(), env=env, cwd=self.dir,
            capture_output=True, timeout=20, check=False, start_new_session=True,
        )  # fmt: skip
        reason, answer = "pass", None
        try:
            answer = inline.load(GATE).run(payload, self.context(env))
        except SystemExit as refusal:
            reason = str(refusal.code)
        assert (done.returncode, done.stderr.decode().rstrip("\n")) == ((0, "") if answer else (1, reason))
        assert answer == (json.loads(done.stdout) if done.stdout else None)
        assert answer in (None, payload)
        return reason

    def context(self, env: dict[str, str]) -> Context:
        return Context(env, run=run_of(Context(env)))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_gate_passes_asks_and_refuses_the_same_both_ways(place: Place) -> None:
    (place.home / "settings.conf").write_text("deny bash(rm *)\nallow bash(git status*)\n", "utf-8")
    assert place.both("bash", {"command": "ls"}) == "pass"
    assert f"({place.home}/settings.conf:1)" in place.both("bash", {"command": "ls; rm x"})
    assert place.both("bash", {"command": "git status"}, "read-only") == "pass"
    assert "nobody can be asked" in place.both("bash", {"command": "ls"}, "ask")
    assert place.both("read_file", {"path": "x"}, "read-only") == "pass"
    assert "read-only" in place.both("write_file", {"path": "x", "content": ""}, "read-only")


def test_only_a_bundled_tool_is_believed_when_it_says_that_it_just_reads(place: Place) -> None:
    tool = place.dir / ".harness" / "tools" / "peek"
    tool.parent.mkdir()
    schema = {"name": "peek", "input_schema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    tool.write_text(f"#!/bin/sh\necho '{json.dumps(schema)}'\n", "utf-8")
    tool.chmod(0o755)
    assert "peek can change things" in place.both("peek", {}, "read-only")
    assert "read-only" in place.both("no-such-tool", {}, "read-only")


def test_a_project_may_tighten_the_mode_but_not_loosen_it(place: Place) -> None:
    settings = place.dir / ".harness" / "settings.conf"
    settings.write_text("permissions=read-only\n", "utf-8")
    assert "read-only" in place.both("bash", {"command": "ls"})
    (place.home / "settings.conf").write_text("permissions=read-only\n", "utf-8")
    settings.write_text("permissions=auto\n", "utf-8")
    assert "read-only" in place.both("bash", {"command": "ls"})


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_a_file_survives_a_disk_that_is_full(tmp_path: Path, tool: str) -> None:
    path = tmp_path / "a"
    path.write_text("precious\n", "utf-8")
    big = "x" * 2_000_000
    given = {"path": str(path), "content": big, "edits": [{"type": "append_file", "content": big}]}
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 1000; exec "$@"', "", *command_for(str(TOOLS / tool), marked=True), "--exec"],
        input=json.dumps(given).encode(), capture_output=True, timeout=20, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.decode() == f"error: file too large: {path}"
    assert path.read_text("utf-8") == "precious\n"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_survives_a_missing_permission(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("precious\n", "utf-8")
    for mode, folder_mode in [(0o444, 0o755), (0o644, 0o555)]:
        path.chmod(mode)
        tmp_path.chmod(folder_mode)
        answer = inline.load(str(TOOLS / "write_file")).run({"path": str(path), "content": "x"}, Context({}))
        tmp_path.chmod(0o755)
        assert answer.content.startswith("error: permission denied")
        assert path.read_text("utf-8") == "precious\n"


@pytest.mark.parametrize("awk", ["awk", "mawk", "gawk", "original-awk", "busybox awk"])
def test_awk_gives_the_same_anchors(tmp_path: Path, awk: str) -> None:
    words = awk.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    lines = ["#!/bin/sh", "echo hi", "  }", "", "hello é ü", "blanks \t ", "cr\r", "日本", "%s\\n", "}" * 200]
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")

    def run(*options: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*words, *options, "-f", str(AWK), str(tmp_path / "a")],
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, capture_output=True, timeout=20, check=False,
        )  # fmt: skip

    expected = [show(number, line.encode()) for number, line in enumerate(lines, 1)]
    assert run().stdout.decode().split("\n")[:-1] == expected
    assert run("-v", "start_line=2", "-v", "max_lines=2").stdout.decode().split("\n")[:-1] == expected[1:3]
    good = run("-v", "mode=validate", "-v", "anchors=1:KX,2:QR")
    assert (good.returncode, good.stdout) == (0, b"OK 1 KX\nOK 2 QR\n")
    bad = run("-v", "mode=context", "-v", "anchors=2:ZZ")
    assert bad.returncode == 1
    assert bad.stdout.decode().split("\n")[:5] == [
        "MISMATCH at line 2: expected ZZ, got QR",
        "    1#KX:#!/bin/sh",
        ">>> 2#QR:echo hi",
        "    3#XR:  }",
        f"    {expected[3]}",
    ]


def test_the_tools_need_nothing_slow_to_tell_their_schemas() -> None:
    code = (
        "import sys; from bridoon.proc import inline\n"
        f"for name in ('bash', 'read_file', 'write_file', 'edit_file'):\n"
        f"    inline.load({str(TOOLS)!r} + '/' + name)\n"
        "print(*sorted(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=20, check=True).stdout.decode()
    slow = {
        "subprocess",
        "hashlib",
        "tempfile",
        "dataclasses",
        "inspect",
        "pathlib",
        "shlex",
        "fnmatch",
        "asyncio",
    }
    assert not slow & set(loaded.split())
    assert not {name for name in loaded.split() if name.startswith("bridoon.toolkit.")} - {"bridoon.toolkit.outcome"}
