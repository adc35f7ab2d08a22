"""Streams of three APIs, read event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes import api_answers
from fakes.api_answers import Said

from bridoon.errors import ProviderError
from bridoon.model.message import Text, Thinking, ToolCall, Usage
from bridoon.providers import anthropic, openai_chat, openai_responses
from bridoon.providers.failures import Refusal
from bridoon.providers.outcome import Claims
from bridoon.wire import sse

ALL = {
    "anthropic": (anthropic, api_answers.anthropic_stream, api_answers.anthropic_document),
    "chat": (openai_chat, api_answers.chat_stream, api_answers.chat_document),
    "responses": (openai_responses, api_answers.responses_stream, api_answers.responses_document),
}
BASH = '{"command":"echo \\u00e9 \\ud83d\\ude00"}'
BASH_INPUT = {"command": "echo é 😀"}


def play(module: Any, stream: list[bytes]) -> tuple[Any, list[dict[str, Any]]]:
    """A reader that was fed a whole stream, and what it showed."""
    reader, decoder, lines = module.Reader(Claims(1, ()), "http://api"), sse.Decoder(), []
    for event in [*decoder.feed(b"".join(stream)), *decoder.end()]:
        if not reader.ended:
            lines += reader.feed(event)
    return reader, [*lines, *reader.close()]


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
    return api_answers.event({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more})


@pytest.mark.parametrize("name", ALL)
def test_a_stream_comes_to_the_same_message_as_the_document(name: str) -> None:
    module, stream, document = ALL[name]
    said = Said("I look. 😀", [("call_a", "bash", BASH), ("call_b", "bash", "")], "hm …")
    reader, _ = play(module, stream(said))
    assert reader.complete
    assert reader.ended
    streamed, whole = module.read(reader.result()), module.read(document(said))
    assert streamed.parts == whole.parts
    assert (streamed.stop, streamed.usage, streamed.model) == (whole.stop, whole.usage, whole.model)
    assert [part for part in streamed.parts if isinstance(part, ToolCall)] == [
        ToolCall("call_a", "bash", BASH_INPUT),
        ToolCall("call_b", "bash", {}),
    ]


@pytest.mark.parametrize("name", ALL)
def test_text_thinking_and_calls_are_shown_in_order(name: str) -> None:
    module, stream, _ = ALL[name]
    _, lines = play(module, stream(Said("I look. 😀", [("call_a", "bash", BASH)], "hm …")))
    kinds = [line["type"] for line in lines]
    assert kinds == sorted(kinds, key=["thinking", "text", "tool_start"].index)
    assert "".join(line["text"] for line in lines if line["type"] == "thinking") == "hm …"
    assert "".join(line["text"] for line in lines if line["type"] == "text") == "I look. 😀"
    assert lines[-1] == {"type": "tool_start", "id": "call_a", "name": "bash", "input": BASH_INPUT}


@pytest.mark.parametrize("name", ALL)
def test_a_stream_without_its_last_event_is_not_complete(name: str) -> None:
    module, stream, _ = ALL[name]
    parts = stream(Said("half an answer", [("call_a", "bash", BASH)]))
    reader, _ = play(module, parts[: -3 if name == "chat" else -1])
    assert not reader.complete


@pytest.mark.parametrize("name", ALL)
def test_malformed_arguments_are_kept_with_the_reason_and_never_become_an_input(name: str) -> None:
    module, stream, _ = ALL[name]
    reader, _ = play(module, stream(Said("", [("call_a", "bash", '{"command": "rm -rf')])))
    (call,) = (part for part in module.read(reader.result()).parts if isinstance(part, ToolCall))
    assert call.input == {}
    assert '{"command": "rm -rf' in call.error


@pytest.mark.parametrize("given", ["[1]", '"text"', "null", "7"])
@pytest.mark.parametrize("name", ALL)
def test_arguments_that_are_no_object_never_become_an_input(name: str, given: str) -> None:
    module, stream, _ = ALL[name]
    reader, _ = play(module, stream(Said("", [("call_a", "bash", given)])))
    (call,) = (part for part in module.read(reader.result()).parts if isinstance(part, ToolCall))
    assert call.input == {}
    assert "not a JSON object" in call.error


@pytest.mark.parametrize("name", ALL)
def test_an_error_event_is_a_failure_whatever_came_before(name: str) -> None:
    module, stream, _ = ALL[name]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(Refusal, match="Overloaded") as caught:
        play(module, [*stream(Said("some text"))[:4], api_answers.event(error, "error")])
    assert (caught.value.kind, caught.value.retried) == ("server", True)


@pytest.mark.parametrize("name", ALL)
def test_a_surrogate_pair_that_is_cut_in_two_deltas_is_one_character(name: str) -> None:
    module, stream, _ = ALL[name]
    whole = b"".join(stream(Said("12345X")))
    # One delta becomes two: each holds one half of the emoji, as servers that cut UTF-16 send it.
    (old,) = (piece for piece in whole.split(b"\n\n") if b"12345X" in piece and b"delta" in piece)
    two = old.replace(b"12345X", rb"a\ud83d") + b"\n\n" + old.replace(b"12345X", rb"\ude00b")
    reader, lines = play(module, [whole.replace(old, two)])
    assert "".join(line["text"] for line in lines) == "a😀b"
    if name != "responses":  # its last event repeats the whole text
        assert module.read(reader.result()).parts == (Text("a😀b"),)


def test_a_lone_surrogate_is_replaced() -> None:
    reader, lines = play(openai_chat, [chunk({"content": "x\ud83d"}), chunk({}, "stop")])
    assert "".join(line["text"] for line in lines) == "x\ufffd"
    assert openai_chat.read(reader.result()).parts == (Text("x\ufffd"),)


# ---- what compatible services do


def test_calls_without_ids_get_some() -> None:
    deltas = [{"function": {"name": name, "arguments": "{}"}} for name in ("ls", "pwd")]
    reader, lines = play(openai_chat, [chunk({"tool_calls": [each]}) for each in deltas] + [chunk({}, "stop")])
    calls = openai_chat.from_response(reader.result(), "p", 7).calls
    assert [(call.id, call.name) for call in calls] == [("call_1_1", "ls"), ("call_1_2", "pwd")]
    assert [line["id"] for line in lines] == ["call_1_1", "call_1_2"]


def test_calls_that_all_have_the_index_0_are_told_apart_by_their_ids() -> None:
    deltas = [
        {"index": 0, "id": id_, "function": {"name": "bash", "arguments": json.dumps({"command": id_})}}
        for id_ in ("a", "b")
    ]
    reader, _ = play(openai_chat, [chunk({"tool_calls": [each]}) for each in deltas] + [chunk({}, "tool_calls")])
    assert [call.input["command"] for call in openai_chat.from_response(reader.result(), "p", 1).calls] == [
        "a",
        "b",
    ]


def test_pieces_of_a_call_without_index_and_id_belong_to_the_last_call() -> None:
    deltas = [{"id": "a", "function": {"name": "bash"}}, {"function": {"arguments": '{"comm'}}]
    deltas += [{"function": {"arguments": 'and":"ls"}'}}]
    reader, _ = play(openai_chat, [chunk({"tool_calls": [each]}) for each in deltas] + [chunk({}, "tool_calls")])
    assert openai_chat.from_response(reader.result(), "p", 1).calls == (ToolCall("a", "bash", {"command": "ls"}),)


def test_arguments_may_come_as_an_object() -> None:
    delta = {"index": 0, "id": "a", "function": {"name": "bash", "arguments": {"command": "ls"}}}
    reader, _ = play(openai_chat, [chunk({"tool_calls": [delta]}), chunk({}, "tool_calls")])
    assert openai_chat.from_response(reader.result(), "p", 1).calls[0].input == {"command": "ls"}


def test_events_without_the_blank_line_between_them_are_read() -> None:
    one, two = chunk({"content": "a"}).strip(), chunk({"content": "b"}, "stop").strip()
    reader, lines = play(openai_chat, [one + b"\n" + two + b"\ndata: [DONE]\n"])
    assert reader.complete
    assert "".join(line["text"] for line in lines) == "ab"


def test_content_in_typed_pieces_is_text_and_thinking() -> None:
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
    ]
    reader, lines = play(openai_chat, [chunk({"content": content}), chunk({}, "stop")])
    assert [(line["type"], line["text"]) for line in lines] == [("thinking", "hm"), ("text", "yes")]
    parts = openai_chat.read(reader.result()).parts
    assert [type(part) for part in parts] == [Thinking, Text]


def test_a_finish_reason_error_is_a_failure() -> None:
    with pytest.raises(ProviderError):
        play(openai_chat, [chunk({"content": "a"}), chunk({}, "error")])


def test_what_gemini_wants_back_with_a_call_goes_back_with_it() -> None:
    signed = {"google": {"thought_signature": "c2ln"}}
    delta = {"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{}"}, "extra_content": signed}
    reader, _ = play(openai_chat, [chunk({"tool_calls": [delta]}), chunk({}, "tool_calls")])
    message = openai_chat.from_response(reader.result(), "gemini", 1)
    (sent,) = openai_chat.messages([message], "gemini")
    assert sent["tool_calls"][0]["extra_content"] == signed
    (elsewhere,) = openai_chat.messages([message], "groq")
    assert "extra_content" not in elsewhere["tool_calls"][0]


def test_an_answer_that_no_event_describes_is_taken_from_the_last_one() -> None:
    whole = api_answers.responses_document(Said("", [("call_a", "bash", "{}")]))
    reader, lines = play(openai_responses, [api_answers.event({"type": "response.completed", "response": whole})])
    assert [line["id"] for line in lines] == ["call_a"]
    assert openai_responses.from_response(reader.result(), "p", 1).calls == (ToolCall("call_a", "bash", {}),)


def test_a_block_whose_start_is_missing_is_read_all_the_same() -> None:
    stream = [
        api_answers.event({"type": "message_start", "message": {"model": "m"}}),
        api_answers.event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
        api_answers.event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        api_answers.event({"type": "message_stop"}),
    ]
    reader, _ = play(anthropic, stream)
    assert anthropic.read(reader.result()).parts == (Text("hi"),)


# ---- counts


@pytest.mark.parametrize(
    ("module", "counts", "usage"),
    [
        (
            anthropic,
            {
                "input_tokens": 3,
                "cache_read_input_tokens": 90,
                "cache_creation_input_tokens": 7,
                "output_tokens": 5,
            },
            Usage(100, 5, 90, 7),
        ),
        (
            openai_chat,
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}},
            Usage(100, 5, 90),
        ),
        (
            openai_chat,
            {"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64},
            Usage(100, 5, 64),
        ),
        (
            openai_responses,
            {"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 90}},
            Usage(100, 5, 90),
        ),
        (openai_chat, {"prompt_tokens": None, "completion_tokens": "many"}, Usage()),
    ],
)
def test_cached_tokens_are_part_of_the_input(module: Any, counts: dict[str, Any], usage: Usage) -> None:
    assert module.usage(counts) == usage
