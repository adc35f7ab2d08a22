"""A session's directory: names, messages, what is noticed of changes that others make."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from bridoon.errors import BridoonError, NotFound, UsageError
from bridoon.model.message import Image, Message, Text, ToolCall, ToolResult, Usage
from bridoon.session import store


@pytest.fixture
def session(tmp_path: Path) -> store.Session:
    return store.create(str(tmp_path / "sessions"), cwd="/work", provider="p", model="m")


def say(text: str) -> Message:
    return Message("user", (Text(text),))


def file_of(session: store.Session, name: str) -> Path:
    return Path(session.dir, "messages", name)


def texts(session: store.Session) -> list[str]:
    return [message.text for message in session.messages()]


def test_a_new_session_has_the_documented_files(session: store.Session) -> None:
    session.append(say("hi"))
    conf = Path(session.dir, "session.conf").read_text("utf-8").splitlines()
    assert [line.partition("=")[0] for line in conf] == ["id", "model", "provider", "created", "cwd"]
    assert sorted(os.listdir(session.dir)) == ["messages", "session.conf"]
    assert os.listdir(Path(session.dir, "messages")) == ["0001-user.md"]
    assert (session.cwd, session.provider, session.model) == ("/work", "p", "m")


def test_nobody_else_can_read_a_session(session: store.Session) -> None:
    session.append(say("hi"))
    modes = [os.stat(path).st_mode & 0o77 for path in [session.dir, file_of(session, "0001-user.md")]]
    assert modes == [0, 0]


def test_sessions_made_in_one_second_by_one_process_have_ids_of_their_own(tmp_path: Path) -> None:
    made = [store.create(str(tmp_path), cwd="/") for _ in range(5)]
    assert len({session.id for session in made}) == 5
    assert all(session.conf["id"] == session.id for session in made)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("id", [".", "..", "a/b", "/etc", "-x", ".hidden", "a b", "a\n", "", "x" * 129, "ü"])
def test_an_id_is_a_name_never_a_path(tmp_path: Path, id: str) -> None:
    with pytest.raises(UsageError):
        store.check_id(id)
    if id:
        with pytest.raises(UsageError):
            store.create(str(tmp_path), cwd="/", id=id)


def test_an_id_that_is_taken_is_refused(tmp_path: Path) -> None:
    assert store.create(str(tmp_path), cwd="/", id="mine").id == "mine"
    with pytest.raises(UsageError, match="already"):
        store.create(str(tmp_path), cwd="/", id="mine")


def test_keys_of_others_survive_an_update(session: store.Session) -> None:
    path = Path(session.dir, "session.conf")
    path.write_text(path.read_text("utf-8") + "title=A title\n", "utf-8")
    session.update(model="m2")
    again = store.open_session(session.dir)
    assert (again.model, again.conf["title"], again.provider) == ("m2", "A title", "p")


def test_opening_what_is_no_session_says_so(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NotFound):
            store.open_session(str(place))


def test_messages_are_numbered_and_dated(session: store.Session) -> None:
    saved = [session.append(say("a")), session.append(Message("user", (Text("b"),), at="then"))]
    assert [message.seq for message in saved] == [1, 2]
    assert saved[0].at[10] == "T"
    assert saved[1].at == "then"
    assert session.messages() == tuple(saved)


def test_strange_files_neither_count_nor_disturb(session: store.Session) -> None:
    for name in ("notes.md", "0011~", "0012-user.md~", ".0013-user.md", "a-user.md", "0014-User.md"):
        file_of(session, name).write_text("x", "utf-8")
    file_of(session, "0002-user.md").mkdir()
    file_of(session, "0003-user.md").touch()
    file_of(session, "0004-note.md").write_text("---\nrole: note\n---\nx\n", "utf-8")
    assert session.append(say("hi")).seq == 5
    assert texts(session) == ["hi"]


def test_ten_thousand_follows_nine_thousand_nine_hundred_ninety_nine(session: store.Session) -> None:
    file_of(session, "9999-user.md").write_text("before", "utf-8")
    session.append(say("after"))
    assert texts(store.open_session(session.dir)) == ["before", "after"]


def test_a_message_that_somebody_else_adds_is_seen_at_once(session: store.Session) -> None:
    session.append(say("a"))
    assert texts(session) == ["a"]
    file_of(session, "0002-user.md").write_text("---\nrole: user\n---\nb\n", "utf-8")
    assert texts(session) == ["a", "b"]
    assert session.append(say("c")).seq == 3


def test_a_message_that_is_edited_or_removed_is_seen(session: store.Session) -> None:
    for text in ("a", "b", "c"):
        session.append(say(text))
    assert texts(session) == ["a", "b", "c"]
    file_of(session, "0003-user.md").write_text("edited\n", "utf-8")
    file_of(session, "0001-user.md").unlink()
    assert texts(session) == ["b", "edited"]


def test_an_old_message_that_is_edited_in_place_is_seen_after_a_refresh(session: store.Session) -> None:
    for number in range(10):
        session.append(say(str(number)))
    assert len(texts(session)) == 10
    file_of(session, "0001-user.md").write_text("edited\n", "utf-8")
    session.refresh()
    assert texts(session)[0] == "edited"


def test_what_markdown_cannot_say_is_kept_beside_it_until_somebody_edits(session: store.Session) -> None:
    parts = (Text("a"), Text("b"), Text(""), ToolCall("c", "t", {}))
    session.append(Message("assistant", parts, stop="end", extra={"odd key": "x"}))
    path = file_of(session, "0001-assistant.md")
    assert os.listdir(Path(session.dir, ".raw")) == ["0001.json"]
    assert store.open_session(session.dir, repair=False).messages()[0].parts == parts
    path.write_text(path.read_text("utf-8").replace("a\nb", "mine"), "utf-8")
    assert store.open_session(session.dir, repair=False).messages()[0].text.startswith("mine")


def test_a_broken_sidecar_is_ignored(session: store.Session) -> None:
    session.append(Message("assistant", (Text("a"), Text("b"))))
    Path(session.dir, ".raw", "0001.json").write_bytes(b'{"sha256": 3')
    assert texts(store.open_session(session.dir)) == ["a\nb"]


def test_ordinary_turns_cost_one_file_each(session: store.Session) -> None:
    session.append(say("hi"))
    session.append(Message("assistant", (Text("Look.\n"), ToolCall("c", "bash", {"x": 1.5})), stop="tool_calls"))
    session.append(Message("tool_result", (ToolResult("c", "bash", "a\n\n"),)))
    session.append(Message("tool_result", (ToolResult("d", "bash", ""),)))
    session.append(Message("assistant", (Text("Done."),), stop="end", usage=Usage(5, 1)))
    assert not Path(session.dir, ".raw").exists()


def test_pictures_are_files_and_come_back(session: store.Session) -> None:
    picture = Image("image/png", b"\x89PNG")
    session.append(Message("user", (Text("see"), picture)))
    session.append(Message("tool_result", (ToolResult("c", "t", "two", images=(picture, Image("x/y", b""))),)))
    assert sorted(os.listdir(Path(session.dir, "images"))) == ["0001-1.png", "0002-1.png", "0002-2.bin"]
    assert store.open_session(session.dir, repair=False).messages() == session.messages()
    Path(session.dir, "images", "0001-1.png").unlink()
    assert "cannot be read" in texts(store.open_session(session.dir, repair=False))[0]


def test_a_picture_that_is_a_link_out_of_the_session_is_not_read(session: store.Session, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key", "utf-8")
    session.append(Message("user", (Image("image/png", b"x"),)))
    Path(session.dir, "images", "0001-1.png").unlink()
    Path(session.dir, "images", "0001-1.png").symlink_to(tmp_path / "secret")
    assert "cannot be read" in texts(store.open_session(session.dir))[0]


def test_lone_surrogates_become_replacement_characters(session: store.Session) -> None:
    saved = session.append(Message("assistant", (Text("a\ud800"), ToolCall("c", "t", {"\udc00": "\ud83d\ude00"}))))
    assert saved.text == "a\ufffd"
    assert saved.calls[0].input == {"\ufffd": "😀"}
    assert store.open_session(session.dir, repair=False).messages() == (saved,)


def test_threads_may_append_at_the_same_time(session: store.Session) -> None:
    threads = [threading.Thread(target=lambda: [session.append(say("x")) for _ in range(20)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [message.seq for message in session.messages()] == list(range(1, 81))


def test_usage_of_all_messages_is_added_up(session: store.Session) -> None:
    for _ in range(3):
        session.append(Message("assistant", (Text("x"),), usage=Usage(10, 2, 5, 1)))
    assert session.total_usage() == Usage(30, 6, 15, 3)


def test_a_full_disk_is_told_and_leaves_nothing_behind(session: store.Session) -> None:
    session.append(say("a"))
    Path(session.dir, ".raw").write_text("in the way", "utf-8")
    with pytest.raises(BridoonError, match="cannot save a message"):
        session.append(Message("assistant", (Text("a"), Text("b"))))
    assert sorted(os.listdir(session.dir)) == [".raw", "messages", "session.conf"]
    assert session.append(say("b")).seq == 2


def test_sync_covers_messages_of_other_writers(session: store.Session) -> None:
    session.append(say("a"))
    file_of(session, "0002-user.md").write_text("b", "utf-8")
    session.sync()
    assert session._messages._unsynced == []
    session.sync()


def test_the_working_directory_may_hold_anything(tmp_path: Path) -> None:
    session = store.create(str(tmp_path), cwd="/a\nb%\udcff")
    assert store.open_session(session.dir).cwd == "/a\nb%\udcff"


def test_the_sidecar_names_the_file_that_it_belongs_to(session: store.Session) -> None:
    session.append(Message("assistant", (Text(""),)))
    value = json.loads(Path(session.dir, ".raw", "0001.json").read_text("utf-8"))
    assert sorted(value) == ["message", "sha256"]
