"""Long sessions stay inside the model's window, and lose nothing."""

from __future__ import annotations

from typing import Any

from fakes.api_server import Api, api_server, call, status
from project import Project, bash


def openai(api: Api, **extra: str) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "k",
        "OPENAI_API_URL": api.chat_url,
        "HARNESS_PROVIDER": "openai",
        "HARNESS_MODEL": "m",
        **extra,
    }


def texts(request: Any) -> str:
    return str(request["messages"])


def fill(project: Project, env: dict[str, str], api: Api, turns: int, tokens: int = 2300) -> str:
    """A session of some turns with long words in each; its id."""
    ident = ""
    for number in range(turns):
        api.say(
            f"answer {number} " + "z" * 4000,
            usage={"prompt_tokens": tokens * (number + 1), "completion_tokens": 5},
        )
        more = ["--session", ident] if ident else []
        result = project.run("--json", *more, f"question {number} " + "q" * 4000, env=env)
        assert result.code == 0, result
        ident = str(result.final["session"])
    return ident


def test_older_turns_become_a_summary_that_the_model_writes(project: Project) -> None:
    with api_server() as api:
        env = openai(api, HARNESS_CONTEXT="20000")
        ident = fill(project, env, api, 6)
        api.say("SUMMARY OF IT ALL")
        api.say("going on")
        result = project.run("--json", "--session", ident, "last question " + "q" * 30000, env=env)
        assert result.output == "going on"
        assert api.problems == []
        asked, final = api.bodies[-2], api.bodies[-1]
        assert "question 0" in texts(asked)
        assert not asked.get("tools")
        assert "SUMMARY OF IT ALL" in texts(final)
        assert "question 0" not in texts(final)
        assert "last question" in texts(final)
        assert any("summarising" in event.get("text", "") for event in result.events)
        assert any("question 0" in message.text for message in result.messages)


def test_the_tokens_of_a_summary_are_counted(project: Project) -> None:
    with api_server() as api:
        env = openai(api, HARNESS_CONTEXT="20000")
        ident = fill(project, env, api, 6)
        api.say("SUMMARY", usage={"prompt_tokens": 10, "completion_tokens": 7})
        api.say("going on", usage={"prompt_tokens": 10, "completion_tokens": 6})
        one = project.run("--json", "--session", ident, "q" * 30000, env=env)
        assert one.final["usage"]["output_tokens"] == 13


def test_compaction_can_be_turned_off(project: Project) -> None:
    project.settings(compaction="off")
    with api_server() as api:
        env = openai(api, HARNESS_CONTEXT="20000")
        ident = fill(project, env, api, 6)
        before = len(api.bodies)
        api.say("fine")
        project.run("--json", "--session", ident, "q" * 30000, env=env)
        assert len(api.bodies) == before + 1


def test_a_summary_that_fails_is_not_asked_for_again_and_again(project: Project) -> None:
    with api_server() as api:
        env = openai(api, HARNESS_CONTEXT="20000")
        ident = fill(project, env, api, 6)
        for n in range(4):
            if n < 2:
                api.then(status(400, {"error": {"message": "no summaries today"}}))
            api.say(
                "",
                calls=[call("bash", command=f"echo {n}")],
                usage={"prompt_tokens": 19000, "completion_tokens": 5},
            )
        api.say("done all the same")
        result = project.run("--json", "--session", ident, "q" * 30000, env=env)
        assert result.output == "done all the same", result
        failures = [event for event in result.events if "compaction failed" in event.get("text", "")]
        assert len(failures) == 2


def test_a_request_that_the_api_finds_too_long_is_compacted_and_sent_again(project: Project) -> None:
    with api_server() as api:
        env = openai(api, HARNESS_CONTEXT="8192")
        ident = fill(project, env, api, 4, tokens=10)
        too_long = {
            "error": {
                "message": "This model's maximum context length is 8192 tokens",
                "code": "context_length_exceeded",
            }
        }
        api.then(status(400, too_long))
        api.say("SUMMARY")
        api.say("second try")
        result = project.run("--json", "--session", ident, "one more", env=env)
        assert result.output == "second try", result
        assert "SUMMARY" in texts(api.bodies[-1])


def test_calls_and_their_results_stay_together(project: Project) -> None:
    project.settings(compact_keep="0.1")
    with api_server() as api:
        env = openai(api, HARNESS_CONTEXT="20000")
        for n in range(8):
            api.say("", calls=[call("bash", command=f"echo {n}; head -c 9000 /dev/zero | tr '\\0' y")])
        for _ in range(6):
            api.say("SUMMARY")
        result = project.run("--json", "work", env=env)
        assert api.problems == []
        assert result.code == 0


def test_no_request_goes_out_but_turns(project: Project) -> None:
    result = project.say(calls=[bash("echo one")])
    assert len(result.requests) == 2
