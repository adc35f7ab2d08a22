"""Which messages a model is given."""

from __future__ import annotations

from bridoon.model.message import Message, Text, Thinking, ToolCall, ToolResult
from bridoon.session.view import NO_RESULT, valid_view, window


def user(text: str, seq: int = 0, **extra: str) -> Message:
    return Message("user", (Text(text),), seq=seq, extra=extra)


def asks(*ids: str, seq: int = 0) -> Message:
    return Message("assistant", tuple(ToolCall(id, "bash", {}) for id in ids), seq=seq, stop="tool_calls")


def answer(id: str, text: str = "ok", seq: int = 0) -> Message:
    return Message("tool_result", (ToolResult(id, "bash", text),), seq=seq)


def test_a_history_that_is_fine_is_passed_on_as_it_is() -> None:
    history = (user("hi"), asks("a", "b"), answer("a"), answer("b"), Message("assistant", (Text("done"),)))
    view = valid_view(history)
    assert all(given is seen for given, seen in zip(history, view, strict=True))


def test_results_stand_in_the_order_of_their_calls() -> None:
    assert valid_view((user("hi"), asks("a", "b"), answer("b"), answer("a")))[2:] == (
        answer("a"),
        answer("b"),
    )


def test_a_missing_result_is_made_up() -> None:
    view = valid_view((user("hi"), asks("a", "b"), answer("a"), user("next")))
    assert view[3] == Message("tool_result", (ToolResult("b", "bash", NO_RESULT, failed=True),))


def test_a_result_without_a_call_becomes_words_of_the_user() -> None:
    view = valid_view((user("hi"), asks("a"), answer("a"), answer("zz", "lost")))
    assert (view[3].role, view[3].text.endswith("\nlost")) == ("user", True)


def test_a_call_id_that_occurs_again_is_renamed_with_its_result() -> None:
    view = valid_view((user("hi"), asks("call_0"), answer("call_0", "1"), asks("call_0"), answer("call_0", "2")))
    assert [view[3].calls[0].id, view[4].parts[0]] == ["call_0_2", ToolResult("call_0_2", "bash", "2")]


def test_empty_answers_and_broken_off_reasoning_are_left_out() -> None:
    history = (
        user("hi"),
        Message("assistant", ()),
        Message("assistant", (Text("\n"), Thinking("signed", "sig"))),
        Message("assistant", (Thinking("cut o"), Text("said")), stop="cancelled"),
    )
    assert valid_view(history)[1:] == (Message("assistant", (Text("said"),), stop="cancelled"),)


def test_a_history_without_a_beginning_gets_one() -> None:
    assert valid_view((asks("a", seq=5), answer("a", seq=6)))[0].role == "user"


def test_a_summary_stands_for_what_came_before_the_first_kept_message() -> None:
    history = (
        user("one", 1), asks("a", seq=2), answer("a", seq=3), user("two", 4),
        user("summary", 5, compaction="4"), user("three", 6),
    )  # fmt: skip
    assert [each.text for each in window(history)] == ["summary", "two", "three"]


def test_a_summary_that_would_part_a_call_from_its_result_keeps_the_call() -> None:
    history = (user("one", 1), asks("a", "b", seq=2), answer("a", seq=3), answer("b", seq=4))
    kept = window((*history, user("summary", 5, compaction="4")))
    assert [each.seq for each in kept] == [5, 2, 3, 4]


def test_the_newest_summary_counts() -> None:
    history = (user("one", 1), user("old", 2, compaction="1"), user("two", 3), user("new", 4, compaction="3"))
    assert [each.text for each in window(history)] == ["new", "two"]


def test_a_header_that_is_no_number_compacts_nothing() -> None:
    history = (user("one", 1), user("two", 2, compaction="yes"))
    assert window(history) == history
