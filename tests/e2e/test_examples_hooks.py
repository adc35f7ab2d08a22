"""The hooks in `examples/`: the gate that asks at the terminal, the one in Python, and the observers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from fakes.terminal import AtTerminal
from project import Project, bash, call, hs
from requirements import requirement

EXAMPLES = Path(__file__).parents[2] / "examples"

needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")


def copy(project: Project, path: str) -> None:
    target = project.harness / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(EXAMPLES / path, target)


def _at_terminal(project: Project, typed: str) -> AtTerminal:
    copy(project, "hooks.d/tool_exec/05-confirm")
    script = project.script([{"call": bash("touch ran")}, {"say": "done"}])
    project.started = True
    env = {**project.env, "BRIDOON_SCRIPT": script}
    terminal = AtTerminal([hs(), "-p", "scripted", "go"], env, project.dir)
    terminal.wait_for("run: touch ran ? [y/N]")
    terminal.type(typed)
    return terminal


@needs_jq
@requirement("hooks:confirm")
def test_confirm_asks_at_the_terminal_and_yes_lets_the_command_run(project: Project) -> None:
    with _at_terminal(project, "y\n") as terminal:
        assert terminal.wait() == 0
    assert (project.dir / "ran").exists()


@needs_jq
@requirement("hooks:confirm", "hooks:gate-refusal")
def test_confirm_refuses_on_no_and_the_run_goes_on_with_the_refusal_recorded(project: Project) -> None:
    with _at_terminal(project, "n\n") as terminal:
        assert terminal.wait() == 0
    assert not (project.dir / "ran").exists()
    (saved,) = project.newest_session().glob("messages/*-tool_result.md")
    assert "05-confirm" in saved.read_text("utf-8")


@needs_jq
@requirement("hooks:confirm")
def test_confirm_without_a_terminal_refuses_bash_and_lets_other_tools_pass(project: Project) -> None:
    copy(project, "hooks.d/tool_exec/05-confirm")
    project.file("a.txt", "content")
    result = project.say(calls=[bash("touch ran"), call("read_file", path="a.txt")])
    assert result.failed == [True, False]
    assert not (project.dir / "ran").exists()
    assert (result.output, result.code) == ("done", 0)


@needs_jq
@requirement("hooks:cost")
def test_cost_logs_the_tokens_of_each_response(project: Project) -> None:
    copy(project, "hooks.d/receive/20-cost")
    usage = {"input_tokens": 120, "output_tokens": 34}
    result = project.say(steps=[{"call": bash("true"), "usage": usage}, {"say": "done", "usage": usage}])
    lines = (result.session / "cost.log").read_text("utf-8").splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r"\S+ in=120 out=34", line) for line in lines), lines
    assert result.output == "done"


def test_keep_main_refuses_a_push_by_force_and_a_write_below_git(project: Project) -> None:
    copy(project, "hooks.d/tool_exec/04-keep-main")
    result = project.say(
        calls=[
            bash("git push --force origin main"),
            call("write_file", path=".git/config", content="x"),
            bash("echo fine"),
        ]
    )
    assert result.failed == [True, True, False]
    assert "no push by force" in result.results[0]
    assert not (project.dir / ".git" / "config").exists()


def test_timing_notes_every_call(project: Project) -> None:
    copy(project, "hooks.d/tool_done/05-timing")
    result = project.say(calls=[bash("true"), call("nothing")])
    lines = (result.session / "timing.log").read_text("utf-8").splitlines()
    assert [(line.split()[0], line.split()[-1]) for line in lines] == [("bash", "ok"), ("nothing", "failed")]
