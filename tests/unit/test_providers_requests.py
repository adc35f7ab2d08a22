"""Conversations as three APIs want them, and the requests around them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes import api_rules
from providing import TOOLS, assistant, bash, payload, result, user, wrong_with

from bridoon.errors import ConfigError
from bridoon.model.message import Image, Message, Text, Thinking, ToolCall
from bridoon.providers import anthropic, anthropic_api, openai_api, openai_chat, openai_responses

PNG = Image("image/png", b"\x89PNG")
TURN = [user("look"), assistant(Text("I look."), bash("ls")), result("a.txt"), assistant(Text("There."))]


def test_anthropic_groups_the_results_of_one_answer() -> None:
    view = [
        user("go"),
        assistant(bash("a", "x"), bash("b", "y")),
        result("1", "x"),
        result("2", "y", failed=True),
    ]
    assert anthropic.messages(view)[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": "1"},
            {"type": "tool_result", "tool_use_id": "y", "content": "2", "is_error": True},
        ],
    }


def test_chat_keeps_results_apart_and_marks_failures_in_words() -> None:
    view = [
        user("go"),
        assistant(bash("a", "x"), bash("b", "y")),
        result("1", "x"),
        result("2", "y", failed=True),
    ]
    assert openai_chat.messages(view)[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "x", "type": "function", "function": {"name": "bash", "arguments": '{"command":"a"}'}},
                {"id": "y", "type": "function", "function": {"name": "bash", "arguments": '{"command":"b"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "x", "content": "1"},
        {"role": "tool", "tool_call_id": "y", "content": "[error] 2"},
    ]


def test_responses_keeps_the_order_of_text_and_calls() -> None:
    view = [user("go"), assistant(Text("first"), bash("a", "x"), Text("then")), result("1", "x")]
    kinds = [(item["type"], item.get("role", "")) for item in openai_responses.messages(view)]
    assert kinds == [
        ("message", "user"),
        ("message", "assistant"),
        ("function_call", ""),
        ("message", "assistant"),
        ("function_call_output", ""),
    ]


@pytest.mark.parametrize("module", [anthropic, openai_chat])
def test_neighbours_of_one_role_become_one_message(module: Any) -> None:
    roles = [message["role"] for message in module.messages([user("a"), user("b"), *TURN, user("c")])]
    results = "user" if module is anthropic else "tool"
    assert roles == ["user", "assistant", results, "assistant", "user"]


@pytest.mark.parametrize("module", [anthropic, openai_chat, openai_responses])
def test_empty_and_blank_messages_are_left_out(module: Any) -> None:
    view = [user("a"), assistant(), assistant(Text(" \n")), user("b", Text("  "))]
    assert "assistant" not in json.dumps(module.messages(view))


@pytest.mark.parametrize("module", [anthropic, openai_chat, openai_responses])
def test_a_tool_that_printed_nothing_has_a_result_with_words(module: Any) -> None:
    view = [user("a"), assistant(bash("true")), result("")]
    assert "(no output)" in json.dumps(module.messages(view))


@pytest.mark.parametrize("module", [anthropic, openai_chat, openai_responses])
def test_thinking_never_goes_to_another_provider_or_protocol(module: Any) -> None:
    secret = Thinking("private words", signature="reasoning_content")
    here = assistant(secret, Text("a"), bash("ls"), provider="here", extra={"protocol": module.NAME})
    elsewhere = here._replace(extra={"protocol": "another"})
    for message, provider in ((here, "there"), (elsewhere, "here")):
        assert "private" not in json.dumps(module.messages([user("q"), message, result("r")], provider))


def test_anthropic_thinking_goes_back_with_its_signature() -> None:
    mine = assistant(
        Thinking("why", "sig"), Thinking("", redacted="blob"), Thinking("unsigned"), Text("a"), provider="p"
    )
    sent = anthropic.messages([user("q"), mine, user("r")], "p")[1]["content"]
    assert sent[:-1] == [
        {"type": "thinking", "thinking": "why", "signature": "sig"},
        {"type": "redacted_thinking", "data": "blob"},
    ]


def test_reasoning_goes_back_with_the_calls_that_came_of_it() -> None:
    thought = Thinking("why", signature="reasoning_content")
    with_call = openai_chat.messages([assistant(thought, bash("ls"))], "p")[0]
    without = openai_chat.messages([assistant(thought, Text("a"))], "p")[0]
    assert with_call["reasoning_content"] == "why"
    assert "reasoning_content" not in without


def test_sealed_reasoning_goes_back_to_responses() -> None:
    raw = {
        "status": "completed",
        "output": [
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "why"}],
                "encrypted_content": "s",
            },
            {"type": "function_call", "call_id": "c", "name": "bash", "arguments": "{}"},
        ],
    }
    message = openai_responses.from_response(raw, "openai", 2)
    items = openai_responses.messages([user("q"), message, result("r", "c")], "openai")
    assert items[1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "why"}],
        "encrypted_content": "s",
    }


@pytest.mark.parametrize("module", [anthropic, openai_chat, openai_responses])
def test_images_in_messages_and_results_are_accepted(module: Any) -> None:
    calls = assistant(bash("shot", "x"), bash("ls", "y"))
    view = [user("see", PNG), calls, result("ok", "x", images=(PNG,)), result("z", "y")]
    said = module.messages(view)
    assert wrong_with(said, module.NAME) == []
    assert json.dumps(said).count("iVBORw==") + json.dumps(said).count("iVBORw") >= 2


@pytest.mark.parametrize("module", [anthropic, openai_chat, openai_responses])
def test_odd_call_ids_become_ids_that_the_api_accepts_and_stay_different(module: Any) -> None:
    odd = ["a b", "a_b", "functions.bash:0", "é" * 90, "x" * 90]
    view = [user("go"), assistant(*(bash("ls", id_) for id_ in odd)), *(result("r", id_) for id_ in odd)]
    assert wrong_with(module.messages(view), module.NAME) == []


def test_a_call_that_never_ran_is_sent_with_an_empty_input() -> None:
    broken = assistant(ToolCall("x", "bash", {}, error="the arguments are not valid JSON: {"))
    assert anthropic.messages([user("a"), broken, result("no", "x")])[1]["content"][0]["input"] == {}


def test_exact_numbers_survive_the_way_to_the_api() -> None:
    given = {"big": 9007199254740993, "one": 1.0, "cents": 0.1}
    said = openai_chat.messages([assistant(ToolCall("x", "t", given))])
    assert said[0]["tool_calls"][0]["function"]["arguments"] == '{"big":9007199254740993,"one":1.0,"cents":0.1}'


# ---- the rest of a request


def test_an_anthropic_request_has_a_limit_and_tools_without_our_annotations() -> None:
    tool = {**TOOLS[0], "annotations": {"concurrent": True}}
    head = anthropic_api.request_head(payload(tools=[tool]), {})
    assert head["max_tokens"] == 8192
    assert head["tools"] == TOOLS
    assert head["system"] == "Be brief."
    assert head["stream"] is True


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-sonnet-4-6", {"type": "adaptive"}),
        ("claude-opus-5-5", {"type": "adaptive"}),
        ("claude-fable-5-1", {"type": "adaptive"}),
        ("claude-haiku-4-5-20251001", {"type": "enabled", "budget_tokens": 16384}),
        ("claude-3-7-sonnet-latest", {"type": "enabled", "budget_tokens": 16384}),
        ("glm-5-turbo", {"type": "enabled", "budget_tokens": 16384}),
    ],
)
def test_each_model_is_asked_to_think_in_the_way_that_it_knows(model: str, thinking: dict[str, Any]) -> None:
    head = anthropic_api.request_head(payload(model=model), {"HARNESS_THINKING": "high"})
    assert head["thinking"] == thinking
    assert api_rules.anthropic({**head, "messages": [{"role": "user", "content": "a"}]}) == []


def test_thinking_does_not_begin_in_the_middle_of_another_models_turn() -> None:
    middle = anthropic.messages(TURN[:3])
    head = anthropic_api.request_head(payload(*middle, model="claude-haiku-4-5"), {"HARNESS_THINKING": "low"})
    assert "thinking" not in head


def test_the_prompt_cache_is_marked_in_three_places() -> None:
    head: dict[str, Any] = {"system": "s", "tools": list(TOOLS)}
    before = anthropic.messages([*TURN, user("more")])
    kept = json.dumps(before)
    marked = anthropic.mark_cached(head, before)
    assert json.dumps([head, marked]).count("cache_control") == 3
    assert head["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert marked[-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert json.dumps(before) == kept


def test_openai_is_sent_no_limit_unless_one_is_configured() -> None:
    assert "max_tokens" not in openai_api.chat_head(payload(), {}, openai_api.CHAT_URL)
    limited = {"OPENAI_MAX_TOKENS": "99"}
    assert openai_api.chat_head(payload(), limited, openai_api.CHAT_URL)["max_completion_tokens"] == 99
    assert openai_api.chat_head(payload(), limited, "http://localhost:1/v1/chat/completions")["max_tokens"] == 99
    assert openai_api.responses_head(payload(), limited)["max_output_tokens"] == 99


def test_responses_stores_nothing_and_keeps_schemas_as_they_are() -> None:
    head = openai_api.responses_head(payload(), {"HARNESS_THINKING": "max"})
    assert head["store"] is False
    assert head["tools"][0]["strict"] is False
    assert head["tools"][0]["parameters"] == TOOLS[0]["input_schema"]
    assert head["reasoning"] == {"effort": "high", "summary": "auto"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("ANTHROPIC_MAX_TOKENS", "many"), ("ANTHROPIC_MAX_TOKENS", "0"), ("HARNESS_THINKING", "hard"),
     ("ANTHROPIC_TEMPERATURE", "warm")],
)  # fmt: skip
def test_a_setting_that_is_wrong_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        anthropic_api.request_head(payload(), {name: value})


def test_message_order_is_kept_whatever_the_parts() -> None:
    view = [user("a"), Message("assistant", (Text("b"), bash("c", "1"), Text("d"))), result("e", "1")]
    kinds = [block["type"] for block in anthropic.messages(view)[1]["content"]]
    assert kinds == ["text", "tool_use", "text"]
