"""Whole runs of `hs` against an API that checks every request: histories, failures, keys, `hs auth`."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.api_answers import Said
from fakes.api_server import Api, api_server, call, cut, status
from fakes.terminal import AtTerminal
from project import Project, Result, hs
from providing import KEY

PROVIDERS = ["anthropic", "openai", "responses"]


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as served:
        yield served
    assert served.problems == []


def go(project: Project, api: Api, provider: str, *words: str, **env: str) -> Result:
    """Run `hs` on the fake API, by the protocol that `provider` names."""
    surroundings = {
        "ANTHROPIC_API_KEY": KEY,
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": api.url,
        "OPENAI_BASE_URL": f"{api.url}/v1",
        "OPENAI_API": "responses" if provider == "responses" else "",
        **env,
    }
    name = "openai" if provider == "responses" else provider
    return project.run("--json", "-p", name, "-m", "fake-1", *words, env=surroundings)


def everything(folder: Path) -> str:
    """The content of every file below a folder."""
    return "\n".join(path.read_text("utf-8", "replace") for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_run_with_calls_sends_requests_that_the_api_accepts(project: Project, api: Api, provider: str) -> None:
    api.say("I look.", [call("bash", command="echo one"), call("bash", command="exit 3")], "hm")
    api.say("done", usage={"input_tokens": 7, "output_tokens": 2, "prompt_tokens": 7, "completion_tokens": 2})
    result = go(project, api, provider, "look around")
    assert (result.code, result.output) == (0, "done")
    assert "one" in json.dumps(api.bodies[1])
    assert result.final["usage"]["input_tokens"] == 17
    assert {request.connection for request in api.requests} == {1}


def test_a_session_goes_on_with_another_provider_and_leaves_thinking_behind(project: Project, api: Api) -> None:
    api.say("one", [call("bash", id="functions.bash:0", command="true")], "private thoughts")
    api.say("two")
    session = go(project, api, "anthropic", "first").final["session"]
    for provider in ("openai", "responses", "anthropic"):
        assert go(project, api, provider, "--session", session, f"then {provider}").code == 0
    assert "private thoughts" in json.dumps(api.bodies[1])
    assert "private thoughts" not in json.dumps(api.bodies[2:4])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_malformed_arguments_are_answered_and_never_run(project: Project, api: Api, provider: str) -> None:
    api.say("", [("c1", "bash", '{"command": "touch ran'), call("bash", id="c2", command="touch fine")])
    api.say("sorry")
    result = go(project, api, provider, "go")
    assert result.code == 0
    assert not (project.dir / "ran").exists()
    assert (project.dir / "fine").exists()
    assert "not valid JSON" in json.dumps(api.bodies[1])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_calls_of_an_answer_that_was_cut_at_the_limit_do_not_run(project: Project, api: Api, provider: str) -> None:
    stop = {"anthropic": "max_tokens", "openai": "length", "responses": "max_output_tokens"}[provider]
    api.say("I would", [call("bash", command="touch ran")], stop=stop)
    result = go(project, api, provider, "go")
    assert (result.code, result.final["stop"]) == (0, "length")
    assert not (project.dir / "ran").exists()
    api.say("fine")
    assert go(project, api, provider, "--session", result.final["session"], "and now").output == "fine"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_broken_stream_fails_the_run_keeps_what_was_shown_and_can_be_resumed(
    project: Project, api: Api, provider: str
) -> None:
    api.then(cut(Said("words that were shown before the end", [call("bash", command="touch ran")]), 6))
    result = go(project, api, provider, "go")
    assert result.code == 1
    assert not (project.dir / "ran").exists()
    shown = "".join(event["text"] for event in result.events if event["type"] == "text")
    assert shown
    assert shown.strip() in everything(result.session / "messages")
    api.say("all is well")
    assert go(project, api, provider, "--session", result.final["session"], "go on").output == "all is well"


def test_ids_that_a_server_uses_again_are_made_different(project: Project, api: Api) -> None:
    for _ in range(3):
        api.say("", [call("bash", id="call_0", command="true")])
    assert go(project, api, "openai", "go").code == 0
    assert go(project, api, "anthropic", "--session", project.newest_session().name, "more").code == 0


def test_a_megabyte_of_arguments_arrives(project: Project, api: Api) -> None:
    api.say("", [call("write_file", path="big.txt", content="x" * 1_000_000)])
    assert go(project, api, "openai", "go").code == 0
    assert len((project.dir / "big.txt").read_text("utf-8")) == 1_000_000


def test_the_key_is_nowhere_but_in_the_request(project: Project, api: Api) -> None:
    api.then(status(429, {"error": {"message": f"slow down, {KEY}"}}, retry_after="0"))
    api.say("", [call("bash", command="true")])
    api.then(status(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    result = go(project, api, "openai", "go", HARNESS_LOG=str(project.dir / "log"))
    assert result.code == 3
    assert KEY in api.requests[0].headers["authorization"]
    assert KEY not in result.stdout + result.stderr + everything(project.dir) + everything(project.home)


def test_a_refused_request_is_told_once_in_its_own_words(project: Project, api: Api) -> None:
    api.then(status(404, {"error": {"message": "The model fake-1 does not exist"}}))
    result = go(project, api, "openai", "go")
    assert result.code == 1
    assert "The model fake-1 does not exist" in result.output


def test_a_variant_of_the_users_is_used_with_its_key(project: Project, api: Api) -> None:
    conf = project.home / ".harness" / "providers" / "mine.conf"
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text(f"protocol=openai\nmodel=m-1\nurl={api.chat_url}\nauth_env=MINE_KEY\n", "utf-8")
    done = project.run("--json", "-p", "mine", "hello", env={"MINE_KEY": "mine-secret-1", "OPENAI_API_KEY": KEY})
    assert (done.code, done.output) == (0, "ok")
    assert api.requests[0].headers["authorization"] == "Bearer mine-secret-1"
    assert api.bodies[0]["model"] == "m-1"


def test_a_provider_named_in_settings_is_used_without_a_word_on_the_command_line(project: Project, api: Api) -> None:
    project.settings(provider="openai", model="from-settings")
    env = {"OPENAI_API_KEY": KEY, "OPENAI_API_URL": api.chat_url}
    assert project.run("--json", "hello", env=env).output == "ok"
    assert api.bodies[0]["model"] == "from-settings"


def test_a_provider_that_does_not_exist_ends_with_3(project: Project) -> None:
    done = project.run("-p", "nobody", "hello")
    assert done.code == 3
    assert "nobody" in done.stderr


# ---- hs auth


def test_a_piped_key_is_stored_privately_listed_masked_and_removed(project: Project) -> None:
    secret = "gsk-abcdefghijklmnop-wxyz"
    assert project.run("auth", "set", "groq", stdin=f"{secret}\n").code == 0
    path = project.home / ".harness" / ".auth.json"
    assert json.loads(path.read_text("utf-8")) == {"groq": [{"type": "api_key", "key": secret, "host": "api.groq.com"}]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    listed = project.run("auth", "list").stdout
    assert listed == "groq [0] type=api_key key=gsk-...wxyz\n"
    assert project.run("auth", "rm", "groq", "0").code == 0
    assert project.run("auth", "list").stdout == "(no credentials configured)\n"


def test_a_key_can_be_stored_for_one_project(project: Project) -> None:
    assert project.run("auth", "set", "groq", "--local", stdin="key-of-the-project").code == 0
    assert "key-of-the-project" in (project.dir / ".harness" / ".auth.json").read_text("utf-8")
    assert not (project.home / ".harness" / ".auth.json").exists()


@pytest.mark.parametrize("stdin", ["", " \n", "two words", "two\nlines"])
def test_what_is_no_key_is_not_stored(project: Project, stdin: str) -> None:
    assert project.run("auth", "set", "groq", stdin=stdin).code == 2
    assert not (project.home / ".harness" / ".auth.json").exists()


def test_a_key_is_asked_for_at_the_terminal_without_showing_it(project: Project) -> None:
    with AtTerminal([hs(), "auth", "set", "groq"], project.env, project.dir) as terminal:
        terminal.wait_for("API key for groq:")
        terminal.type("typed-secret-key\n")
        assert terminal.wait() == 0
    assert "typed-secret" not in terminal.shown
    assert "typed-secret-key" in (project.home / ".harness" / ".auth.json").read_text("utf-8")


LOGIN = """\
#!/bin/sh
[ "$HARNESS_AUTH_PROVIDER" = mine ] || exec cat
echo '{"type": "oauth", "access_token": "t-1"}'
"""


def test_a_provider_with_a_login_of_its_own_brings_a_hook_for_it(project: Project) -> None:
    hook = project.home / ".harness" / "hooks.d" / "auth-set" / "10-login"
    hook.parent.mkdir(parents=True)
    hook.write_text(LOGIN, "utf-8")
    hook.chmod(0o755)
    with AtTerminal([hs(), "auth", "set", "mine"], project.env, project.dir) as terminal:
        assert terminal.wait() == 0
    stored = json.loads((project.home / ".harness" / ".auth.json").read_text("utf-8"))
    assert stored == {"mine": [{"type": "oauth", "access_token": "t-1"}]}
