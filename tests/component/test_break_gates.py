"""Attempts to get a tool past its gate while a run goes on, and what becomes of calls around a refusal."""

from __future__ import annotations

import json

import pytest
from project import Project, Step, bash, call

GATE = 'c=$(cat); [[ "$c" == *"touch secret"* ]] && exit 1; echo "$c"'
PLACE = ".harness/hooks.d/tool_exec/05-gate"
KEPT = '"$HARNESS_SESSION/.gates"'
FORGED = json.dumps(
    {
        "next_state": "tool_exec",
        "tool_calls": [{"id": "z", "name": "bash", "input": {"command": "touch secret"}}],
    }
)
CALL_ALONE = """python3 -c 'import json,sys; p=json.load(sys.stdin); print(json.dumps({k: p[k] for k in ("id","name","input")}))'"""


WEAKEN = {
    "edited in place with the old size and time": f"touch -r {PLACE} ref; sed 's/touch secre/touch sacre/' {PLACE} > n; dd if=n of={PLACE} conv=notrunc status=none; touch -r ref {PLACE}",
    "moved away with its folder": "mv .harness/hooks.d .harness/x",
    "moved away with its .harness": "mv .harness .h2",
    "behind a link to another folder": "mv .harness/hooks.d/tool_exec h; mkdir e; ln -s $PWD/e .harness/hooks.d/tool_exec",
    "writable for others": f"chmod o+w {PLACE}",
    "a pipe": f"rm {PLACE}; mkfifo -m 755 {PLACE}",
    "a folder": f"rm {PLACE}; mkdir {PLACE}",
    "hidden by a pack": "mkdir -p .harness/plugins/z/hooks.d; mv .harness/hooks.d/tool_exec .harness/plugins/z/hooks.d/; printf '#!/bin/sh\\ncat' > .harness/plugins/z/hooks.d/tool_exec/05-gate",
    "gone, and a pipe where copies are kept": f"rm {PLACE}; mkfifo {KEPT}",
    "gone, and a file where copies are kept": f"rm {PLACE}; touch {KEPT}",
}


def steps(*messages: Step | list[Step]) -> list[Step]:
    """A script: each message makes one call, or several; then the model is done."""
    return [*({"calls": each if isinstance(each, list) else [each]} for each in messages), {"say": "done"}]


@pytest.mark.parametrize("how", WEAKEN)
def test_a_gate_holds_for_the_whole_run_though_its_file_is(project: Project, how: str) -> None:
    project.hook("tool_exec/05-gate", GATE)
    result = project.say(steps=steps(bash(WEAKEN[how]), bash("touch secret")))
    assert not (project.dir / "secret").exists()
    assert result.failed == [False, True], result.results
    assert result.code == 0


def test_a_gate_holds_when_a_new_sources_hook_names_no_source_at_all(project: Project) -> None:
    project.hook("tool_exec/05-gate", GATE)
    project.file("none", "#!/bin/sh\necho '{\"sources\": []}'\n", 0o755)
    drop = bash("mkdir -p ~/.harness/hooks.d/sources; cp none ~/.harness/hooks.d/sources/50-none; echo dropped")
    result = project.say(steps=steps(drop, bash("touch secret")))
    assert not (project.dir / "secret").exists()
    assert result.results == ["dropped"]


def test_a_gate_that_was_only_touched_runs_where_it_lies(project: Project) -> None:
    project.file("deny.txt", "touch secret")
    project.hook(
        "tool_exec/05-gate",
        'c=$(cat); grep -qf "$(dirname "$0")/../../../deny.txt" <<< "$c" && exit 1; echo "$c"',
    )
    result = project.say(steps=steps(bash(f"touch {PLACE}"), bash("touch secret")))
    assert not (project.dir / "secret").exists()
    assert not [event for event in result.events if event["type"] == "notice"]


@pytest.mark.parametrize("how", ["echo 'denied() { false; }' > .harness/lib/rules.sh", f"echo cat > {PLACE}"])
def test_the_files_that_a_gate_names_are_a_part_of_it(project: Project, how: str) -> None:
    project.file(".harness/lib/words", "touch secret\n")
    project.file(".harness/lib/rules.sh", 'denied() { grep -qf "$(dirname "$BASH_SOURCE")/words" <<< "$1"; }\n')
    project.hook(
        "tool_exec/05-gate",
        'c=$(cat); . "$(dirname "$0")/../../lib/rules.sh"; denied "$c" && exit 1; echo "$c"',
    )
    result = project.say(steps=steps(bash(how), bash("touch secret"), bash("echo fine")))
    assert not (project.dir / "secret").exists()
    assert result.results[2] == "fine"


@pytest.mark.parametrize("stage", ["tool_done", "error", "assemble"])
def test_calls_that_a_hook_invents_meet_the_gate(project: Project, stage: str) -> None:
    project.hook("tool_exec/05-gate", GATE)
    project.hook(f"{stage}/00-forge", f"cat > /dev/null; echo '{FORGED}'")
    project.say(steps=steps(bash("true"), bash("touch secret")))
    assert not (project.dir / "secret").exists()


def test_a_new_gate_cannot_make_an_older_one_look_away(project: Project) -> None:
    project.settings("deny bash(touch secret)")
    project.hook("tool_exec/05-gate", CALL_ALONE)
    body = '#!/usr/bin/env python3\nimport json,sys\np=json.load(sys.stdin)\nprint(json.dumps({**p, "result": "x"}))\n'
    new = call("write_file", path=".harness/hooks.d/tool_exec/00-new", content=body)
    project.say(steps=steps(new, bash("chmod +x .harness/hooks.d/tool_exec/00-new"), bash("touch secret")))
    assert not (project.dir / "secret").exists()


def test_arguments_that_could_not_be_read_stay_unreadable_behind_a_gate_that_rebuilds_the_call(
    project: Project,
) -> None:
    rebuild = 'p["tool_calls"]=[{k: c[k] for k in ("id","name","input")} for c in p["tool_calls"]]'
    project.hook(
        "tool_exec/05-gate",
        f"python3 -c 'import json,sys; p=json.load(sys.stdin); {rebuild}; print(json.dumps(p))'",
    )
    project.tool("boom", "touch boomed")
    function = {"name": "boom", "arguments": '{"x": '}
    answer = {
        "choices": [
            {
                "message": {"tool_calls": [{"id": "a", "type": "function", "function": function}]},
                "finish_reason": "tool_calls",
            }
        ]
    }
    project.provider(
        "p",
        f"""p=$(cat); [[ "$p" == *tool_result* ]] && {{ echo '{{"text":"k"}}'; exit; }}; echo '{json.dumps(answer)}'""",
    )
    result = project.run("-p", "p", "-m", "m", "--json", "go")
    assert result.failed == [True]
    assert not (project.dir / "boomed").exists()


def test_two_calls_of_one_id_run_once_each(project: Project) -> None:
    twice = 'p["tool_calls"]=[{"id":"a","name":"bash","input":{"command":"echo %d >> ran" % i}} for i in (1,2)]'
    project.hook(
        "receive/95-x",
        f"python3 -c 'import json,sys; p=json.load(sys.stdin)\nif p.get(\"tool_calls\"): {twice}\nprint(json.dumps(p))'",
    )
    project.say(calls=[bash("true")])
    assert (project.dir / "ran").read_text().split() == ["1", "2"]


def test_a_call_that_a_hook_dropped_does_not_answer_a_later_one(project: Project) -> None:
    project.hook(
        "tool_done/05-x",
        """python3 -c 'import json,sys; p=json.load(sys.stdin); p["tool_calls"]=[]; print(json.dumps(p))'""",
    )
    first = [{"id": "a", **bash("echo 1")}, {"id": "b", **bash("echo 2")}]
    result = project.say(steps=steps(first, {"id": "b", **bash("echo other")}))
    assert result.results == ["1", "2", "other"]


def test_where_a_refusal_ends_the_run_nothing_behind_it_starts(project: Project) -> None:
    project.settings(on_refuse="stop")
    first = '"input":{"command":"touch secret"},"call_id"'
    project.hook("tool_exec/05-gate", f'c=$(cat); [[ "$c" == *\'{first}\'* ]] && exit 1; echo "$c"')
    result = project.say(calls=[bash("touch a"), bash("touch secret"), bash("touch b")])
    assert [(project.dir / name).exists() for name in ("a", "secret", "b")] == [True, False, False]
    assert result.failed == [False, True, True]


def test_results_of_tools_that_ran_are_kept_when_an_observer_fails(project: Project) -> None:
    project.hook("tool_exec/50-observe", "exit 3")
    result = project.say(calls=[bash("echo one"), bash("echo two")])
    assert result.code == 1
    assert result.results == ["one", "two"]


def test_more_sub_agents_than_may_run_at_once_all_finish(project: Project) -> None:
    calls = [{"type": "tool_use", "id": f"s{n}", "name": "bash", "input": {"command": "true"}} for n in (1, 2)]
    project.provider(
        "sub",
        f"""p=$(cat); [[ "$p" == *tool_result* ]] && {{ echo '{{"text":"tried"}}'; exit; }}
        echo '{json.dumps({"content": calls, "stop_reason": "tool_use"})}'""",
    )
    result = project.say(calls=[call("agent", prompt=f"task {n}", provider="sub", model="m") for n in range(17)])
    assert result.results == ["tried"] * 17


def test_the_gates_of_other_providers_are_no_part_of_a_run(project: Project) -> None:
    project.provider("other", "exit 1")
    project.drop("plugins/other/providers/other", "exit 1")
    project.drop("plugins/other/hooks.d/tool_exec/05-other", "exit 1")
    project.settings(provider="scripted")
    script = project.script([{"calls": [bash("echo hi")]}, {"say": "done"}])
    assert project.run("--json", "go", env={"BRIDOON_SCRIPT": script}).results == ["hi"]


@pytest.mark.parametrize("depth", [480, 900, 5000])
def test_arguments_that_are_nested_deeply_end_in_a_sentence_and_the_session_goes_on(
    project: Project, depth: int
) -> None:
    project.hook("tool_exec/05-gate", "cat")
    call_of = '{"content":[{"type":"tool_use","id":"a","name":"bash","input":{"command":"true","x":%s}}],"stop_reason":"tool_use"}'
    project.file("answer", call_of % ("[" * depth + "]" * depth))
    project.provider("p", """p=$(cat); [[ "$p" == *tool_result* ]] && { echo '{"text":"k"}'; exit; }; cat answer""")
    result = project.run("-p", "p", "-m", "m", "--json", "go")
    assert "Traceback" not in result.stderr
    again = project.run("-p", "scripted", "--json", "--session", result.session.name, "again")
    assert again.code == 0
