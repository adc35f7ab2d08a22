"""Tools by their protocol: three flags, standard output is the result, the exit code decides."""

from __future__ import annotations

from project import Project, call
from requirements import requirement

GREET = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@requirement("tools:three-flags", "layout:tools")
def test_the_model_is_shown_the_schema_and_the_tool_is_given_the_input(project: Project) -> None:
    project.tool("greet", "cat", schema=GREET, about="greets somebody")
    result = project.say(calls=[call("greet", name="Ada")])
    shown = next(tool for tool in result.requests[0]["tools"] if tool["name"] == "greet")
    assert shown == {"name": "greet", "description": "greets somebody", "input_schema": GREET}
    assert result.results == ['{"name": "Ada"}'] or result.results == ['{"name":"Ada"}']


@requirement("tools:stdout-is-result", "tools:stderr-to-log")
def test_standard_output_is_the_result_and_standard_error_goes_to_the_log(project: Project) -> None:
    project.tool("two", "echo out; echo aside >&2")
    log = project.dir / "log"
    result = project.say(calls=[call("two")], env={"HARNESS_LOG": str(log)})
    assert (result.results, result.failed) == (["out"], [False])
    assert "aside" in log.read_text("utf-8")


@requirement("tools:nonzero-is-error")
def test_a_non_zero_exit_marks_the_result_as_an_error(project: Project) -> None:
    project.tool("fails", "echo half; echo why >&2; exit 3")
    result = project.say(calls=[call("fails")])
    assert result.failed == [True]
    assert result.results == ["half\nwhy"]
    assert "error: true" in next(result.session.glob("messages/*-tool_result.md")).read_text("utf-8")


@requirement("tools:cwd")
def test_a_tool_runs_in_the_sessions_working_directory(project: Project) -> None:
    project.tool("where", 'echo "$PWD $HARNESS_CWD"')
    (project.dir / "sub").mkdir()
    first = project.say("go", "--cwd", "sub", calls=[call("where")])
    place = str(project.dir / "sub")
    assert first.results == [f"{place} {place}"]
    steps = [{"call": call("where")}, {"say": "a"}, {"call": call("where")}, {"say": "b"}]
    again = project.say("again", "--session", first.final["session"], steps=steps)
    assert again.results[-1] == f"{place} {place}"


@requirement("tools:listed")
def test_hs_tools_lists_what_is_discovered_with_its_description(project: Project) -> None:
    project.tool("greet", "echo hello", about="greets somebody")
    lines = project.run("tools").stdout.splitlines()
    (line,) = [line for line in lines if "greet" in line.split()]
    assert "greets somebody" in line
    assert str(project.harness / "tools" / "greet") in line


@requirement("extend:iterate")
def test_a_tool_with_a_broken_schema_is_told_to_the_model_and_works_once_it_is_mended(
    project: Project,
) -> None:
    broken = "#!/bin/sh\necho '{ not json'\n"
    schema = '{"name":"mine","description":"d"}'
    whole = f"#!/bin/sh\ncase $1 in --schema) echo '{schema}' ;; --exec) echo fine ;; esac\n"
    result = project.say(
        steps=[
            {"call": call("write_file", path=".harness/tools/mine", content=broken)},
            {"call": call("bash", command="chmod +x .harness/tools/mine")},
            {"call": call("mine")},
            {"call": call("write_file", path=".harness/tools/mine", content=whole)},
            {"call": call("mine")},
            {"say": "mended"},
        ]
    )
    assert result.failed == [False, False, True, False, False]
    assert "tools/mine" in result.requests[2]["system"]
    assert result.results[-1] == "fine"
