"""The protocol that a provider without a pack of its own names: how it is given the conversation."""

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
