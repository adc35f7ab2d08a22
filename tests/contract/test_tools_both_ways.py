"""Every bundled tool answers the same, called in this interpreter and run as a program."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import bridoon
from bridoon.proc import inline
from bridoon.proc.start import command_for
from bridoon.sdk.script import Context, Result

ROOT = Path(bridoon.__file__).parent
TOOLS = ROOT / "plugins" / "core" / "tools"
NAMES = ("bash", "edit_file", "read_file", "write_file")


class Workshop(NamedTuple):
    """Two directories with the same files, one for each way."""

    inline: Path
    program: Path
    home: Path

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        for place in (self.inline, self.program):
            (place / name).write_bytes(data)
            (place / name).chmod(mode)

    def env(self, place: Path, more: Mapping[str, str]) -> dict[str, str]:
        own = {
            "HARNESS_CWD": str(place),
            "HARNESS_HOME": str(self.home),
            "HARNESS_ROOT": str(ROOT),
            "HOME": "/",
        }
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **own, **more}

    def both(self, tool: str, given: dict[str, Any], **env: str) -> Result:
        """The answer of a tool, which has to be the same both ways."""
        answer = inline.load(str(TOOLS / tool)).run(given, Context(self.env(self.inline, env)))
        result = answer if isinstance(answer, Result) else Result(answer)
        code, text, status = self.run(tool, given, env)
        assert text == result.content.replace(str(self.inline), str(self.program))
        assert code == (1 if result.failed and result.status is None else 0)
        images = status.pop("images", [])
        assert [base64.b64decode(image["data"]) for image in images] == [image.data for image in result.images]
        for key, value in (result.status or {}).items():
            assert key == "elapsed_s" or status[key] == value
        return result

    def run(self, tool: str, given: Any, env: Mapping[str, str]) -> tuple[int, str, dict[str, Any]]:
        status = self.home / "status"
        done = subprocess.run(
            [*command_for(str(TOOLS / tool), marked=True), "--exec"],
            input=json.dumps(given).encode(),
            cwd=self.program,
            env=self.env(self.program, {**env, "HARNESS_TOOL_STATUS": str(status)}),
            capture_output=True,
            timeout=20,
            check=False,
        )
        assert done.stderr == b""
        return done.returncode, done.stdout.decode(), json.loads(status.read_bytes())


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    found = Workshop(tmp_path / "inline", tmp_path / "program", tmp_path / "home")
    for place in found:
        place.mkdir()
    return found


@pytest.mark.parametrize(
    ("given", "content", "status"),
    [
        ({"command": "echo hi; echo err >&2; echo ho"}, "hi\nerr\nho\n", {"exit": 0, "timed_out": False}),
        ({"command": "printf x; exit 42"}, "x", {"exit": 42}),
        ({"command": "kill -9 $$"}, "", {"exit": 137}),
        ({"command": "cat; echo end"}, "end\n", {"exit": 0}),
        ({"command": r"printf 'caf\351 \000 \033[1m'"}, "caf\ufffd \ufffd \x1b[1m", {"exit": 0}),
        ({"command": "echo ${BASH_VERSION:+bash}", "timeout": "5"}, "bash\n", {"limit_s": 5.0}),
        ({"command": "pwd; basename $PWD >/dev/null"}, None, {"exit": 0}),
        (
            {"command": "echo started; sleep 60", "timeout": 0.3},
            "started\n",
            {"timed_out": True, "limit_s": 0.3},
        ),
        ({"command": ": " + "x" * 200_000 + "\necho long"}, "long\n", {"exit": 0}),
        ({"command": "echo $HARNESS_OUTPUT_FILE$HARNESS_TOOL_STATUS"}, "\n", {"exit": 0}),
    ],
)
def test_bash(workshop: Workshop, given: dict[str, Any], content: str | None, status: dict[str, Any]) -> None:
    result = workshop.both("bash", given)
    assert content is None or result.content == content
    assert result.failed is (status.get("exit", 0) != 0 or status.get("timed_out", False))
    assert result.status is not None
    assert status.items() <= dict(result.status).items()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "error: command is required"),
        ({"command": None}, "error: command is required"),
        ({"command": ["ls"]}, "error: command must be a string, not an array"),
        ({"command": "a\0b"}, "error: command contains a NUL character"),
        ({"command": "ls", "timeout": "abc"}, "error: timeout must be a number of seconds, not 'abc'"),
        ({"command": "ls", "timeout": -1}, "error: timeout must be a number of seconds, not -1"),
        ({"command": "ls", "timeout": True}, "error: timeout must be a number of seconds, not True"),
    ],
)
def test_bash_explains_arguments_that_it_cannot_use(workshop: Workshop, given: dict[str, Any], said: str) -> None:
    assert workshop.both("bash", given) == Result(said, failed=True)


def test_the_time_limit_of_bash_comes_from_the_environment(workshop: Workshop) -> None:
    assert workshop.both("bash", {"command": "sleep 60"}, HARNESS_TOOL_TIMEOUT="0.2").failed
    status = workshop.both("bash", {"command": "true"}, HARNESS_TOOL_TIMEOUT="nonsense").status
    assert status is not None
    assert status["limit_s"] == 120


def test_bash_in_a_directory_that_is_gone_says_so(workshop: Workshop) -> None:
    result = inline.load(str(TOOLS / "bash")).run({"command": "ls"}, Context(workshop.env(Path("/gone"), {})))
    assert result.failed
    assert "/gone does not exist" in result.content


def test_long_output_of_bash_keeps_head_and_tail_and_the_full_text_in_a_file(workshop: Workshop) -> None:
    full = workshop.home / "outputs" / "1.txt"
    env = {"HARNESS_TOOL_OUTPUT_LIMIT": "1000", "HARNESS_OUTPUT_FILE": str(full)}
    result = workshop.both("bash", {"command": "seq 1 100000"}, **env)
    assert result.content.startswith("1\n2\n")
    assert result.content.endswith("\n99999\n100000\n")
    assert str(full) in result.content
    assert len(result.content) < 1300
    assert full.read_text("utf-8").split() == [str(number) for number in range(1, 100_001)]


def test_what_bash_leaves_in_the_background_does_not_hold_it_up(workshop: Workshop) -> None:
    context = Context(workshop.env(workshop.inline, {}))
    result = inline.load(str(TOOLS / "bash")).run({"command": "sleep 300 & echo $!"}, context)
    os.kill(int(result.content), 9)
    assert result.status["background"] == 1
    assert result.status["elapsed_s"] < 5
    assert not result.failed


def test_read_file(workshop: Workshop) -> None:
    workshop.file("a", b"#!/bin/sh\necho hi\n\xff\n")
    assert workshop.both("read_file", {"path": "a"}).content.startswith("1#KX:#!/bin/sh\n2#QR:echo hi\n")
    assert workshop.both("read_file", {"path": "a", "offset": 2, "limit": 1}).content == "2#QR:echo hi"
    assert workshop.both("read_file", {"path": "none"}).content == f"error: file not found: {workshop.inline}/none"
    assert workshop.both("read_file", {"path": 5}).failed
    assert "file has 3 lines (limit: 2)" in workshop.both("read_file", {"path": "a"}, HARNESS_READ_LIMIT="2").content


def test_read_file_shows_a_picture(workshop: Workshop) -> None:
    workshop.file("a.gif", b"GIF89a\1\0\1\0" + b"\0" * 30)
    result = workshop.both("read_file", {"path": "a.gif"})
    assert result.images[0].mime_type == "image/gif"


def test_write_file(workshop: Workshop) -> None:
    result = workshop.both("write_file", {"path": "new/a", "content": "x\n\n"})
    assert result.content == f"wrote 3 bytes to {workshop.inline}/new/a"
    assert (workshop.program / "new" / "a").read_bytes() == b"x\n\n"
    assert workshop.both("write_file", {"content": "x"}).content == "error: path is required"


def test_edit_file(workshop: Workshop) -> None:
    workshop.file("a", b"one\ntwo\n", 0o755)
    edits = [{"type": "append_file", "content": "three"}, {"at": "1#ZZ", "content": "x"}]
    assert workshop.both("edit_file", {"path": "a", "edits": edits}).content.startswith("MISMATCH at line 1")
    result = workshop.both("edit_file", {"path": "a", "edits": edits[:1]})
    assert result.content.startswith(f"edited {workshop.inline}/a:\n  - appended to end of file\n\n1#")
    assert (workshop.program / "a").read_bytes() == b"one\ntwo\nthree\n"
    assert os.access(workshop.program / "a", os.X_OK)
    assert workshop.both("edit_file", {"path": "a", "edits": "x"}).failed


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_tells_its_schema_and_describes_itself(name: str) -> None:
    path = str(TOOLS / name)
    told = [
        subprocess.run([*command_for(path, marked=True), flag], capture_output=True, timeout=20, check=True).stdout
        for flag in ("--schema", "--describe")
    ]
    schema = json.loads(told[0])
    assert schema == dict(inline.load(path).schema)
    assert schema["name"] == name
    assert set(schema["input_schema"]["required"]) <= set(schema["input_schema"]["properties"])
    line = told[1].decode()
    assert line.strip().endswith(".")
    assert line.count("\n") == 1
    assert os.access(path, os.X_OK)


def test_the_schemas_stay_small() -> None:
    specs = [dict(inline.load(str(TOOLS / name)).schema) for name in NAMES]
    assert len(json.dumps([{key: spec[key] for key in spec if key != "annotations"} for spec in specs])) < 2600


def test_a_tool_runs_as_the_program_that_it_is(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HARNESS_CWD": str(tmp_path),
    }
    env.pop("HARNESS_TOOL_STATUS", None)
    env.pop("HARNESS_ROOT", None)
    command = "echo out; echo err >&2; echo ${PATH%%:*}; exit 3"
    done = subprocess.run(
        [TOOLS / "bash", "--exec"], input=json.dumps({"command": command}).encode(),
        env=env, capture_output=True, timeout=20, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, f"out\nerr\n{ROOT}/bin\n".encode(), b"")
