"""Hooks: a stage is a chain, states follow `next_state`, a failing hook leads to `error`."""

from __future__ import annotations

import json

from project import Project, bash, call
from requirements import requirement

ADD = """#!/usr/bin/env -S hs py
from bridoon.sdk.script import hook

@hook
def add(payload, context):
    payload["output"] = payload["output"] + "{}"
    return payload
"""


@requirement("hooks:chain", "hooks:order", "layout:hooks")
def test_the_hooks_of_a_stage_are_a_chain_in_the_order_of_their_names(project: Project) -> None:
    for name in ("20-b", "10-a", "100-c"):
        project.hook(f"done/{name}", ADD.format(f" {name}"))
    assert project.say(answer="said").output == "said 10-a 100-c 20-b"


@requirement("hooks:override")
def test_a_local_hook_replaces_the_bundled_one_of_the_same_name(project: Project) -> None:
    answer = {
        "call_id": "c",
        "name": "bash",
        "input": {},
        "result": "mine",
        "error": False,
        "next_state": "tool_done",
    }
    project.hook(
        "tool_exec/10-exec",
        f'id=$(sed \'s/.*"tool_calls":\\[{{"id":"\\([^"]*\\)".*/\\1/\')\n'
        f'echo \'{json.dumps({**answer, "tool_calls": []})}\' | sed "s/\\"c\\"/\\"$id\\"/"',
    )
    assert project.say("run it", calls=[bash("touch ran")]).results == ["mine"]
    assert not (project.dir / "ran").exists()


@requirement("hooks:diagram")
def test_the_states_of_a_run_with_one_call_are_those_of_the_diagram(project: Project) -> None:
    trace = project.dir / "trace"
    for stage in ("start", "assemble", "send", "receive", "tool_exec", "tool_done", "done"):
        project.hook(f"{stage}/99-trace", f"echo $HARNESS_STAGE >> {trace}\ncat")
    project.say(calls=[bash("true")])
    turn = ["assemble", "send", "receive"]
    assert trace.read_text("utf-8").split() == ["start", *turn, "tool_exec", "tool_done", *turn, "done"]


@requirement("hooks:next-state", "hooks:driver")
def test_the_loop_goes_where_a_hook_says(project: Project) -> None:
    project.hook("done/50-on", 'cat > /dev/null; echo \'{"next_state": "extra", "output": "x"}\'')
    project.hook("extra/50-end", 'cat > /dev/null; echo \'{"output": "from the extra state"}\'')
    assert project.say().output == "from the extra state"


@requirement("hooks:end", "hooks:output")
def test_a_stage_without_a_next_state_ends_the_run_and_its_output_is_printed(project: Project) -> None:
    project.hook("start/50-end", 'cat > /dev/null; echo \'{"output": "ended early", "next_state": ""}\'')
    result = project.say(json=False)
    assert (result.stdout, result.code) == ("ended early\n", 0)
    assert not project.requests_file.exists()


@requirement("hooks:failure")
def test_a_failing_hook_stops_its_stage_and_leads_to_error(project: Project) -> None:
    project.hook("assemble/60-broken", "cat > /dev/null; echo the disk is full >&2; exit 3")
    project.hook("assemble/70-late", f"touch {project.dir}/late; cat")
    project.hook("error/05-note", f"tee {project.dir}/context")
    result = project.say()
    context = json.loads((project.dir / "context").read_text("utf-8"))
    assert (context["stage"], context["exit_code"]) == ("assemble", 3)
    assert context["hook"].endswith("60-broken")
    assert "the disk is full" in context["error"]
    assert not (project.dir / "late").exists()
    assert result.code == 1
    assert "the disk is full" in result.output


@requirement("hooks:pass-through")
def test_an_observer_that_cats_leaves_the_payload_as_it_was(project: Project) -> None:
    for stage in ("start", "assemble", "send", "receive", "tool_exec", "tool_done", "done"):
        project.hook(f"{stage}/05-watch", "cat")
        project.hook(f"{stage}/95-watch", "cat")
    result = project.say(calls=[bash("echo hi")], answer="as ever")
    assert (result.output, result.results, result.code) == ("as ever", ["hi"], 0)


@requirement("hooks:listed")
def test_hs_hooks_lists_the_hooks_of_a_stage(project: Project) -> None:
    path = project.hook("tool_exec/05-mine", "cat")
    listed = project.run("hooks", "tool_exec").stdout
    assert str(path) in listed
    assert "10-exec" in listed
    assert listed.index("05-mine") < listed.index("10-exec")


@requirement("extend:hook-triggered")
def test_a_gate_that_the_model_drops_decides_about_its_next_call(project: Project) -> None:
    gate = "#!/bin/sh\necho 'not today' >&2\nexit 1\n"
    result = project.say(
        steps=[
            {"call": call("write_file", path=".harness/hooks.d/tool_exec/05-no", content=gate)},
            {"call": bash("chmod +x .harness/hooks.d/tool_exec/05-no")},
            {"call": bash("touch ran")},
            {"say": "refused, as it should be"},
        ]
    )
    assert result.failed == [False, False, True]
    assert "not today" in result.results[-1]
    assert not (project.dir / "ran").exists()
    assert result.code == 0
