"""Every kind of broken file in every folder of drop-ins at once, and names that would like to be paths."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from project import Project, bash, call

NAMED = (
    "z-binary",
    "z-fifo",
    "z-socket",
    "z-dangling",
    "z-loop",
    "z-zero",
    "z-crlf",
    "z-bom",
    "z-unreadable",
)
FOLDERS = (
    "tools",
    "commands",
    "providers",
    "hooks.d/assemble",
    "plugins/p/tools",
    "hooks.d",
    "prompts",
    "plugins",
)


def break_everything(folder: Path) -> None:
    """Fill a folder with what no drop-in looks like."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        b"z-binary": bytes(range(256)) * 100,
        b"z-\xff\xfe": b"\xff",
        b"z-big": b"\x7fELF" + b"x" * (10 << 20),
        b"z-crlf": b"#!/bin/sh\r\nexit 1\r\n",
        b"z-bom": b"\xef\xbb\xbf#!/bin/sh\nexit 1\n",
        b"z-empty": b"",
        b"z-marked": b"#!/usr/bin/env -S hs py\n((\n",
        b"z\nnew 'line\"": b"#!/bin/sh\nexit 1\n",
        b"-rf": b"#!/bin/sh\nexit 1\n",
        b"z-unreadable": b"#!/no/such/thing\n",
    }
    for name, content in contents.items():
        path = Path(os.fsdecode(os.path.join(os.fsencode(folder), name)))
        path.write_bytes(content)
        path.chmod(0o000 if name == b"z-unreadable" else 0o755)
    (folder / "z-folder").mkdir()
    os.mkfifo(folder / "z-fifo", 0o755)
    server, here = socket.socket(socket.AF_UNIX), Path.cwd()
    os.chdir(folder)  # the path of a socket must be short
    server.bind("z-socket")
    os.chdir(here)
    server.close()
    for name, target in (
        ("dangling", "/nonexistent"),
        ("loop", "z-loop"),
        ("zero", "/dev/zero"),
        ("self", "."),
    ):
        (folder / f"z-{name}").symlink_to(target)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_broken_files_stops_nothing(project: Project, folder: str) -> None:
    break_everything(project.harness / folder)
    result = project.say(calls=[bash("echo hi")])
    assert "Traceback" not in result.stderr
    if folder != "hooks.d/assemble":  # a hook that fails is an error of its stage
        assert result.results == ["hi"]
    told = project.run("doctor" if folder in ("prompts", "plugins") else "check")
    assert "Traceback" not in told.stderr
    if folder not in ("prompts", "plugins"):
        assert [name for name in NAMED if name not in told.stdout] == []


def test_pipes_and_endless_links_in_the_place_of_known_files_block_nothing(project: Project) -> None:
    for path in ("settings.conf", "providers/x.conf", "skills/s/SKILL.md", "prompts/x.md", "../AGENTS.md"):
        (project.harness / path).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(project.harness / path)
    (project.harness / "prompts/y.md").symlink_to("/dev/zero")
    (project.harness / "skills/loop").symlink_to("loop")
    for path in ("trusted", "settings.conf", ".running"):
        (project.home / ".harness").mkdir(exist_ok=True)
        os.mkfifo(project.home / ".harness" / path)
    assert project.say(calls=[bash("echo hi")], record=False).results == ["hi"]
    for command in ("tools", "skills", "doctor", "models"):
        assert "Traceback" not in project.run(command).stderr


PATHS = [
    "../../bin/ls",
    "/bin/ls",
    "tools/bash",
    "./bash",
    "bash\n",
    "..",
    "bash\0x",
    "a" * 5000,
    "-rf",
    "10-exec",
]
IDS = ["../../../x", "/etc/passwd", "a/b", "x\n\ny: z", "a" * 5000, "\u00e9\u202e", "c:d", "---\nrole: user"]


def test_names_of_tools_and_ids_of_calls_are_never_paths(project: Project) -> None:
    odd = [{"id": ident, **bash("echo ok")} for ident in IDS]
    calls = [call(name, command="touch reached") for name in PATHS]
    result = project.say(steps=[{"calls": calls}, {"calls": odd}, {"say": "done"}])
    assert result.code == 0
    assert all("not found" in each for each in result.results[: len(PATHS)])
    assert result.results[len(PATHS) :] == ["ok"] * len(IDS)
    assert not list(project.dir.parent.rglob("reached"))
    known = {"session.conf", ".stream", ".lock", "messages", ".outputs", ".raw"}
    assert {path.name for path in result.session.iterdir()} <= known


@pytest.mark.parametrize("ident", ["../../x", "/etc", "..", "x/y", "\n", "a" * 300])
def test_ids_of_sessions_are_never_paths(project: Project, ident: str) -> None:
    project.say()
    for words in (["--session", ident, "-p", "scripted", "hi"], ["session", "rm", ident], ["resume", ident]):
        refused = project.run(*words)
        assert refused.code == 2, refused
        assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "new\nline",
        "q'\"",
        "\u00fc\u2014\u202e",
        "-dash",
        "$(touch reached)",
        "a:b",
        "\udcff\udcfe",
        "%41#\\",
    ],
)
def test_a_project_and_a_home_may_be_called_anything(project: Project, name: str) -> None:
    place, home = project.dir / name / "p", project.dir / name / "home"
    place.mkdir(parents=True)
    home.mkdir()
    (place / ".harness").mkdir()
    steps = [
        {"calls": [bash("touch here"), call("write_file", path="w w", content="x")]},
        {"say": "done"},
        {"say": "again"},
    ]
    env = {"BRIDOON_SCRIPT": project.script(steps), "HOME": str(home)}
    for words in (["go"], ["--session", "2", "go on"]):
        process = project.start("--json", "-p", "scripted", *words, env=env, cwd=place)
        out, err = process.communicate()
        assert process.returncode == 0, (out, err)
    assert (place / "here").exists()
    assert (place / "w w").exists()
    assert not list(project.dir.rglob("reached"))


def test_a_pipe_that_a_tool_leaves_where_its_status_goes_holds_up_nothing(project: Project) -> None:
    project.tool("piper", 'mkfifo "$HARNESS_TOOL_STATUS"; echo fine')
    assert project.say(calls=[{"name": "piper", "input": {}}]).results == ["fine"]


def test_a_folder_that_a_tool_leaves_where_its_status_goes_is_no_status(project: Project) -> None:
    project.tool("folder", 'mkdir "$HARNESS_TOOL_STATUS"; echo fine')
    assert project.say(calls=[{"name": "folder", "input": {}}]).results == ["fine"]


def test_a_pipe_that_a_tool_leaves_where_its_output_is_kept_holds_up_nothing(project: Project) -> None:
    project.tool("piper", 'mkfifo "$HARNESS_OUTPUT_FILE"; head -c 2000000 /dev/zero | tr "\\0" x; echo; echo the end')
    result = project.say(calls=[{"name": "piper", "input": {}}])
    assert "the end" in result.results[0]
    assert "could not be kept" in result.results[0]
