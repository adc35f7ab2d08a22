"""`hs completion` in real shells, and `hs __complete`, which the scripts ask."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from project import Project, hs

from bridoon.model.message import Message, Text
from bridoon.session import store

BASH = """
eval "$(hs completion bash)"
complete -p hs >/dev/null || exit 9
line=$1
COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_hs
printf '%s\\n' "${COMPREPLY[@]}"
"""

ZSH = """
autoload -Uz compinit && compinit -D -u
eval "$(hs completion zsh)"
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@" }
_files() { print -l FILES "$@" }
words=("$@")
CURRENT=$#words
_hs
"""


def candidates(project: Project, *words: str) -> list[str]:
    """What could stand in place of the last word."""
    result = project.run("__complete", *words)
    assert result.code == 0, result
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


def shell(project: Project, *argv: str) -> list[str]:
    """Run a shell that finds our `hs` on its PATH; the lines it prints."""
    done = subprocess.run(argv, cwd=project.dir, env=project.env, capture_output=True, timeout=20, check=False)
    assert done.returncode == 0, done
    return [line for line in done.stdout.decode().splitlines() if line]


def in_bash(project: Project, line: str, *pieces: str) -> list[str]:
    """What bash offers for a line that it has cut into these pieces."""
    words = pieces or (*line.split(), *([""] if line.endswith(" ") else []))
    return shell(project, "bash", "--norc", "-c", BASH, "bash", line, *words)


# ---- candidates


def test_commands_of_the_harness_and_of_the_project_are_offered(project: Project) -> None:
    project.command("seed-the-garden", "echo")
    assert candidates(project, "se") == ["seed-the-garden", "session"]
    assert "internal" not in candidates(project, "")


def test_no_drop_in_is_started_to_complete_a_line(project: Project) -> None:
    project.command("noisy", "touch ran # --describe")
    project.tool("noisy", "touch ran")
    project.provider("noisy", "touch ran # --describe --ready")
    for words in (("",), ("-p", ""), ("permissions", ""), ("help", "")):
        candidates(project, *words)
    assert not (project.dir / "ran").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["auth", ""], ["set", "list", "rm"]),
        (["auth", "set", "gro"], ["groq"]),
        (["help", "session", "ex"], ["export"]),
        (["session", ""], ["list", "show", "dir", "fork", "export", "rm"]),
        (["session", "export", "--format", ""], ["md", "json", "jsonl"]),
        (["session", "rm", "--ol"], ["--older-than"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["--permissions", ""], ["auto", "ask", "read-only"]),
        (["--permissions=r"], ["--permissions=read-only"]),
        (["--json", "tool"], ["tools"]),
        (["-p", "groq", "model"], ["models"]),
        (["hooks", "tool_e"], ["tool_exec"]),
        (["config", "on_"], ["on_refuse"]),
        (["models", "llama"], ["llama.cpp"]),
        (["help", "sessi"], ["session"]),
        (["trust", "--"], ["--list", "--dry-run", "--json", "--help"]),
        (["--cwd", ""], [":directories"]),
        (["--attach", ""], [":files"]),
        (["--", ""], [":files"]),
        (["fix", "the", ""], [":files"]),
        (["version", ""], []),
    ],
)
def test_what_is_offered(project: Project, words: list[str], expected: list[str]) -> None:
    assert candidates(project, *words) == expected


def test_providers_and_variants_of_the_project_are_offered(project: Project) -> None:
    project.provider("mine.conf", "protocol=openai\n")
    assert {"mine", "anthropic", "groq"} <= set(candidates(project, "-p", ""))


def test_session_ids_are_offered_with_the_beginning_of_their_first_message(project: Project) -> None:
    session = store.create(str(project.sessions), cwd=str(project.dir), id="20260101-000000-1")
    session.append(Message("user", (Text("tidy up\tthe \x1b shed"),)))
    for words in (("session", "show", "2026"), ("resume", ""), ("--session", ""), ("2026",)):
        printed = project.run("__complete", *words).stdout
        assert printed.startswith("20260101-000000-1\ttidy up the"), words
        assert "\x1b" not in printed


def test_names_that_a_shell_would_act_on_are_not_offered(project: Project) -> None:
    project.tool("$(touch x)", "echo")
    project.tool("fine", "echo")
    offered = candidates(project, "permissions", "")
    assert "fine" in offered
    assert not [word for word in offered if "$" in word]


def test_an_unknown_shell_is_a_usage_error_with_a_hint(project: Project) -> None:
    result = project.run("completion", "bsh")
    assert result.code == 2
    assert "did you mean bash?" in result.stderr
    assert project.run("completion").code == 2


# ---- shells


def test_bash_offers_commands_options_and_values(project: Project) -> None:
    assert in_bash(project, "hs sess") == ["session"]
    assert in_bash(project, "hs session ex") == ["export"]
    assert in_bash(project, "hs --permissions re") == ["read-only"]


def test_bash_completes_behind_an_equals_sign_where_it_cuts_words(project: Project) -> None:
    assert in_bash(project, "hs --permissions=re", "hs", "--permissions", "=", "re") == ["read-only"]
    assert in_bash(project, "hs --permissions=", "hs", "--permissions", "=") == ["auto", "ask", "read-only"]


def test_bash_offers_files_and_directories_with_blanks_in_their_names(project: Project) -> None:
    project.file("my notes.txt", "x")
    (project.dir / "my folder").mkdir()
    assert sorted(in_bash(project, "hs --attach my")) == ["my folder", "my notes.txt"]
    assert in_bash(project, "hs --cwd my") == ["my folder"]


def test_bash_accepts_the_script_in_posix_syntax_check(project: Project) -> None:
    script = project.run("completion", "bash").stdout
    subprocess.run(["bash", "-n"], input=script.encode(), check=True, timeout=10)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_offers_commands_and_values(project: Project) -> None:
    assert shell(project, "zsh", "-f", "-c", ZSH, "zsh", hs(), "sess") == ["session"]
    assert shell(project, "zsh", "-f", "-c", ZSH, "zsh", hs(), "--permissions", "") == [
        "auto",
        "ask",
        "read-only",
    ]
    assert shell(project, "zsh", "-f", "-c", ZSH, "zsh", hs(), "--", "") == ["FILES"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_offers_commands_with_what_they_do(project: Project) -> None:
    program = 'hs completion fish | source; complete -C "hs sess"; complete -C "hs --permissions=re"'
    session, mode = shell(project, "fish", "--no-config", "-c", program)
    assert session.startswith("session\tlist, show")
    assert mode == "--permissions=read-only"
