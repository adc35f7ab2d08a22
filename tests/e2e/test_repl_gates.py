"""Gates that ask: at `/dev/tty` as the seed's example does, and the questions about permissions."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from project import Project, bash, call
from typist import Typist, repl

CONFIRM = """\
#!/usr/bin/env bash
# .harness/hooks.d/tool_exec/05-confirm
set -euo pipefail
tc="$(cat)"
[[ "$(echo "$tc" | jq -r '.name')" == "bash" ]] || { echo "$tc"; exit 0; }
cmd="$(echo "$tc" | jq -r '.input.command')"
read -p "run: $cmd ? [y/N] " r </dev/tty
[[ "$r" =~ ^[Yy] ]] || exit 1
echo "$tc"
"""

STEPS = [{"say": "I write.", "calls": [bash("echo done > written")]}, {"say": "Over: {{result}}"}]


@pytest.fixture
def written(project: Project) -> Path:
    """A file that only a call that passed its gates makes."""
    return project.dir / "written"


def one_shot(project: Project) -> Typist:
    return repl(project, "--permissions", "auto", "write", steps=STEPS)


def test_the_seed_s_gate_asks_at_the_terminal_of_a_one_shot_run(project: Project, written: Path) -> None:
    project.hook("tool_exec/05-confirm", CONFIRM)
    with one_shot(project) as typist:
        typist.until(r"run: echo done > written \? \[y/N\] ")
        typist.type("y\n")
        typist.until("Over: ")
        assert typist.wait() == 0
    assert written.exists()
    assert typist.seen.count("[y/N]") == 1


def test_a_no_at_the_seed_s_gate_refuses_the_call(project: Project, written: Path) -> None:
    project.hook("tool_exec/05-confirm", CONFIRM)
    with one_shot(project) as typist:
        typist.until(r"\[y/N\] ")
        typist.type("n\n")
        typist.until("Over: refused")
        assert typist.wait() == 0
    assert not written.exists()


def test_ctrl_c_at_the_seed_s_gate_ends_a_one_shot_run(project: Project, written: Path) -> None:
    project.hook("tool_exec/05-confirm", CONFIRM)
    with one_shot(project) as typist:
        typist.until(r"\[y/N\] ")
        typist.type("\x03")
        assert typist.wait() == 130
    assert not written.exists()


def test_the_seed_s_gate_asks_in_the_repl(project: Project, written: Path) -> None:
    project.hook("tool_exec/05-confirm", CONFIRM)
    with repl(project, "--permissions", "auto", steps=[*STEPS, *STEPS]) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until(r"run: echo done > written \? \[y/N\] ")
        typist.type("n\n")
        typist.until("✗ bash.*Over: refused.*tokens: ")
        assert not written.exists()
        typist.enter("again")
        typist.until(r"run: echo done > written \? \[y/N\] ")
        typist.type("yes\n")
        typist.until("✓ bash.*tokens: ")
        assert written.exists()
        typist.enter("/quit")
        assert typist.wait() == 0
        assert typist.modes() == typist.first_modes
    assert "run: echo" in (project.newest_session() / "repl.log").read_text("utf-8")


def test_ctrl_c_at_the_seed_s_gate_stops_the_turn_of_the_repl(project: Project, written: Path) -> None:
    project.hook("tool_exec/05-confirm", CONFIRM)
    with repl(project, "--permissions", "auto", steps=[*STEPS[:1], {"say": "Still here."}]) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until(r"\[y/N\] ")
        typist.type("\x03")
        typist.until("interrupted.*tokens: .*You: ")
        typist.enter("there?")
        typist.until(r"Still here\.")
    assert not written.exists()


def test_what_is_typed_before_a_gate_asks_stays_on_the_input_line(project: Project) -> None:
    project.hook(
        "tool_exec/05-confirm",
        CONFIRM.replace('tc="$(cat)"', 'tc="$(cat)"; until [ -e go ]; do sleep 0.05; done'),
    )
    project.hook("tool_exec/04-slow", "until [ -e typed ]; do sleep 0.05; done; cat")
    with repl(
        project, "--permissions", "auto", steps=[{"say": "Hm.", "delay": 1.0, **dict(STEPS[0])}, STEPS[1]]
    ) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.type("a draft")
        typist.until_seen("You: a draft")
        project.file("typed", "")
        project.file("go", "")
        typist.until(r"\[y/N\] ")
        typist.type("y\n")
        typist.until("tokens: ")
        typist.until_seen(r"tokens: [^\n]*\nYou: a draft$")


@pytest.mark.parametrize("leave", ["signal", "hang up"])
def test_the_end_of_the_repl_ends_a_gate_that_asks(project: Project, written: Path, leave: str) -> None:
    project.hook("tool_exec/05-confirm", CONFIRM)
    with repl(project, "--permissions", "auto", steps=STEPS) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until(r"\[y/N\] ")
        if leave == "signal":
            typist.signal(signal.SIGTERM)
            assert typist.wait() == 143
            assert typist.modes() == typist.first_modes
        else:
            typist.hang_up()
            assert typist.wait() == 129
    assert not written.exists()


# ---- permissions


def test_the_repl_asks_before_it_runs_a_command(project: Project, written: Path) -> None:
    with repl(project, steps=STEPS) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until(r"echo done > written\n\? Run bash\?")
        typist.until_seen(r"1 yes\n  2 no\n  3 always.*\n  \(a number, or words: they count as no\)\nAnswer:$")
        assert not written.exists()
        typist.enter("yes")
        typist.until("→ yes.*✓ bash.*tokens: ")
    assert written.exists()


def test_a_no_with_a_reason_reaches_the_model(project: Project, written: Path) -> None:
    with repl(project, steps=STEPS) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until_seen("Answer:$")
        typist.enter("use the other file")
        typist.until("Over: .*use the other file")
    assert not written.exists()


def test_an_answer_that_fits_no_single_choice_is_asked_again(project: Project, written: Path) -> None:
    with repl(project, steps=STEPS) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until_seen("Answer:$")
        typist.enter("9")
        typist.until("no choice has the number 9")
        typist.until_seen("Answer:$")
        typist.enter("1")
        typist.until("→ yes.*✓ bash.*tokens: ")
    assert written.exists()


def test_three_answers_that_fit_no_choice_are_a_no(project: Project, written: Path) -> None:
    with repl(project, steps=STEPS) as typist:
        typist.until("You: ")
        typist.enter("write")
        for number in "789":
            typist.until_seen("Answer:$")
            typist.enter(number)
            typist.until(f"no choice has the number {number}")
        typist.until("→ no.*Over: ")
    assert not written.exists()


def test_enter_alone_answers_nothing(project: Project, written: Path) -> None:
    with repl(project, steps=STEPS) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until_seen("Answer:$")
        typist.enter("")
        typist.enter("n")
        typist.until("→ no.*Over: ")
    assert not written.exists()


def test_always_is_asked_once_in_a_session(project: Project) -> None:
    steps = [
        {"calls": [bash("echo 1")]},
        {"calls": [bash("echo 2")]},
        {"say": "One."},
        {"calls": [bash("echo 3")]},
        {"say": "Two."},
    ]
    with repl(project, steps=steps) as typist:
        typist.until("You: ")
        typist.enter("go")
        number = typist.until_seen(r"(\d) always bash in this session")[1]
        typist.enter(number)
        typist.until(r"One\..*tokens: ")
        typist.enter("more")
        typist.until(r"echo 3.*Two\.")
    assert typist.seen.count("Run bash?") == 1


def test_ctrl_c_at_a_question_stops_the_turn(project: Project, written: Path) -> None:
    with repl(project, steps=[*STEPS[:1], {"say": "Still here."}]) as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until_seen("Answer:$")
        typist.type("\x03")
        typist.until("interrupted")
        typist.until_seen("You:$")
        typist.enter("there?")
        typist.until(r"Still here\.")
    assert not written.exists()


def test_reading_asks_nobody(project: Project) -> None:
    project.file("note", "the tide is high")
    steps = [{"calls": [call("read_file", path="note")]}, {"say": "Read."}]
    with repl(project, steps=steps) as typist:
        typist.until("You: ")
        typist.enter("read")
        typist.until(r"the tide is high.*Read\.")


def test_the_mode_can_be_changed_for_the_next_prompts(project: Project, written: Path) -> None:
    with repl(project, steps=[*STEPS, *STEPS]) as typist:
        typist.until("You: ")
        typist.enter("/permissions")
        typist.until("permissions: ask")
        typist.enter("/permissions read-only")
        typist.until("permissions: read-only")
        typist.enter("write")
        typist.until("✗ bash.*read-only.*tokens: ")
        assert not written.exists()
        typist.enter("/permissions auto")
        typist.until("permissions: auto")
        typist.enter("write")
        typist.until("✓ bash.*tokens: ")
    assert written.exists()


def test_a_mode_of_the_settings_counts_in_the_repl(project: Project) -> None:
    project.settings(permissions="read-only")
    with repl(project, steps=STEPS) as typist:
        typist.until("You: ")
        typist.enter("/permissions")
        typist.until("permissions: read-only")


def test_a_dumb_terminal_is_asked_too(project: Project, written: Path) -> None:
    with repl(project, steps=STEPS, term="dumb") as typist:
        typist.until("You: ")
        typist.enter("write")
        typist.until(r"Run bash\?.*\[1\] yes.*: $")
        typist.enter("1")
        typist.until("Over: ")
    assert written.exists()


def test_without_a_terminal_the_call_is_refused(project: Project, written: Path) -> None:
    result = project.run("-p", "scripted", "repl", stdin="write\n", env={"BRIDOON_SCRIPT": project.script(STEPS)})
    assert result.code == 0
    assert "nobody can be asked" in result.stdout
    assert not written.exists()


def test_a_project_cannot_make_the_repl_ask_less(project: Project) -> None:
    project.settings(permissions="auto")
    with repl(project, steps=[{"calls": [bash("touch made")]}, {"say": "As you wish."}]) as typist:
        typist.until("You: ")
        typist.enter("go")
        typist.until("Run bash")
        typist.enter("2")
        typist.until(r"As you wish\.")
    assert not (project.dir / "made").exists()
