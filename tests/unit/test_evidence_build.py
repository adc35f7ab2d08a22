"""A trace is made from messages, a record and the end of a run; nothing else has a part in it."""

from __future__ import annotations

from typing import Any

import pytest

from bridoon.errors import BridoonError
from bridoon.evidence import excerpt
from bridoon.evidence.command import schema, words
from bridoon.evidence.trace import Scene, build
from bridoon.ledger import argspec
from bridoon.model.message import Message, Text, ToolCall, ToolResult, Usage

RECORD: dict[str, Any] = {
    "run": "s.1", "session": "/s", "cwd": "/r/sub", "root": "/r", "first": 1, "began": 0, "agent": "hs",
    "providers": {"lint": "coverage"}, "postures": {"coverage": "Weak proof: coverage (0 of 1 present; missing lint)"},
}  # fmt: skip
END: dict[str, Any] = {"stop": "end", "exit_code": 0, "seconds": 2.4, "output": "ok"}


def conversation(*calls: tuple[str, dict[str, Any], str, bool], say: str = "mend it") -> list[Message]:
    """A message of the user, calls with their results, and a last word."""
    found = [Message("user", (Text(say),), 1)]
    for number, (name, given, answer, failed) in enumerate(calls):
        ident = f"c{number}"
        found.append(Message("assistant", (ToolCall(ident, name, given),), len(found) + 1, usage=Usage(10, 5)))
        found.append(Message("tool_result", (ToolResult(ident, name, answer, failed),), len(found) + 1))
    return found


def trace(*calls: tuple[str, dict[str, Any], str, bool], say: str = "mend it", **end: Any) -> dict[str, Any]:
    return build(conversation(*calls, say=say), Scene(RECORD, {**END, **end}))


def test_files_are_named_from_the_root_of_the_ledger() -> None:
    made = trace(
        ("read_file", {"path": "a.py"}, "1", False),
        ("edit_file", {"path": "/r/b.py"}, "ok", False),
        ("write_file", {"path": "/elsewhere/c"}, "ok", False),
        ("write_file", {"path": "/r/never"}, "error: no", True),
    )
    assert made["files_read"] == ["sub/a.py"]
    assert made["files_changed"] == ["b.py", "/elsewhere/c"]


def test_calls_are_counted_and_told_by_their_first_arguments() -> None:
    made = trace(*[("bash", {"command": f"echo {n}\nmore"}, "", False) for n in range(5)])
    assert made["actions_taken"] == ["bash x5: echo 0; echo 1; echo 2; ..."]


def test_a_call_that_was_refused_is_no_action_but_friction_and_an_error() -> None:
    made = trace(("bash", {"command": "rm x"}, "refused by hook 05-deny (exit 1): not that", True))
    assert made["actions_taken"] == ["answered in words"]
    assert made["harness_friction"] == "a call of bash was refused by 05-deny"
    assert made["errors"] == ["refused: bash: refused by hook 05-deny (exit 1): not that"]


def test_a_tool_that_failed_three_times_is_friction() -> None:
    made = trace(*[("bash", {"command": "make"}, f"broken {n}", True) for n in range(3)])
    assert made["harness_friction"] == "the tool bash failed three times or more"
    assert trace(*[("bash", {"command": "make"}, "broken", True)] * 2)["harness_friction"] == "none"


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ({}, "completed"),
        ({"stop": "length"}, "partial"),
        ({"stop": "cancelled", "exit_code": 130}, "partial"),
        ({"stop": "limit", "exit_code": 4}, "partial"),
        ({"stop": "error", "exit_code": 1}, "failed"),
        ({"stop": "error", "exit_code": 3}, "blocked"),
        ({"stop": "refusal"}, "blocked"),
        ({"stop": "killed"}, "failed"),
    ],
    ids=str,
)
def test_outcomes(end: dict[str, Any], outcome: str) -> None:
    assert trace(**end)["outcome"] == outcome


def test_a_run_that_a_refusal_ended_is_blocked() -> None:
    made = trace(("bash", {}, "refused by hook 05-deny: no", True), stop="error", exit_code=1)
    assert made["outcome"] == "blocked"


def test_tokens_are_those_of_the_run_else_of_its_messages() -> None:
    assert trace(usage={"input_tokens": 7, "output_tokens": 1})["token_estimate"] == 8
    assert trace(("bash", {}, "", False), stop="killed")["token_estimate"] == 15


def test_a_capability_that_was_used_or_asked_for_is_noted() -> None:
    answer = "capability deploy: inactive\nnote: capability deploy: inactive"
    made = trace(("capability", {"name": "deploy"}, answer, False), ("lint", {}, "", False))
    assert made["notes"].splitlines()[:2] == [
        "capability deploy: inactive",
        "Weak proof: coverage (0 of 1 present; missing lint)",
    ]


def test_calls_of_earlier_runs_in_the_session_do_not_count() -> None:
    history = conversation(("bash", {"command": "old"}, "", False))
    history.append(Message("user", (Text("and now?"),), len(history) + 1))
    made = build(history, Scene({**RECORD, "first": len(history)}, END))
    assert made["task_summary"] == "and now?"
    assert made["actions_taken"] == ["no answer is recorded"]


def test_a_run_that_goes_on_without_a_message_says_so() -> None:
    history = conversation(("bash", {}, "", False), say="build it")
    made = build(history, Scene({**RECORD, "first": len(history) + 1}, END))
    assert made["task_summary"] == "(continued) build it"


@pytest.mark.parametrize("text", ["a\x1b[31mb\x00c\u202ed", "x" * 1_000_000, "\ud800 lone", " \n\t\n  hello \n there"])
def test_texts_come_out_as_one_short_printable_line(text: str) -> None:
    made = trace(say=text)["task_summary"]
    assert made.isprintable()
    assert 0 < len(made) <= 200
    assert excerpt.line(text, 50).isprintable()


# ---- the words of a registered command


def args(text: str) -> list[argspec.Arg]:
    return argspec.parse(text)


def test_placeholders_are_filled_in_as_single_words_and_the_rest_are_options() -> None:
    declared = args("env:enum:required:a,b c,where:string:required,level:int:optional,dry:flag:optional")
    given = {"env": "b c", "where": "x; rm -r /", "level": 3, "dry": True}
    assert words("run 'my tool' {env} --at={where}", declared, given) == [
        *("run", "my tool", "b c", "--at=x; rm -r /", "--level", "3", "--dry"),
    ]


def test_optional_arguments_that_are_not_given_leave_no_words() -> None:
    declared = args("a:string:optional,dry:flag:optional")
    assert words("run {a} {other}", declared, {"dry": False}) == ["run", "{other}"]


@pytest.mark.parametrize(
    ("declared", "given", "wrong"),
    [
        ("env:enum:required:staging,production", {"env": "prod"}, "must be one of staging, production"),
        ("env:enum:required:staging,production", {}, "env is required"),
        ("n:int:required", {"n": "3.5"}, "whole number"),
        ("n:number:required", {"n": "many"}, "must be a number"),
        ("f:flag:required", {"f": "perhaps"}, "true or false"),
        ("s:string:required", {"s": ["x"]}, "must be a string"),
        ("s:string:required", {"s": "a\0b"}, "NUL"),
        ("s:string:required", {"s": "x" * 200_000}, "too long"),
        ("s:string:required", {"s": "x", "t": 1}, "no argument 't'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_a_reason(declared: str, given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(BridoonError, match=wrong):
        words("run", args(declared), given)


def test_the_schema_says_what_the_declaration_says() -> None:
    made = schema(args("env:enum:required:staging,production,n:integer:optional:how often,f:bool:optional"))
    assert made == {
        "type": "object",
        "properties": {
            "env": {"type": "string", "enum": ["staging", "production"]},
            "n": {"type": "integer", "description": "how often"},
            "f": {"type": "boolean"},
        },
        "required": ["env"],
    }
