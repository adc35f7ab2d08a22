"""Listing, finding, forking, exporting and removing sessions."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bridoon.errors import NotFound, SessionBusy, UsageError
from bridoon.model.message import Image, Message, Text, Thinking, ToolCall, ToolResult
from bridoon.session import history, store
from bridoon.session.export import export


def make(root: Path, id: str, *messages: Message, changed: float = 0.0) -> store.Session:
    session = store.create(str(root), cwd="/work", id=id, model="m")
    for message in messages:
        session.append(message)
    if changed:
        for path in Path(session.dir).rglob("*"):
            os.utime(path, (changed, changed))
    return session


def say(text: str) -> Message:
    return Message("user", (Text(text),))


TURN = (
    say("run ls"),
    Message("assistant", (Text("Yes."), ToolCall("a", "bash", {"command": "ls"}), ToolCall("b", "bash", {}))),
    Message("tool_result", (ToolResult("a", "bash", "x.txt"),)),
    Message("tool_result", (ToolResult("b", "bash", "```\n", failed=True, images=(Image("image/png", b"P"),)),)),
    Message("assistant", (Thinking("hm"), Text("Done."))),
)


def test_the_newest_message_event_or_configuration_orders_the_list(tmp_path: Path) -> None:
    for number, id in enumerate(["old", "message", "event", "conf"]):
        make(tmp_path, id, say("hi"), changed=1000 + number)
    os.utime(tmp_path / "message" / "messages" / "0001-user.md", (3000, 3000))
    (tmp_path / "event" / ".stream").touch()
    os.utime(tmp_path / "event" / ".stream", (4000, 4000))
    os.utime(tmp_path / "conf" / "session.conf", (2000, 2000))
    assert [entry.id for entry in history.list_sessions(str(tmp_path))] == ["event", "message", "conf", "old"]
    assert history.newest(str(tmp_path)) == str(tmp_path / "event")


def test_folders_that_are_no_sessions_are_not_listed(tmp_path: Path) -> None:
    make(tmp_path, "a")
    (tmp_path / "empty").mkdir()
    (tmp_path / ".new-x").mkdir()
    (tmp_path / "file").touch()
    assert [entry.id for entry in history.list_sessions([str(tmp_path), str(tmp_path / "missing")])] == ["a"]


def test_a_title_is_the_beginning_of_the_first_message_on_one_line(tmp_path: Path) -> None:
    make(tmp_path, "a", say("please\n  fix\tthe \x1b[31mbug " + "x" * 9000))
    (entry,) = history.list_sessions(str(tmp_path))
    assert history.title(entry, 24) == "please fix the [31mbug …"


def test_a_session_is_found_by_a_beginning_that_only_it_has(tmp_path: Path) -> None:
    make(tmp_path / "one", "20250101-1")
    make(tmp_path / "two", "20250102-1")
    make(tmp_path / "two", "20250102-1-2")
    roots = [str(tmp_path / "one"), str(tmp_path / "two")]
    assert history.find(roots, "20250101") == str(tmp_path / "one" / "20250101-1")
    assert history.find(roots, "20250102-1") == str(tmp_path / "two" / "20250102-1")
    with pytest.raises(UsageError, match="2 sessions begin with"):
        history.find(roots, "20250102")
    with pytest.raises(NotFound):
        history.find(roots, "2024")
    with pytest.raises(UsageError):
        history.find(roots, "../one/20250101-1")


def test_a_fork_holds_the_messages_up_to_a_number_and_names_its_parent(tmp_path: Path) -> None:
    session = make(tmp_path, "a", *TURN)
    forked = history.fork(session, 1)
    assert forked.messages() == session.messages()[:1]
    assert (forked.conf["parent"], forked.cwd, forked.model) == ("a", "/work", "m")
    assert forked.append(say("other")).seq == 2
    assert len(session.messages()) == 5


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_fork_never_parts_a_call_from_its_results(tmp_path: Path, number: int) -> None:
    session = make(tmp_path, "a", *TURN)
    assert history.fork(session, number).messages() == session.messages()[:4]


def test_a_fork_of_everything_is_equal_pictures_and_exact_texts_included(tmp_path: Path) -> None:
    session = make(tmp_path, "a", *TURN, Message("assistant", (Text("a"), Text("b"))))
    forked = store.open_session(history.fork(session).dir, repair=False)
    assert forked.messages() == session.messages()


def test_a_fork_at_a_number_before_the_first_message_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no message 0"):
        history.fork(make(tmp_path, "a", say("hi")), 0)
    assert os.listdir(tmp_path) == ["a"]


def test_an_export_in_markdown_can_be_read_by_people(tmp_path: Path) -> None:
    text = export(make(tmp_path, "a", *TURN), "md")
    assert text.startswith("# Session a\n")
    assert "## User, " in text
    assert '_Call of bash_\n\n```json\n{"command":"ls"}\n```\n' in text
    assert "_Failure of bash_\n\n````text\n```\n\n````\n" in text


def test_an_export_for_programs_holds_everything(tmp_path: Path) -> None:
    session = make(tmp_path, "a", *TURN)
    whole = json.loads(export(session, "json"))
    lines = [json.loads(line) for line in export(session, "jsonl").splitlines()]
    assert whole["messages"] == lines
    assert (whole["id"], whole["model"], len(lines)) == ("a", "m", 5)
    assert lines[3]["parts"][0]["images"] == [{"mime_type": "image/png", "data": "UA=="}]


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format"):
        export(make(tmp_path, "a"), "pdf")


def test_a_removed_session_is_gone(tmp_path: Path) -> None:
    history.remove(make(tmp_path, "a", *TURN))
    assert os.listdir(tmp_path) == []


def test_a_session_that_works_is_not_removed(tmp_path: Path) -> None:
    session = make(tmp_path, "a", say("hi"))
    with session.lock(), pytest.raises(SessionBusy):
        history.remove(store.open_session(session.dir))
    assert session.messages()


def test_sessions_that_did_not_change_for_an_age_are_named_oldest_first(tmp_path: Path) -> None:
    make(tmp_path, "older", say("x"), changed=1_000_000)
    make(tmp_path, "new", say("x"))
    make(tmp_path, "old", say("x"), changed=1_000_001)
    assert [entry.id for entry in history.older_than(str(tmp_path), "30d")] == ["older", "old"]
    assert history.older_than(str(tmp_path), "30d", now=1_000_002) == []


def test_what_interrupted_makers_and_removers_left_is_swept_a_day_later(tmp_path: Path) -> None:
    for name in (".new-x-1-1", ".removed-y-1", "other"):
        (tmp_path / name / "messages").mkdir(parents=True)
        os.utime(tmp_path / name, (1_000_000, 1_000_000))
    (tmp_path / ".new-z-1-1").mkdir()
    history.remove(make(tmp_path, "a", say("x")))
    assert sorted(os.listdir(tmp_path)) == [".new-z-1-1", "other"]


def test_ages_are_numbers_with_a_unit() -> None:
    assert [history.parse_age(text) for text in ("90s", "2h", "30d", "1w")] == [90, 7200, 2592000, 604800]
    for text in ("", "30", "d", "-1d", "1.5d", "30 days"):
        with pytest.raises(UsageError):
            history.parse_age(text)
