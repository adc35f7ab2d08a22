"""Sessions that were killed, edited by hand, or written to a disk that is full: each goes on with a valid history."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.api_server import Api, api_server, call
from project import Project, bash

from bridoon.model.message import Message, Text
from bridoon.session import store

PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


def environment(api: Api) -> dict[str, str]:
    """Both protocols, pointed at the fake."""
    keys = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_API_URL": api.anthropic_url}
    return {**keys, "OPENAI_API_KEY": "k", "OPENAI_API_URL": api.chat_url}


def goes_on(project: Project, api: Api, session: str, env: dict[str, str] | None = None) -> None:
    """Continue a session over both protocols; the fake checks every request strictly."""
    for protocol in ("anthropic", "openai"):
        api.say("fine")
        words = ("--json", "-p", protocol, "-m", "m", "--session", session, "go on")
        result = project.run(*words, env={**environment(api), **(env or {})})
        assert api.problems == []
        assert (result.code, result.output) == (0, "fine"), result


@pytest.mark.parametrize("seed", range(12))
def test_a_session_goes_on_after_an_end_at_any_moment(project: Project, seed: int) -> None:
    chance = random.Random(seed)
    (project.dir / "p.png").write_bytes(PICTURE)
    project.tool("alone", "echo alone >> ran; sleep 0.02")
    with api_server() as api:
        for turn in range(5):
            work = [call("bash", command=f"echo {turn}{n} >> ran; sleep 0.0{chance.randrange(9)}") for n in (1, 2)]
            more = [call("read_file", path="p.png"), call("alone"), call("agent", prompt="go")][: 1 + turn % 3]
            api.say(f"turn {turn}", calls=[*work, *more])
        env = {
            **environment(api),
            "HARNESS_PROVIDER": "anthropic" if seed % 2 else "openai",
            "HARNESS_MODEL": "m",
        }
        process = project.start("--json", "go", env=env)
        select.select([], [], [], chance.uniform(0.12, 0.8))
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        _, err = process.communicate(timeout=10)
        assert b"Traceback" not in err
        api.drop_queue()
        if project.sessions.exists():
            goes_on(project, api, project.newest_session().name)
    ran = (project.dir / "ran").read_text().split() if (project.dir / "ran").exists() else []
    assert len([word for word in ran if word != "alone"]) == len({word for word in ran if word != "alone"})


def write(name: str, text: str) -> Callable[[Path], object]:
    """A change of one file in a session's folder."""

    def change(session: Path) -> None:
        (session / name).parent.mkdir(exist_ok=True)
        (session / name).write_bytes(text.encode("utf-8", "surrogateescape"))

    return change


def pipe(name: str) -> Callable[[Path], object]:
    """A pipe in the place of a file, from which nobody ever reads."""

    def change(session: Path) -> None:
        (session / name).unlink(missing_ok=True)
        (session / name).parent.mkdir(exist_ok=True)
        os.mkfifo(session / name)

    return change


DEEP, LONG = "[" * 100_000, "9" * 5000
CHANGES: dict[str, Callable[[Path], object]] = {
    "a result is gone": lambda s: (s / "messages/0003-tool_result.md").unlink(),
    "a call is gone": lambda s: (s / "messages/0002-assistant.md").unlink(),
    "everything is gone": lambda s: [path.unlink() for path in (s / "messages").iterdir()],
    "a message is garbage": write("messages/0002-assistant.md", "\udcff\0" * 99),
    "a message is a pipe": pipe("messages/0005-user.md"),
    "a message is a folder": lambda s: (s / "messages/0005-user.md").mkdir(),
    "a message never ends": lambda s: (s / "messages/0005-user.md").symlink_to("/dev/zero"),
    "a message leads in a circle": lambda s: (s / "messages/0005-user.md").symlink_to("0005-user.md"),
    "a number is huge": write(f"messages/{LONG[:200]}-user.md", "hello"),
    "a number is there twice": write("messages/0002-user.md", "hello"),
    "numbers in headers are huge": write("messages/0005-user.md", f"---\nrole: user\nseq: {LONG}\ncompaction: {LONG}\n---\nx\n"),
    "arguments are nested deeply": write("messages/0002-assistant.md", f"---\nstop: tool_calls\ncall_errors: {DEEP}\n---\n\n```tool_call id=x name=bash\n{DEEP}\n```\n"),
    "events are nested deeply": write(".stream", DEEP + "\n"),
    "events are a pipe": pipe(".stream"),
    "the lock is a pipe": pipe(".lock"),
    "the exact form is a pipe": pipe(".raw/0002.json"),
    "the exact form is nested deeply": write(".raw/0002.json", DEEP),
    "a draft is a folder": lambda s: (s / ".tmp-99999999-1").mkdir(),
    "the configuration is gone": lambda s: (s / "session.conf").unlink(),
    "a picture leads out": write("messages/0001-user.md", "x\n\n```image mime=image/png file=../../../../etc/passwd\n```\n"),
}  # fmt: skip


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """One fake for all changes."""
    with api_server() as fake:
        yield fake


@pytest.mark.parametrize("what", CHANGES)
def test_a_session_that_was_changed_by_hand_goes_on_when(project: Project, api: Api, what: str) -> None:
    session = project.say(calls=[bash("echo hi")], record=False).session
    CHANGES[what](session)
    goes_on(project, api, session.name)


def test_what_cannot_be_a_session_is_said_in_a_sentence(project: Project) -> None:
    session = project.say(record=False).session
    for change in (pipe("session.conf"), lambda s: (s / "messages").rename(s / "m"), write("messages", "x")):
        change(session)
        refused = project.run("--json", "-p", "scripted", "--session", session.name, "go")
        assert "Traceback" not in refused.stderr
        assert "Traceback" not in project.run("session", "list").stderr


@pytest.mark.parametrize("limit", [0, 100, 600, 3000])
def test_a_disk_that_takes_no_more_costs_nothing_that_was_saved(project: Project, limit: int) -> None:
    script = project.script(
        [{"say": "first"}, {"calls": [bash("echo " + "x" * 300)]}, {"say": "done " * 200}, {"say": "x"}]
    )
    session = project.run("--json", "-p", "scripted", "hi", env={"BRIDOON_SCRIPT": script}).session
    before = sorted(path.name for path in (session / "messages").iterdir())
    full = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); os.execvp(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-c", full, "hs", "--json", "-p", "scripted", "--session", session.name, "go on"]
    done = subprocess.run(
        words,
        cwd=project.dir,
        env={
            **project.env,
            "BRIDOON_SCRIPT": script,
            "PYTHONDONTWRITEBYTECODE": "1",
        },  # a .pyc cut short stays
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert before == sorted(path.name for path in (session / "messages").iterdir())[: len(before)]
    with api_server() as fake:
        goes_on(project, fake, session.name)


def test_a_pipe_that_a_tool_puts_among_the_messages_does_not_hold_up_the_run(project: Project) -> None:
    calls = [bash('mkfifo "$HARNESS_SESSION/messages/0009-user.md"'), bash("echo after")]
    assert project.say(steps=[{"calls": calls[:1]}, {"calls": calls[1:]}, {"say": "done"}], timeout=10).output == "done"


def test_five_thousand_messages_are_read_in_a_moment(tmp_path: Path) -> None:
    session = store.create(str(tmp_path), cwd="/")
    for number in range(1, 5001):
        role = "user" if number % 2 else "assistant"
        (Path(session.dir) / f"messages/{number:04d}-{role}.md").write_text(f"---\nrole: {role}\n---\nwords\n", "utf-8")
    again = store.open_session(session.dir)
    assert len(again.view()) == 5000
    assert again.append(Message("user", (Text("more"),))).seq == 5001
