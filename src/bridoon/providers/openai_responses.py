"""OpenAI Responses: conversation to items, response to parts, stream to both. Nothing is stored at OpenAI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bridoon.errors import ProviderError
from bridoon.model.message import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bridoon.providers import failures
from bridoon.providers.history import History, Pieces, Protocol
from bridoon.providers.openai_chat import data_url, result_text
from bridoon.providers.outcome import Answer, Claims, events_of, own_thinking, plain_id, plain_name
from bridoon.providers.outcome import message as settle
from bridoon.providers.values import Halves, arguments, document, number, strings, table, whole, whole_value
from bridoon.wire import sse
from bridoon.wire.jsontext import dump

NAME = "openai-responses"


# ---- conversation -> items


def protocol(provider: str) -> Protocol:
    """How this API spells a conversation with `provider` (whose own reasoning goes back to it)."""
    return Protocol(partial(pieces, provider=provider), build)


def messages(view: Sequence[Message], provider: str = "") -> list[dict[str, Any]]:
    """A whole conversation at once, where nothing is kept."""
    return History(protocol(provider)).update(view)


def pieces(message: Message, provider: str = "") -> tuple[str, Pieces]:
    """The items of one message, in the order of its parts."""
    if message.role == "user":
        content = [_given(part) for part in message.parts if not isinstance(part, Text) or part.text.strip()]
        return "", [{"type": "message", "role": "user", "content": content}] if content else []
    # Reasoning must be followed by what came of it, which an answer that broke off has lost.
    thinking = own_thinking(message, provider, NAME) and message.stop not in (
        "length",
        "refusal",
        "error",
        "cancelled",
    )
    found = [_item(part, thinking) for part in message.parts]
    items = [item for item in found if item is not None]
    if items and all(item["type"] == "reasoning" for item in items):
        items = []
    return "", items


def build(role: str, items: Pieces) -> list[dict[str, Any]]:
    """Items are whole already."""
    return items


def _given(part: Part) -> dict[str, Any]:
    match part:
        case Image():
            return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
        case Text(text):
            return {"type": "input_text", "text": text}
        case _:
            return {"type": "input_text", "text": str(part)}


def _item(part: Part, thinking: bool) -> dict[str, Any] | None:
    match part:
        case Text(text) if text.strip():
            return {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }
        case ToolCall(id, name, given):
            return {
                "type": "function_call",
                "call_id": plain_id(id),
                "name": plain_name(name),
                "arguments": dump(given),
            }
        case ToolResult():
            return {
                "type": "function_call_output",
                "call_id": plain_id(part.call_id),
                "output": _output(part),
            }
        case Thinking(text, signature, redacted) if thinking:
            return _reasoning(text, signature or redacted)
        case _:
            return None


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    text = result_text(result)
    if not result.images:
        return text
    return [{"type": "input_text", "text": text}, *(_given(picture) for picture in result.images)]


def _reasoning(text: str, seal: str) -> dict[str, Any] | None:
    id_, bar, content = seal.partition("|")
    if not bar:
        return None
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"type": "reasoning", "id": id_, "summary": summary, "encrypted_content": content}


# ---- response -> parts


def read(raw: Mapping[str, Any]) -> Answer:
    """Take a response apart. Raises ProviderError when the API says that it failed."""
    if raw.get("status") == "failed" or (raw.get("error") and not raw.get("output")):
        raise ProviderError(failures.told(raw.get("error"))[0] or "the response failed", "server")
    output = raw.get("output")
    parts: list[Part] = []
    refused = False
    for each in output if isinstance(output, list) else []:
        item = table(each)
        match item.get("type"):
            case "message":
                texts, no = _said(item)
                parts += texts
                refused = refused or no
            case "reasoning":
                parts += _thought(item)
            case "function_call":
                given, error = arguments(item.get("arguments"))
                call_id = strings(item.get("call_id")) or strings(item.get("id"))
                parts.append(ToolCall(whole(call_id), whole(strings(item.get("name"))), given, error))
            case _:
                pass
    stop = "refusal" if refused else _stop(raw)
    return Answer(NAME, tuple(parts), stop, strings(raw.get("model")), usage(table(raw.get("usage"))))


def from_response(raw: Mapping[str, Any], provider: str, seq: int) -> Message:
    """The message that a response stands for."""
    return settle(read(raw), provider, seq)[0]


def shown(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What to show of a response that was not streamed."""
    return events_of(read(raw))


def _said(item: Mapping[str, Any]) -> tuple[list[Part], bool]:
    content = item.get("content")
    if isinstance(content, str):
        return [Text(whole(content))], False
    pieces_ = [table(each) for each in (content if isinstance(content, list) else [])]
    refused = any(piece.get("type") == "refusal" for piece in pieces_)
    texts = [strings(piece.get("refusal" if piece.get("type") == "refusal" else "text")) for piece in pieces_]
    return [Text(whole(text)) for text in texts if text], refused


def _thought(item: Mapping[str, Any]) -> list[Part]:
    texts = []
    for field in ("summary", "content"):
        listed = item.get(field)
        texts += [strings(table(each).get("text")) for each in (listed if isinstance(listed, list) else [])]
    text = whole("\n\n".join(each for each in texts if each))
    sealed = strings(item.get("encrypted_content"))
    seal = f"{strings(item.get('id'))}|{sealed}" if sealed else ""
    if text:
        return [Thinking(text, signature=seal)]
    return [Thinking("", redacted=seal)] if seal else []


def _stop(raw: Mapping[str, Any]) -> str:
    status = strings(raw.get("status")) or "completed"
    if status != "incomplete":
        return {"completed": "end", "cancelled": "cancelled"}.get(status, status)
    reason = strings(table(raw.get("incomplete_details")).get("reason"))
    return "refusal" if reason == "content_filter" else "length"


def usage(counts: Mapping[str, Any]) -> Usage:
    """Token counts; cached ones are part of the input's."""
    details = table(counts.get("input_tokens_details"))
    cached, written = number(details.get("cached_tokens")), number(details.get("cache_write_tokens"))
    return Usage(number(counts.get("input_tokens")), number(counts.get("output_tokens")), cached, written)


# ---- stream -> response


class Reader:
    """Puts the events of one stream together. It is complete with `response.completed` or
    `response.incomplete`.
    """

    def __init__(self, claims: Claims, where: str, secrets: Sequence[str] = ()) -> None:
        self.complete = self.ended = False
        self._claims, self._where, self._secrets = claims, where, secrets
        self._items: dict[int, list[dict[str, Any]]] = {}
        """What came at each place of the output: one item, unless a service numbers all of them alike."""
        self._told: set[tuple[int, str, str]] = set()
        self._text: list[str] = []
        self._response: dict[str, Any] = {}
        self._halves = {"text": Halves(), "thinking": Halves()}
        self._thought = False

    def feed(self, event: sse.Event) -> list[dict[str, Any]]:
        """What to show of one event, as `.stream` lines. Raises Refusal for a failure, ValueError for no
        JSON.
        """
        if event.data.strip() == "[DONE]":
            return []
        value = table(document(event.data))
        match value.get("type") or event.name:
            case "response.output_text.delta" | "response.refusal.delta":
                return self._say("text", strings(value.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._say("thinking", strings(value.get("delta")))
            case "response.reasoning_summary_part.added" if self._thought:
                return self._say("thinking", "\n\n")
            case "response.output_item.done":
                return self._item(value.get("output_index"), table(value.get("item")))
            case "response.completed" | "response.incomplete":
                self._response = table(value.get("response"))
                if self._response.get("status") == "failed":
                    raise failures.in_stream(self._response, self._where, self._secrets)
                self.complete = self.ended = True
            case "response.failed":
                raise failures.in_stream(table(value.get("response")), self._where, self._secrets)
            case "error":
                raise failures.in_stream(value, self._where, self._secrets)
            case _:
                pass
        return []

    def _say(self, kind: str, text: str) -> list[dict[str, Any]]:
        self._thought = self._thought or kind == "thinking"
        if kind == "text":
            self._text.append(text)
        shown_ = self._halves[kind].feed(text)
        return [{"type": kind, "text": shown_}] if shown_ else []

    def _item(self, index: Any, item: dict[str, Any]) -> list[dict[str, Any]]:
        place = index if isinstance(index, int) else len(self._items)
        id_ = strings(item.get("call_id")) or strings(item.get("id"))
        told = (place, id_, strings(item.get("type")))
        if told in self._told:
            return []
        self._told.add(told)
        self._items.setdefault(place, []).append(item)
        if item.get("type") != "function_call":
            return []
        item["call_id"] = self._claims.claim(whole(id_))
        given, _ = arguments(item.get("arguments"))
        name = whole(strings(item.get("name")))
        return [{"type": "tool_start", "id": item["call_id"], "name": name, "input": given}]

    def close(self) -> list[dict[str, Any]]:
        """What to show at the end: calls that only the last event holds."""
        lines = [{"type": kind, "text": rest} for kind, half in self._halves.items() if (rest := half.end())]
        listed = self._response.get("output")
        for index, each in enumerate(listed if isinstance(listed, list) else []):
            if index not in self._items:
                lines += self._item(index, dict(table(each)))
        return lines

    def result(self) -> dict[str, Any]:
        """The response, with the items that the stream brought where the last event left them out."""
        items = [item for index in sorted(self._items) for item in self._items[index]]
        if self._text and not any(item.get("type") == "message" for item in items):
            # People have seen a text that no item holds.
            content = [{"type": "output_text", "text": "".join(self._text)}]
            items.append({"type": "message", "role": "assistant", "content": content})
        return {**self._response, "output": whole_value(items)}
