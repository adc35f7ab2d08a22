"""The Anthropic Messages API: conversation to request, response to parts, stream to both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bridoon.model.message import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bridoon.providers import failures
from bridoon.providers.history import Pieces, Protocol
from bridoon.providers.outcome import NO_OUTPUT, Answer, Claims, events_of, own_thinking, plain_id, plain_name
from bridoon.providers.outcome import message as settle
from bridoon.providers.values import Halves, arguments, document, number, strings, table, whole, whole_value
from bridoon.wire import sse

NAME = "anthropic"

STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


# ---- conversation -> messages


def protocol(provider: str) -> Protocol:
    """How this API spells a conversation with `provider` (whose own reasoning goes back to it)."""
    return Protocol(partial(pieces, provider=provider), build)


def messages(view: Sequence[Message], provider: str = "") -> list[dict[str, Any]]:
    """A whole conversation at once, where nothing is kept."""
    from bridoon.providers.history import History

    return History(protocol(provider)).update(view)


def pieces(message: Message, provider: str = "") -> tuple[str, Pieces]:
    """The blocks of one message; empty text is left out."""
    role = "assistant" if message.role == "assistant" else "user"
    thinking = own_thinking(message, provider, NAME)
    blocks = (_block(part, thinking) for part in message.parts)
    return role, [block for block in blocks if block is not None]


def build(role: str, blocks: Pieces) -> list[dict[str, Any]]:
    """One message of the blocks of neighbours. Tool results come first, as the API wants them."""
    if role == "user" and any(block["type"] == "tool_result" for block in blocks):
        blocks = sorted(blocks, key=lambda block: block["type"] != "tool_result")
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return [{"role": role, "content": blocks[0]["text"]}]
    return [{"role": role, "content": blocks}]


def _block(part: Part, thinking: bool) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Image():
            return image(part)
        case ToolCall(id, name, given):
            return {"type": "tool_use", "id": plain_id(id), "name": plain_name(name), "input": given}
        case ToolResult():
            return _result(part)
        case Thinking(text, signature, redacted) if thinking:
            if redacted:
                return {"type": "redacted_thinking", "data": redacted}
            return {"type": "thinking", "thinking": text, "signature": signature} if signature else None
        case _:
            return None


def _result(result: ToolResult) -> dict[str, Any]:
    text = result.content if result.content.strip() else NO_OUTPUT
    content: Any = text
    if result.images:
        content = [{"type": "text", "text": text}, *(image(each) for each in result.images)]
    block = {"type": "tool_result", "tool_use_id": plain_id(result.call_id), "content": content}
    return {**block, "is_error": True} if result.failed else block


def image(picture: Image) -> dict[str, Any]:
    """An image block."""
    from binascii import b2a_base64

    data = b2a_base64(picture.data, newline=False).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": picture.mime_type, "data": data}}


# ---- the marks of the prompt cache


def mark_cached(head: dict[str, Any], conversation: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask the API to keep the prompt: the system prompt with the tools, and the last two user messages.

    That is three of the four marks that it allows. Returns the conversation with marked copies; `head` is
    changed.
    """
    if head.get("system"):
        system = head["system"]
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
        head["system"] = [*blocks[:-1], _marked(blocks[-1])]
    elif head.get("tools"):
        head["tools"] = [*head["tools"][:-1], _marked(head["tools"][-1])]
    marked = list(conversation)
    users = [
        index for index, each in enumerate(conversation[-6:], max(0, len(conversation) - 6)) if each["role"] == "user"
    ]
    for index in users[-2:]:
        content = marked[index]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        marked[index] = {"role": "user", "content": [*blocks[:-1], _marked(blocks[-1])]}
    return marked


def _marked(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "cache_control": {"type": "ephemeral"}}


# ---- response -> parts


def read(raw: Mapping[str, Any]) -> Answer:
    """Take a response apart. Blocks of unknown types are left out."""
    content = raw.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    found = [_part(table(block)) for block in (content if isinstance(content, list) else [])]
    reason = strings(raw.get("stop_reason")) or "end_turn"
    parts = tuple(part for part in found if part is not None)
    return Answer(NAME, parts, STOPS.get(reason, reason), strings(raw.get("model")), usage(table(raw.get("usage"))))


def from_response(raw: Mapping[str, Any], provider: str, seq: int) -> Message:
    """The message that a response stands for."""
    return settle(read(raw), provider, seq)[0]


def _part(block: dict[str, Any]) -> Part | None:
    block = whole_value(block)
    match block.get("type"):
        case "text" if block.get("text"):
            return Text(strings(block["text"]))
        case "thinking":
            return Thinking(strings(block.get("thinking")), strings(block.get("signature")))
        case "redacted_thinking":
            return Thinking("", redacted=strings(block.get("data")))
        case "tool_use":
            given, error = arguments(block.get("input"))
            return ToolCall(strings(block.get("id")), strings(block.get("name")), given, error)
        case _:
            return None


def usage(counts: Mapping[str, Any]) -> Usage:
    """Token counts; the API counts cached input apart."""
    read_, written = (
        number(counts.get("cache_read_input_tokens")),
        number(counts.get("cache_creation_input_tokens")),
    )
    fresh = number(counts.get("input_tokens"))
    return Usage(fresh + read_ + written, number(counts.get("output_tokens")), read_, written)


# ---- stream -> response


class _Block:
    """A block of content that is coming."""

    __slots__ = ("open", "texts", "value")

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.texts: list[str] = []
        self.open = True


class Reader:
    """Puts the events of one stream together. `complete` and `ended` turn true with `message_stop`."""

    def __init__(self, claims: Claims, where: str, secrets: Sequence[str] = ()) -> None:
        self.complete = self.ended = False
        self._claims, self._where, self._secrets = claims, where, secrets
        self._message: dict[str, Any] = {"type": "message", "role": "assistant"}
        self._usage: dict[str, Any] = {}
        self._blocks: list[_Block] = []
        self._at: dict[int, _Block] = {}
        self._halves = Halves()

    def feed(self, event: sse.Event) -> list[dict[str, Any]]:
        """What to show of one event, as `.stream` lines. Raises Refusal for an error event, ValueError for
        no JSON.
        """
        value = table(document(event.data))
        kind = value.get("type") or event.name
        match kind:
            case "content_block_delta":
                return self._delta(value.get("index"), table(value.get("delta")))
            case "content_block_start":
                return self._start(value.get("index"), dict(table(value.get("content_block"))))
            case "content_block_stop":
                block = self._find(value.get("index"))
                return self._stop(block) if block is not None else []
            case "message_start":
                begun = table(value.get("message"))
                self._message.update({key: each for key, each in begun.items() if key not in ("content", "usage")})
                self._count(begun.get("usage"))
            case "message_delta":
                self._message.update(table(value.get("delta")))
                self._count(value.get("usage"))
            case "message_stop":
                self.complete = self.ended = True
            case "error":
                raise failures.in_stream(value, self._where, self._secrets)
            case _:
                pass
        return []

    def _count(self, counts: Any) -> None:
        self._usage.update({key: each for key, each in table(counts).items() if each is not None})

    def _find(self, index: Any) -> _Block | None:
        """The block of an index; without an index it is the newest."""
        if isinstance(index, int):
            return self._at.get(index)
        return self._blocks[-1] if self._blocks else None

    def _start(self, index: Any, value: dict[str, Any]) -> list[dict[str, Any]]:
        """Begin a block. An index that is used again, as some services do, ends the block that had it."""
        before = self._find(index)
        lines = self._stop(before) if before is not None and before.open else []
        self._blocks.append(_Block(value))
        if isinstance(index, int):
            self._at[index] = self._blocks[-1]
        if value.get("type") in ("text", "thinking"):
            lines += self._show(value["type"], strings(value.get(value["type"])))
        return lines

    def _delta(self, index: Any, delta: dict[str, Any]) -> list[dict[str, Any]]:
        kind, field = _DELTAS.get(strings(delta.get("type")), ("", ""))
        if not kind:
            return []
        text = strings(delta.get(field))
        block = self._find(index)
        known = block.value.get("type", kind) if block is not None else ""
        if known != kind and (kind == "tool_use" or field == "signature"):
            return []  # it belongs to a block that is none of ours
        lines: list[dict[str, Any]] = []
        if block is None or known != kind:
            lines = self._start(index, {"type": kind})
            block = self._blocks[-1]
        block.value["type"] = kind
        if field == "signature":
            block.value["signature"] = strings(block.value.get("signature")) + text
        elif kind != "tool_use":
            block.texts.append(text)
            lines += self._show(kind, text)
        elif block.open:
            block.texts.append(text)
        return lines

    def _show(self, kind: str, text: str) -> list[dict[str, Any]]:
        shown = self._halves.feed(text) if text else ""
        return [{"type": kind, "text": shown}] if shown else []

    def _stop(self, block: _Block) -> list[dict[str, Any]]:
        value, text = block.value, "".join(block.texts)
        block.texts = []
        match value.get("type"):
            case "tool_use" if block.open:
                block.open = False
                given, error = arguments(text or value.get("input"))
                value["input"] = (text or value.get("input")) if error else given
                value["id"] = self._claims.claim(whole(strings(value.get("id"))))
                name = whole(strings(value.get("name")))
                return [{"type": "tool_start", "id": value["id"], "name": name, "input": given}]
            case "text" | "thinking" as kind:
                block.open = False
                value[kind] = strings(value.get(kind)) + text
                rest = self._halves.end()
                return [{"type": kind, "text": rest}] if rest else []
            case _:
                return []

    def close(self) -> list[dict[str, Any]]:
        """What to show at the end: the blocks that were never ended."""
        lines = [line for block in self._blocks if block.open or block.texts for line in self._stop(block)]
        broken = STOPS.get(strings(self._message.get("stop_reason"))) in ("length", "refusal")
        return [line for line in lines if not (broken and line["type"] == "tool_start")]

    def result(self) -> dict[str, Any]:
        """The response, shaped as if it had not been streamed."""
        content = [block.value for block in self._blocks]
        return {**self._message, "content": whole_value(content), "usage": self._usage}


_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}


def shown(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What to show of a response that was not streamed."""
    return events_of(read(raw))
