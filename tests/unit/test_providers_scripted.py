"""The scripted model: what a script may say, and where it is in a conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from providing import Watched, assistant, bash, result, user

from bridoon.errors import ConfigError, ProviderError
from bridoon.providers import anthropic, scripted

SCRIPT = """\
- call: {name: bash, input: {command: ls}}
- expect: {contains: README.md, absent: secret, failed: false}
  think: Nothing here.
  say: "You have {{result}}"
"""


def play(path: Path, *view: Any, context: Watched | None = None) -> dict[str, Any]:
    context = context or Watched()
    context.env = {**context.env, "BRIDOON_SCRIPT": str(path)}
    return scripted.call({"messages": anthropic.messages(view or [user("go")])}, context)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT, "utf-8")
    return path


def test_the_first_answer_calls_a_tool(script: Path) -> None:
    context = Watched()
    message = anthropic.from_response(play(script, context=context), "scripted", 2)
    assert message.calls[0].input == {"command": "ls"}
    assert (message.stop, message.model) == ("tool_calls", "script")
    assert context.events == [
        {"type": "tool_start", "id": message.calls[0].id, "name": "bash", "input": {"command": "ls"}}
    ]


def test_the_next_step_follows_from_the_conversation(script: Path) -> None:
    context = Watched()
    raw = play(script, user("go"), assistant(bash("ls")), result("README.md"), context=context)
    message = anthropic.from_response(raw, "scripted", 4)
    assert (message.text, message.stop) == ("You have README.md", "end")
    assert context.text == "You have README.md"
    assert len([event for event in context.events if event["type"] == "text"]) == 3


@pytest.mark.parametrize(
    ("content", "failed", "words"),
    [
        ("nothing", False, "expected 'README.md'"),
        ("README.md secret", False, "not expected"),
        ("README.md", True, "failed"),
    ],
)
def test_an_expectation_that_is_not_met_stops_the_run(script: Path, content: str, failed: bool, words: str) -> None:
    with pytest.raises(ProviderError, match=words) as caught:
        play(script, user("go"), assistant(bash("ls")), result(content, failed=failed))
    assert f"{script}: $[1]" in str(caught.value)


def test_a_script_that_is_over_says_so(script: Path) -> None:
    view = [
        user("go"),
        assistant(bash("ls")),
        result("README.md"),
        assistant(bash("ls", "y")),
        result("z", "y"),
    ]
    with pytest.raises(ProviderError, match="has 2 steps, and this is answer 3"):
        play(script, *view)


def test_a_failure_that_passes_is_retried(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(
        json.dumps([{"fail": {"kind": "rate_limit", "retry_after": 0, "times": 2}, "say": "back"}]), "utf-8"
    )
    context = Watched()
    assert play(path, context=context)["content"] == [{"type": "text", "text": "back"}]
    assert len(context.notices) == 2


@pytest.mark.parametrize("kind", ["auth", "invalid", "overflow"])
def test_a_failure_that_stays_is_raised(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([{"fail": {"kind": kind}}]), "utf-8")
    with pytest.raises(ProviderError) as caught:
        play(path)
    assert caught.value.kind == kind


def test_a_sub_agent_may_have_its_own_steps(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    steps = {"steps": [{"say": "main"}], "agents": [{"for": "count", "steps": ["counted"]}]}
    path.write_text(json.dumps(steps), "utf-8")
    assert play(path)["content"][0]["text"] == "main"
    assert play(path, user("please count the files"))["content"][0]["text"] == "counted"


def test_groups_of_a_match_fill_the_next_call(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("- expect: {matches: 'id=(\\w+)'}\n  call: {name: t, input: {id: '{{match.1}}', n: 3}}\n", "utf-8")
    assert play(path, user("the id=x42"))["content"][0]["input"] == {"id": "x42", "n": 3}


def test_raw_arguments_play_a_model_that_writes_broken_json(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([{"call": {"name": "bash", "arguments": '{"command": "rm'}}]), "utf-8")
    (call,) = anthropic.from_response(play(path), "p", 2).calls
    assert "not valid JSON" in call.error


def test_without_a_script_it_says_that_it_is_no_model() -> None:
    raw = scripted.call({"messages": [{"role": "user", "content": "are you real?"}]}, Watched())
    assert "not a model" in raw["content"][0]["text"]
    assert "are you real?" in raw["content"][0]["text"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("- sya: typo", r"\$\[0\].*unknown key 'sya'"),
        ("- say: a\n- call: {input: {}}", r"\$\[1\].*a call is"),
        ("steps: 5", r"\$\.steps.*a list of steps"),
        ("- expect: {containz: x}", r"expect.*containz"),
        ("- fail: {kind: tired}", "kind is one of"),
        ("- delay: soon", "delay is a number"),
        ("- [", "line 1.*not valid YAML|not valid YAML"),
        ("7", "a list of steps"),
    ],
)
def test_what_is_wrong_with_a_script_is_told_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=place) as caught:
        play(path)
    assert str(path) in str(caught.value)


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        play(tmp_path / "none.yaml")
