"""Killed, stopped or interrupted at any point, a session goes on with a history that both APIs accept."""

from __future__ import annotations

import os
import select
import signal
import time
from pathlib import Path

import pytest
from fakes.api_server import Api, Said, api_server, call, cut
from processes import alive
from project import Project

PATIENCE = 15.0

STAGES = ["start", "assemble", "send", "receive", "tool_exec", "tool_done", "done"]
"""Stages in which a hook stands still while the signal comes."""

PLACES = [*STAGES, "tool", "gate of the second call", "stream", "sub-agent", "before the second request"]

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


def urls(api: Api, protocol: str) -> dict[str, str]:
    """The environment for one of the bundled protocols, pointed at the fake."""
    if protocol == "anthropic":
        return {
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_API_URL": api.anthropic_url,
            "HARNESS_PROVIDER": "anthropic",
            "HARNESS_MODEL": "m",
        }
    return {
        "OPENAI_API_KEY": "k",
        "OPENAI_API_URL": api.chat_url,
        "HARNESS_PROVIDER": "openai",
        "HARNESS_MODEL": "m",
    }


def wait_for(path: Path, process_alive: object) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} never came"
        assert process_alive is None or process_alive() is None, "hs ended before it got there"  # type: ignore[operator]
        select.select([], [], [], 0.01)


def stand_still(project: Project, place: str, api: Api) -> None:
    """Arrange that the run stands still at a place, after touching `reached`."""
    still = 'touch "$BRIDOON_TEST_REACHED"; sleep 300'
    command = "echo started >> ran; echo finished >> ran"
    calls = [call("bash", command=command), call("bash", command="echo second")]
    if place in STAGES:
        body = f'p=$(cat); [[ -e go-on ]] || {{ {still}; }}; echo "$p"'
        project.hook(f"{place}/{'05' if place == 'tool_exec' else '95'}-still", body)
    if place == "gate of the second call":
        project.hook(
            "tool_exec/05-still",
            f'p=$(cat); [[ "$p" == *\'"command":"echo second"}},"call_id"\'* && ! -e go-on ]] && {{ {still}; }}; echo "$p"',
        )
    if place == "tool":
        calls = [
            call("bash", command=f"echo started >> ran; {still}; echo finished >> ran"),
            call("bash", command="echo second"),
        ]
    if place == "sub-agent":
        calls = [call("agent", prompt="work")]
        api.say("delegating", calls=calls)
        api.say("", calls=[call("bash", command=still)])
        return
    if place == "stream":
        api.then(cut(Said("many words that people have seen, one after the other", ()), 4, hang=True))
        return
    if place == "before the second request":
        project.hook(
            "assemble/95-still",
            f'p=$(cat); [[ "$p" == *tool_result* || "$p" == *\'"role":"tool"\'* ]] && [[ ! -e go-on ]] && {{ {still}; }}; echo "$p"',
        )
    api.say("I'll look", calls=calls)
    api.say("all done")


@pytest.mark.parametrize("signum", SIGNALS, ids=lambda s: s.name)
@pytest.mark.parametrize("place", PLACES)
def test_a_session_goes_on_after_a_signal_at(project: Project, place: str, signum: signal.Signals) -> None:
    protocol = "anthropic" if (PLACES.index(place) + SIGNALS.index(signum)) % 2 else "openai"
    reached = project.dir.parent / "reached"
    with api_server() as api:
        stand_still(project, place, api)
        env = {**urls(api, protocol), "BRIDOON_TEST_REACHED": str(reached)}
        process = project.start("--json", "look around", env=env)
        if place == "stream":
            shown = b""
            assert process.stdout is not None
            while b"many" not in shown:
                shown += os.read(process.stdout.fileno(), 65536)
        else:
            wait_for(reached, process.poll)
        process.send_signal(signum)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == (-9 if signum == signal.SIGKILL else 128 + signum)
        api.drop_queue()
        (project.dir / "go-on").touch()
        session = project.newest_session()
        api.say("fine")
        result = project.run("--json", "--session", session.name, "go on", env=env)
        assert api.problems == []
        assert result.code == 0, result
        assert result.output == "fine"
        ran = (project.dir / "ran").read_text().split() if (project.dir / "ran").exists() else []
        assert ran.count("started") <= 1
        if place == "stream":
            assert any("many" in message.text for message in result.messages)


def test_a_session_that_is_being_written_is_busy_for_others(project: Project) -> None:
    project.tool("wait", "touch reached; while [ ! -e go-on ]; do sleep 0.05; done")
    script = project.script([{"calls": [{"name": "wait", "input": {}}]}, {"say": "done"}])
    process = project.start("-q", "-p", "scripted", "hello", env={"BRIDOON_SCRIPT": script})
    wait_for(project.dir / "reached", process.poll)
    ident = project.newest_session().name
    refused = project.run("-q", "--session", ident, "me too", env={"BRIDOON_SCRIPT": script})
    assert refused.code == 1
    assert f"session {ident} is busy" in refused.stderr
    (project.dir / "go-on").touch()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_after_sigkill_the_next_start_ends_what_was_left(project: Project) -> None:
    project.tool("spawn", "setsid sleep 300 & echo $! > left; touch reached; sleep 300")
    script = project.script([{"calls": [{"name": "spawn", "input": {}}]}])
    process = project.start("-q", "-p", "scripted", "hello", env={"BRIDOON_SCRIPT": script})
    wait_for(project.dir / "reached", process.poll)
    process.kill()
    process.communicate(timeout=PATIENCE)
    left = int((project.dir / "left").read_text())
    assert alive(left)
    project.say(answer="hello again")
    end = time.monotonic() + 3
    while alive(left) and time.monotonic() < end:
        select.select([], [], [], 0.02)
    assert not alive(left)


def test_nothing_of_a_run_lives_on_when_it_ends(project: Project) -> None:
    result = project.say(
        calls=[
            {
                "name": "bash",
                "input": {"command": "setsid sleep 300 > /dev/null 2>&1 & echo $! > left; echo ok"},
            }
        ]
    )
    assert result.results == ["ok"]
    left = int((project.dir / "left").read_text())
    assert not Path(f"/proc/{left}").exists()


def test_a_background_child_that_holds_the_pipe_does_not_block_the_run(project: Project) -> None:
    result = project.say(calls=[{"name": "bash", "input": {"command": "sleep 300 & echo started"}}], timeout=10)
    assert result.results[0].splitlines()[0] == "started"


def test_a_closed_standard_output_ends_a_run_quietly(project: Project) -> None:
    script = project.script([{"say": "word " * 50_000}])
    process = project.start("--json", "-p", "scripted", "hello", env={"BRIDOON_SCRIPT": script})
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(PATIENCE) in (0, 141)
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


def test_background_keep_leaves_what_finished_calls_left(project: Project) -> None:
    project.settings(background="keep")
    project.say(calls=[{"name": "bash", "input": {"command": "sleep 300 > /dev/null 2>&1 & echo $! > left"}}])
    left = int((project.dir / "left").read_text())
    assert Path(f"/proc/{left}").exists()
    os.kill(left, signal.SIGKILL)
