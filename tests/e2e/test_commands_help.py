"""`hs help`, `hs COMMAND --help`, `hs --help` through the installed `hs`."""

from __future__ import annotations

import pytest
from project import Project

from bridoon.cli import declared

OURS = ("tools", "hooks", "skills", "providers", "permissions", "help", "doctor", "config", "models", "trust",
        "untrust", "completion", "session")  # fmt: skip


def test_help_shows_usage_options_commands_providers_environment_and_exit_codes(project: Project) -> None:
    shown = project.run("help").stdout
    for title in ("usage: hs", "options:", "commands:", "providers", "environment:", "exit codes:"):
        assert f"\n{title}" in f"\n{shown}", title
    for word in (
        "--max-turns",
        "agent ",
        "anthropic",
        "groq",
        "HARNESS_PROVIDER",
        "no provider, or no credentials",
    ):
        assert word in shown, word


@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_help_options_print_the_same(project: Project, words: list[str]) -> None:
    project.run("help")  # records that the project is trusted
    assert project.run(*words).stdout == project.run("help").stdout


def test_help_lists_commands_and_providers_of_the_project(project: Project) -> None:
    project.command("deploy", 'case "$1" in --describe) echo "Ship it" ;; *) touch ran ;; esac')
    project.command("silent", "touch ran")
    project.provider("mine.conf", "protocol=openai\ndescription=My Endpoint\nurl=http://127.0.0.1:9/v1\n")
    shown = project.run("help").stdout
    assert "  deploy                 Ship it\n" in shown
    assert "  silent                 (no description)\n" in shown
    assert "My Endpoint" in shown
    assert not (project.dir / "ran").exists()


def test_a_provider_with_a_key_is_marked_ready_and_the_key_is_not_shown(project: Project) -> None:
    env = {"GROQ_API_KEY": "gsk_0123456789abcdefghij"}
    shown = project.run("help", env=env).stdout
    assert "  * groq" in shown
    assert "    openrouter" in shown
    assert "0123456789" not in shown


@pytest.mark.parametrize("name", OURS)
def test_every_command_of_ours_explains_itself(project: Project, name: str) -> None:
    result = project.run(name, "--help")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"usage: hs {name}")
    assert project.run("help", name).stdout == result.stdout


@pytest.mark.parametrize("name", [each.name for each in declared.SESSION])
def test_every_sub_command_of_session_explains_itself(project: Project, name: str) -> None:
    assert project.run(*name.split(), "--help").stdout.startswith(f"usage: hs {name}")
    assert project.run("help", *name.split()).stdout.startswith(f"usage: hs {name}")


def test_help_of_somebodys_own_command_says_what_it_says_about_itself(project: Project) -> None:
    path = project.command("deploy", 'case "$1" in --describe) echo "Ship it" ;; *) touch ran ;; esac')
    shown = project.run("help", "deploy").stdout
    assert "Ship it" in shown
    assert str(path) in shown
    assert not (project.dir / "ran").exists()


def test_help_of_a_command_that_is_not_there_names_the_one_that_was_meant(project: Project) -> None:
    result = project.run("help", "sesion")
    assert result.code == 1
    assert "did you mean session?" in result.stderr


def test_the_description_of_each_bundled_command_is_the_one_that_it_declares(project: Project) -> None:
    shown = " ".join(project.run("help").stdout.split())
    for name in OURS:
        about = declared.SESSION_ABOUT if name == "session" else declared.COMMANDS[name].about
        assert f"{name} {about}" in shown, name


@pytest.mark.parametrize("words", [["tools", "please", "fix"], ["session", "state", "is", "lost"]])
def test_a_message_that_begins_like_a_command_is_told_how_to_reach_the_agent(
    project: Project, words: list[str]
) -> None:
    result = project.run(*words)
    assert result.code == 2
    assert f"for a message: hs -- {' '.join(words)}" in result.stderr


def test_auth_alone_lists_what_is_stored(project: Project) -> None:
    assert project.run("auth").stdout == "(no credentials configured)\n"
    project.run("auth", "set", "groq", stdin="gsk_0123456789abcdefghij\n")
    assert project.run("auth").stdout == project.run("auth", "list").stdout
    assert "groq [0] type=api_key" in project.run("auth").stdout
