"""The REPL's input line, and leaving it, at a real terminal."""

from __future__ import annotations

import os
import signal
import stat

import pytest
from project import Project, bash
from typist import repl

from bridoon.session import store

ECHO = [{"say": "You said {{user}}."}] * 4


def said(project: Project) -> list[str]:
    """What the user said in the newest session."""
    session = store.open_session(str(project.newest_session()), repair=False)
    return [message.text for message in session.messages() if message.role == "user"]


@pytest.mark.parametrize("keys", ["/quit\r", "/exit\r", "\x04", "\x03\x03"])
def test_leaving_an_idle_prompt_is_no_failure(project: Project, keys: str) -> None:
    with repl(project) as typist:
        typist.until("You: ")
        typist.type(keys)
        assert typist.wait() == 0
        assert typist.modes() == typist.first_modes


def test_the_first_ctrl_c_only_clears_the_line(project: Project) -> None:
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.type("wrong")
        typist.until("wrong")
        typist.type("\x03")
        typist.until("Ctrl-C again leaves")
        typist.enter("right")
        typist.until("You said right")
    assert said(project) == ["right"]


def test_a_session_in_which_nothing_was_said_leaves_nothing(project: Project) -> None:
    with repl(project) as typist:
        ident = typist.until(r"session: (\S+)\nprovider: scripted\nmodel: script\n")[1]
        typist.until("You: ")
        typist.enter("/quit")
        assert typist.wait() == 0
    assert not (project.sessions / ident).exists()


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_at_an_idle_prompt_gives_the_terminal_back(project: Project, signum: int, code: int) -> None:
    with repl(project) as typist:
        typist.until("You: ")
        typist.signal(signum)
        assert typist.wait() == code
        assert typist.modes() == typist.first_modes


def test_a_signal_during_a_turn_stops_everything(project: Project) -> None:
    with repl(project, "--permissions", "auto", steps=[{"calls": [bash("sleep 60")]}]) as typist:
        typist.until("You: ")
        typist.enter("sleep")
        typist.until("bash sleep 60")
        typist.signal(signal.SIGTERM)
        assert typist.wait() == 143
        assert typist.modes() == typist.first_modes


def test_a_terminal_that_goes_away_stops_everything(project: Project) -> None:
    with repl(project, "--permissions", "auto", steps=[{"calls": [bash("sleep 60")]}]) as typist:
        typist.until("You: ")
        typist.enter("sleep")
        typist.until("bash sleep 60")
        typist.hang_up()
        assert typist.wait() == 129


def test_lines_are_parted_by_escape_enter_and_sent_together(project: Project) -> None:
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.type("one\x1b\rtwo")
        typist.until("two")
        typist.type("\r")
        typist.until("You said one")
    assert said(project) == ["one\ntwo"]


def test_a_paste_of_several_lines_is_not_sent_before_enter(project: Project) -> None:
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.type("\x1b[200~first\nsecond\n\tthird\x1b[201~")
        typist.until("third")
        typist.enter(".")
        typist.until("You said first")
    assert said(project) == ["first\nsecond\n\tthird."]


def test_earlier_lines_come_back_in_the_next_repl_and_are_private(project: Project) -> None:
    for keys, expected in (
        ("an old one\r", "an old one"),
        ("\x1b[A\r", "an old one"),
        ("\x12old\r\r", "an old one"),
    ):
        with repl(project, steps=ECHO) as typist:
            typist.until("You: ")
            typist.type(keys)
            typist.until("You said an old one")
            typist.type("\x04")
            assert typist.wait() == 0
        assert said(project) == [expected]
    history = project.home / ".harness" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_a_history_that_cannot_be_written_costs_nothing(project: Project) -> None:
    (project.home / ".harness" / "history").mkdir(parents=True)
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("hello")
        typist.until("You said hello")


def test_tab_completes_commands_and_files(project: Project) -> None:
    project.file("notes/tide-tables.md", "")
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.type("/sess\t\r\r")
        typist.until("directory")
        typist.type("read notes/ti\t")
        typist.until(r"de-tables\.md")
        typist.enter("")
        typist.until("You said")
    assert said(project) == ["read notes/tide-tables.md"]


def test_a_message_may_begin_with_a_path(project: Project) -> None:
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("/etc/hosts is what?")
        typist.until("You said /etc/hosts is what")


def test_text_of_any_script_survives(project: Project) -> None:
    text = "naïve – 日本語 🌊 \u202b"
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter(text)
        typist.until("You said naïve – 日本語")
    assert said(project) == [text]


def test_a_dumb_terminal_is_enough(project: Project) -> None:
    steps = [{"think": "Hm.", "say": "**Plain** text."}, {"say": "More."}]
    with repl(project, steps=steps, term="dumb") as typist:
        typist.until("You: ")
        typist.enter("one")
        typist.until(r"Agent: Hm\.\n\*\*Plain\*\* text\.\ntokens: ")
        typist.until("You: ")
        typist.enter("two")
        typist.until(r"Agent: More\.\n")
        typist.until("You: ")
        typist.type("\x04")
        assert typist.wait() == 0
    assert b"\x1b" not in typist.raw


def test_a_dumb_terminal_stops_a_turn_with_ctrl_c(project: Project) -> None:
    steps = [{"calls": [bash("sleep 60")]}, {"say": "Awake."}]
    with repl(project, "--permissions", "auto", steps=steps, term="dumb") as typist:
        typist.until("You: ")
        typist.enter("sleep")
        session = project.newest_session() if project.sessions.exists() else None
        assert session is not None
        typist.until_file(session / "messages" / "0002-assistant.md")
        typist.type("\x03")
        typist.until("interrupted")
        typist.until("You: ")
        typist.enter("wake up")
        typist.until("Awake")
        typist.until("You: ")
        typist.type("\x03")
        typist.until("Ctrl-C again leaves")
        typist.type("\x03")
        assert typist.wait() == 0


def test_lines_of_a_pipe_are_prompts(project: Project) -> None:
    env = {"BRIDOON_SCRIPT": project.script(ECHO)}
    result = project.run("-p", "scripted", "repl", stdin="one\n\n/permissions\ntwo", env=env)
    assert result.code == 0
    assert (
        result.stdout.index("You said one.")
        < result.stdout.index("permissions: ask")
        < result.stdout.index("You said two.")
    )
    assert said(project) == ["one", "two"]
    assert "provider: scripted" in result.stderr


def test_no_colours_are_sent_when_nobody_wants_them(project: Project) -> None:
    with repl(project, steps=[{"say": "Some **bold** words."}], NO_COLOR="1") as typist:
        typist.until("You: ")
        typist.enter("hi")
        typist.until(r"Some \*\*bold\*\* words")
        typist.until("tokens: ")
    assert not any(code in typist.raw for code in (b"\x1b[31m", b"\x1b[2m", b"\x1b[1m", b"\x1b[36m"))


def test_the_output_may_be_a_pipe_that_closes(project: Project) -> None:
    env = {"BRIDOON_SCRIPT": project.script([{"say": "word " * 100_000}] * 3)}
    process = project.start("-p", "scripted", "repl", env=env, stdin=os.open(os.devnull, os.O_RDONLY))
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=20) in (0, 141)
    assert process.stderr is not None
    process.stderr.close()
