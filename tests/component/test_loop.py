"""The state follower: stages, transitions, errors, limits."""

from __future__ import annotations

import pytest
from project import Project, bash, call


def test_a_hook_of_the_project_replaces_the_bundled_one_of_the_same_name(project: Project) -> None:
    project.hook("tool_done/10-save", 'cat > /dev/null; echo \'{"output": "mine"}\'')
    assert project.say(calls=[bash("ls")]).output == "mine"


def test_the_transition_is_what_a_hook_says(project: Project) -> None:
    project.hook("start/10-init", 'cat > /dev/null; echo \'{"next_state": "shortcut"}\'')
    project.hook("shortcut/10-x", 'cat > /dev/null; echo \'{"output": "by the short way"}\'')
    result = project.say()
    assert result.output == "by the short way"
    assert result.code == 0


def test_hooks_of_a_stage_run_in_bytewise_order(project: Project) -> None:
    for name in ("9-a", "10-b", "B-c", "a-d"):
        project.hook(f"done/{name}", f"sed 's/\"}}$/ {name}\"}}/'")
    assert project.say(answer="x").output == "x 10-b 9-a B-c a-d"


def test_an_observer_that_forgets_to_print_passes_its_input_on(project: Project) -> None:
    project.hook("receive/20-x", "cat > /dev/null")
    result = project.say(answer="still here")
    assert result.output == "still here"
    assert any("printed nothing" in event.get("text", "") for event in result.events)


def test_a_failing_hook_leads_to_error_with_its_name_and_stderr(project: Project) -> None:
    project.hook("assemble/50-x", "echo the disk is full >&2; exit 4")
    result = project.say()
    assert result.code == 1
    assert "50-x exited 4 during assemble: the disk is full" in result.output


def test_an_error_hook_may_recover(project: Project) -> None:
    project.hook("assemble/50-x", 'c=$(cat); [[ -e ready ]] && { echo "$c"; exit 0; }; touch ready; exit 1')
    project.hook("error/05-retry", 'cat > /dev/null; echo \'{"next_state": "assemble"}\'')
    result = project.say(answer="second try")
    assert result.code == 0
    assert result.output == "second try"


def test_the_error_stage_is_given_stage_hook_code_and_context(project: Project) -> None:
    project.hook("receive/05-x", "exit 7")
    project.hook("error/05-see", "tee seen.json")
    project.say()
    seen = (project.dir / "seen.json").read_text()
    assert '"stage":"receive"' in seen
    assert "receive/05-x" in seen
    assert '"exit_code":7' in seen


def test_a_done_hook_may_replace_the_output(project: Project) -> None:
    project.hook("done/50-x", 'cat > /dev/null; echo \'{"output": "replaced"}\'')
    assert project.say().output == "replaced"


def test_hooks_that_lead_in_a_circle_are_stopped(project: Project) -> None:
    project.hook("start/10-init", 'cat > /dev/null; echo \'{"next_state": "start"}\'')
    result = project.say()
    assert result.code == 4
    assert "circle" in result.output


def test_the_turn_limit_counts_calls_of_the_model(project: Project) -> None:
    result = project.say("go", "--max-turns", "2", steps=[{"calls": [bash(f"echo {n}")]} for n in range(5)])
    assert result.code == 4
    assert result.final["stop"] == "limit"
    assert result.results == ["0", "1"]


@pytest.mark.parametrize("value", ["abc", "08x", "0", "-1"])
def test_a_turn_limit_that_is_no_number_counts_as_the_default(project: Project, value: str) -> None:
    assert project.say(calls=[bash("echo x")], env={"HARNESS_MAX_TURNS": value}).code == 0


def test_a_tool_that_is_dropped_in_by_the_model_works_on_the_next_turn(project: Project) -> None:
    tool = (
        '#!/bin/sh\ncase "$1" in --schema) echo \'{"name":"hello","description":"d","input_schema":{"type":"object"}}\';; '
        "--exec) echo hello from a new tool;; esac\n"
    )
    steps = [
        {"calls": [call("write_file", path=".harness/tools/hello", content=tool)]},
        {"calls": [bash("chmod +x .harness/tools/hello")]},
        {"calls": [call("hello")]},
        {"say": "done"},
    ]
    result = project.say(steps=steps)
    assert result.results[-1] == "hello from a new tool"
    assert "chmod +x" in result.results[0]


def test_a_tool_with_a_broken_schema_is_left_out_and_the_model_is_told(project: Project) -> None:
    project.drop("tools/broken", "echo '{ not json'")
    result = project.say(answer="fine")
    assert result.code == 0
    assert "broken" in result.requests[-1]["system"]
    assert "broken" not in [tool["name"] for tool in result.requests[-1]["tools"]]


def test_a_hook_that_the_model_makes_and_that_fails_is_skipped_and_explained(project: Project) -> None:
    body = "#!/bin/sh\\necho oh no >&2\\nexit 1\\n"
    write = f"mkdir -p .harness/hooks.d/assemble; printf '{body}' > .harness/hooks.d/assemble/50-mine; chmod +x .harness/hooks.d/assemble/50-mine"
    result = project.say(steps=[{"calls": [bash(write)]}, {"say": "I see"}])
    assert result.code == 0
    assert result.output == "I see"
    assert "50-mine" in result.requests[-1]["system"]
    assert "oh no" in result.requests[-1]["system"]


def test_an_unknown_tool_is_a_failed_result(project: Project) -> None:
    result = project.say(calls=[call("../hooks.d/start/10-init"), call("/bin/true")])
    assert result.failed == [True, True]
    assert "not found" in result.results[0]


def test_stderr_of_a_tool_that_succeeds_is_not_in_its_result(project: Project) -> None:
    project.tool("quiet", "echo out; echo err >&2")
    assert project.say(calls=[call("quiet")]).results == ["out"]


def test_stderr_of_a_tool_that_fails_is_in_its_result(project: Project) -> None:
    project.tool("loud", "echo out; echo err >&2; exit 5")
    result = project.say(calls=[call("loud")])
    assert result.results[0].startswith("out\nerr")
    assert result.failed == [True]


def test_the_exit_status_of_a_shell_command_reaches_the_model(project: Project) -> None:
    result = project.say(calls=[bash("echo partial; exit 42")])
    assert result.results[0].startswith("partial")
    assert "42" in result.results[0].splitlines()[-1]
    assert result.failed == [True]


def test_adjacent_concurrent_calls_run_side_by_side_and_answer_in_order(project: Project) -> None:
    meet = "touch {me}; for i in $(seq 200); do [ -e {other} ] && break; sleep 0.05; done; [ -e {other} ] && echo met {other}"
    result = project.say(calls=[bash(meet.format(me="a", other="b")), bash(meet.format(me="b", other="a"))])
    assert result.results == ["met b", "met a"]


def test_a_call_that_is_not_concurrent_waits_for_all_before_it(project: Project) -> None:
    project.tool("look", "ls")
    result = project.say(calls=[bash("sleep 0.3; touch slow"), call("look"), bash("touch after")])
    assert "slow" in result.results[1]
    assert "after" not in result.results[1]


def test_ten_megabytes_of_output_are_bounded_and_kept_on_disk(project: Project) -> None:
    result = project.say(calls=[bash("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the end")])
    assert len(result.results[0]) < 120_000
    assert "the end" in result.results[0]
    [kept] = [path for path in (result.session / ".outputs").iterdir() if path.stat().st_size > 9_000_000]
    assert str(kept) in result.results[0]


def test_a_megabyte_of_arguments_reaches_the_tool(project: Project) -> None:
    project.tool("measure", "wc -c")
    result = project.say(calls=[call("measure", text="x" * 1_000_000)])
    assert int(result.results[0]) > 1_000_000


def test_usage_in_receive_can_be_read_by_an_observer_after_the_one_that_saves(project: Project) -> None:
    project.hook("receive/20-cost", 'r=$(cat); echo "$r" > seen.json; echo "$r"')
    result = project.say(answer="ok")
    assert '"input_tokens"' in (project.dir / "seen.json").read_text()
    assert result.output == "ok"


def test_json_prints_one_result_object_last_even_for_errors(project: Project) -> None:
    result = project.run("--json", "-p", "nowhere", "hello")
    assert result.final["exit_code"] == result.code != 0
    assert result.stdout.count("\n") == 1
    assert project.run("--json", stdin="").final["exit_code"] == 2


def test_programs_of_one_stage_may_hand_each_other_any_text(project: Project) -> None:
    project.hook("done/10-a", "cat > /dev/null; echo 'not json'")
    project.hook("done/20-b", 'read -r words; echo "{\\"output\\": \\"heard: $words\\"}"')
    assert project.say().output == "heard: not json"


def test_the_last_output_of_a_stage_must_be_a_payload(project: Project) -> None:
    project.hook("done/20-b", "cat > /dev/null; echo 'not json'")
    result = project.say()
    assert result.code == 1
    assert "20-b printed no JSON object during done" in result.output


def test_a_sub_agent_that_takes_too_long_is_stopped_and_the_run_goes_on(project: Project) -> None:
    project.provider("slow", "sleep 60")
    started = [call("agent", prompt="think", provider="slow", model="m")]
    result = project.say(calls=started, env={"HARNESS_AGENT_TIMEOUT": "0.5"})
    assert result.output == "done"
    assert result.results[0].startswith("subagent stopped after 0.5 s")
    assert result.failed == [True]


def test_arguments_that_do_not_fit_the_schema_never_reach_the_tool(project: Project) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    project.tool("touchy", "touch started", schema=schema)
    result = project.say(calls=[call("touchy"), call("touchy", path=5), call("touchy", path="x")])
    assert result.failed == [True, True, False]
    assert "'path' is missing" in result.results[0]
    assert "must be of type string" in result.results[1]


def test_one_word_that_is_nearly_a_command_is_not_sent_to_a_model(project: Project) -> None:
    result = project.run("-p", "scripted", "toolz")
    assert result.code == 2
    assert "did you mean tools?" in result.stderr
    assert project.run("-q", "-p", "scripted", "--", "toolz").code == 0
