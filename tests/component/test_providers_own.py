"""Providers that people write: the protocol that a program names, and one that declares a function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from project import Project, bash

PROGRAM = """
case "${{1:-}}" in
--defaults) echo asked >> "$TMPDIR/asked"; echo model=m-1; {line} ;;
*) cat > "$HARNESS_CWD/payload-$(ls "$HARNESS_SESSION/messages" | wc -l)"
   {answer}
esac
"""
DONE = """echo '{"text": "done"}'"""


def _payload(project: Project, number: int) -> dict[str, object]:
    value: dict[str, object] = json.loads((project.dir / f"payload-{number}").read_text("utf-8"))
    return value


@pytest.mark.parametrize(
    ("line", "protocol"),
    [("echo protocol=openai", "openai"), ("true", "anthropic"), ("echo protocol=odd", "anthropic")],
)
def test_a_bare_provider_is_given_messages_in_the_shape_that_it_names(
    project: Project, line: str, protocol: str
) -> None:
    project.provider("mine", PROGRAM.format(line=line, answer=DONE))
    result = project.run("--json", "-p", "mine", "hello")
    assert result.output == "done", result
    assert _payload(project, 1)["protocol"] == protocol


def test_it_is_asked_once_for_all_turns_of_a_run(project: Project) -> None:
    function = {"name": "bash", "arguments": json.dumps(bash("ls")["input"])}
    message = {"tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    call = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    answer = f"ls \"$HARNESS_SESSION/messages\" | grep -q result && {DONE} || echo '{call}'"
    project.provider("mine", PROGRAM.format(line="echo protocol=openai", answer=answer))
    result = project.run("--json", "-p", "mine", "-m", "m-1", "hello")
    assert result.output == "done", result
    roles = [message["role"] for message in _payload(project, 3)["messages"]]  # type: ignore[attr-defined]
    assert roles == ["user", "assistant", "tool"]
    asked = Path(project.env["TMPDIR"], "asked").read_text("utf-8")
    assert asked == "asked\n"


DECLARED = '''
#!/usr/bin/env -S hs py
from bridoon.sdk.script import provider


@provider({arguments})
def mine(payload, context):
    """Says which model it is"""
    context.emit({{"type": "text", "text": "half of "}})
    context.emit({{"type": "text", "text": payload["model"]}})
    return {{"text": "half of " + payload["model"]}}
'''


def test_one_that_declares_a_function_is_found_has_its_model_and_streams(project: Project) -> None:
    project.provider("mine", DECLARED.format(arguments='ready=lambda c: True, defaults={"model": "m-7"}'))
    result = project.run("--json", "hello")
    assert result.output == "half of m-7", result
    texts = [event["text"] for event in result.events if event["type"] == "text"]
    assert texts == ["half of ", "m-7"]


def test_one_that_does_not_say_when_it_is_ready_is_used_only_when_it_is_named(project: Project) -> None:
    project.provider("mine", DECLARED.format(arguments=""))
    project.settings(detect_local="off")
    assert project.run("hello").code == 3
    assert project.run("--json", "-p", "mine", "-m", "m-8", "hello").output == "half of m-8"
