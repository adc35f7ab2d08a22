"""Turns in the REPL, at a real terminal: what is shown, what is queued, how they are stopped."""

from __future__ import annotations

import json
from pathlib import Path

from project import Project, bash
from typist import drip, repl

from bridoon.model.message import Message, ToolResult
from bridoon.session import store


def messages(project: Project) -> tuple[Message, ...]:
    """The conversation of the newest session, as it is on disk."""
    return store.open_session(str(project.newest_session()), repair=False).messages()


def results(project: Project) -> list[str]:
    """The texts of its tool results."""
    return [part.content for each in messages(project) for part in each.parts if isinstance(part, ToolResult)]


def test_an_answer_is_shown_as_markdown_with_tokens_and_context(project: Project) -> None:
    usage = {"input_tokens": 1500, "output_tokens": 20}
    steps = [{"say": "# Done\n\nIt **works**:\n\n```python\nx = 1\n```\n\n- a\n- b\n", "usage": usage}]
    with repl(project, steps=steps) as typist:
        typist.until("You: ")
        typist.enter("do it")
        typist.until("tokens: ")
        answer = r"You: do it\nAgent:\n# Done\n\nIt works:\n\n x = 1\n\n • a\n • b\n"
        typist.until_seen(answer + r"tokens: 1\.5k in, 20 out · context: 98% of 128k left · [0-9.]+ s\nYou:$")
        typist.enter("/quit")
        assert typist.wait() == 0
    assert messages(project)[1].text == steps[0]["say"]


def test_a_call_is_shown_with_its_outcome_and_the_beginning_of_its_result(project: Project) -> None:
    steps = [{"say": "I look.", "calls": [bash("seq 500"), bash("exit 3")]}, {"say": "Seen."}]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("look")
        typist.until(r"I look\.")
        shown = typist.until(r"✓ bash seq 500 \([0-9.]+ s\)\n  1\n.*… 493 more lines: (\S+)\n")
        typist.until(r"✗ bash exit 3 \(error, [0-9.]+ s\)\n  \[exit status 3\]")
        typist.until("Seen.")
    whole = Path(shown[1].replace("~", str(project.home), 1))
    assert "\n500\n" in whole.read_text("utf-8")


def test_a_running_call_is_shown_with_its_time(project: Project) -> None:
    steps = [{"calls": [bash("until [ -e go ]; do sleep 0.05; done")]}, {"say": "Seen."}]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("wait")
        typist.until_seen(r"[⠁-⣿] bash until \[ -e go \]; do sleep 0\.05; done 1\.\d s")
        project.file("go", "")
        typist.until(r"✓ bash until")
        typist.until(r"Seen\.")


def test_thinking_is_dim_and_apart_from_the_answer(project: Project) -> None:
    with repl(project, steps=[{"think": "First I think.", "say": "Then I speak."}]) as typist:
        typist.until("You: ")
        typist.enter("speak")
        typist.until("tokens: ")
        typist.until_seen(r"Agent:\nFirst I think\.\n\nThen I speak\.\n")
        assert b"\x1b[2mFirst I think.\x1b[0m" in typist.raw


def test_ctrl_c_stops_an_answer_at_once_and_what_was_shown_is_kept(project: Project) -> None:
    drip(project)
    with repl(project, "-p", "drip") as typist:
        typist.until("You: ")
        typist.enter("talk")
        typist.until_seen("word5")
        typist.type("\x03")
        typist.until("interrupted", patience=1.0)
        typist.until("tokens: ")
        typist.enter("/session")
        typist.until("messages +2")
        typist.enter("/quit")
        assert typist.wait() == 0
    asked, answer = messages(project)
    assert asked.text == "talk"
    assert answer.text.startswith("word1 word2 word3 word4 word5")
    assert answer.stop == "cancelled"


def test_ctrl_c_stops_a_tool_and_the_session_goes_on(project: Project) -> None:
    steps = [
        {
            "calls": [
                bash("until [ -e beside ]; do sleep 0.02; done; sleep 0.5; touch flag; sleep 60"),
                bash("echo beside it; touch beside"),
            ]
        },
        {"say": "Good morning."},
    ]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("sleep")
        typist.until_file(project.dir / "flag")
        typist.type("\x03")
        typist.until(r"✗ bash until .*\(stopped", patience=1.0)
        typist.until("interrupted.*You: ")
        typist.enter("good morning")
        typist.until(r"Good morning\.")
        typist.enter("/quit")
        assert typist.wait() == 0
    assert [each.role for each in messages(project)] == [
        "user", "assistant", "tool_result", "tool_result", "user", "assistant",
    ]  # fmt: skip
    assert sorted("interrupted" in text for text in results(project)) == [False, True]


def test_a_second_ctrl_c_during_the_turn_leaves(project: Project) -> None:
    steps = [{"calls": [bash("trap '' TERM; touch deaf; sleep 60 & wait; sleep 60")]}]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("sleep")
        typist.until_file(project.dir / "deaf")
        typist.type("\x03")
        typist.until("stopping")
        typist.type("\x03")
        assert typist.wait() == 130
        assert typist.modes() == typist.first_modes
    assert results(project)


def test_what_is_typed_meanwhile_is_queued_and_given_to_the_next_turn(project: Project) -> None:
    steps = [
        {"calls": [bash("until [ -e go ]; do sleep 0.05; done")]},
        {"expect": {"contains": "second"}, "say": "Both."},
    ]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("first")
        typist.until("bash until")
        typist.enter("second")
        typist.until("queued: second")
        typist.enter("/permissions")
        typist.until("permissions: auto")
        project.file("go", "")
        typist.until(r"You: second.*Both\.")
    assert [each.role for each in messages(project)] == [
        "user",
        "assistant",
        "tool_result",
        "user",
        "assistant",
    ]


def test_what_is_typed_during_the_last_turn_is_the_next_prompt(project: Project) -> None:
    project.hook("done/50-wait", 'p=$(cat); until [ -e go ]; do sleep 0.05; done; echo "$p"')
    with repl(project, "--permissions", "auto", steps=[{"say": "One."}, {"say": "Two."}]) as typist:
        typist.until("You: ")
        typist.enter("first")
        typist.until(r"One\.")
        typist.enter("second")
        typist.until("queued: second")
        project.file("go", "")
        typist.until(r"You: second.*Two\.")
    assert [each.text for each in messages(project) if each.role == "user"] == ["first", "second"]


def test_what_was_queued_is_given_back_when_the_turn_is_stopped(project: Project) -> None:
    steps = [{"calls": [bash("sleep 60")]}, {"say": "As you wish."}]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("first")
        typist.until("bash sleep 60")
        typist.enter("use git")
        typist.until("queued: use git")
        typist.type("\x03")
        typist.until("interrupted.*You: use git")
        typist.enter(" instead")
        typist.until(r"As you wish\.")
    assert [each.text for each in messages(project) if each.role == "user"] == ["first", "use git instead"]


def test_a_failing_provider_is_told_and_the_next_prompt_goes_on(project: Project) -> None:
    steps = [{"fail": {"kind": "invalid", "message": "no such thing", "times": 1}}, {"say": "Back again."}]
    with repl(project, steps=steps) as typist:
        typist.until("You: ")
        typist.enter("one")
        typist.until("error: .*no such thing.*You: ")
        project.script([{"say": "Back again."}, {"say": "Back again."}])
        typist.enter("two")
        typist.until(r"Back again\.")


def test_two_calls_beside_each_other_are_both_shown_while_they_run(project: Project) -> None:
    wait = "until [ -e go ]; do sleep 0.05; done; echo {}"
    steps = [{"calls": [bash(wait.format("a")), bash(wait.format("b"))]}, {"say": "Both."}]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("both")
        typist.until("done; echo a.*done; echo b")
        project.file("go", "")
        typist.until("✓ bash .*echo a.*✓ bash .*echo b.*Both")


def test_the_log_of_the_session_holds_what_hooks_say(project: Project) -> None:
    project.hook("receive/20-say", "echo noted >&2; cat")
    with repl(project, steps=[{"say": "Hello."}]) as typist:
        typist.until("You: ")
        typist.enter("hi")
        typist.until("tokens: ")
    assert "noted" in (project.newest_session() / "repl.log").read_text("utf-8")
    assert "noted" not in typist.seen
    assert json.loads((project.newest_session() / ".stream").read_text("utf-8").splitlines()[-1])["type"] == "done"
