"""From answers to messages: stop words, dropped calls, numbers, shapes of providers without hooks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from providing import bash

from bridoon.errors import ProviderError
from bridoon.model.message import Text, Thinking, ToolCall, Usage
from bridoon.providers import anthropic, generic, openai_chat, openai_responses, outcome, values

FILTERED = {"reason": "content_filter"}


def answer(*parts: Any, stop: str) -> outcome.Answer:
    return outcome.Answer("p", parts, stop, "m", Usage())


@pytest.mark.parametrize("stop", ["length", "refusal"])
def test_calls_of_an_answer_that_broke_off_are_dropped_and_told(stop: str) -> None:
    message, notes = outcome.message(answer(Text("a"), bash("rm"), stop=stop), "p", 2)
    assert (message.calls, message.text, message.stop) == ((), "a", stop)
    assert "dropped" in notes[0]


@pytest.mark.parametrize("stop", ["end", "tool_calls", "something_new"])
def test_calls_with_any_other_stop_word_are_calls(stop: str) -> None:
    message, notes = outcome.message(answer(bash("ls"), stop=stop), "p", 2)
    assert (len(message.calls), message.stop, notes) == (1, "tool_calls", [])


def test_a_stop_for_calls_without_calls_is_an_end_and_told() -> None:
    message, notes = outcome.message(answer(Text("a"), stop="tool_calls"), "p", 2)
    assert message.stop == "end"
    assert notes


@pytest.mark.parametrize(
    ("module", "raw", "stop"),
    [
        (anthropic, {"content": [], "stop_reason": "end_turn"}, "end"),
        (anthropic, {"content": [], "stop_reason": "max_tokens"}, "length"),
        (anthropic, {"content": [], "stop_reason": "pause_turn"}, "pause_turn"),
        (anthropic, {"content": [], "stop_reason": "refusal"}, "refusal"),
        (openai_chat, {"choices": [{"message": {}, "finish_reason": "stop"}]}, "end"),
        (openai_chat, {"choices": [{"message": {}, "finish_reason": None}]}, "end"),
        (openai_chat, {"choices": [{"message": {}, "finish_reason": "length"}]}, "length"),
        (openai_chat, {"choices": [{"message": {}, "finish_reason": "content_filter"}]}, "refusal"),
        (openai_chat, {"choices": [{"message": {"refusal": "no"}, "finish_reason": "stop"}]}, "refusal"),
        (openai_responses, {"status": "completed", "output": []}, "end"),
        (openai_responses, {"status": "incomplete", "output": []}, "length"),
        (openai_responses, {"status": "incomplete", "incomplete_details": FILTERED}, "refusal"),
    ],
)  # fmt: skip
def test_stop_words(module: Any, raw: dict[str, Any], stop: str) -> None:
    assert module.from_response(raw, "p", 1).stop == stop


def test_a_refusal_is_text() -> None:
    raw = {"choices": [{"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"}]}
    assert openai_chat.from_response(raw, "p", 1).text == "I will not."


def test_repeated_ids_get_suffixes_and_missing_ones_numbers() -> None:
    parts = outcome.name_calls((bash("1", "a"), bash("2", "a"), bash("3", ""), bash("4", "b")), 7, {"b"})
    assert [part.id for part in parts if isinstance(part, ToolCall)] == ["a", "a_7", "call_7_3", "b_7"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"choices": [{"message": {"content": "a"}}]}, "a"),
        ({"output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]}, "a"),
        ({"content": [{"type": "text", "text": "a"}]}, "a"),
        ({"content": "a"}, "a"),
        ({"text": "a"}, "a"),
        ({"output": "a"}, "a"),
        ({"stop_reason": "refusal"}, ""),
    ],
)
def test_the_shape_of_a_response_decides_how_it_is_read(raw: dict[str, Any], text: str) -> None:
    assert generic.from_response(raw, "p", 1).text == text


@pytest.mark.parametrize("raw", [{}, {"answer": "a"}, {"error": {"message": "out of order"}}, {"choices": []}])
def test_a_response_of_no_known_shape_is_a_failure(raw: dict[str, Any]) -> None:
    with pytest.raises(ProviderError):
        generic.from_response(raw, "p", 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("  ", {}),
        ("{}", {}),
        ('{"n": 9007199254740993}', {"n": 9007199254740993}),
        ('{"n": 1.0}', {"n": 1.0}),
        ('{"n": 1e400}', {"n": Decimal("1e400")}),
        ('{"n": 0.1234567890123456789}', {"n": Decimal("0.1234567890123456789")}),
        (r'{"s": "\ud83d"}', {"s": "\ufffd"}),
    ],
)
def test_arguments_keep_their_values(text: str, value: dict[str, Any]) -> None:
    given, error = values.arguments(text)
    assert (given, error) == (value, "")
    assert all(type(given[key]) is type(value[key]) for key in value)


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"a": NaN}', "{'a': 1}", '{"a": 1} x', "[" * 100_000])
def test_arguments_that_cannot_be_used_say_why_in_few_words(text: str) -> None:
    given, error = values.arguments(text)
    assert given == {}
    assert error
    assert len(error) < 400


def test_reasoning_that_the_api_sealed_is_kept() -> None:
    raw = {"output": [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}]}
    assert openai_responses.read(raw).parts == (Thinking("", redacted="rs_1|blob"),)
