"""`hs session ...` through the installed `hs`."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from project import Project, bash

from bridoon.model.message import Message, Text
from bridoon.session import store
from bridoon.session.store import Session


def make(project: Project, ident: str, *texts: str, age: float = 0.0) -> Session:
    """A session with some messages, last used `age` seconds ago."""
    session = store.create(str(project.sessions), cwd=str(project.dir), provider="scripted", id=ident)
    for number, text in enumerate(texts):
        session.append(Message("assistant" if number % 2 else "user", (Text(text),), stop="end" if number % 2 else ""))
    then = time.time() - age
    for folder, _, names in os.walk(session.dir):
        for name in names:
            os.utime(os.path.join(folder, name), (then, then))
    return session


def test_an_empty_store_says_so(project: Project) -> None:
    result = project.run("session", "list")
    assert (result.code, result.stdout) == (0, "(no sessions)\n")


def test_list_prints_id_time_and_the_beginning_of_the_first_message_newest_first(project: Project) -> None:
    make(project, "20260101-000000-1", "an old question\nwith a second line", age=90)
    make(project, "20250101-000000-2", "a new question", "its answer", age=5)
    first, second = project.run("session", "list").stdout.splitlines()
    assert re.fullmatch(r"20250101-000000-2  \d{4}-\d\d-\d\d \d\d:\d\d  a new question", first)
    assert second.startswith("20260101-000000-1  ")
    assert second.endswith("  an old question with a second line")


def test_list_is_what_session_alone_prints(project: Project) -> None:
    make(project, "s1", "hello")
    assert project.run("session").stdout == project.run("session", "list").stdout


def test_a_first_message_cannot_disturb_a_list(project: Project) -> None:
    make(project, "s1", "\x1b[2J\x07 wiped?\r\n" + "x" * 5000)
    result = project.run("session", "list")
    assert len(result.stdout.splitlines()) == 1
    assert "\x1b" not in result.stdout
    assert len(result.stdout) < 200


def test_list_as_json_has_an_object_per_session(project: Project) -> None:
    make(project, "s1", "hello")
    [entry] = json.loads(project.run("session", "list", "--json").stdout)
    assert (entry["id"], entry["messages"], entry["first"]) == ("s1", 1, "hello")


def test_show_prints_the_configuration_the_count_and_the_files(project: Project) -> None:
    make(project, "s1", "hello", "hi")
    shown = project.run("session", "show", "s1").stdout.splitlines()
    assert "id=s1" in shown
    assert f"cwd={project.dir}" in shown
    assert shown[-3:] == ["messages=2", "0001-user.md", "0002-assistant.md"]


def test_show_messages_prints_the_conversation(project: Project) -> None:
    make(project, "s1", "What is it?", "A \x1b[1mbell\x07.")
    shown = project.run("session", "show", "s1", "--messages").stdout
    assert "What is it?" in shown
    assert "A \\x1b[1mbell\\x07." in shown


def test_the_beginning_of_an_id_is_enough_when_it_is_unique(project: Project) -> None:
    make(project, "20260101-000000-1", "one")
    make(project, "20260102-000000-1", "two")
    assert "id=20260102-000000-1" in project.run("session", "show", "20260102").stdout
    result = project.run("session", "show", "2026")
    assert result.code == 2
    assert "2 sessions begin with 2026" in result.stderr


def test_an_unknown_id_is_not_found(project: Project) -> None:
    for words in (("show", "x9"), ("dir", "x9"), ("fork", "x9"), ("export", "x9"), ("rm", "x9")):
        result = project.run("session", *words)
        assert result.code == 1, words
        assert "harness: session 'x9' not found" in result.stderr, words


def test_a_missing_id_is_a_usage_error(project: Project) -> None:
    result = project.run("session", "show")
    assert result.code == 2
    assert "harness: usage: harness session show" in result.stderr


def test_an_unknown_sub_command_is_a_usage_error_with_a_hint(project: Project) -> None:
    result = project.run("session", "lst")
    assert result.code == 2
    assert "harness: unknown session command: lst" in result.stderr
    assert "did you mean list?" in result.stderr


@pytest.mark.parametrize("ident", ["../s1", ".", "..", "a/b", "", "x\ny"])
def test_an_id_is_a_name_and_never_a_path(project: Project, ident: str) -> None:
    make(project, "s1", "hello")
    for command in ("show", "dir", "rm", "fork", "export"):
        assert project.run("session", command, ident).code == 2
    assert (project.sessions / "s1" / "session.conf").exists()


def test_dir_prints_the_store_or_the_directory_of_a_session(project: Project) -> None:
    make(project, "s1", "hello")
    assert project.run("session", "dir").stdout == f"{project.sessions}\n"
    assert project.run("session", "dir", "s1").stdout == f"{project.sessions}/s1\n"


def test_fork_copies_a_session_and_prints_the_id_of_the_copy(project: Project) -> None:
    make(project, "s1", "one", "two", "three", "four")
    ident = project.run("session", "fork", "s1").stdout.strip()
    assert ident != "s1"
    fork = store.open_session(str(project.sessions / ident))
    assert [message.text for message in fork.messages()] == ["one", "two", "three", "four"]
    assert fork.conf["parent"] == "s1"


def test_fork_at_a_number_copies_up_to_that_message(project: Project) -> None:
    make(project, "s1", "one", "two", "three", "four")
    ident = project.run("session", "fork", "s1", "--at", "2").stdout.strip()
    assert [message.text for message in store.open_session(str(project.sessions / ident)).messages()] == [
        "one",
        "two",
    ]
    assert project.run("session", "fork", "s1", "--at", "two").code == 2


def test_export_prints_markdown_json_or_one_message_per_line(project: Project) -> None:
    make(project, "s1", "What?", "That.")
    assert "That." in project.run("session", "export", "s1").stdout
    whole = json.loads(project.run("session", "export", "s1", "--format", "json").stdout)
    assert [message["role"] for message in whole["messages"]] == ["user", "assistant"]
    rows = project.run("session", "export", "s1", "--format=jsonl").stdout.splitlines()
    assert [json.loads(row)["parts"][0]["text"] for row in rows] == ["What?", "That."]
    assert project.run("session", "export", "s1", "--format", "pdf").code == 2


def test_export_to_a_file_keeps_every_character(project: Project) -> None:
    make(project, "s1", "\x1b[1m bold")
    assert "\x1b[1m bold" in project.run("session", "export", "s1").stdout


def test_rm_removes_what_it_is_told_and_says_so(project: Project) -> None:
    make(project, "s1", "one")
    make(project, "s2", "two")
    result = project.run("session", "rm", "s1")
    assert (result.code, result.stdout) == (0, "removed s1\n")
    assert [path.name for path in project.sessions.iterdir()] == ["s2"]


def test_rm_goes_on_after_an_id_that_is_not_there_and_fails(project: Project) -> None:
    make(project, "s1", "one")
    result = project.run("session", "rm", "nope", "s1")
    assert result.code == 1
    assert result.stdout == "removed s1\n"
    assert "session 'nope' not found" in result.stderr


def test_rm_older_than_removes_only_what_was_not_used_for_that_long(project: Project) -> None:
    make(project, "old", "one", age=40 * 86400)
    make(project, "young", "two", age=86400)
    assert project.run("session", "rm", "--older-than", "30d").stdout == "removed old\n"
    assert [path.name for path in project.sessions.iterdir()] == ["young"]
    assert project.run("session", "rm", "--older-than", "soon").code == 2


def test_rm_without_a_session_or_an_age_removes_nothing(project: Project) -> None:
    make(project, "s1", "one")
    assert project.run("session", "rm").code == 2
    assert project.run("session", "rm", "s1", "--older-than", "1d").code == 2
    assert (project.sessions / "s1").exists()


def test_a_session_that_is_in_use_stays(project: Project) -> None:
    session = make(project, "s1", "one", age=40 * 86400)
    with session.lock():
        result = project.run("session", "rm", "s1")
        assert result.code == 1
        assert f"session s1 is busy (pid {os.getpid()})" in result.stderr
        old = project.run("session", "rm", "--older-than", "30d")
    assert (old.code, old.stdout) == (0, "")
    assert Path(session.dir).exists()


def test_rm_does_not_follow_a_link(project: Project, tmp_path: Path) -> None:
    session = make(project, "s1", "one")
    outside = tmp_path / "outside"
    os.rename(session.dir, outside)
    os.symlink(outside, session.dir)
    assert project.run("session", "rm", "s1").code == 2
    assert (outside / "session.conf").exists()


def test_a_session_of_a_real_run_can_be_listed_shown_and_exported(project: Project) -> None:
    run = project.say("count the files", calls=[bash("ls | wc -l")], answer="There are none.")
    ident = run.session.name
    assert f"{ident}  " in project.run("session").stdout
    assert "count the files" in project.run("session").stdout
    shown = project.run("session", "show", ident, "--messages").stdout
    assert "ls | wc -l" in shown
    assert "There are none." in shown
