"""`hs config` and `hs permissions` through the installed `hs`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from project import Project, Result

KEY = "sk-ant-1234567890abcdefghij"


def settings_of(result: Result) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(result.stdout)["settings"]}


def test_a_setting_that_nothing_sets_shows_its_default(project: Project) -> None:
    found = settings_of(project.run("config", "--json"))
    assert found["on_refuse"]["value"] == "continue"
    assert {each["origin"] for name, each in found.items() if name.endswith("_TIMEOUT")} == {"default"}


def test_a_value_from_a_file_names_the_file_and_the_line(project: Project) -> None:
    path = project.settings("# mine", "", "on_refuse = stop")
    found = settings_of(project.run("config", "--json"))["on_refuse"]
    assert (found["value"], found["origin"]) == ("stop", f"{path}:3")
    assert f"[{path}:3]" in project.run("config").stdout


def test_the_environment_beats_the_files_and_the_more_local_file_the_other(project: Project) -> None:
    (project.home / ".harness").mkdir()
    (project.home / ".harness" / "settings.conf").write_text("provider=groq\non_refuse=continue\n")
    project.settings(on_refuse="stop", provider="openai")
    found = settings_of(project.run("config", "--json", env={"HARNESS_PROVIDER": "anthropic"}))
    assert (found["provider"]["value"], found["provider"]["origin"]) == (
        "anthropic",
        "environment: HARNESS_PROVIDER",
    )
    assert found["on_refuse"]["value"] == "stop"


def test_an_option_is_told_from_the_environment(project: Project) -> None:
    found = settings_of(project.run("-p", "groq", "config", "--json"))
    assert (found["provider"]["value"], found["provider"]["origin"]) == ("groq", "command line")


def test_secrets_are_masked_everywhere(project: Project) -> None:
    project.settings(my_api_key="abcdefghijklmnopqrstuvwxyz")
    env = {
        "ANTHROPIC_API_KEY": KEY,
        "GROQ_API_KEY": "gsk_0123456789abcdefghij",
        "HTTPS_PROXY": "http://user:hunter2@proxy:3128",
        "ANTHROPIC_API_URL": "https://api.example.com/v1?api_key=topsecret1",
    }
    for words in (
        ["config"],
        ["config", "--json"],
        ["config", "ANTHROPIC_API_KEY"],
        ["config", "my_api_key"],
    ):
        printed = project.run(*words, env=env)
        for secret in (KEY[4:-4], "0123456789abcdefgh", "hunter2", "topsecret1", "efghijklmnopqrstuv"):
            assert secret not in printed.stdout + printed.stderr, words
    assert "sk-a...ghij" in project.run("config", env=env).stdout


def test_a_short_secret_is_masked_whole(project: Project) -> None:
    assert project.run("config", "OPENAI_API_KEY", env={"OPENAI_API_KEY": "tiny-secret"}).stdout == "****\n"


def test_a_key_prints_its_value_alone(project: Project) -> None:
    project.settings(model="small-1")
    assert project.run("config", "model").stdout == "small-1\n"
    assert project.run("config", "HARNESS_MODEL").stdout == "small-1\n"
    assert project.run("config", "HARNESS_MAX_TURNS").stdout == "100\n"


def test_a_key_that_is_not_set_prints_nothing_and_fails(project: Project) -> None:
    result = project.run("config", "provider")
    assert (result.code, result.stdout, result.stderr) == (1, "", "")


def test_an_unknown_key_is_an_error_with_a_hint(project: Project) -> None:
    result = project.run("config", "providr")
    assert result.code == 1
    assert "did you mean provider?" in result.stderr


def test_a_misspelt_key_and_a_line_that_means_nothing_are_pointed_out(project: Project) -> None:
    path = project.settings("providr=groq", "what is this")
    shown = project.run("config").stdout
    assert "did you mean provider?" in shown
    assert f"{path}:2: neither key=value nor a rule" in shown


def test_a_project_cannot_loosen_the_permissions_of_the_home(project: Project) -> None:
    (project.home / ".harness").mkdir()
    home = project.home / ".harness" / "settings.conf"
    home.write_text("permissions=ask\n")
    project.settings(permissions="auto")
    found = settings_of(project.run("config", "--json"))["permissions"]
    assert (found["value"], found["origin"]) == ("ask", f"{home}:1")


# ---- permissions


def test_permissions_lists_the_mode_and_the_rules_with_their_places(project: Project) -> None:
    path = project.settings("allow bash(git status*)", "deny bash(rm *)", permissions="ask")
    shown = project.run("permissions").stdout.splitlines()
    assert shown[0] == f"mode: ask ({path})"
    assert shown[1:] == [f"deny bash(rm *)  ({path}:2)", f"allow bash(git status*)  ({path}:1)"]


def test_permissions_as_json_has_mode_and_rules(project: Project) -> None:
    project.settings("deny write_file", permissions="read-only")
    value = json.loads(project.run("permissions", "--json").stdout)
    assert value["mode"] == "read-only"
    assert [(rule["action"], rule["target"]) for rule in value["rules"]] == [("deny", "write_file")]


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("git status -s", "allow"),
        ("git status; rm x", "deny"),
        ("make", "ask"),
        ("git status | tee x", "ask"),
    ],
)
def test_permissions_says_what_would_become_of_a_call_and_runs_nothing(
    project: Project, command: str, action: str
) -> None:
    project.settings("allow bash(git status*)", "deny bash(rm *)", permissions="ask")
    result = project.run("permissions", "bash", command)
    assert result.code == 0
    assert result.stdout.startswith(f"{action}: ")


def test_permissions_of_a_reader_in_read_only_mode(project: Project) -> None:
    options = ("permissions", "--permissions", "read-only")
    assert project.run(*options, "read_file", "x").stdout.startswith("allow")
    assert project.run(*options, "write_file", "x").stdout.startswith("deny")


def test_permissions_of_a_tool_that_is_not_there(project: Project) -> None:
    result = project.run("permissions", "bsh", "ls")
    assert result.code == 1
    assert "did you mean bash?" in result.stderr
