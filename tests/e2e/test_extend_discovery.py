"""What is dropped into `.harness` is found: where, when, and which file of several."""

from __future__ import annotations

from project import Project, bash, call
from requirements import requirement


@requirement("discovery:every-turn", "extend:real-call", "tools:three-flags")
def test_a_tool_that_the_model_writes_is_called_on_its_next_turn(project: Project) -> None:
    schema = '{"name":"greet","description":"d"}'
    body = f"#!/bin/sh\ncase $1 in\n--schema) echo '{schema}' ;;\n--exec) echo hello ;;\nesac\n"
    result = project.say(
        steps=[
            {"call": call("write_file", path=".harness/tools/greet", content=body)},
            {"call": bash("chmod +x .harness/tools/greet")},
            {"call": call("greet")},
            {"expect": {"contains": "hello"}, "say": "it works"},
        ]
    )
    assert (result.output, result.results[-1]) == ("it works", "hello")
    assert "greet" in [tool["name"] for tool in result.requests[2]["tools"]]


@requirement("discovery:every-turn")
def test_a_hook_dropped_during_a_run_takes_part_in_its_next_stage(project: Project) -> None:
    hook = '#!/bin/sh\ncat > /dev/null\necho \'{"output": "replaced"}\'\n'
    result = project.say(
        steps=[
            {"call": call("write_file", path=".harness/hooks.d/done/50-x", content=hook)},
            {"call": bash("chmod +x .harness/hooks.d/done/50-x")},
            {"say": "not this"},
        ]
    )
    assert result.output == "replaced"


@requirement("discovery:walk-to-root")
def test_every_harness_directory_from_here_to_the_root_takes_part(project: Project) -> None:
    project.tool("outer", "echo outer")
    project.file("deep/er/.harness/prompts/a.md", "from below")
    project.tool("inner", "echo inner").rename(project.file("deep/.harness/tools/inner", "", 0o755))
    result = project.say("go", "--cwd", "deep/er", calls=[call("outer"), call("inner")])
    assert result.results == ["outer", "inner"]
    assert "from below" in result.requests[0]["system"]


@requirement("discovery:most-local-wins")
def test_the_most_local_of_two_files_with_one_name_counts(project: Project) -> None:
    project.tool("which", "echo far")
    project.tool("which", "echo near").rename(project.file("sub/.harness/tools/which", "", 0o755))
    project.tool("which", "echo far")
    assert project.say("go", "--cwd", "sub", calls=[call("which")]).results == ["near"]


@requirement("extend:scope")
def test_the_home_is_for_every_project_and_the_project_beats_it(project: Project) -> None:
    for name in ("mine", "both"):
        project.tool(name, "echo home").rename(_in_home(project, f"tools/{name}"))
    project.tool("both", "echo project")
    assert project.say(calls=[call("mine"), call("both")]).results == ["home", "project"]


@requirement("layout:commands")
def test_a_command_is_run_by_its_name_with_its_arguments(project: Project) -> None:
    project.command("greet", 'echo "hello $*"')
    assert project.run("greet", "big", "world").stdout == "hello big world\n"


@requirement("extend:command-from-bash")
def test_the_model_runs_a_command_from_bash_by_hs_name(project: Project) -> None:
    project.command("greet", "echo hello from a command")
    assert project.say(calls=[bash("hs greet")]).results == ["hello from a command"]


@requirement("layout:packs")
def test_a_pack_has_the_same_layout(project: Project) -> None:
    for kind, name in (("tools", "packed"), ("commands", "packed")):
        path = project.tool("packed", "echo from a pack") if kind == "tools" else project.command("packed", "echo cmd")
        path.rename(project.file(f".harness/plugins/kit/{kind}/{name}", "", 0o755))
    project.hook("done/50-x", 'jq -c \'.output = "hooked"\' 2>/dev/null || echo \'{"output": "hooked"}\'').rename(
        project.file(".harness/plugins/kit/hooks.d/done/50-x", "", 0o755)
    )
    project.file(".harness/plugins/kit/prompts/p.md", "the pack's prompt")
    project.file(
        ".harness/plugins/kit/skills/s/SKILL.md",
        "---\nname: packskill\ndescription: when testing\n---\nbody\n",
    )
    result = project.say(calls=[call("packed")])
    assert (result.output, result.results) == ("hooked", ["from a pack"])
    assert "the pack's prompt" in result.requests[0]["system"]
    assert "packskill" in result.requests[0]["system"]
    assert project.run("packed").stdout == "cmd\n"


@requirement("tools:not-executable")
def test_a_file_without_the_x_bit_is_ignored_and_told(project: Project) -> None:
    project.tool("greet", "echo hello").chmod(0o644)
    result = project.say(calls=[call("greet")])
    assert result.failed == [True]
    assert "greet" in project.run("tools").stdout
    assert "not executable" in project.run("tools").stdout


def _in_home(project: Project, path: str) -> str:
    target = project.home / ".harness" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    return str(target)


def test_even_the_version_command_can_be_replaced(project: Project) -> None:
    assert project.run("version").stdout.startswith("harness ")
    project.command("version", "echo mine")
    assert project.run("version").stdout == "mine\n"
    assert project.run("--version").stdout.startswith("harness ")
