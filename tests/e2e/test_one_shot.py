"""`hs "message"` without a terminal: where the message comes from, what is printed, exit codes."""

from __future__ import annotations

import json

import pytest
from fakes.api_server import api_server
from project import Project, bash, call


def asked(project: Project) -> str:
    """The last message of the user that reached the model."""
    content = json.loads(project.requests_file.read_text().splitlines()[-1])["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def test_the_message_may_come_from_standard_input(project: Project) -> None:
    assert project.say("", stdin="what is\nthis?\n").code == 0
    assert asked(project) == "what is\nthis?"


def test_what_is_piped_in_is_attached_to_a_message(project: Project) -> None:
    assert project.say("explain", stdin="line 1\nline 2\n").code == 0
    assert asked(project).startswith("explain\n")
    assert "line 1\nline 2" in asked(project)


def test_a_first_word_that_is_a_command_is_the_command_unless_dashes_stand_before_it(
    project: Project,
) -> None:
    refused = project.run("tools", "please", "fix", "it")
    assert refused.code == 2
    assert "hs -- tools please fix it" in refused.stderr
    project.say("tools please fix it")  # `say` puts the dashes
    assert asked(project) == "tools please fix it"


def test_a_session_goes_on_by_its_id_or_by_the_option(project: Project) -> None:
    first = project.say("one", answer="1")
    ident = first.final["session"]
    env = {"BRIDOON_SCRIPT": project.script([{"say": "1"}, {"say": "2"}, {"say": "3"}])}
    again = project.run("-p", "scripted", "--json", ident, "two", env=env)
    third = project.run("-p", "scripted", "--json", "--session", ident, "three", env=env)
    assert [again.output, third.output] == ["2", "3"]
    assert [m.role for m in third.messages] == ["user", "assistant"] * 3
    assert third.final["session"] == ident


def test_cwd_is_where_the_run_works_and_where_drop_ins_are_looked_for(project: Project) -> None:
    project.file("sub/.harness/prompts/sub.md", "ONLY-IN-SUB")
    result = project.say("go", "--cwd", "sub", calls=[bash("pwd")])
    assert result.results == [str(project.dir / "sub")]
    assert "ONLY-IN-SUB" in result.requests[-1]["system"]


def test_an_attached_file_goes_along(project: Project) -> None:
    project.file("notes.txt", "remember the milk")
    project.say("look", "--attach", "notes.txt")
    assert "remember the milk" in asked(project)


def test_quiet_prints_the_answer_and_nothing_else(project: Project) -> None:
    result = project.say("go", "--quiet", calls=[bash("echo noise")], json=False, record=False)
    assert (result.code, result.stdout, result.stderr) == (0, "done\n", "")


def test_json_is_one_object_a_line_and_one_result_last(project: Project) -> None:
    result = project.say("go", calls=[bash("echo hi")], record=False)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["type"] for line in lines] == [
        "tool_start", "stop", "tool_output", "tool_done", "text", "stop", "result",
    ]  # fmt: skip
    assert set(lines[-1]) == {"type", "session", "output", "stop", "usage", "turns", "exit_code"}
    assert lines[-1]["turns"] == 2


def test_json_says_all_that_the_stream_file_says(project: Project) -> None:
    result = project.say("go", calls=[bash("echo hi")], record=False)
    stream = [json.loads(line) for line in (result.session / ".stream").read_text().splitlines()]
    assert stream.pop()["type"] == "done"
    for there, here in zip(stream, result.events, strict=True):
        assert there["type"] == here["type"]
        assert {key: here[key] for key in there} == there


@pytest.mark.parametrize(
    ("options", "steps", "code", "stop"),
    [
        ((), [{"say": "fine"}], 0, "end"),
        ((), [], 1, "error"),
        (("--max-turns", "1"), [{"calls": [bash("true")]}] * 3, 4, "limit"),
    ],
)
def test_the_exit_code_says_how_a_run_ended(
    project: Project, options: tuple[str, ...], steps: list[dict[str, object]], code: int, stop: str
) -> None:
    result = project.say("go", *options, steps=steps)
    assert (result.code, result.final["exit_code"], result.final["stop"]) == (code, code, stop)


def test_without_a_provider_or_its_key_the_code_is_3(project: Project) -> None:
    assert project.run("hello").code == 3
    assert project.run("-p", "anthropic", "hello").code == 3


def test_a_refusal_does_not_make_a_run_fail(project: Project) -> None:
    project.hook("tool_exec/05-no", "exit 1")
    result = project.say(calls=[bash("touch made")])
    assert (result.code, result.final["stop"], result.failed) == (0, "end", [True])


def test_the_tokens_of_a_sub_agent_count(project: Project) -> None:
    answer = {
        "content": [{"type": "text", "text": "x"}],
        "usage": {"input_tokens": 5000, "output_tokens": 70},
    }
    project.provider("sub", f"cat > /dev/null; echo '{json.dumps(answer)}'")
    alone = project.say(calls=[bash("true")]).final["usage"]
    result = project.say(calls=[call("agent", prompt="work", provider="sub", model="m")])
    assert result.results == ["x"]
    assert result.final["usage"]["input_tokens"] >= 5000 + alone["input_tokens"] - 50
    assert result.final["usage"]["output_tokens"] >= 70


def test_five_thousand_messages_are_no_hindrance(project: Project) -> None:
    from bridoon.model.message import Message, Text
    from bridoon.session import store

    session = store.create(str(project.sessions), cwd=str(project.dir))
    for number in range(2500):
        session.append(Message("user", (Text(f"question {number}"),)))
        session.append(Message("assistant", (Text(f"answer {number}"),), stop="end"))
    with api_server() as api:
        api.say("the last answer")
        env = {"OPENAI_API_KEY": "k", "OPENAI_API_URL": api.chat_url}
        result = project.run("-p", "openai", "-m", "m", "--json", session.id, "the last question", env=env)
        assert result.code == 0, result
        assert result.output == "the last answer"
        assert len(api.requests[-1].body["messages"]) == 5002
        assert api.problems == []
    assert project.run("session", "list").stdout.startswith(session.id)


def test_resume_prefers_the_session_of_this_directory(project: Project) -> None:
    mine = project.say(answer="in the project").session
    other = project.dir.parent / "other"
    other.mkdir()
    project.say("go", "--cwd", str(other), answer="elsewhere")
    shown = project.run("resume", stdin="/quit\n")
    assert f"session: {mine.name}" in shown.stderr
    assert "works in:" not in shown.stderr
