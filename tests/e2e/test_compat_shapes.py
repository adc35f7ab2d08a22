"""Other shapes of plugins in bash: tools that start agents, hooks that take sources away or keep notes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from project import Project, bash, call

import bridoon

ROOT = Path(bridoon.__file__).parent

needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")


@needs_jq
def test_a_tool_may_run_a_whole_agent_whose_session_lies_below_its_own(project: Project) -> None:
    project.tool(
        "helper",
        """
        ask="$(jq -r .prompt)"
        cd "$HARNESS_CWD"
        timeout 20 env HARNESS_SESSIONS="$HARNESS_SESSION/.harness/sessions" HARNESS_DEPTH=1 \\
          BRIDOON_SCRIPT="$PWD/child.json" "$HARNESS_ROOT/bin/harness" agent "$ask"
        """,
    )
    steps = [{"call": bash("echo child > child.txt")}, {"say": "the child's answer"}]
    project.file("child.json", json.dumps(steps))
    result = project.say(calls=[call("helper", prompt="do it")])
    assert (result.results, result.failed) == (["the child's answer"], [False])
    assert (project.dir / "child.txt").exists()
    assert len(list((result.session / ".harness" / "sessions").glob("*/session.conf"))) == 1
    assert [message.role for message in result.messages] == ["user", "assistant", "tool_result", "assistant"]


@needs_jq
def test_a_sources_hook_in_a_pack_may_take_its_pack_away(project: Project) -> None:
    project.file(".harness/plugins/deep/prompts/p.md", "only near the top")
    hook = project.drop(
        "plugins/deep/hooks.d/sources/50-gate",
        """
        (( ${HARNESS_DEPTH:-0} >= 1 )) || { cat; exit 0; }
        self="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
        jq --arg self "$self" '{sources: (.sources | map(select(. != $self)))}'
        """,
    )
    assert "only near the top" in project.say().requests[-1]["system"]
    assert "only near the top" not in project.say(env={"HARNESS_DEPTH": "1"}).requests[-1]["system"]
    hook.write_text("#!/bin/sh\necho 'not JSON at all'\n", "utf-8")
    result = project.say()
    assert result.code == 0
    assert "only near the top" in result.requests[-1]["system"]


def test_a_hook_may_add_a_line_to_the_sessions_configuration(project: Project) -> None:
    project.hook("start/10-note", 'echo "MY_NOTE=kept" >> "$HARNESS_SESSION/session.conf"; cat')
    result = project.say(record=False)
    again = project.say("again", "--session", result.final["session"], steps=[{"say": "a"}, {"say": "b"}])
    assert again.code == 0
    conf = (again.session / "session.conf").read_text("utf-8")
    assert "MY_NOTE=kept" in conf
    assert f"cwd={project.dir}" in conf


def test_a_hook_sees_every_tool_in_the_directories_of_harness_sources(project: Project) -> None:
    project.tool("mine", "true")
    project.hook(
        "start/10-tools",
        """
        IFS=':' read -ra sources <<< "$HARNESS_SOURCES"
        for source in "${sources[@]}"; do
          for file in "$source"/tools/*; do [[ -x "$file" ]] && basename "$file"; done
        done > "$HARNESS_CWD/tools"
        cat
        """,
    )
    assert project.say().code == 0
    assert {"bash", "read_file", "mine"} <= set((project.dir / "tools").read_text("utf-8").split())


def test_a_hook_without_a_first_line_is_run_by_bash(project: Project) -> None:
    path = project.hook("done/50-x", "")
    path.write_text('text="$(cat)"\n[[ -n "$text" ]] && echo \'{"output": "by bash"}\'\n', "utf-8")
    assert project.say().output == "by bash"


def test_a_renderer_that_follows_the_stream_sees_every_event_up_to_done(project: Project) -> None:
    project.command(
        "live",
        """
        source "$HARNESS_ROOT/bin/harness"
        source "$HARNESS_ROOT/plugins/core/lib/session.sh"
        _refresh_sources
        session="$(_new_session)"
        _save_message "$session" "$*"
        export HARNESS_LOG="$session/live.log"
        : > "$session/.stream"
        set -m
        agent_loop "$session" > /dev/null &
        loop=$!
        set +m
        while IFS= read -r line; do
          echo "$line"
          [[ "$line" == *'"type":"done"'* ]] && break
        done < <(tail -n +1 -f "$session/.stream" --pid=$loop)
        wait "$loop"
        """,
    )
    script = project.script([{"say": "I run it.", "call": bash("echo hi")}, {"say": "done"}])
    result = project.run("live", "go", env={"HARNESS_PROVIDER": "scripted", "BRIDOON_SCRIPT": script})
    assert result.code == 0, result
    kinds = [event["type"] for event in result.events]
    wanted = ["text", "tool_start", "stop", "tool_output", "tool_done", "text", "stop", "done"]
    assert list(dict.fromkeys(kinds)) == list(dict.fromkeys(wanted))
    assert kinds[-1] == "done"


def test_killing_the_group_of_a_background_loop_leaves_a_session_that_goes_on(project: Project) -> None:
    fifo = project.dir / "running"
    os.mkfifo(fifo)
    text = f"""
    source {ROOT}/bin/harness
    source "$HARNESS_ROOT/plugins/core/lib/session.sh"
    d=$(_new_session); _save_message "$d" hi; _refresh_sources
    agent_loop "$d"
    """
    steps = [{"call": bash(f"echo > {fifo}; sleep 60")}, {"say": "x"}]
    env = {**project.env, "HARNESS_PROVIDER": "scripted", "BRIDOON_SCRIPT": project.script(steps)}
    project.started = True
    process = subprocess.Popen(
        ["bash", "-c", text], cwd=project.dir, env=env, stderr=subprocess.DEVNULL, start_new_session=True
    )
    fifo.read_text("utf-8")
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(10) == 143
    session = project.newest_session()
    (saved,) = session.glob("messages/*-tool_result.md")
    assert "interrupted" in saved.read_text("utf-8")
    assert json.loads((session / ".stream").read_text("utf-8").splitlines()[-1])["type"] == "done"
    again = project.say("go on", "--session", session.name, steps=[{"say": "a"}, {"say": "went on"}])
    assert (again.output, again.code) == ("went on", 0)
