"""What an interrupted run left is made good when the session is opened."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bridoon.model.message import Message, Text, Thinking, ToolCall, ToolResult
from bridoon.session import store
from bridoon.session.view import NO_RESULT

HI = Message("user", (Text("hi"),))
ASKS = Message("assistant", (Text("Yes."), ToolCall("a", "bash", {}), ToolCall("b", "bash", {})), stop="tool_calls")


def answer(id: str) -> Message:
    return Message("tool_result", (ToolResult(id, "bash", "ok"),))


@pytest.fixture
def session(tmp_path: Path) -> store.Session:
    return store.create(str(tmp_path), cwd="/", provider="p", model="m")


def left(
    session: store.Session, *messages: Message, stream: list[dict[str, Any]] | None = None, torn: str = ""
) -> None:
    """Leave a session as a killed process leaves it."""
    for message in messages:
        session.append(message)
    if stream is not None:
        lines = "".join(json.dumps(event) + "\n" for event in stream)
        Path(session.dir, ".stream").write_text(lines + torn, "utf-8")


def reopened(session: store.Session) -> tuple[Message, ...]:
    """The messages after opening it twice: the second time must change nothing."""
    once = store.open_session(session.dir).messages()
    assert store.open_session(session.dir).messages() == once
    return once


def shown(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def stopped(seq: int | str) -> dict[str, Any]:
    return {"type": "stop", "reason": "end", "seq": seq}


def test_missing_results_at_the_end_are_written_in_call_order(session: store.Session) -> None:
    left(session, HI, ASKS)
    assert [message.parts[0] for message in reopened(session)[2:]] == [
        ToolResult("a", "bash", NO_RESULT, failed=True),
        ToolResult("b", "bash", NO_RESULT, failed=True),
    ]


def test_only_the_calls_without_a_result_are_answered(session: store.Session) -> None:
    left(session, HI, ASKS, answer("b"))
    assert [message.parts[0].call_id for message in reopened(session)[2:]] == ["b", "a"]  # type: ignore[union-attr]


def test_gaps_in_the_middle_stay_on_disk_and_are_closed_in_the_view(session: store.Session) -> None:
    left(session, HI, ASKS, Message("user", (Text("next"),)))
    assert len(reopened(session)) == 3
    assert [message.role for message in store.open_session(session.dir).view()] == [
        "user", "assistant", "tool_result", "tool_result", "user",
    ]  # fmt: skip


def test_open_calls_are_closed_with_the_reason_that_is_given(session: store.Session) -> None:
    left(session, HI, ASKS, answer("a"))
    (closed,) = session.close_open_calls("not run: refused")
    assert closed.parts == (ToolResult("b", "bash", "not run: refused", failed=True),)
    assert session.close_open_calls("again") == ()


def test_text_that_was_shown_and_not_saved_is_saved(session: store.Session) -> None:
    left(
        session,
        HI,
        stream=[{"type": "thinking", "text": "hm"}, shown("Hel"), shown("lo")],
        torn='{"type":"te',
    )
    saved = reopened(session)[1]
    assert saved.parts == (Thinking("hm"), Text("Hello"))
    assert (saved.stop, saved.provider, saved.model) == ("cancelled", "p", "m")
    assert session.view()[-1].parts == (Text("Hello"),)


def test_text_that_was_saved_before_its_stop_was_written_is_not_doubled(session: store.Session) -> None:
    left(
        session,
        HI,
        Message("assistant", (Text("Hello\n"),), stop="end"),
        stream=[shown("Hel"), shown("lo\n")],
    )
    assert len(reopened(session)) == 2


def test_text_of_an_answer_with_calls_is_not_doubled(session: store.Session) -> None:
    left(
        session,
        HI,
        ASKS,
        stream=[shown("Yes."), {"type": "tool_start", "id": "a", "name": "bash", "input": {}}],
    )
    assert [message.role for message in reopened(session)] == [
        "user",
        "assistant",
        "tool_result",
        "tool_result",
    ]


@pytest.mark.parametrize("seq", [2, "0002"])
def test_only_what_came_after_the_last_saved_message_is_saved(session: store.Session, seq: int | str) -> None:
    done = {"type": "tool_done", "id": "b", "name": "bash", "seq": 4, "error": "false"}
    events = [shown("Yes."), stopped(seq), {"type": "tool_output", "text": "ok"}, done, shown("Par")]
    left(session, HI, ASKS, answer("a"), answer("b"), stream=events)
    assert [message.text for message in reopened(session)] == ["hi", "Yes.", "", "", "Par"]


def test_a_saved_answer_without_a_stop_line_is_taken_off_the_front(session: store.Session) -> None:
    left(session, HI, ASKS, answer("a"), answer("b"), stream=[shown("Yes."), shown("Par")])
    assert [message.text for message in reopened(session)] == ["hi", "Yes.", "", "", "Par"]


def test_an_answer_that_a_hook_changed_is_not_saved_again(session: store.Session) -> None:
    left(session, HI, Message("assistant", (Text("[redacted]"),), stop="end"), stream=[shown("the key is 123")])
    assert len(reopened(session)) == 2


def test_an_error_does_not_swallow_what_was_shown(session: store.Session) -> None:
    left(session, HI, stream=[shown("Half"), {"type": "error", "message": "broke"}, {"type": "done"}])
    assert [message.text for message in reopened(session)] == ["hi", "Half"]


@pytest.mark.parametrize("events", [[], [shown("Hello"), stopped(2), {"type": "done"}], [shown(" \n")], [{"a": 1}]])
def test_a_finished_run_needs_no_repair(session: store.Session, events: list[dict[str, Any]]) -> None:
    left(session, HI, Message("assistant", (Text("Hello"),), stop="end"), stream=events)
    assert len(reopened(session)) == 2


def test_garbage_in_the_stream_is_skipped(session: store.Session) -> None:
    left(session, HI)
    Path(session.dir, ".stream").write_bytes(b'\xff\n[1]\n{"type":"text","text":3}\n{"type":"text","text":"ok"}\nnull')
    assert [message.text for message in reopened(session)] == ["hi", "ok"]


def test_unfinished_files_of_dead_processes_are_removed(session: store.Session) -> None:
    dead, alive = Path(session.dir, ".tmp-999999999-1"), Path(session.dir, f".tmp-{os.getppid()}-1")
    dead.touch()
    alive.touch()
    store.open_session(session.dir)
    assert (dead.exists(), alive.exists()) == (False, True)
    os.utime(alive, (1, 1))
    store.open_session(session.dir)
    assert not alive.exists()


def test_a_session_at_work_is_not_repaired(session: store.Session) -> None:
    left(session, HI, ASKS)
    with session.lock():
        assert len(store.open_session(session.dir).messages()) == 2


def test_a_session_that_is_only_read_is_not_changed(session: store.Session) -> None:
    left(session, HI, ASKS)
    before = sorted(os.listdir(session.dir))
    assert len(store.open_session(session.dir, repair=False).messages()) == 2
    assert sorted(os.listdir(session.dir)) == before


def test_of_a_long_stream_only_the_end_matters(session: store.Session) -> None:
    left(session, HI, Message("assistant", (Text("Yes."),)), HI)
    events = [
        shown("old " * 50_000),
        stopped(2),
        *[shown("x" * 999) for _ in range(200)],
        shown("é" * 99_999),
    ]
    left(session, stream=events, torn="{")
    assert reopened(session)[-1].text == "x" * 999 * 200 + "é" * 99_999
