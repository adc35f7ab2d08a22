"""Prompts, AGENTS.md and skills: what they add to the system prompt, and in which order."""

from __future__ import annotations

from project import Project, call
from requirements import requirement


def _system(project: Project, *options: str) -> str:
    return str(project.say("go", *options).requests[-1]["system"])


def _in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


@requirement("prompts:all", "layout:prompts")
def test_all_prompt_fragments_are_appended_in_the_order_of_their_names(project: Project) -> None:
    project.prompt("20-b", "second fragment")
    project.prompt("10-a", "first fragment")
    assert _in_order(_system(project), "first fragment", "second fragment")


@requirement("prompts:local-last")
def test_local_fragments_come_after_global_ones(project: Project) -> None:
    project.prompt("50-x", "outer fragment")
    project.file("sub/.harness/prompts/10-x.md", "inner fragment")
    home = project.home / ".harness" / "prompts"
    home.mkdir(parents=True)
    (home / "99-x.md").write_text("home fragment", "utf-8")
    assert _in_order(_system(project, "--cwd", "sub"), "home fragment", "outer fragment", "inner fragment")


@requirement("agents-md:parent", "agents-md:order")
def test_agents_md_lies_beside_harness_directories_and_is_read_global_first(project: Project) -> None:
    (project.home / "AGENTS.md").write_text("home agents", "utf-8")
    project.file("AGENTS.md", "project agents")
    project.file("sub/AGENTS.md", "sub agents")
    project.file("sub/.harness/AGENTS.md", "inside agents")
    system = _system(project, "--cwd", "sub")
    assert _in_order(system, "home agents", "project agents", "sub agents")
    assert "inside agents" not in system


@requirement("skills:catalog", "layout:skills", "skills:layout")
def test_only_the_name_and_description_of_a_skill_are_in_the_system_prompt(project: Project) -> None:
    project.skill("my-workflow", "Use before a release.", "The secret body.")
    system = _system(project)
    assert "my-workflow" in system
    assert "Use before a release." in system
    assert "The secret body." not in system


@requirement("skills:load", "skills:resources")
def test_the_skill_tool_loads_the_body_and_lists_what_lies_beside_it(project: Project) -> None:
    project.skill("my-workflow", "Use before a release.", "The secret body.")
    project.file(".harness/skills/my-workflow/references/details.md", "details")
    project.file(".harness/skills/my-workflow/scripts/setup.sh", "true", 0o755)
    project.file(".harness/skills/my-workflow/assets/logo.txt", "logo")
    (text,) = project.say(calls=[call("skill", name="my-workflow")]).results
    assert "The secret body." in text
    listed = text.partition("<skill-resources>")[2].partition("</skill-resources>")[0].split()
    assert listed == ["scripts/setup.sh", "references/details.md", "assets/logo.txt"]
    assert str(project.harness / "skills" / "my-workflow") in text
