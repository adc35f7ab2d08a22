"""Sessions and slash commands in the REPL, at a real terminal."""

from __future__ import annotations

import os

from project import Project, bash
from typist import repl

from bridoon.session import store

ECHO = [{"say": "You said {{user}}."}] * 6


def texts(project: Project, ident: str) -> list[str]:
    """All texts of a session."""
    return [message.text for message in store.open_session(str(project.sessions / ident), repair=False).messages()]


def begun(project: Project, said: str) -> str:
    """The id of a new session in which something was said."""
    return project.say(said, answer=f"About {said}.").session.name


def test_resume_takes_the_session_with_the_newest_message(project: Project) -> None:
    old, new = begun(project, "old"), begun(project, "new")
    os.utime(project.sessions / new, (1, 1))
    os.utime(project.sessions / old)
    with repl(project, "resume", steps=ECHO) as typist:
        typist.until(f"session: {new}\n")
        typist.until("You: new\nAgent:\nAbout new.")
        typist.until("You: ")
        typist.enter("more")
        typist.until("tokens: ")
    assert texts(project, new)[-2:] == ["more", "You said more."]


def test_resume_takes_an_id_or_its_beginning(project: Project) -> None:
    old = begun(project, "old")
    begun(project, "new")
    with repl(project, "resume", old, steps=ECHO) as typist:
        typist.until(f"session: {old}\n")
        typist.until("About old.")


def test_a_message_of_several_lines_keeps_them_when_its_session_is_taken_up_again(project: Project) -> None:
    ident = project.say("fix this:\n\n    tides = []\n\nand that", answer="Done.").session.name
    with repl(project, "resume", ident, steps=ECHO) as typist:
        typist.until("/help lists the commands")
        typist.until("You: fix this:\n\n    tides = \\[\\]\n\nand that\nAgent:\nDone.")


def test_resume_without_a_session_says_so(project: Project) -> None:
    result = project.run("resume")
    assert result.code == 1
    assert "no sessions found" in result.stderr


def test_an_id_alone_at_a_terminal_goes_on_in_that_session(project: Project) -> None:
    ident = begun(project, "first")
    with repl(project, ident, steps=ECHO) as typist:
        typist.until("You: first\nAgent:\nAbout first.")
        typist.until("You: ")
        typist.enter("second")
        typist.until("You said second")
    assert texts(project, ident)[2] == "second"


def test_an_unknown_session_is_no_prompt(project: Project) -> None:
    result = project.run("repl", "20990101-000000-1")
    assert result.code == 1
    assert "there is no session" in result.stderr


def test_the_commands_describe_themselves(project: Project) -> None:
    for name in ("repl", "resume"):
        result = project.run(name, "--help")
        assert result.code == 0
        assert result.stdout.startswith(f"usage: hs {name}")


def test_help_lists_the_commands_and_unknown_ones_are_told(project: Project) -> None:
    with repl(project) as typist:
        typist.until("You: ")
        typist.enter("/help")
        for name in (
            "help",
            "tools",
            "model",
            "permissions",
            "jobs",
            "session",
            "resume",
            "fork",
            "compact",
            "quit",
        ):
            typist.until(f"/{name}")
        typist.until("You: ")
        typist.enter("/sesion")
        typist.until("there is no /sesion: did you mean /session?")


def test_tools_lists_what_the_model_can_call(project: Project) -> None:
    project.tool("tide", "echo high", about="Tell the tide")
    with repl(project) as typist:
        typist.until("You: ")
        typist.enter("/tools")
        typist.until("bash .*read_file .*tide +Tell the tide")


def test_session_shows_where_the_session_is(project: Project) -> None:
    with repl(project, steps=ECHO) as typist:
        ident = typist.until(r"session: (\S+)\n")[1]
        typist.until("You: ")
        typist.enter("hi")
        typist.until("tokens: ")
        typist.enter("/session")
        typist.until(f"directory +{project.sessions / ident}\n.*messages +2\n")


def test_jobs_lists_what_calls_left_in_the_background(project: Project) -> None:
    steps = [{"calls": [bash("sleep 61 > /dev/null 2>&1 &")]}, {"say": "Started."}]
    with repl(project, "--permissions", "auto", steps=steps) as typist:
        typist.until("You: ")
        typist.enter("/jobs")
        typist.until("nothing runs in the background")
        typist.enter("start")
        typist.until(r"Started\..*tokens: ")
        typist.enter("/jobs")
        typist.until(r"\d+ +\d.* s +sleep 61")
        typist.enter("/quit")
        assert typist.wait() == 0


def test_another_model_counts_from_the_next_prompt_on(project: Project) -> None:
    project.provider("parrot", '# no --stream\necho \'{"text": "I am a parrot."}\'')
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("/model")
        typist.until("provider: scripted\nmodel: script\n.*parrot")
        typist.enter("/model parrot/grey")
        typist.until("from now on: parrot, grey")
        typist.enter("hi")
        typist.until(r"I am a parrot\..*tokens: ")
        typist.enter("/model nobody/at-all")
        typist.until("from now on: parrot, nobody/at-all")
        typist.enter("/quit")
        assert typist.wait() == 0
    assert store.open_session(str(project.newest_session())).conf["provider"] == "parrot"


def test_a_fork_leaves_the_old_session_as_it_was(project: Project) -> None:
    with repl(project, steps=ECHO) as typist:
        old = typist.until(r"session: (\S+)\n")[1]
        typist.until("You: ")
        typist.enter("one")
        typist.until("tokens: ")
        typist.enter("two")
        typist.until("tokens: ")
        typist.enter("/fork 2")
        new = typist.until(r"session: (\S+) \(a copy of \S+ with 2 messages\)")[1]
        typist.enter("three")
        typist.until("You said three.*tokens: ")
        typist.enter("/fork x")
        typist.until("error: 'x' is not the number of a message")
    assert texts(project, old)[::2] == ["one", "two"]
    assert texts(project, new)[::2] == ["one", "three"]


def test_resume_changes_to_another_session(project: Project) -> None:
    other = begun(project, "tides")
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("/resume")
        typist.until(f"session: {other}\n.*You: tides\nAgent:\nAbout tides.")
        typist.enter("and winds?")
        typist.until("You said and winds.*tokens: ")
        typist.enter("/resume nothing-like-it")
        typist.until("error: there is no session nothing-like-it")
    assert texts(project, other)[2] == "and winds?"


def test_compact_says_what_came_of_it(project: Project) -> None:
    with repl(project, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("hi")
        typist.until("tokens: ")
        typist.enter("/compact")
        typist.until("nothing was compacted|compacted: about")


def test_a_busy_session_is_told(project: Project) -> None:
    ident = begun(project, "first")
    with store.open_session(str(project.sessions / ident)).lock(), repl(project, ident, steps=ECHO) as typist:
        typist.until("You: ")
        typist.enter("second")
        typist.until("error: session .* is busy")
