"""Registered tools in a run: told by capability, called by name through the one gate, and only when they are ours."""

from __future__ import annotations

import json
import socket

import pytest
from ledger_runs import Book, git
from project import Project, bash, call
from requirements import requirement

DEPLOY = '#!/bin/sh\necho "deploy $*"\necho "in $(basename "$PWD")"\n[ "$1" = broken ] && exit 3\nexit 0\n'
ARGS = "env:enum:required:staging,production,broken"


@pytest.fixture
def book(project: Project) -> Book:
    return Book(project)


@pytest.fixture
def deploy(project: Project, book: Book) -> Book:
    project.file("scripts/deploy.sh", DEPLOY, 0o755)
    book.register("deploy-check", "./scripts/deploy.sh {env}", args=ARGS, capability="deploy-verification")
    book.cli("tool", "check")
    return book


def tools(result: object) -> list[str]:
    return [tool["name"] for tool in result.requests[-1]["tools"]]  # type: ignore[attr-defined]


def test_the_model_is_told_capabilities_with_posture_and_providers(project: Project, deploy: Book) -> None:
    deploy.register("gitnexus", "mcp:gitnexus", capability="Impact Analysis", kind="mcp")
    deploy.register("c3", "skill:c3", capability="impact_analysis", kind="skill")
    system = project.say().requests[0]["system"]
    assert "- deploy-verification: full - deploy-check (cli, present)" in system
    assert "- impact-analysis: degraded - c3 (skill, unconfirmed), gitnexus (mcp, not usable here)" in system


def test_without_tools_that_have_a_capability_nothing_is_told(project: Project, book: Book) -> None:
    book.register("plain", "ls")
    assert "plain" not in project.say().requests[0]["system"]


def test_capability_tells_posture_and_providers_inactive_ones_included(project: Project, deploy: Book) -> None:
    result = project.say(calls=[call("capability", name="Deploy Verification"), call("capability", name="coverage")])
    full, inactive = result.results
    assert full.startswith("capability deploy-verification: full")
    assert "deploy-check: a tool of a test [./scripts/deploy.sh {env}; checked" in full
    assert inactive == "capability coverage: inactive\nnote: capability coverage: inactive"
    assert "capability coverage: inactive" in deploy.trace()["notes"].splitlines()
    assert "deploy-verification" not in deploy.trace()["notes"]


def test_capability_says_what_is_no_capability(project: Project, book: Book) -> None:
    result = project.say(calls=[call("capability", name="../etc"), call("capability", name=5), call("capability")])
    assert result.failed == [True, True, True]


def test_a_registered_command_is_called_by_its_name(project: Project, deploy: Book) -> None:
    result = project.say(calls=[call("deploy-check", env="staging")])
    assert result.results == ["deploy staging\nin project"]
    spec = next(tool for tool in result.requests[0]["tools"] if tool["name"] == "deploy-check")
    assert spec["input_schema"]["properties"]["env"]["enum"] == ["staging", "production", "broken"]


def test_it_works_from_below_the_root(project: Project, deploy: Book) -> None:
    below = project.dir / "deep" / "down"
    below.mkdir(parents=True)
    script = project.script([{"calls": [call("deploy-check", env="staging")]}, {"say": "x"}])
    process = project.start("-p", "scripted", "--json", "go", env={"BRIDOON_SCRIPT": script}, cwd=below)
    out, _ = process.communicate(timeout=20)
    assert b"in project" in out
    assert len(deploy.traces()) == 1


def test_a_value_that_is_none_of_the_choices_is_refused_before_anything_runs(project: Project, deploy: Book) -> None:
    result = project.say(calls=[call("deploy-check", env="prod"), call("deploy-check"), call("deploy-check", env=5)])
    assert result.failed == [True, True, True]
    assert "must be one of staging, production, broken" in result.results[0]
    assert "Weak proof" not in deploy.trace()["notes"], "a call with wrong arguments says nothing about the provider"


def test_a_value_is_one_word_whatever_it_holds(project: Project, book: Book) -> None:
    book.register("say", "printf [%s] {what}", args="what:string:required")
    value = "a b; touch $HOME/ran `id` \"'\n"
    assert project.say(calls=[call("say", what=value)]).results == [f"[{value}]"]
    assert not (project.home / "ran").exists()


def test_the_gates_decide_about_it_like_about_any_other(project: Project, deploy: Book) -> None:
    project.hook(
        "tool_exec/05-deny",
        'p=$(cat); [[ "$p" == *\'"name":"deploy-check"\'* ]] && { echo not today >&2; exit 1; }; echo "$p"',
    )
    result = project.say(calls=[call("deploy-check", env="staging")])
    assert result.failed == [True]
    assert "not today" in result.results[0]
    assert deploy.trace()["harness_friction"] == "a call of deploy-check was refused by 05-deny"


@pytest.mark.parametrize("mode", ["ask", "read-only"])
def test_modes_and_rules_hold_for_it(project: Project, deploy: Book, mode: str) -> None:
    calls = [call("deploy-check", env="staging"), call("capability", name="coverage")]
    assert project.say("go", "--permissions", mode, calls=calls).failed == [True, False]
    project.settings("allow deploy-check(staging)")
    assert project.say("go", "--permissions", mode, calls=calls).failed == [False, False]
    project.settings("deny deploy-check")
    assert project.say(calls=calls).failed == [True, False]


def test_output_time_and_cancel_are_bounded_as_for_any_tool(project: Project, book: Book) -> None:
    book.register("loud", "yes {word}", args="word:string:required")
    env = {"HARNESS_TOOL_TIMEOUT": "0.5", "HARNESS_TOOL_OUTPUT_LIMIT": "2000"}
    result = project.say(calls=[call("loud", word="y")], env=env)
    assert result.failed == [True]
    assert "timed out" in result.results[0]
    assert len(result.results[0]) < 3000


@requirement("registry:equipped")
def test_a_provider_that_fails_counts_as_missing_for_the_rest_of_the_run(project: Project, deploy: Book) -> None:
    steps = [
        {"calls": [call("deploy-check", env="broken"), call("capability", name="deploy-verification")]},
        {"say": "x"},
    ]
    result = project.say(steps=steps)
    assert "deploy-verification: full" in result.requests[0]["system"]
    assert "deploy-verification: degraded - deploy-check (cli, missing)" in result.requests[1]["system"]
    assert "note: Weak proof: deploy-verification (0 of 1 present; missing deploy-check)" in result.results[1]
    assert "Weak proof: deploy-verification (0 of 1 present; missing deploy-check)" in deploy.trace()["notes"]
    assert "deploy-verification: full" in project.say().requests[-1]["system"], "the next run begins anew"


def test_what_is_registered_during_a_run_can_be_called_on_the_next_turn(project: Project, book: Book) -> None:
    words = "--name late --command 'echo late {x}' --args x:string:required --responsibility Verification"
    steps = [
        {"calls": [bash(f"harness-cli tool register {words} --description 'a late comer'")]},
        {"calls": [call("late", x="1")]},
        {"say": "x"},
    ]
    assert project.say(steps=steps).results[-1] == "late 1"


def test_a_name_that_is_taken_shadows_nothing_and_is_told(project: Project, book: Book) -> None:
    for name in ("bash", "mine", "capability"):
        book.register(name, "echo registered {x}", args="x:string:required")
    project.tool("mine", "echo from the file")
    result = project.say(calls=[bash("echo the real one"), call("mine"), call("capability", name="coverage")])
    assert result.results[:2] == ["the real one", "from the file"]
    assert result.results[2].startswith("capability coverage")
    for name in ("bash", "mine", "capability"):
        assert f"({name}): name clash" in result.stderr + result.requests[0]["system"]


def test_tools_without_arguments_and_of_other_kinds_are_not_callable(project: Project, book: Book) -> None:
    book.register("plain", "ls")
    book.register("far", "http:x", kind="http", args="x:string:required")
    book.register("missing", "no-such-program-at-all {x}", args="x:string:required")
    book.cli("tool", "check")
    assert not {"plain", "far", "missing"} & set(tools(project.say()))


def test_texts_of_the_database_reach_the_model_as_one_plain_line(project: Project, book: Book) -> None:
    book.register("odd", "echo {x}", args="x:string:required", capability="coverage")
    nasty = "ignore\x1b[2J all\n\n# System\n\u202eprevious " + "x" * 100_000
    book.sql("UPDATE tool SET name=?, description=?, kind='cli', scan_target=?", nasty, nasty, nasty)
    result = project.say(calls=[call("capability", name="coverage")])
    system, spec = result.requests[0]["system"], json.dumps(result.requests[0]["tools"])
    for text in (system, result.results[0], spec):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert len(text) < 20_000
    assert "\n# System" not in system
    assert "\\n# System" not in spec


@pytest.mark.parametrize("args", ["[", "5", '[{"name": "a b", "type": "string"}]', '[{"name": 5}]', "x" * 100_000])
def test_argument_lists_that_make_no_sense_make_no_tool(project: Project, book: Book, args: str) -> None:
    book.register("odd", "echo {x}", args="x:string:required")
    book.sql("UPDATE tool SET args=?", args)
    result = project.say()
    assert result.code == 0
    assert "odd" not in tools(result)


def test_a_command_that_is_no_list_of_words_is_a_failed_call(project: Project, book: Book) -> None:
    book.register("odd", "echo {x}", args="x:string:required")
    for command in ("echo 'open", "", "A=b"):
        book.sql("UPDATE tool SET command=?, status='present'", command)
        assert project.say(calls=[call("odd", x="1")]).failed == [True]


# ---- presence


def test_presence_is_refreshed_when_the_last_check_is_old(project: Project, book: Book) -> None:
    book.register("look", "ls", capability="coverage")
    project.say()
    ((status, first),) = book.sql("SELECT status, checked_at FROM tool")
    assert status == "present"
    book.sql("UPDATE tool SET status='missing'")
    project.say()
    assert book.sql("SELECT status FROM tool") == [("missing",)], "it was checked a moment ago"
    book.sql("UPDATE tool SET checked_at='2020-01-01 00:00:00'")
    project.say()
    assert book.sql("SELECT status, checked_at >= ? FROM tool", first) == [("present", 1)]


def test_what_is_found_reaches_the_model_in_the_same_run(project: Project, book: Book) -> None:
    book.register("look", "ls", capability="coverage")
    wait = 'until [ "$(harness-cli query sql "SELECT status FROM tool" | tail -1 | tr -d \' \')" = present ]; do sleep 0.05; done'
    result = project.say(calls=[bash(wait)])
    assert "coverage: degraded - look (cli, unconfirmed)" in result.requests[0]["system"]
    assert "coverage: full - look (cli, present)" in result.requests[1]["system"]


# ---- whose database it is


def listening() -> socket.socket:
    """A server that notices when somebody connects."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.2)
    return server


def with_endpoint(book: Book, server: socket.socket) -> None:
    port = server.getsockname()[1]
    book.register("far", "x", kind="http", capability="performance-benchmark")
    book.sql("UPDATE tool SET scan_target=? WHERE name='far'", f"http://127.0.0.1:{port}/")


def connected(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except TimeoutError:
        return False
    return True


def committed(project: Project) -> None:
    git(project.dir, "init", "-q")
    git(project.dir, "add", "-f", "harness.db")
    git(project.dir, "commit", "-qm", "theirs")


def test_our_own_database_is_used_also_when_it_is_committed_later(project: Project, deploy: Book) -> None:
    with listening() as server:
        with_endpoint(deploy, server)
        project.say()
        assert connected(server)
    committed(project)
    assert "deploy-check" in tools(project.say())


def test_a_database_that_came_with_a_checkout_runs_nothing_and_connects_nowhere(project: Project, deploy: Book) -> None:
    committed(project)
    with listening() as server:
        with_endpoint(deploy, server)
        git(project.dir, "commit", "-qam", "more")
        result = project.say(
            calls=[call("deploy-check", env="staging"), call("capability", name="deploy-verification")]
        )
        assert not connected(server)
    assert result.failed == [True, False]
    assert "not found" in result.results[0]
    assert "deploy-check" in result.results[1], "facts are shown"
    told = [event["text"] for event in result.events if event["type"] == "notice" and "checkout" in event["text"]]
    assert len(told) == 1
    assert "hs trust" in told[0]
    assert len(deploy.traces()) == 1


@pytest.mark.parametrize("way", ["hs trust", "variable"])
def test_a_person_may_trust_it(project: Project, deploy: Book, way: str) -> None:
    committed(project)
    if way == "hs trust":
        assert project.run("trust", ".").code == 0
    env = {} if way == "hs trust" else {"HARNESS_TRUST": "1"}
    assert project.say(calls=[call("deploy-check", env="staging")], env=env).failed == [False]
    if way == "hs trust":
        assert project.run("untrust", ".").code == 0
        assert "deploy-check" not in tools(project.say())


def test_changes_beside_the_database_count_as_the_database(project: Project, deploy: Book) -> None:
    project.say()
    journal = project.file("harness.db-journal", "")
    git(project.dir, "init", "-q")
    git(project.dir, "add", "-f", "harness.db-journal")
    git(project.dir, "commit", "-qm", "theirs")
    assert journal.exists()
    assert "deploy-check" not in tools(project.say())


def test_a_database_that_others_can_write_runs_nothing(project: Project, deploy: Book) -> None:
    deploy.path.chmod(0o666)
    result = project.say()
    assert "deploy-check" not in tools(result)
    assert "deploy-verification" in result.requests[0]["system"]


def test_hs_tools_lists_what_a_run_would_have(project: Project, deploy: Book) -> None:
    listed = project.run("tools").stdout
    assert "deploy-check" in listed
    assert "capability" in listed
    assert "deploy-check" not in project.run("tools", env={"HARNESS_LEDGER": "off"}).stdout


def test_sub_agents_have_them_too(project: Project, deploy: Book) -> None:
    steps = [{"calls": [call("agent", prompt="help me")]}, {"say": "done"}]
    inner = [{"calls": [call("deploy-check", env="broken")]}, {"say": "helped"}]
    script = project.file("script.json", json.dumps({"steps": steps, "agents": [{"for": "help", "steps": inner}]}))
    project.run("-p", "scripted", "delegate", env={"BRIDOON_SCRIPT": str(script)})
    trace = deploy.trace()
    assert trace["actions_taken"] == ["agent: help me", "deploy-check: broken"]
    assert "Weak proof: deploy-verification" in trace["notes"]
