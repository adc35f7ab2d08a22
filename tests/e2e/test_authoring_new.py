"""`hs new`: what it writes works at once."""

from __future__ import annotations

import os

import pytest
from project import Project, bash, call

LANGUAGES = ["bash", "python"]


def _new(project: Project, *words: str) -> str:
    result = project.run("new", *words)
    assert result.code == 0, result
    return result.stdout.splitlines()[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_tool_answers_the_next_call(project: Project, language: str) -> None:
    path = _new(project, "tool", "count", "--lang", language)
    assert path == str(project.harness / "tools" / "count")
    result = project.say(calls=[call("count", text="one two\nthree")])
    assert result.failed == [False]
    assert "3" in result.results[0].split() or "3 words" in result.results[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_tool_says_what_is_wrong_with_bad_input(project: Project, language: str) -> None:
    _new(project, "tool", "count", "--lang", language)
    result = project.say(calls=[call("count")])
    assert result.failed == [True]
    assert "text" in result.results[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_gate_refuses_what_it_names_and_lets_the_rest_pass(project: Project, language: str) -> None:
    path = _new(project, "hook", "guard", "--stage", "tool_exec", "--lang", language)
    assert path.endswith("hooks.d/tool_exec/05-guard")
    result = project.say(calls=[bash("echo 'rm -rf /'"), bash("echo fine"), call("read_file", path="none")])
    assert result.failed == [True, False, True]
    assert "that would remove everything" in result.results[0]
    assert result.results[1] == "fine"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("stage", ["start", "assemble", "send", "receive", "tool_done", "done", "resolve"])
def test_a_new_observer_writes_its_log_and_disturbs_nothing(project: Project, stage: str, language: str) -> None:
    _new(project, "hook", f"{stage}/watch", "--lang", language)
    result = project.say(calls=[bash("echo hi")], record=False)
    assert (result.output, result.results, result.code) == ("done", ["hi"], 0)
    place = result.session if stage != "resolve" else project.home / ".harness"
    assert stage in (place / "watch.log").read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_command_runs_by_its_name(project: Project, language: str) -> None:
    _new(project, "command", "where", "--lang", language)
    result = project.run("where")
    assert result.code == 0
    assert str(project.harness) in result.stdout


@pytest.mark.parametrize(("language", "said"), [("bash", "This is mine"), ("python", "You said: hello")])
def test_a_new_provider_answers(project: Project, language: str, said: str) -> None:
    _new(project, "provider", "mine", "--lang", language)
    result = project.run("--json", "-p", "mine", "hello")
    assert result.code == 0, result
    assert said in result.output


def test_a_new_variant_is_listed_and_skills_and_packs_take_part(project: Project) -> None:
    _new(project, "provider", "my-endpoint", "--lang", "conf")
    _new(project, "skill", "my-flow")
    _new(project, "pack", "kit")
    result = project.say(calls=[call("kit", text="a b"), call("skill", name="my-flow")])
    assert result.failed == [False, False]
    assert "my-flow" in result.requests[0]["system"]
    assert "The pack kit is installed" in result.requests[0]["system"]
    assert "my-endpoint" in project.run("providers").stdout


def test_everything_that_new_writes_passes_check(project: Project) -> None:
    wanted = "tool a,tool b -l python,hook receive/c,hook tool_exec/d -l python,command e,command f -l python"
    for words in f"{wanted},provider g,provider h -l python,skill i,pack j".split(","):
        _new(project, *words.split())
    result = project.run("check", "--json")
    assert result.code == 0, result
    assert '"warning"' not in result.stdout, result


def test_global_writes_into_the_home_and_the_nearest_harness_is_taken_otherwise(project: Project) -> None:
    (project.dir / "a" / "b").mkdir(parents=True)
    assert _new(project, "tool", "here", "--dir", "a") == str(project.dir / "a" / ".harness" / "tools" / "here")
    assert _new(project, "tool", "everywhere", "--global") == str(project.home / ".harness" / "tools" / "everywhere")
    result = project.run("--cwd", "a/b", "new", "tool", "near")
    assert result.stdout.startswith(str(project.dir / "a" / ".harness" / "tools" / "near"))


def test_what_is_written_is_executable_whatever_the_umask(project: Project) -> None:
    before = os.umask(0o177)
    try:
        path = _new(project, "tool", "count")
    finally:
        os.umask(before)
    assert os.stat(path).st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("tool a/b", "cannot be called"),
        ("tool ../x", "cannot be called"),
        ("command Big", "cannot be called"),
        ("hook watch", "which stage"),
        ("hook watch --stage ../x", "a stage cannot be called"),
        ("hook 50-late --stage tool_exec", "sorts after 10-exec"),
        ("widget x", "unknown kind"),
        ("tool x --lang conf", "for providers"),
        ("tool x --lang perl", "--lang"),
        ("tool", "usage"),
    ],
)
def test_what_cannot_work_is_refused_and_nothing_is_written(project: Project, words: str, why: str) -> None:
    result = project.run("new", *words.split())
    assert result.code == 2
    assert why in result.stderr
    assert not list(project.harness.iterdir())


def test_an_existing_file_is_not_overwritten(project: Project) -> None:
    path = project.tool("count", "echo mine")
    before = path.read_bytes()
    result = project.run("new", "tool", "count")
    assert result.code == 2
    assert "is there already" in result.stderr
    assert path.read_bytes() == before


def test_replacing_a_bundled_tool_is_told(project: Project) -> None:
    result = project.run("new", "tool", "bash")
    assert "takes the place of" in result.stdout
