"""Corners of the REPL at a real terminal: trust, odd endings of a turn, odd terminals."""

from __future__ import annotations

import shutil
import signal
import subprocess

from project import Project, bash
from typist import drip, repl

from bridoon.session import store

ECHO = [{"say": "You said {{user}}."}] * 4


def test_an_interrupt_from_outside_is_a_ctrl_c(project: Project) -> None:
    drip(project)
    with repl(project, "-p", "drip") as typist:
        typist.until("You: ")
        typist.enter("talk")
        typist.until_seen("word5")
        typist.signal(signal.SIGINT)
        typist.until("interrupted.*tokens: ")
        typist.signal(signal.SIGINT)
        typist.until("Ctrl-C again leaves")
        typist.signal(signal.SIGINT)
        assert typist.wait() == 0


def test_code_that_appears_in_the_checkout_is_asked_about_where_the_user_types(project: Project) -> None:
    shutil.rmtree(project.harness)
    subprocess.run(["git", "init", "-q"], cwd=project.dir, check=True)
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("one")
        typist.until("You said one.*tokens: ")
        project.tool("tide", "echo high", about="Tell the tide")
        subprocess.run(["git", "add", "-f", ".harness"], cwd=project.dir, check=True)
        typist.enter("two")
        typist.until(r"tools/tide.*is in git's index, as code of a checkout is\. Trust it")
        typist.until_seen(r"1 yes\n  2 no\n  \([^)]*\)\nAnswer:$")
        typist.enter("2")
        typist.until("You said two.*tokens: ")
        typist.enter("/tools")
        typist.until("write_file")
        typist.until_seen("You:$")
    assert "Tell the tide" not in typist.seen


def test_an_output_that_a_hook_made_is_shown(project: Project) -> None:
    project.hook("receive/20-sign", 'jq -c \'if .next_state == "done" then .output += " -- signed" else . end\'')
    with repl(project, steps=[{"say": "Hello."}]) as typist:
        typist.until("You: ")
        typist.enter("hi")
        typist.until("Hello.*Hello. -- signed.*tokens: ")


def test_an_answer_that_was_cut_off_is_told(project: Project) -> None:
    with repl(project, steps=[{"say": "Once upon", "stop": "max_tokens"}]) as typist:
        typist.until("You: ")
        typist.enter("tell")
        typist.until("Once upon.*the answer ended early: length")


def test_a_limit_of_turns_is_told_and_the_next_prompt_goes_on(project: Project) -> None:
    steps = [{"calls": [bash("true")]}, {"say": "never"}, {"say": "Fresh."}]
    with repl(project, "--max-turns", "1", "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("go")
        typist.until("error: .*1.*tokens: ")
        typist.enter("again")
        typist.until("never.*tokens: ")


def test_a_session_works_with_the_drop_ins_of_its_own_directory(project: Project) -> None:
    project.tool("tide", "echo high", about="Tell the tide")
    ident = project.say("here", answer="Here.").session.name
    elsewhere = project.dir.parent / "elsewhere"
    elsewhere.mkdir()
    with repl(project, "--cwd", str(elsewhere), ident, steps=ECHO) as typist:
        typist.until("You: here.*You: ")
        typist.enter("/tools")
        typist.until("tide +Tell the tide")


def test_a_small_terminal_that_changes_its_size_is_enough(project: Project) -> None:
    with repl(project, steps=[{"say": "word " * 200}, {"say": "Over."}]) as typist:
        typist.resize(24, 8)
        typist.until("You: ")
        typist.enter("a long line that does not fit into this little terminal at all")
        typist.until("tokens: ")
        typist.resize(120, 50)
        typist.enter("more")
        typist.until("Over.*tokens: ")


def test_what_a_tool_or_a_model_prints_cannot_play_with_the_terminal(project: Project) -> None:
    project.file("evil", "\x1b]0;owned\x07\x1b[2Jgone\r\x1b[1A\x9b2J")
    steps = [
        {"think": "\x1b[2J", "say": "\x1b]0;owned\x07Look.", "calls": [bash("cat evil")]},
        {"say": "`\x1b[5m`"},
    ]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("look")
        typist.until("tokens: ")
    assert not any(code in typist.raw for code in (b"\x1b]0;", b"\x1b[2J", b"\x1b[5m", b"\x07", b"\xc2\x9b"))


def test_a_hook_that_crashes_does_not_end_the_conversation(project: Project) -> None:
    project.hook("assemble/40-broken", "[ -e fixed ] || { echo 'out of order' >&2; exit 1; }; cat")
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("one")
        typist.until("error: .*out of order.*tokens: ")
        project.file("fixed", "")
        typist.enter("two")
        typist.until("You said .*two")
    messages = store.open_session(str(project.newest_session()), repair=False).messages()
    assert messages[-1].text.startswith("You said")
