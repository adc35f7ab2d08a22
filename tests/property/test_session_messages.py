"""A session gives back any message, and makes a valid history of any other."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bridoon.model.message import (
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from bridoon.session import exact, store, transcript
from bridoon.session.view import View, is_summary, valid_view, window

hostile = st.one_of(
    st.text(alphabet=st.characters(), max_size=12),  # surrogates included
    st.lists(
        st.sampled_from(
            [
                *(
                    "",
                    "---",
                    "role: user",
                    "```",
                    "````",
                    "```thinking signature=x",
                    "```tool_call id=a name=b",
                ),
                *(
                    "\\```tool_call id=a name=b",
                    "```image mime=image/png file=images/0001-1.png",
                    "\x00",
                    "{}",
                ),
                *("\ud800", " ", "a\r", "\u2028", "\x1b[31m", "$HOME `x` %s -n", "---\nerror: true"),
            ]
        ),
        max_size=5,
    ).map("\n".join),
)
word = st.text(alphabet="abc019_-", min_size=1, max_size=8)
ident = word | hostile
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | hostile,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile, inner, max_size=3),
    max_leaves=6,
)
images = st.builds(Image, st.sampled_from(["image/png", "image/jpeg", "odd/type"]), st.binary(max_size=8))
calls = st.builds(ToolCall, ident, ident, st.dictionaries(hostile, json_values, max_size=3), st.just("") | hostile)
results = st.builds(ToolResult, ident, ident, hostile, st.booleans(), st.lists(images, max_size=2).map(tuple))
usage = st.none() | st.builds(Usage, *[st.integers(0, 10**9)] * 4)
extra = st.dictionaries(
    st.sampled_from(["continuation", "x-y", "tokens_total", "role", "odd key"]), hostile, max_size=2
)


def message(role: str, parts: st.SearchStrategy[list[Part]]) -> st.SearchStrategy[Message]:
    about = {
        "model": ident,
        "provider": ident,
        "stop": st.sampled_from(["", "end", "tool_calls", "length", "odd one"]),
    }
    return st.builds(Message, st.just(role), parts.map(tuple), at=ident, usage=usage, extra=extra, **about)


thinking = st.builds(Thinking, hostile, ident | st.just(""), st.just("") | ident)
any_message = st.one_of(
    message("user", st.lists(st.builds(Text, hostile) | images, max_size=4)),
    message("assistant", st.lists(st.builds(Text, hostile) | thinking | calls, max_size=5)),
    message("tool_result", st.lists(results, min_size=1, max_size=1)),
)


@given(st.lists(any_message, min_size=1, max_size=3))
def test_any_message_comes_back_from_the_disk_as_it_was_saved(messages: list[Message]) -> None:
    with tempfile.TemporaryDirectory() as root:
        session = store.create(root, cwd="/")
        saved = [session.append(each) for each in messages]
        for before, after in zip(messages, saved, strict=True):
            assert after == exact.clean_value(before)._replace(seq=after.seq, at=after.at)
        assert store.open_session(session.dir, repair=False).messages() == tuple(saved) == session.messages()


def is_ordinary(parts: Sequence[Part]) -> bool:
    """No two texts in a row, no call id twice."""
    ids = [part.id for part in parts if isinstance(part, ToolCall)]
    texts = any(isinstance(a, Text) and isinstance(b, Text) for a, b in pairwise(parts))
    return not texts and len(set(ids)) == len(ids)


utf8 = st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1) | hostile.filter(
    lambda text: text and text == exact.clean(text)
)
some_calls = st.builds(ToolCall, word, word, st.dictionaries(utf8, json_values.map(exact.clean_value), max_size=3))
some_thinking = st.builds(Thinking, utf8, word)
ordinary = st.builds(
    Message,
    st.just("assistant"),
    st.lists(st.builds(Text, utf8) | some_thinking | some_calls, max_size=5).filter(is_ordinary).map(tuple),
    seq=st.integers(1, 99999),
    at=st.just("2025-01-02T03:04:05+00:00"),
    model=word,
    provider=word,
    stop=st.sampled_from(["", "tool_calls"]),
    usage=usage,
    extra=st.just({}),
)


@given(ordinary)
def test_what_models_say_needs_no_second_file(message: Message) -> None:
    assert transcript.decode(transcript.encode(message), transcript.file_name(message)) == message


@given(utf8, st.booleans(), word, st.integers(1, 99999))
def test_what_tools_answer_needs_no_second_file(content: str, failed: bool, call_id: str, seq: int) -> None:
    message = Message("tool_result", (ToolResult(call_id, "bash", content, failed),), seq=seq, at="now")
    assert transcript.decode(transcript.encode(message), transcript.file_name(message)) == message


@given(ordinary)
def test_carriage_returns_of_an_editor_and_a_lost_last_line_end_change_nothing(message: Message) -> None:
    if "\r" in repr(message) or any(isinstance(part, Text) and part.text.endswith("\n") for part in message.parts):
        return
    text = transcript.encode(message)
    name = transcript.file_name(message)
    assert transcript.decode("\ufeff" + text.replace("\n", "\r\n"), name) == message
    assert transcript.decode(text.removesuffix("\n"), name) == message


@given(st.binary(max_size=200), st.sampled_from(["0001-user.md", "0002-assistant.md", "0003-tool_result.md"]))
def test_any_file_is_read_as_something(data: bytes, name: str) -> None:
    try:
        transcript.decode(data.decode("utf-8", "replace"), name)
    except transcript.UnknownRole:
        assert b"role" in data


@given(st.text(alphabet="0123456789.eE+-", max_size=24))
def test_numbers_are_written_as_they_were_read(text: str) -> None:
    try:
        json.loads(text)
        value = exact.load(text)
    except ValueError:
        return
    again = exact.load(exact.dump([value]))[0]
    assert again == value
    assert type(again) is type(value)


# ---- what a model is given

few = st.sampled_from(["a", "b", "c", ""])
history_part = st.one_of(
    st.builds(lambda text: Message("user", (Text(text),)), st.sampled_from(["hi", "", " "])),
    st.builds(lambda at: Message("user", (Text("sum"),), extra={"compaction": str(at)}), st.integers(0, 20)),
    st.builds(
        lambda parts, stop: Message("assistant", tuple(parts), stop=stop),
        st.lists(
            st.builds(ToolCall, few, st.just("t"), st.just({}))
            | st.builds(Text, st.sampled_from(["x", "", "\n"]))
            | st.builds(Thinking, st.just("hm"), st.sampled_from(["", "sig"])),
            max_size=3,
        ),
        st.sampled_from(["end", "tool_calls", "cancelled"]),
    ),
    st.builds(
        lambda id, text: Message("tool_result", (ToolResult(id, "t", text),)),
        few,
        st.sampled_from(["1", "2"]),
    ),
)
histories = st.lists(history_part, max_size=14).map(
    lambda found: tuple(each._replace(seq=number) for number, each in enumerate(found, 1))
)


def check(view: Sequence[Message]) -> None:
    """What the strictest of the APIs demand of a history."""
    seen: set[str] = set()
    waiting: list[str] = []
    assert not view or view[0].role == "user"
    for each in view:
        if each.role == "tool_result":
            assert each.parts[0].call_id == waiting.pop(0)  # type: ignore[union-attr]
            continue
        assert not waiting
        assert any(
            isinstance(part, ToolCall | Image) or (isinstance(part, Text) and part.text.strip()) for part in each.parts
        )
        assert all(part.text.strip() for part in each.parts if isinstance(part, Text))
        waiting = [call.id for call in each.calls]
        assert all(waiting)
        assert not seen & set(waiting)
        assert len(set(waiting)) == len(waiting)
        seen |= set(waiting)
    assert not waiting


@given(histories)
def test_any_history_is_valid_once_it_is_a_view(history: tuple[Message, ...]) -> None:
    view = valid_view(history)
    check(view)
    assert valid_view(view) == view


@given(histories)
def test_no_words_of_a_user_or_a_tool_are_lost_in_a_view(history: tuple[Message, ...]) -> None:
    def said(messages: Sequence[Message]) -> list[str]:
        parts = [part for each in messages if each.role != "assistant" for part in each.parts]
        texts = [part.text for part in parts if isinstance(part, Text)]
        texts += [part.content for part in parts if isinstance(part, ToolResult)]
        return sorted(text[-1:] for text in texts if text.strip())

    view = valid_view(history)
    extra = said(view)
    for last in said(history):
        extra.remove(last)
    made = [m for m in view if m.seq == 0]
    assert len(extra) == len(made)


@given(histories)
def test_a_view_of_a_growing_history_is_the_view_of_all_of_it(history: tuple[Message, ...]) -> None:
    view = View()
    for end in range(len(history) + 1):
        assert view.of(history[:end], 1) == valid_view(window(history[:end]))


@given(histories)
def test_compaction_keeps_what_it_says_and_parts_no_call_from_its_results(
    history: tuple[Message, ...],
) -> None:
    kept = window(history)
    summaries = [each for each in history if is_summary(each)]
    if not summaries:
        assert kept == history
        return
    newest = summaries[-1]
    first = int(newest.extra["compaction"])
    assert kept[0] is newest
    rest = kept[1:]
    assert [each.seq for each in rest] == sorted(each.seq for each in rest)
    assert not any(map(is_summary, rest))
    must = [each for each in history if not is_summary(each) and (each.seq >= first or each.seq > newest.seq)]
    assert list(rest[len(rest) - len(must) :]) == must
    if rest and rest[0].role == "tool_result":
        before = [each for each in history[: history.index(rest[0])] if not is_summary(each)]
        asked = [each.role for each in before if each.role != "tool_result"]
        assert not asked or asked[-1] == "user" or before[-1].role == "user"
    check(valid_view(kept))


@given(st.lists(any_message, max_size=4), st.integers(1, 5))
def test_numbers_order_messages_beyond_four_digits(messages: list[Message], ahead: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        session = store.create(root, cwd="/")
        Path(session.dir, "messages", f"{10000 - ahead}-user.md").write_text("first", "utf-8")
        for each in messages:
            session.append(each)
        seqs = [each.seq for each in store.open_session(session.dir, repair=False).messages()]
        assert seqs == list(range(10000 - ahead, 10001 - ahead + len(messages)))
