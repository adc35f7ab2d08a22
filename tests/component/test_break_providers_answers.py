"""What hostile and sloppy servers say inside an answer: no crash, nothing shown is lost, nothing odd runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fakes.api_answers import Said, anthropic_stream, chat_stream, event, responses_stream
from fakes.api_server import Api, api_server, events, raw
from providing import Watched, ask_anthropic, ask_chat, ask_responses, assistant, result, user, wrong_with

from bridoon.model.message import ToolCall
from bridoon.providers import anthropic, generic, openai_chat, openai_responses, outcome
from bridoon.wire import jsontext, sse
from bridoon.wire.lines import LineSplitter, LineTooLong

Line = dict[str, Any]
NAMES = ("anthropic", "chat", "responses")
READERS: dict[str, Callable[..., Any]] = {
    "anthropic": anthropic.Reader,
    "chat": openai_chat.Reader,
    "responses": openai_responses.Reader,
}
STREAMS = {"anthropic": anthropic_stream, "chat": chat_stream, "responses": responses_stream}
ASKS = {
    "anthropic": (ask_anthropic, "anthropic_url"),
    "chat": (ask_chat, "chat_url"),
    "responses": (ask_responses, "responses_url"),
}


def play(name: str, *data: str | Line) -> tuple[outcome.Answer, list[Line]]:
    """Read a stream of events to its end: the answer, and what was shown."""
    reader = READERS[name](outcome.Claims(2, ()), "there")
    shown: list[Line] = []
    for each in data:
        shown += reader.feed(sse.Event(each if isinstance(each, str) else json.dumps(each)))
    shown += reader.close()
    assert reader.complete
    raw = reader.result()
    jsontext.load(jsontext.dump(raw))  # other hooks read it as JSON
    return generic.read(raw), shown


def text_of(shown: list[Line]) -> str:
    return "".join(line["text"] for line in shown if line["type"] == "text")


def starts(shown: list[Line]) -> list[str]:
    return [line["id"] for line in shown if line["type"] == "tool_start"]


def calls(answer: outcome.Answer) -> list[ToolCall]:
    return [part for part in answer.parts if isinstance(part, ToolCall)]


# ---- the protocols' events, short


def piece(text: str = "", stop: str | None = None, **more: Any) -> Line:
    delta = {"content": text, **more} if text else more
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}


def begin(index: Any, **block: Any) -> Line:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: Any, kind: str, **more: Any) -> Line:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def end(index: Any) -> Line:
    return {"type": "content_block_stop", "index": index}


def done(index: Any, **item: Any) -> Line:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


STOP: Line = {"type": "message_stop"}
COMPLETED: Line = {"type": "response.completed", "response": {"status": "completed"}}


def with_input(name: str, given: str) -> list[str | Line]:
    """A stream whose one call has its arguments as a value, written as it is."""
    if name == "anthropic":
        block = f'{{"type": "tool_use", "id": "i", "name": "bash", "input": {given}}}'
        return [f'{{"type": "content_block_start", "index": 0, "content_block": {block}}}', end(0), STOP]
    if name == "chat":
        function = f'{{"name": "bash", "arguments": {given}}}'
        call = f'{{"index": 0, "id": "i", "function": {function}}}'
        return [f'{{"choices": [{{"delta": {{"tool_calls": [{call}]}}}}]}}', piece(stop="tool_calls")]
    item = f'{{"type": "function_call", "call_id": "i", "name": "bash", "arguments": {given}}}'
    return [f'{{"type": "response.output_item.done", "output_index": 0, "item": {item}}}', COMPLETED]


def with_usage(name: str, number: str) -> list[str | Line]:
    if name == "anthropic":
        return [f'{{"type": "message_start", "message": {{"usage": {{"input_tokens": {number}}}}}}}', STOP]
    if name == "chat":
        return [f'{{"choices": [], "usage": {{"prompt_tokens": {number}}}}}', piece(stop="stop")]
    return [f'{{"type": "response.completed", "response": {{"usage": {{"input_tokens": {number}}}}}}}']


# ---- numbers and depths


@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity", "9" * 4000, "-1", "true", '"x"', "[]"])
@pytest.mark.parametrize("name", NAMES)
def test_a_token_count_that_is_none_counts_as_nothing(name: str, number: str) -> None:
    answer, _ = play(name, *with_usage(name, number))
    assert answer.usage.input_tokens == 0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("name", NAMES)
def test_arguments_with_a_number_that_json_does_not_have_never_become_an_input(name: str, number: str) -> None:
    answer, _ = play(name, *with_input(name, f'{{"deep": [{{"n": {number}}}]}}'))
    (call,) = calls(answer)
    assert call.input == {}
    assert "no JSON number" in call.error


@pytest.mark.parametrize(("shape", "key"), [("content", "input"), ("output", "arguments")])
def test_a_document_whose_arguments_hold_such_a_number_is_refused_in_the_same_way(shape: str, key: str) -> None:
    from bridoon.providers.values import document

    kind = "tool_use" if shape == "content" else "function_call"
    raw = document(f'{{"{shape}": [{{"type": "{kind}", "{key}": {{"n": NaN}}}}], "timing": NaN}}')
    assert raw["timing"] is None
    (call,) = calls(generic.read(raw))
    assert (call.input, bool(call.error)) == ({}, True)


@pytest.mark.parametrize("depth", [200, 400, 900])
@pytest.mark.parametrize("name", NAMES)
def test_arguments_that_are_nested_hundreds_deep_are_told_and_never_run(name: str, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    answer, _ = play(name, *with_input(name, json.dumps(deep)))
    (call,) = calls(answer)
    assert call.input == {}
    assert "deep" in call.error


def test_arguments_of_ordinary_depth_keep_their_value() -> None:
    deep = '{"a":' * 100 + "1" + "}" * 100
    answer, _ = play("anthropic", *with_input("anthropic", deep))
    assert calls(answer)[0].input == json.loads(deep)


# ---- places, ids and names


def test_blocks_that_all_have_the_same_index_are_all_kept() -> None:
    answer, shown = play(
        "anthropic",
        begin(0, type="text", text=""),
        delta(0, "text_delta", text="one"),
        begin(0, type="text", text=""),
        delta(0, "text_delta", text="two"),
        end(0),
        *(
            each
            for n in (1, 2)
            for each in (
                begin(0, type="tool_use", id="same", name="bash", input={}),
                delta(0, "input_json_delta", partial_json=f'{{"n": {n}}}'),
                end(0),
            )
        ),
        STOP,
    )
    assert text_of(shown) == "onetwo"
    assert [call.input for call in calls(answer)] == [{"n": 1}, {"n": 2}]
    assert [call.id for call in calls(answer)] == starts(shown) == ["same", "same_2"]


def test_items_that_all_have_the_same_index_are_all_kept_and_one_that_is_told_twice_is_one() -> None:
    first = {"type": "function_call", "call_id": "x", "name": "bash", "arguments": "{}"}
    answer, shown = play(
        "responses", done(0, **first), done(0, **first), done(0, **{**first, "call_id": "y"}), COMPLETED
    )
    assert [call.id for call in calls(answer)] == starts(shown) == ["x", "y"]


def test_a_block_that_is_never_ended_is_told_like_any_other() -> None:
    answer, shown = play(
        "anthropic",
        begin(0, type="tool_use", id="a", name="bash", input={}),
        delta(0, "input_json_delta", partial_json='{"n": 1}'),
        STOP,
    )
    assert [call.input for call in calls(answer)] == [line["input"] for line in shown] == [{"n": 1}]


def test_arguments_that_come_after_a_call_was_told_change_nothing() -> None:
    answer, shown = play(
        "anthropic",
        begin(0, type="tool_use", id="a", name="bash", input={}),
        end(0),
        delta(0, "input_json_delta", partial_json='{"n": 1}'),
        end(0),
        STOP,
    )
    assert [call.id for call in calls(answer)] == starts(shown) == ["a"]
    assert calls(answer)[0].input == {}


def test_an_id_with_half_a_character_is_shown_as_it_is_saved() -> None:
    broken = '{"index": 0, "id": "\\ud800", "function": {"name": "b\\udc00", "arguments": "{}"}}'
    answer, shown = play(
        "chat", f'{{"choices": [{{"delta": {{"tool_calls": [{broken}]}}}}]}}', piece(stop="tool_calls")
    )
    assert [call.id for call in calls(answer)] == starts(shown)
    assert shown[0]["name"] == calls(answer)[0].name


@pytest.mark.parametrize(
    ("names", "whole"),
    [(("ba", "sh"), "bash"), (("bash", "bash"), "bash"), (("ba", "bash"), "bash"), (("bash", ""), "bash")],
)
def test_a_name_may_come_in_pieces_or_again_and_again(names: tuple[str, str], whole: str) -> None:
    pieces = [
        piece(tool_calls=[{"index": 0, "id": "x", "function": {"name": name, "arguments": ""}}]) for name in names
    ]
    answer, _ = play("chat", *pieces, piece(stop="tool_calls"))
    assert calls(answer)[0].name == whole


def test_a_choice_that_was_not_asked_for_is_left_out() -> None:
    other = {"index": 1, "delta": {"content": "B"}, "finish_reason": "stop"}
    both = {"choices": [other, {"index": 0, "delta": {"content": "A"}}]}
    answer, shown = play("chat", both, {"choices": [other]}, piece("!", "stop"))
    assert text_of(shown) == "A!"
    assert [part.text for part in answer.parts] == ["A!"]  # type: ignore[union-attr]


def test_text_that_no_item_holds_is_saved_as_it_was_shown() -> None:
    answer, shown = play("responses", {"type": "response.output_text.delta", "delta": "seen"}, COMPLETED)
    assert text_of(shown) == "seen"
    assert [part.text for part in answer.parts] == ["seen"]  # type: ignore[union-attr]


def test_text_inside_a_block_of_an_unknown_type_is_saved_as_it_was_shown() -> None:
    answer, shown = play(
        "anthropic",
        begin(0, type="weird"),
        delta(0, "text_delta", text="seen"),
        end(0),
        begin(1, type="text", text="!"),
        STOP,
    )
    assert text_of(shown) == "seen!"
    assert "".join(part.text for part in answer.parts) == "seen!"  # type: ignore[union-attr]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_calls_that_are_dropped_are_not_announced(reason: str) -> None:
    call = {"index": 0, "id": "x", "function": {"name": "bash", "arguments": '{"command": "rm'}}
    _, shown = play("chat", piece("x", tool_calls=[call]), piece(stop=reason))
    assert starts(shown) == []


def test_an_answer_without_anything_is_told() -> None:
    answer, _ = play("anthropic", STOP)
    message, notes = outcome.message(answer, "p", 2)
    assert (message.parts, message.stop, notes) == ((), "end", ["the model answered nothing"])


@pytest.mark.parametrize("protocol", ["anthropic", "openai", "openai-responses"])
@pytest.mark.parametrize("name", ["", "functions.bash", "bäsh it", "n" * 300, "a/b\n"])
def test_a_call_by_an_impossible_name_does_not_spoil_the_conversation(protocol: str, name: str) -> None:
    view = [user("go"), assistant(ToolCall("c", name, {})), result("no such tool", "c", failed=True)]
    said = generic.protocol_module(protocol).messages(view)
    assert wrong_with(said, protocol) == []


# ---- sizes


def test_an_event_of_very_many_short_lines_is_refused_before_it_fills_the_memory() -> None:
    decoder = sse.Decoder(limit=1 << 20)
    with pytest.raises(LineTooLong, match="event"):
        decoder.feed(b"data:\n" * 100_000)


def test_a_line_in_two_byte_pieces_costs_no_object_per_piece() -> None:
    splitter = LineSplitter()
    for _ in range(100_000):
        assert splitter.feed(b"ab") == []
    assert splitter.feed(b"\n") == [b"ab" * 100_000]


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_is_cut_at_any_byte_is_never_taken_for_another_answer(name: str) -> None:
    """What is left of a stream is incomplete, or it is the whole answer (without its token counts)."""
    body = b"".join(STREAMS[name](Said("Hello wörld 😀", [("i", "bash", '{"command": "ls"}')], "hm")))
    wholes = set()
    for keep in range(len(body) + 1):
        reader = READERS[name](outcome.Claims(2, ()), "there")
        decoder = sse.Decoder()
        try:
            for each in (*decoder.feed(body[:keep]), *decoder.end()):
                reader.feed(each)
        except ValueError:
            continue
        reader.close()
        if reader.complete:
            wholes.add(repr(generic.read(reader.result())._replace(usage=outcome.Usage())))
    assert len(wholes) == 1


@pytest.mark.parametrize("name", NAMES)
def test_pieces_that_arrive_together_are_shown_together(name: str) -> None:
    """An event for every chunk of a server would cost a line in `.stream` and a write to the terminal."""
    with api_server() as api:
        stream = STREAMS[name](Said("word " * 2000))
        together = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in stream)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        api.then(raw(head + together + b"0\r\n\r\n"))
        context = Watched()
        function, url = ASKS[name]
        function(getattr(api, url), context)
    assert context.text == "word " * 2000
    assert len(context.events) < 200


def serve_as(kind: str, *data: bytes) -> Callable[..., None]:
    def answer(peer: Any, request: Any) -> None:
        peer.begin(kind)
        for each in data:
            peer.chunk(each)
        peer.end()

    return answer


def test_what_an_answer_begins_with_counts_more_than_its_content_type() -> None:
    with api_server() as api:
        api.then(serve_as("application/json", *chat_stream(Said("streamed"))))
        assert ask(api).text == "streamed"
        api.then(serve_as("text/event-stream", json.dumps({"choices": [{"message": {"content": "whole"}}]}).encode()))
        assert ask(api).text == "whole"


def ask(api: Api) -> Watched:
    context = Watched()
    ask_chat(api.chat_url, context)
    return context


def test_an_error_event_in_the_middle_keeps_the_words_that_were_shown() -> None:
    with api_server() as api:
        api.then(events(piece("half"), event({"error": {"message": "bo\u001b[31mom", "code": 500}})))
        context = Watched()
        with pytest.raises(Exception, match="bo\ufffd") as caught:
            ask_chat(api.chat_url, context)
    assert context.text == caught.value.partial == "half"  # type: ignore[attr-defined]
