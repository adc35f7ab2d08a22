"""A hook that cannot start, or that the model is trying out, is left out; nothing is done twice for it."""

from __future__ import annotations

import pytest
from project import Project, bash, call

LEADS = {
    "its own interpreter is missing": b"#!/no/such/interpreter\ncat\n",
    "Windows line ends": b"#!/bin/bash\r\ncat\r\n",
    "Windows line ends after env": b"#!/usr/bin/env bash\r\ncat\r\n",
}


@pytest.mark.parametrize("stage", ["start/20-bad", "assemble/50-bad", "receive/20-bad", "tool_done/20-bad"])
@pytest.mark.parametrize("lead", LEADS)
def test_a_hook_that_cannot_start_is_named_and_the_run_goes_on(project: Project, stage: str, lead: str) -> None:
    path = project.hook(stage, "")
    path.write_bytes(LEADS[lead])
    result = project.say(calls=[bash("echo once >> ran; cat ran")], answer="here")
    assert (result.code, result.output, result.results) == (0, "here", ["once"])
    told = [event["text"] for event in result.events if event["type"] == "notice"]
    assert [text for text in told if str(path) in text and "left out" in text], told


def test_a_gate_that_cannot_start_still_refuses(project: Project) -> None:
    project.hook("tool_exec/05-bad", "").write_bytes(LEADS["Windows line ends after env"])
    result = project.say(calls=[bash("touch made")])
    assert result.failed == [True]
    assert not (project.dir / "made").exists()


def test_a_hook_that_says_no_by_126_is_no_hook_that_cannot_start(project: Project) -> None:
    project.hook("assemble/50-no", "exit 126")
    result = project.say()
    assert (result.code, result.requests) == (1, [])


@pytest.mark.parametrize("stage", ["receive", "tool_done"])
def test_a_hook_that_the_model_tries_out_and_that_fails_makes_nothing_happen_twice(
    project: Project, stage: str
) -> None:
    body = "#!/bin/sh\ncat > /dev/null; echo broken >&2; exit 3\n"
    path = f".harness/hooks.d/{stage}/20-new"
    result = project.say(
        steps=[
            {"calls": [call("write_file", path=path, content=body)]},
            {"calls": [bash(f"chmod +x {path}")]},
            {"calls": [bash("echo once >> ran; cat ran")]},
            {"say": "end"},
        ]
    )
    assert (result.code, result.output) == (0, "end")
    assert [m.role for m in result.messages] == ["user", *["assistant", "tool_result"] * 3, "assistant"]
    assert result.results[-1] == "once"
    assert result.final["turns"] == 4
    assert f"exited 3 during {stage}: broken" in result.requests[-1]["system"]


def test_a_result_that_was_shown_is_kept_when_the_stage_that_saves_it_fails(project: Project) -> None:
    project.hook("tool_done/05-fails", "exit 1")
    result = project.say(calls=[bash("echo precious")])
    assert result.code == 1
    assert result.results == ["precious"]


def test_a_result_that_was_saved_is_not_saved_again_when_a_later_hook_fails(project: Project) -> None:
    project.hook("tool_done/20-fails", "exit 1")
    result = project.say(calls=[bash("echo precious")])
    assert result.code == 1
    assert result.results == ["precious"]
    assert [m.role for m in result.messages] == ["user", "assistant", "tool_result"]


def test_a_run_that_reached_its_limit_counts_the_turns_that_it_took(project: Project) -> None:
    result = project.say("go", "--max-turns", "2", steps=[{"calls": [bash("true")]}] * 4)
    assert (result.code, result.final["turns"], len(result.requests)) == (4, 2, 2)
