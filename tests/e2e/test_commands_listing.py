"""`hs tools`, `hs hooks`, `hs skills` through the installed `hs`."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from project import Project, Result

NOISY = "#!/bin/sh\ntouch ran\necho '{}'\n"


def lines(result: Result) -> list[str]:
    return result.stdout.splitlines()


def line_of(result: Result, start: str) -> str:
    return next(line for line in lines(result) if line.startswith(f"  {start} "))


def listed(result: Result) -> dict[str, Any]:
    value = json.loads(result.stdout)
    assert set(value) == {"kind", "entries", "problems", "near_misses"}
    return dict(value)


def test_a_tool_is_listed_with_its_description_and_its_path(project: Project) -> None:
    path = project.tool("greet", "echo hi", about="Greets somebody")
    assert line_of(project.run("tools"), "greet") == f"  greet                Greets somebody  [{path}]"


def test_tools_stand_in_bytewise_order(project: Project) -> None:
    for name in ("zeta", "Alpha", "beta"):
        project.tool(name, "echo")
    entries = listed(project.run("tools", "--json"))["entries"]
    names = [entry["name"] for entry in entries]
    assert names == sorted(names, key=os.fsencode)
    assert {"zeta", "Alpha", "beta", "bash"} <= set(names)


def test_a_tool_that_replaces_a_bundled_one_is_listed_above_it_and_the_other_is_marked(
    project: Project,
) -> None:
    path = project.tool("bash", "echo", about="mine")
    found = [line for line in lines(project.run("tools")) if line.startswith("  bash ")]
    assert "mine" in found[0]
    assert f"(overridden by {path})" in found[1]


def test_a_tool_with_a_broken_schema_is_named_with_the_reason_and_stops_no_other(project: Project) -> None:
    project.tool("good", "echo")
    path = project.drop("tools/bad", "echo '{ not json'")
    result = project.run("tools")
    assert result.code == 0
    assert line_of(result, "good")
    assert f"  {path}: --schema printed no JSON" in result.stdout
    assert result.stdout.count("printed no JSON") == 1


def test_a_file_that_is_not_executable_is_named_with_the_reason(project: Project) -> None:
    path = project.drop("tools/almost", "echo", 0o644)
    result = project.run("tools")
    assert f"  {path}: not executable (chmod +x)" in result.stdout
    [miss] = listed(project.run("tools", "--json"))["near_misses"]
    assert miss == {"path": str(path), "kind": "tools", "reason": "not executable (chmod +x)"}


def test_a_file_that_does_not_mention_describe_is_not_started_for_it(project: Project) -> None:
    schema = json.dumps({"name": "plain", "description": "From the schema. And more."})
    project.drop("tools/plain", f'[ "$1" = --schema ] && {{ echo \'{schema}\'; exit; }}\necho "$*" >> ran')
    assert "From the schema.  [" in line_of(project.run("tools"), "plain")
    assert not (project.dir / "ran").exists()


def test_describe_is_asked_with_nothing_on_standard_input(project: Project) -> None:
    schema = json.dumps({"name": "reader", "description": "x"})
    body = f"case $1 in --schema) echo '{schema}' ;; --describe) echo \"read: $(cat)\" ;; esac"
    project.drop("tools/reader", body)
    assert "read:" in line_of(project.run("tools", stdin="secret words"), "reader")
    assert "secret words" not in project.run("tools", stdin="secret words").stdout


def test_a_silent_describe_holds_a_listing_up_for_five_seconds_at_most(project: Project) -> None:
    schema = json.dumps({"name": "slow", "description": "x"})
    project.drop("tools/slow", f"case $1 in --schema) echo '{schema}' ;; --describe) sleep 60 ;; esac")
    project.tool("quick", "echo", about="Quick")
    result = project.run("tools", timeout=20)
    assert "(no answer to --describe within 5 s)" in line_of(result, "slow")
    assert "Quick" in line_of(result, "quick")


def test_control_characters_in_names_and_descriptions_do_not_reach_the_terminal(project: Project) -> None:
    project.tool("odd\x1b[31m\nname", "echo", about="red \x1b[31malert\x07 \u202e reversed")
    result = project.run("tools")
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "odd\\x1b[31m\\nname" in result.stdout


def test_names_that_are_no_text_can_be_listed(project: Project) -> None:
    path = os.fsencode(project.harness) + b"/hooks.d/start/50-\xff"
    os.makedirs(os.path.dirname(path))
    Path(os.fsdecode(path)).write_text("#!/bin/sh\ncat\n")
    os.chmod(path, 0o755)
    assert "start/50-\\xff" in project.run("hooks", "start").stdout
    assert project.run("hooks", "start", "--json").code == 0


# ---- hooks


def test_hooks_of_a_stage_stand_in_the_order_in_which_they_run(project: Project) -> None:
    for name in ("9-x", "10-y", "20-a", "20-B"):
        project.hook(f"done/{name}", "cat")
    entries = listed(project.run("hooks", "done", "--json"))["entries"]
    assert [entry["name"] for entry in entries] == ["done/10-y", "done/20-B", "done/20-a", "done/9-x"]


def test_a_hook_line_shows_stage_name_first_comment_and_path(project: Project) -> None:
    path = project.hook("done/50-x", "# Rings a bell.\ncat")
    assert f"  done/50-x                    Rings a bell.  [{path}]" in lines(project.run("hooks"))


def test_an_overridden_hook_is_marked_and_gates_are_told_from_observers(project: Project) -> None:
    project.hook("tool_exec/05-confirm", "cat")
    project.hook("tool_exec/20-count", "cat")
    mine = project.hook("tool_done/10-save", "cat")
    result = project.run("hooks")
    assert "gate" in line_of(result, "tool_exec/05-confirm")
    assert "executor" in line_of(result, "tool_exec/10-exec")
    assert "observer" in line_of(result, "tool_exec/20-count")
    assert f"(overridden by {mine})" in result.stdout


def test_no_hook_is_started_to_list_it(project: Project) -> None:
    project.hook("sources_/50-x", NOISY)
    project.hook("start/50-x", NOISY)
    assert project.run("hooks").code == 0
    assert not (project.dir / "ran").exists()


def test_a_standard_stage_without_hooks_is_no_error(project: Project) -> None:
    result = project.run("hooks", "auth-set", "--json")
    assert result.code == 0
    assert json.loads(result.stdout)["kind"] == "hooks"
    assert project.run("hooks", "pre-tool").stdout == "(no hooks in pre-tool)\n"


def test_a_stage_of_somebodys_own_can_be_listed(project: Project) -> None:
    project.hook("polish/10-x", "cat")
    assert "polish/10-x" in project.run("hooks", "polish").stdout


def test_an_unknown_stage_is_an_error_with_the_stage_that_was_probably_meant(project: Project) -> None:
    result = project.run("hooks", "tool_exce")
    assert result.code == 1
    assert result.stdout == ""
    assert "harness: unknown stage 'tool_exce'" in result.stderr
    assert "did you mean tool_exec?" in result.stderr


# ---- skills


def test_a_skill_is_listed_with_its_description_and_its_path(project: Project) -> None:
    path = project.skill("release", "How to cut a release")
    assert line_of(project.run("skills"), "release") == f"  release              How to cut a release  [{path}]"


def test_a_skill_without_a_description_is_named_with_the_reason(project: Project) -> None:
    path = project.file(".harness/skills/x/SKILL.md", "---\nname: x\n---\nbody\n")
    result = project.run("skills")
    assert result.code == 0
    assert str(path) in result.stdout
    assert "no description" in result.stdout


def test_an_unknown_option_is_a_usage_error_with_a_hint(project: Project) -> None:
    result = project.run("tools", "--jsn")
    assert result.code == 2
    assert "did you mean --json?" in result.stderr


def test_a_reader_that_goes_away_ends_a_listing_quietly_with_141(project: Project) -> None:
    for number in range(300):
        project.hook(f"done/{number:03d}-{'x' * 200}", "cat")
    process = project.start("hooks")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait(10) == 141
    assert b"Traceback" not in told
    assert b"rror" not in told


def test_a_skill_that_hides_another_is_listed_above_it_and_the_other_is_marked(project: Project) -> None:
    hidden = project.skill("extend-harness", "In the project")
    path = project.file(".agents/skills/x/SKILL.md", "---\nname: extend-harness\ndescription: Nearer\n---\n")
    found = [line for line in lines(project.run("skills")) if line.startswith("  extend-harness ")]
    assert found[0] == f"  extend-harness       Nearer  [{path}]"
    assert found[1] == f"  extend-harness       (overridden by {path})  [{hidden}]"
    assert "(overridden by" in found[2]


def test_a_listing_that_is_told_to_stop_ends_what_it_asks(project: Project) -> None:
    schema = json.dumps({"name": "slow", "description": "x"})
    project.drop("tools/slow", f"case $1 in --schema) echo '{schema}' ;; --describe) touch asked; sleep 60 ;; esac")
    process = project.start("tools")
    while not (project.dir / "asked").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    process.communicate(timeout=10)
    assert process.returncode == 143  # and the fixture `no_strays` looks for the rest


def test_a_provider_that_is_configured_decides_which_hooks_are_listed(project: Project) -> None:
    project.settings(provider="groq")
    shown = project.run("hooks", "receive").stdout
    assert "/openai/hooks.d/receive/10-save" in shown
    assert "/anthropic/" not in shown


def test_without_a_provider_hooks_say_with_which_one_they_run(project: Project) -> None:
    shown = project.run("hooks", "receive").stdout
    assert "(with provider anthropic)" in shown
    assert "(with provider openai)" in shown
