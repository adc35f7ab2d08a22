"""The request rules of three model APIs, stricter than the APIs themselves: each function lists what is
wrong.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

ANTHROPIC_KEYS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "thinking", "metadata",
    "temperature", "top_p", "top_k", "stop_sequences", "output_config",
}  # fmt: skip
CHAT_KEYS = {
    "model", "messages", "tools", "stream", "stream_options", "max_tokens", "max_completion_tokens", "top_p",
    "temperature", "top_k", "reasoning_effort", "response_format", "tool_choice",
}  # fmt: skip
RESPONSES_KEYS = {
    "model", "input", "instructions", "tools", "stream", "store", "include", "reasoning", "max_output_tokens",
    "temperature", "top_p",
}  # fmt: skip
IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def anthropic(body: Any) -> list[str]:
    """What the Messages API would refuse in a request."""
    return list(_anthropic(body))


def chat(body: Any) -> list[str]:
    """What Chat Completions would refuse in a request."""
    return list(_chat(body))


def responses(body: Any) -> list[str]:
    """What Responses would refuse in a request."""
    return list(_responses(body))


def _top(body: Any, known: set[str], required: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(body, dict):
        yield "the body is no JSON object"
        return
    for key in sorted(set(body) - known):
        yield f"{key}: Extra inputs are not permitted"
    for key in required:
        if not body.get(key):
            yield f"{key}: Field required"


def _blank(text: Any) -> bool:
    return not isinstance(text, str) or not text.strip()


# ---- Anthropic


def _anthropic(body: Any) -> Iterator[str]:
    yield from _top(body, ANTHROPIC_KEYS, ("model", "messages", "max_tokens"))
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: not a number above 0"
    messages = body["messages"]
    roles = [message.get("role") for message in messages]
    if roles and roles[0] != "user":
        yield "messages: the first message must be the user's"
    if roles and roles[-1] != "user":
        yield "messages: the last message must be the user's"
    for index, (one, other) in enumerate(itertools.pairwise(roles)):
        if one == other:
            yield f"messages.{index + 1}: roles must alternate"
    seen: set[str] = set()
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        place = f"messages.{index}"
        blocks = message.get("content")
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not isinstance(blocks, list) or not blocks:
            yield f"{place}: content must not be empty"
            continue
        yield from _answers(place, blocks, open_calls)
        open_calls = [block.get("id", "") for block in blocks if block.get("type") == "tool_use"]
        for number, block in enumerate(blocks):
            yield from _block(f"{place}.content.{number}", block, message.get("role"), seen)
    yield from _marks(body)
    yield from _anthropic_tools(body.get("tools") or [])
    yield from _thinking(body, messages)


def _answers(place: str, blocks: list[dict[str, Any]], open_calls: list[str]) -> Iterator[str]:
    answered = [block.get("tool_use_id", "") for block in blocks if block.get("type") == "tool_result"]
    for call in open_calls:
        if answered.count(call) != 1:
            yield f"{place}: tool_use {call} has {answered.count(call)} tool_results"
    for call in answered:
        if call not in open_calls:
            yield f"{place}: unexpected tool_use_id {call}: no such tool_use in the message before"
    kinds = [block.get("type") for block in blocks]
    if "tool_result" in kinds and "tool_result" in kinds[len(answered) :]:
        yield f"{place}: tool_result blocks must come first"


def _block(place: str, block: dict[str, Any], role: Any, seen: set[str]) -> Iterator[str]:
    match block.get("type"), role:
        case "text", _:
            if _blank(block.get("text")):
                yield f"{place}: text content blocks must contain non-whitespace text"
        case "image", "user":
            yield from _image(place, block.get("source"))
        case "tool_use", "assistant":
            yield from _tool_use(place, block, seen)
        case "tool_result", "user":
            content = block.get("content")
            inner = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if not isinstance(inner, list) or not inner:
                yield f"{place}: tool_result content must not be empty"
            for each in inner if isinstance(inner, list) else []:
                yield from _block(f"{place}.content", each, "user", seen)
        case ("thinking" | "redacted_thinking") as kind, "assistant":
            field = "signature" if kind == "thinking" else "data"
            if not block.get(field):
                yield f"{place}.{field}: Field required"
        case kind, _:
            yield f"{place}: {kind} is not allowed for {role}"


def _tool_use(place: str, block: dict[str, Any], seen: set[str]) -> Iterator[str]:
    if not NAME.fullmatch(str(block.get("id"))):
        yield f"{place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if block.get("id") in seen:
        yield f"{place}: tool_use ids must be unique"
    seen.add(str(block.get("id")))
    if not NAME.fullmatch(str(block.get("name"))):
        yield f"{place}.name: String should match pattern"
    if not isinstance(block.get("input"), dict):
        yield f"{place}.input: Input should be an object"


def _image(place: str, source: Any) -> Iterator[str]:
    if not isinstance(source, dict) or source.get("type") != "base64" or source.get("media_type") not in IMAGES:
        yield f"{place}.source: not a base64 image of a known type"
        return
    try:
        base64.b64decode(str(source.get("data")), validate=True)
    except ValueError:
        yield f"{place}.source.data: invalid base64 data"


def _marks(body: dict[str, Any]) -> Iterator[str]:
    text = json.dumps(body)
    if text.count('"cache_control"') > 4:
        yield "A maximum of 4 blocks with cache_control may be provided."
    system = body.get("system")
    if system is not None and not isinstance(system, str):
        for block in system:
            if _blank(block.get("text")):
                yield "system: text content blocks must be non-empty"


def _anthropic_tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    names = [tool.get("name") for tool in tools]
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."
    for tool in tools:
        for key in sorted(set(tool) - {"name", "description", "input_schema", "cache_control"}):
            yield f"tools.{tool.get('name')}.{key}: Extra inputs are not permitted"
        if not NAME.fullmatch(str(tool.get("name"))):
            yield f"tools.{tool.get('name')}.name: String should match pattern"
        if (tool.get("input_schema") or {}).get("type") != "object":
            yield f"tools.{tool.get('name')}.input_schema.type: Field required"


def _thinking(body: dict[str, Any], messages: list[dict[str, Any]]) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    if not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
        yield "thinking.budget_tokens: at least 1024 and less than max_tokens"
    if len(messages) > 1 and isinstance(messages[-2].get("content"), list):
        kinds = [block.get("type") for block in messages[-2]["content"]]
        if "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking"):
            yield "Expected `thinking` or `redacted_thinking`, but found `tool_use`"


# ---- OpenAI Chat Completions


def _chat(body: Any) -> Iterator[str]:
    yield from _top(body, CHAT_KEYS, ("model", "messages"))
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return
    if "stream_options" in body and not body.get("stream"):
        yield "stream_options: only allowed when stream is enabled"
    seen: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(body["messages"]):
        place = f"messages.{index}"
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"{place}: role 'tool' must answer a preceding message with 'tool_calls'"
            else:
                waiting.remove(message["tool_call_id"])
        elif waiting:
            yield f"{place}: tool_call_ids without an answer: {', '.join(waiting)}"
            waiting = []
        if role == "assistant":
            yield from _chat_calls(place, message, seen)
            waiting = [call["id"] for call in message.get("tool_calls") or []]
        elif role == "system" and index:
            yield f"{place}: the system message comes first"
        elif role not in ("system", "user", "tool"):
            yield f"{place}: unknown role {role!r}"
        yield from _chat_content(place, message)
        for key in sorted(set(message) - {"role", "content", "tool_calls", "tool_call_id", "reasoning_content"}):
            yield f"{place}.{key}: Unknown parameter"
    if waiting:
        yield f"tool_call_ids without an answer at the end: {', '.join(waiting)}"
    yield from _functions([tool.get("function") or {} for tool in body.get("tools") or []])


def _chat_calls(place: str, message: dict[str, Any], seen: set[str]) -> Iterator[str]:
    calls = message.get("tool_calls")
    if calls is not None and not calls:
        yield f"{place}.tool_calls: [] is too short"
    for call in calls or []:
        function = call.get("function") or {}
        if not call.get("id") or len(call["id"]) > 40:
            yield f"{place}: the id {call.get('id')!r} of a call is empty or longer than 40"
        if call.get("id") in seen:
            yield f"{place}: the id {call.get('id')} of a call is used twice"
        seen.add(str(call.get("id")))
        if call.get("type") != "function" or not NAME.fullmatch(str(function.get("name"))):
            yield f"{place}: a call is no call of a function"
        yield from _object(place, function.get("arguments"))


def _object(place: str, text: Any) -> Iterator[str]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        value = None
    if not isinstance(value, dict):
        yield f"{place}: the arguments of a call are no JSON object: {text!r}"


def _chat_content(place: str, message: dict[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if content is None and message.get("tool_calls"):
        return
    if message.get("role") != "user" and not isinstance(content, str):
        yield f"{place}.content: only a user's content may be a list"
        return
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not parts:
        yield f"{place}.content: must not be empty"
    for part in parts or []:
        match part.get("type"):
            case "text":
                if _blank(part.get("text")):
                    yield f"{place}.content: blank text"
            case "image_url":
                yield from _data_url(place, (part.get("image_url") or {}).get("url"))
            case other:
                yield f"{place}.content: unknown type {other!r}"


def _data_url(place: str, url: Any) -> Iterator[str]:
    found = re.fullmatch(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/=]+)", str(url))
    if found is None or found[1] not in IMAGES:
        yield f"{place}: no image of a known type"


def _functions(functions: list[dict[str, Any]]) -> Iterator[str]:
    names = [function.get("name") for function in functions]
    if len(set(names)) != len(names):
        yield "tools: names must be unique"
    for function in functions:
        for key in sorted(set(function) - {"name", "description", "parameters", "strict", "type"}):
            yield f"tools.{function.get('name')}.{key}: Unknown parameter"
        if not NAME.fullmatch(str(function.get("name"))):
            yield f"tools: invalid name {function.get('name')!r}"
        if (function.get("parameters") or {}).get("type") != "object":
            yield f"tools.{function.get('name')}: parameters must be of type object"


# ---- OpenAI Responses


def _responses(body: Any) -> Iterator[str]:
    yield from _top(body, RESPONSES_KEYS, ("model", "input"))
    if not isinstance(body, dict) or not isinstance(body.get("input"), list):
        return
    called: set[str] = set()
    answered: set[str] = set()
    items = body["input"]
    for index, item in enumerate(items):
        place = f"input.{index}"
        match item.get("type"):
            case "message":
                yield from _response_message(place, item)
            case "function_call" | "function_call_output":
                yield from _response_call(place, item, called, answered)
            case "reasoning":
                following = items[index + 1].get("type") if index + 1 < len(items) else None
                if following not in ("message", "function_call", "reasoning"):
                    yield f"{place}: 'reasoning' was provided without its required following item."
                if not item.get("id") or not isinstance(item.get("summary"), list):
                    yield f"{place}: a reasoning item needs id and summary"
            case other:
                yield f"{place}: unknown type {other!r}"
    for call in sorted(called - answered):
        yield f"No tool output found for function call {call}."
    yield from _functions(body.get("tools") or [])


def _response_call(place: str, item: dict[str, Any], called: set[str], answered: set[str]) -> Iterator[str]:
    call = str(item.get("call_id") or "")
    if item["type"] == "function_call":
        if not call or call in called:
            yield f"{place}: the call_id {call!r} is empty or used twice"
        called.add(call)
        yield from _object(place, item.get("arguments"))
        return
    if call not in called:
        yield f"{place}: No tool call found for function call output {call}."
    if call in answered or not item.get("output"):
        yield f"{place}: the output of {call} is empty or given twice"
    answered.add(call)


def _response_message(place: str, item: dict[str, Any]) -> Iterator[str]:
    allowed = ("output_text",) if item.get("role") == "assistant" else ("input_text", "input_image")
    if not item.get("content"):
        yield f"{place}: content must not be empty"
    for part in item.get("content") or []:
        if part.get("type") not in allowed:
            yield f"{place}: {part.get('type')!r} is not allowed for {item.get('role')}"
        elif "text" in part["type"] and _blank(part.get("text")):
            yield f"{place}: blank text"
