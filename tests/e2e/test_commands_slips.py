"""What is misspelt in settings, rules, names of providers and of commands is told where people look."""

from __future__ import annotations

from project import Project, bash


def test_a_misspelt_safety_setting_is_told_by_check_doctor_and_the_run_and_closes(project: Project) -> None:
    project.settings("permision=read-only", "compact_at=lots")
    for words in (["check"], ["doctor"]):
        said = project.run(*words).stdout
        assert "settings.conf:1: " in said, words
        assert "did you mean permissions?" in said, words
        assert "compact_at=lots cannot be used" in said, words
    result = project.say("go", calls=[bash("touch made")])
    assert not (project.dir / "made").exists()
    assert result.stderr.count("did you mean permissions?") == 1


def test_rules_for_tools_that_are_not_here_are_named_by_check_and_doctor_only(project: Project) -> None:
    project.tool("greet", "echo hello")
    path = project.settings("deny nosuchtool", "deny bsh(rm *)", "deny ba*(rm *)", "ask greet", "deny *")
    result = project.run("check", str(path))
    assert result.code == 0
    assert f"{path}:1: warning: no tool is called 'nosuchtool'" in result.stdout
    assert f"{path}:2: warning: no tool is called 'bsh'" in result.stdout
    assert "did you mean bash?" in result.stdout
    assert result.stdout.count("no tool is called") == 2
    assert project.run("doctor").stdout.count("no tool is called") == 2
    assert "no tool is called" not in project.say("go", calls=[bash("true")]).stderr


def test_a_key_for_a_provider_that_is_not_known_is_stored_and_that_is_told(project: Project) -> None:
    result = project.run("auth", "set", "nosuch", stdin="k-123\n")
    assert result.code == 0
    assert "saved credential for nosuch" in result.stderr
    assert "no provider of the name nosuch is known yet" in result.stderr
    assert "did you mean groq?" in project.run("auth", "set", "grq", stdin="k-123\n").stderr
    assert "known yet" not in project.run("auth", "set", "groq", stdin="k-123\n").stderr


def test_a_command_with_the_name_of_a_bundled_one_is_warned_about(project: Project) -> None:
    for name in ("tools", "mine"):
        assert project.run("new", "command", name).code == 0
    said = project.run("check").stdout
    assert "commands/tools: warning: it replaces the bundled command 'tools'" in said
    assert "commands/mine: warning: it replaces" not in said
