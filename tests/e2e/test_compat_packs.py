"""Packs of programs in bash, of the shapes that other people's plugins have, run unchanged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from project import Project, Result, bash

PACK = Path(__file__).parents[1] / "fakes" / "bashpack"

pytestmark = pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")


def _install(project: Project) -> None:
    shutil.copytree(PACK, project.harness / "plugins" / "bashpack")


def _run(project: Project, *words: str, **env: str) -> Result:
    result = project.run("--json", *words, env={"BASHPACK_KEY": "1", **env})
    assert result.code == 0, result
    return result


def test_a_provider_pack_with_hooks_of_its_own_carries_out_a_run(project: Project) -> None:
    _install(project)
    result = _run(project, "-p", "bashpack", "look")
    assert result.output == "It says: seen by tool_exec"
    assert [message.role for message in result.messages] == ["user", "assistant", "tool_result", "assistant"]
    assert result.messages[1].usage is not None
    assert (result.messages[1].model, result.messages[1].stop) == ("bash-1", "tool_calls")


def test_what_it_writes_to_the_stream_is_shown_once_and_in_order(project: Project) -> None:
    _install(project)
    events = _run(project, "-p", "bashpack", "look").events
    told = [(event["type"], event.get("text", event.get("name"))) for event in events]
    wanted = [("text", "I look. "), ("tool_start", "bash"), ("text", "It says: seen by tool_exec")]
    assert [each for each in told if each[0] in ("text", "tool_start")] == wanted
    assert [kind for kind, _ in told if kind in ("stop", "tool_output", "tool_done")] == [
        "stop", "tool_output", "tool_done", "stop",
    ]  # fmt: skip


def test_its_tokens_are_counted(project: Project) -> None:
    _install(project)
    usage = _run(project, "-p", "bashpack", "look").final["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (30, 11)


def test_it_is_chosen_when_it_is_ready_and_nothing_else_is_named(project: Project) -> None:
    _install(project)
    assert _run(project, "look").messages[1].provider == "bashpack"


def test_gates_decide_before_its_calls_run(project: Project) -> None:
    _install(project)
    project.hook("tool_exec/05-deny", "echo 'not here' >&2; exit 1")
    result = _run(project, "-p", "bashpack", "look")
    assert result.failed == [True]
    assert "not here" in result.output


def test_a_session_that_it_wrote_goes_on_with_a_bundled_provider_and_back(project: Project) -> None:
    _install(project)
    ident = _run(project, "-p", "bashpack", "look").final["session"]
    project.say(
        "and now",
        "--session",
        ident,
        steps=[{"say": "a"}, {"say": "b"}, {"call": bash("echo 2")}, {"say": "c"}],
    )
    again = _run(project, "-p", "bashpack", "--session", ident, "look again")
    assert again.output.startswith("It says: ")
    assert again.code == 0


def test_its_gate_is_given_the_documented_fields(project: Project) -> None:
    _install(project)
    project.hook("tool_exec/05-note", f"tee {project.dir}/call")
    _run(project, "-p", "bashpack", "look")
    call = json.loads((project.dir / "call").read_text("utf-8"))
    assert (call["name"], call["id"]) == ("bash", "toolu_1")
    assert call["tool_calls"][0] == {"id": "toolu_1", "name": "bash", "input": call["input"]}


def test_every_bundled_hook_can_be_replaced_by_bash(project: Project) -> None:
    project.hook("start/10-init", "jq -c '.next_state = \"assemble\"'")
    project.hook("assemble/30-prompts", 'jq -c \'.system = "short" | .next_state = "send"\'')
    project.hook(
        "tool_done/10-save",
        """
        call="$(cat)"
        last="$(ls -1 "$HARNESS_SESSION/messages" | sort -n | tail -n 1)"
        seq="$(printf '%04d' $(( 10#${last%%-*} + 1 )))"
        {
          printf -- '---\\nrole: tool_result\\nseq: %s\\ncall_id: %s\\ntool: %s\\nerror: false\\n---\\n' \\
            "$seq" "$(jq -r .call_id <<< "$call")" "$(jq -r .name <<< "$call")"
          jq -r '.result + " (saved by bash)"' <<< "$call"
        } > "$HARNESS_SESSION/messages/$seq-tool_result.md"
        echo '{"next_state": "assemble"}'
        """,
    )
    result = project.say(calls=[bash("echo hi")], answer="fine")
    assert (result.output, result.results) == ("fine", ["hi (saved by bash)"])
    assert result.requests[0]["system"].startswith("short")
