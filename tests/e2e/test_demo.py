"""`hs demo`: the loop, the tools and the gate are real, also on a machine with nothing configured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.api_server import api_server
from project import Project


def place_of(stderr: str) -> Path:
    """The throw-away project that the demo names."""
    found = re.search(r"throw-away project in (\S+?),", stderr)
    assert found, stderr
    return Path(found[1])


def test_the_demo_shows_a_tool_being_written_called_and_a_gate_refusing(project: Project) -> None:
    shown = project.run("demo")
    assert shown.code == 0
    assert "played by a SCRIPT, not by a model" in shown.stderr
    assert "3 lines with TODO in notes.py" in shown.stderr
    assert "refused by hook 05-no-recursive-delete (exit 1): recursive deletion is not allowed" in shown.stderr
    assert shown.stdout.startswith("Done. I wrote .harness/tools/count_todos")
    assert not place_of(shown.stderr).exists()
    assert list(project.dir.iterdir()) == [project.harness], "it works elsewhere"
    assert not project.sessions.exists()


def test_the_demo_needs_nothing_but_an_interpreter_a_shell_and_coreutils(project: Project) -> None:
    del project.env["HOME"]
    project.env["PATH"] = "/usr/bin:/bin"
    assert project.run("demo").code == 0


@pytest.mark.parametrize("variable", ["HARNESS_PROVIDER", "ANTHROPIC_API_KEY"])
def test_what_the_environment_says_does_not_make_the_demo_ask_a_model(project: Project, variable: str) -> None:
    shown = project.run("demo", "--json", env={variable: "anthropic"})
    assert (shown.code, shown.final["stop"]) == (0, "end")
    assert [e["name"] for e in shown.events if e["type"] == "tool_start"] == [
        "bash", "read_file", "write_file", "bash", "count_todos", "bash",
    ]  # fmt: skip


@pytest.mark.parametrize("words", [("demo", "-p", "anthropic"), ("-p", "anthropic", "demo")])
def test_with_a_provider_the_same_task_goes_to_a_real_model(project: Project, words: tuple[str, ...]) -> None:
    with api_server() as api:
        api.say("I would rather not.")
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_API_URL": api.anthropic_url}
        shown = project.run(*words, env=env)
        assert (shown.code, shown.stdout) == (0, "I would rather not.\n")
        assert "The model's part is played by anthropic." in shown.stderr
        assert "count_todos" in str(api.requests[-1].body["messages"])
        assert api.problems == []


def test_the_project_of_the_demo_may_be_kept(project: Project) -> None:
    shown = project.run("demo", "--keep")
    place = place_of(shown.stderr)
    assert place.is_relative_to(project.env["TMPDIR"])
    assert (place / ".harness/tools/count_todos").stat().st_mode & 0o111
    assert (place / "build").is_dir(), "the gate kept it"
