"""Calls of model APIs over real sockets: what counts as an answer, what is tried again, what is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fakes.api_answers import Said, chat_stream, event
from fakes.api_server import (
    Answer,
    Api,
    api_server,
    call,
    cut,
    events,
    hang_up,
    raw,
    said,
    status,
)
from providing import KEY, Watched, ask_anthropic, ask_chat, ask_responses, assistant, bash, user

from bridoon.errors import NoProvider, ProviderError
from bridoon.providers import generic, openai_chat, retry

Ask = Callable[..., dict[str, Any]]
ASKS: dict[str, tuple[Ask, str]] = {
    "anthropic": (ask_anthropic, "anthropic_url"),
    "chat": (ask_chat, "chat_url"),
    "responses": (ask_responses, "responses_url"),
}


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as served:
        yield served
    assert served.problems == []


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE", 0.01)


def ask(name: str, api: Api, context: Watched | None = None, **env: str) -> dict[str, Any]:
    function, url = ASKS[name]
    return function(getattr(api, url), context, **env)


@pytest.mark.parametrize("name", ASKS)
def test_an_answer_is_shown_while_it_comes_and_returned_whole(api: Api, name: str) -> None:
    api.say("I look.", [call("bash", command="ls")], "hm")
    context = Watched()
    message = generic.from_response(ask(name, api, context), "p", 2)
    assert (message.text, message.stop) == ("I look.", "tool_calls")
    assert message.calls[0].input == {"command": "ls"}
    assert context.text == "I look."
    assert context.events[-1]["type"] == "tool_start"
    assert context.events[-1]["id"] == message.calls[0].id


@pytest.mark.parametrize("name", ASKS)
def test_without_streaming_the_document_is_shown_at_once(api: Api, name: str) -> None:
    api.say("I look.", [call("bash", command="ls")])
    context = Watched()
    raw_ = ask(name, api, context, HARNESS_STREAM="never")
    assert api.bodies[0].get("stream") is None
    assert generic.from_response(raw_, "p", 2).text == context.text == "I look."


@pytest.mark.parametrize("name", ASKS)
def test_a_service_that_ignores_stream_is_understood(api: Api, name: str) -> None:
    api.then(said(Said("whole"), stream=False))
    context = Watched()
    assert generic.from_response(ask(name, api, context), "p", 2).text == "whole"
    assert context.text == "whole"


# ---- what is no answer

HALF = Said("only half of it will come", [call("bash", command="ls")])


@pytest.mark.parametrize("how", ["cut", "reset"])
@pytest.mark.parametrize("name", ASKS)
def test_a_stream_that_is_cut_after_something_was_shown_is_a_failure(api: Api, name: str, how: str) -> None:
    api.then(cut(HALF, 7, **{how: True}))
    context = Watched()
    with pytest.raises(ProviderError) as caught:
        ask(name, api, context)
    assert caught.value.kind == "incomplete"
    assert caught.value.partial == context.text
    assert context.text
    assert len(api.requests) == 1


@pytest.mark.parametrize("name", ASKS)
def test_a_stream_that_ends_properly_but_without_its_last_event_is_a_failure(api: Api, name: str) -> None:
    api.then(cut(HALF, 7, cut=False))
    with pytest.raises(ProviderError, match="before it was complete"):
        ask(name, api)


@pytest.mark.parametrize("name", ASKS)
def test_an_error_in_the_stream_after_text_is_a_failure_and_is_not_retried(api: Api, name: str) -> None:
    failure = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    api.then(cut(HALF, 7, event(failure, "error"), cut=False))
    with pytest.raises(ProviderError, match="Overloaded") as caught:
        ask(name, api)
    assert caught.value.partial
    assert len(api.requests) == 1


def test_silence_in_the_middle_of_an_answer_ends_it_after_the_idle_limit(api: Api) -> None:
    api.then(cut(HALF, 7, hang=True))
    with pytest.raises(ProviderError, match="no bytes came"):
        ask("chat", api, HARNESS_IDLE_TIMEOUT="0.2")
    assert api.closed.wait(5)


def test_a_stream_that_goes_silent_after_its_finish_reason_is_complete(api: Api) -> None:
    api.then(events(*chat_stream(Said("all of it"))[:-2], hang=True))
    message = generic.from_response(ask("chat", api, HARNESS_IDLE_TIMEOUT="0.2"), "p", 2)
    assert (message.text, message.stop) == ("all of it", "end")


@pytest.mark.parametrize(
    "garbage",
    [b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", b"HTTP/2 200\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 200 OK\r\n" + b"a" * 70000],
)  # fmt: skip
def test_what_is_no_http_is_a_failure(api: Api, garbage: bytes) -> None:
    api.then(*[raw(garbage)] * 4)
    with pytest.raises(ProviderError):
        ask("anthropic", api)


@pytest.mark.parametrize(
    "answer",
    [
        events("not json"),
        events(b"data: {broken\n\n"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}"),
    ],
)
def test_what_is_no_answer_is_a_failure(api: Api, answer: Answer) -> None:
    api.then(*[answer] * 4)
    with pytest.raises(ProviderError):
        ask("chat", api)


def test_a_web_page_is_told_as_what_it_is(api: Api) -> None:
    page = b"<html><head><title>Sign in</title></head></html>"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(page)
    api.then(raw(head + page))
    with pytest.raises(ProviderError, match="no event stream"):
        ask("chat", api)


# ---- what is tried again


@pytest.mark.parametrize("code", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_refusal_that_passes_is_tried_again_and_announced(api: Api, code: int) -> None:
    api.then(status(code, {"error": {"message": "not now"}}))
    context = Watched()
    assert generic.from_response(ask("anthropic", api, context), "p", 2).text == "ok"
    assert len(api.requests) == 2
    (notice,) = context.notices
    assert "not now" in notice
    assert "attempt 2 of 4" in notice


@pytest.mark.parametrize("answer", [hang_up, cut(Said("x"), 1), cut(Said("x"), 0, reset=True)])
@pytest.mark.parametrize("name", ASKS)
def test_a_broken_connection_before_anything_was_shown_is_tried_again(api: Api, name: str, answer: Answer) -> None:
    api.then(answer, answer)
    assert generic.from_response(ask(name, api), "p", 2).text == "ok"
    assert len(api.requests) == 3


def test_an_error_event_before_anything_was_shown_is_tried_again(api: Api) -> None:
    api.then(events({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}))
    assert generic.from_response(ask("anthropic", api), "p", 2).text == "ok"


def test_four_attempts_are_all(api: Api) -> None:
    api.then(*[status(503, {"error": {"message": "down"}})] * 9)
    with pytest.raises(ProviderError, match="answered 503: down"):
        ask("chat", api)
    assert len(api.requests) == 4


@pytest.mark.parametrize(
    ("code", "kind"),
    [(400, "invalid"), (401, "auth"), (403, "auth"), (404, "invalid"), (413, "overflow"), (422, "invalid")],
)
def test_a_refusal_that_stays_is_told_at_once(api: Api, code: int, kind: str) -> None:
    api.then(status(code, {"type": "error", "error": {"type": "x", "message": "no such thing"}}))
    with pytest.raises(ProviderError, match="no such thing") as caught:
        ask("anthropic", api)
    assert (caught.value.kind, caught.value.status, len(api.requests)) == (kind, code, 1)
    assert caught.value.exit_code == (3 if kind == "auth" else 1)


def test_a_server_that_says_when_is_obeyed(api: Api) -> None:
    api.then(status(429, {"error": {"message": "slow"}}, retry_after="0.05"))
    context = Watched()
    ask("chat", api, context)
    assert "trying again in 0.1 s" in context.notices[0] or "trying again in 0.0" in context.notices[0]


def test_a_server_that_asks_for_an_hour_is_not_waited_for(api: Api) -> None:
    api.then(status(429, {"error": {"message": "slow"}}, retry_after="3600"))
    with pytest.raises(ProviderError) as caught:
        ask("chat", api)
    assert caught.value.retry_after == 3600
    assert len(api.requests) == 1


def test_an_empty_account_is_no_rate_limit_that_passes(api: Api) -> None:
    api.then(status(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}))
    with pytest.raises(ProviderError, match="quota"):
        ask("chat", api)
    assert len(api.requests) == 1


# ---- what a service can do without


def test_a_service_without_stream_options_is_asked_again_without_them(api: Api) -> None:
    refusal = status(400, {"error": {"message": "Unrecognized request argument: stream_options"}})
    api.then(refusal, said(Said("one")), said(Said("two")))
    assert generic.from_response(ask("chat", api), "p", 2).text == "one"
    assert "stream_options" not in api.bodies[1]
    ask("chat", api)
    assert "stream_options" not in api.bodies[2]


def test_a_model_that_wants_the_other_name_of_the_limit_gets_it(api: Api) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    api.then(status(400, {"error": {"message": words}}))
    ask("chat", api, OPENAI_MAX_TOKENS="50")
    assert (api.bodies[0]["max_tokens"], api.bodies[1]["max_completion_tokens"]) == (50, 50)


def test_two_services_that_contradict_themselves_do_not_make_a_loop(api: Api) -> None:
    words = "max_tokens and max_completion_tokens are both wrong"
    api.then(*[status(400, {"error": {"message": words}})] * 9)
    with pytest.raises(ProviderError, match="both wrong"):
        ask("chat", api, OPENAI_MAX_TOKENS="50")
    assert len(api.requests) <= 4


def test_effort_that_is_refused_is_left_out_and_told(api: Api) -> None:
    api.then(status(400, {"error": {"message": "reasoning_effort is not supported with tools"}}))
    context = Watched()
    ask("chat", api, context, HARNESS_THINKING="high")
    assert "reasoning_effort" in api.bodies[0]
    assert "reasoning_effort" not in api.bodies[1]
    assert "HARNESS_THINKING" in context.notices[-1]


# ---- keys


@pytest.mark.parametrize("name", ASKS)
def test_the_key_goes_into_the_header_and_nowhere_else(api: Api, name: str) -> None:
    echo = {"error": {"message": f"Incorrect API key provided: {KEY}. Bearer {KEY}"}}
    api.then(status(401, echo))
    context = Watched()
    with pytest.raises(ProviderError) as caught:
        ask(name, api, context)
    assert KEY in json.dumps(api.requests[0].headers)
    assert KEY not in json.dumps([str(caught.value), caught.value.message, context.events, context.lines])


def test_a_key_that_no_header_can_hold_is_not_quoted(api: Api) -> None:
    with pytest.raises(ProviderError) as caught:
        ask("chat", api, OPENAI_API_KEY="sk-\u2028secret")
    assert "secret" not in str(caught.value)
    assert api.requests == []


def test_a_whole_header_can_stand_for_the_key(api: Api) -> None:
    ask("anthropic", api, ANTHROPIC_AUTH_HEADER="Authorization: Bearer token-1", ANTHROPIC_BETA="beta-1")
    headers = api.requests[0].headers
    assert (headers["authorization"], headers["anthropic-beta"]) == ("Bearer token-1", "beta-1")
    assert "x-api-key" not in headers


def test_without_a_key_the_real_services_are_not_asked() -> None:
    for function in (ask_anthropic, ask_chat):
        with pytest.raises(NoProvider, match="_API_KEY is not set"):
            function("", ANTHROPIC_API_KEY="", OPENAI_API_KEY="")


def test_a_redirect_is_named_and_not_followed(api: Api) -> None:
    api.then(status(302, {}, location="http://elsewhere.example/v1?key=secret"))
    with pytest.raises(ProviderError, match=r"redirects to http://elsewhere\.example/v1, and .* not followed"):
        ask("chat", api)


# ---- the rules of the fake itself


def test_the_fake_refuses_what_the_apis_refuse() -> None:
    with api_server() as api:
        with pytest.raises(ProviderError, match="roles must alternate"):
            ask_anthropic(api.anthropic_url, None, {"role": "user", "content": "a"}, {"role": "user", "content": "b"})
        with pytest.raises(ProviderError, match="without an answer"):
            ask_chat(api.chat_url, None, *openai_chat.messages([user("a"), assistant(bash("ls"))]))
        assert len(api.problems) == 2


def test_nothing_is_asked_of_a_server_that_is_not_there() -> None:
    context = Watched()
    with pytest.raises(ProviderError, match=r"cannot connect to http://127\.0\.0\.1:9") as caught:
        ask_chat("http://127.0.0.1:9/v1/chat/completions", context)
    assert caught.value.kind == "network"
    assert len(context.notices) == 3
