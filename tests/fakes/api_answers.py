"""Answers of model APIs as bytes: whole documents and event streams, for three protocols."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

PIECE = 7
"""Characters in one delta: small enough to cut words, arguments and escapes."""


class Said(NamedTuple):
    """What a model answers: text, thinking, and calls `(id, name, arguments as JSON text)`."""

    text: str = ""
    calls: Sequence[tuple[str, str, str]] = ()
    thinking: str = ""
    stop: str = ""
    """The API's own word; empty for the usual one."""
    usage: dict[str, Any] | None = None


def pieces(text: str) -> list[str]:
    """A text in deltas."""
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


# ---- Anthropic


def anthropic_document(said: Said) -> dict[str, Any]:
    """A response of the Messages API."""
    content: list[dict[str, Any]] = []
    if said.thinking:
        content.append({"type": "thinking", "thinking": said.thinking, "signature": "c2ln"})
    if said.text:
        content.append({"type": "text", "text": said.text})
    for id_, name, given in said.calls:
        content.append({"type": "tool_use", "id": id_, "name": name, "input": json.loads(given or "{}")})
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-fake",
        "content": content,
        "stop_reason": said.stop or ("tool_use" if said.calls else "end_turn"),
        "usage": said.usage or {"input_tokens": 10, "output_tokens": 5},
    }


def anthropic_stream(said: Said) -> list[bytes]:
    """The events of a stream of the Messages API."""
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-fake", "content": []}
    counts = said.usage or {"input_tokens": 10, "output_tokens": 1}
    out = [event({"type": "message_start", "message": {**whole, "usage": counts}}, "message_start")]
    blocks: list[tuple[dict[str, Any], str, str, str]] = []
    if said.thinking:
        blocks.append(({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", said.thinking))
    if said.text:
        blocks.append(({"type": "text", "text": ""}, "text_delta", "text", said.text))
    for id_, name, given in said.calls:
        start = {"type": "tool_use", "id": id_, "name": name, "input": {}}
        blocks.append((start, "input_json_delta", "partial_json", given))
    for index, (start, kind, field, text) in enumerate(blocks):
        out.append(event({"type": "content_block_start", "index": index, "content_block": start}))
        for piece in pieces(text) or [""]:
            delta = {"type": kind, field: piece}
            out.append(event({"type": "content_block_delta", "index": index, "delta": delta}))
        if kind == "thinking_delta":
            signed = {"type": "signature_delta", "signature": "c2ln"}
            out.append(event({"type": "content_block_delta", "index": index, "delta": signed}))
        out.append(event({"type": "content_block_stop", "index": index}))
    out.append(event({"type": "ping"}, "ping"))
    stop = said.stop or ("tool_use" if said.calls else "end_turn")
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}
    return [*out, event(end), event({"type": "message_stop"}, "message_stop")]


# ---- OpenAI Chat Completions


def chat_document(said: Said) -> dict[str, Any]:
    """A response of Chat Completions."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.thinking:
        message["reasoning_content"] = said.thinking
    if said.calls:
        message["tool_calls"] = [_function(call) for call in said.calls]
    reason = said.stop or ("tool_calls" if said.calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = said.usage or {"prompt_tokens": 10, "completion_tokens": 5}
    return {"id": "c1", "object": "chat.completion", "model": "gpt-fake", "choices": [choice], "usage": usage}


def _function(call: tuple[str, str, str]) -> dict[str, Any]:
    return {"id": call[0], "type": "function", "function": {"name": call[1], "arguments": call[2]}}


def chat_stream(said: Said) -> list[bytes]:
    """The events of a stream of Chat Completions."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return event({"id": "c1", "object": "chat.completion.chunk", "model": "gpt-fake", "choices": [choice]})

    out = [chunk({"role": "assistant", "content": ""})]
    out += [chunk({"reasoning_content": piece}) for piece in pieces(said.thinking)]
    out += [chunk({"content": piece}) for piece in pieces(said.text)]
    for index, call in enumerate(said.calls):
        begun = _function((call[0], call[1], ""))
        out.append(chunk({"tool_calls": [{"index": index, **begun}]}))
        for piece in pieces(call[2]):
            out.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    out.append(chunk({}, said.stop or ("tool_calls" if said.calls else "stop")))
    usage = said.usage or {"prompt_tokens": 10, "completion_tokens": 5}
    out.append(event({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": usage}))
    return [*out, event("[DONE]")]


# ---- OpenAI Responses


def responses_document(said: Said) -> dict[str, Any]:
    """A response of Responses."""
    items: list[dict[str, Any]] = []
    if said.thinking:
        summary = [{"type": "summary_text", "text": said.thinking}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2VhbA"})
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
    for id_, name, given in said.calls:
        items.append({"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name, "arguments": given})
    status = "incomplete" if said.stop else "completed"
    usage = said.usage or {"input_tokens": 10, "output_tokens": 5}
    whole = {"id": "resp_1", "object": "response", "model": "gpt-fake", "status": status, "output": items}
    why = {"incomplete_details": {"reason": said.stop}} if said.stop else {}
    return {**whole, **why, "usage": usage}


def responses_stream(said: Said) -> list[bytes]:
    """The events of a stream of Responses."""
    whole = responses_document(said)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    out = [event({"type": "response.created", "response": begun})]
    for index, item in enumerate(whole["output"]):
        out.append(event({"type": "response.output_item.added", "output_index": index, "item": {"type": item["type"]}}))
        kind, text = {
            "reasoning": ("response.reasoning_summary_text.delta", said.thinking),
            "message": ("response.output_text.delta", said.text),
        }.get(item["type"], ("response.function_call_arguments.delta", item.get("arguments", "")))
        out += [event({"type": kind, "output_index": index, "delta": piece}) for piece in pieces(text)]
        out.append(event({"type": "response.output_item.done", "output_index": index, "item": item}))
    return [*out, event({"type": f"response.{whole['status']}", "response": whole})]
