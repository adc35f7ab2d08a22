"""OpenAI Chat Completions, as OpenAI and the many compatible services speak it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bridoon.errors import ProviderError
from bridoon.model.message import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bridoon.providers import failures
from bridoon.providers.history import History, Pieces, Protocol
from bridoon.providers.outcome import NO_OUTPUT, Answer, Claims, events_of, own_thinking, plain_id, plain_name
from bridoon.providers.outcome import message as settle
from bridoon.providers.values import Halves, arguments, document, number, strings, table, whole
from bridoon.wire import sse
from bridoon.wire.jsontext import dump

NAME = "openai"

ID_LIMIT = 40
"""Characters of a call id that OpenAI accepts."""

FAILED = "[error] "
"""Marks the result of a call that failed: this API has no flag for it."""

STOPS = {
    "stop": "end",
    "end_turn": "end",
    "eos": "end",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
}

REASONING = ("reasoning_content", "reasoning")
"""Fields in which services show reasoning. Only what came in the first is wanted back (DeepSeek insists on
it).
"""


# ---- conversation -> messages


def protocol(provider: str) -> Protocol:
    """How this API spells a conversation with `provider` (whose own reasoning goes back to it)."""
    return Protocol(partial(pieces, provider=provider), build)


def messages(view: Sequence[Message], provider: str = "") -> list[dict[str, Any]]:
    """A whole conversation at once, where nothing is kept."""
    return History(protocol(provider)).update(view)


def pieces(message: Message, provider: str = "") -> tuple[str, Pieces]:
    """The parts of one message that this API can say; blank text is left out."""
    thinking = own_thinking(message, provider, NAME)
    parts = [part for part in message.parts if _sayable(part, thinking)]
    if message.role == "assistant" and all(isinstance(part, Thinking) for part in parts):
        return message.role, []
    return message.role, list(parts)


def _sayable(part: Part, thinking: bool) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Thinking():
            return thinking
        case _:
            return True


def build(role: str, parts: Pieces) -> list[dict[str, Any]]:
    """API messages of the parts of neighbours with one role."""
    if role == "assistant":
        return [_assistant(parts)]
    if role == "tool_result":
        return _results(parts)
    return [{"role": "user", "content": _content(parts)}]


def _content(parts: Pieces) -> str | list[dict[str, Any]]:
    texts = [part.text for part in parts if isinstance(part, Text)]
    if len(texts) == len(parts):
        return "\n\n".join(texts)
    return [{"type": "text", "text": part.text} if isinstance(part, Text) else _picture(part) for part in parts]


def _picture(picture: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_url(picture)}}


def data_url(picture: Image) -> str:
    """An image inside a URL."""
    from binascii import b2a_base64

    return f"data:{picture.mime_type};base64,{b2a_base64(picture.data, newline=False).decode('ascii')}"


def _results(parts: Pieces) -> list[dict[str, Any]]:
    """Results of calls. They hold text only; their pictures follow in a message of the user's."""
    results = [part for part in parts if isinstance(part, ToolResult)]
    said: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": plain_id(each.call_id, ID_LIMIT), "content": result_text(each)}
        for each in results
    ]
    pictures: list[dict[str, Any]] = []
    for each in results:
        if each.images:
            pictures.append({"type": "text", "text": f"From the result of {each.name or each.call_id}:"})
            pictures += [_picture(picture) for picture in each.images]
    return [*said, {"role": "user", "content": pictures}] if pictures else said


def result_text(result: ToolResult) -> str:
    """The text of a result, never empty, marked when the call failed."""
    text = result.content if result.content.strip() else NO_OUTPUT
    return FAILED + text if result.failed else text


def _assistant(parts: Pieces) -> dict[str, Any]:
    text = "\n\n".join(part.text for part in parts if isinstance(part, Text))
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    extras: dict[str, Any] = {}
    reasoning = []
    for part in parts:
        if isinstance(part, Thinking) and part.redacted:
            extras.update(_extras(part.redacted))
        elif isinstance(part, Thinking) and part.signature == REASONING[0]:
            reasoning.append(part.text)
    calls = [_call(part, extras) for part in parts if isinstance(part, ToolCall)]
    if calls:
        said["tool_calls"] = calls
        if reasoning:
            said[REASONING[0]] = "".join(reasoning)
    return said


def _call(call: ToolCall, extras: Mapping[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": plain_id(call.id, ID_LIMIT),
        "type": "function",
        "function": {"name": plain_name(call.name), "arguments": dump(call.input)},
    }
    return {**said, "extra_content": extras[call.id]} if call.id in extras else said


def _extras(text: str) -> dict[str, Any]:
    try:
        return table(table(json.loads(text)).get("extra_content"))
    except ValueError:
        return {}


# ---- response -> parts


def read(raw: Mapping[str, Any]) -> Answer:
    """Take a response apart. Raises ProviderError when it has no choices."""
    choices = raw.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ProviderError("no choices in response", "invalid")
    choice = table(choices[0])
    said = table(choice.get("message"))
    reason = strings(choice.get("finish_reason")) or "stop"
    stop = STOPS.get(reason, reason)
    parts: list[Part] = []
    for field in REASONING:
        if strings(said.get(field)):
            parts.append(Thinking(whole(said[field]), signature=field))
            break
    thoughts, text = _split(said.get("content"))
    if thoughts:
        parts.append(Thinking(whole(thoughts)))
    refused = strings(said.get("refusal"))
    if text or refused:
        parts.append(Text(whole(text + refused)))
    if refused and not text:
        stop = "refusal"
    calls, extras = _calls(said)
    if extras:
        parts.append(Thinking("", redacted=dump({"extra_content": extras})))
    return Answer(NAME, (*parts, *calls), stop, strings(raw.get("model")), usage(table(raw.get("usage"))))


def from_response(raw: Mapping[str, Any], provider: str, seq: int) -> Message:
    """The message that a response stands for."""
    return settle(read(raw), provider, seq)[0]


def shown(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What to show of a response that was not streamed."""
    return events_of(read(raw))


def _split(content: Any) -> tuple[str, str]:
    """Reasoning and text of a `content` field, which is a string or (Mistral) a list of typed pieces."""
    if isinstance(content, str):
        return "", content
    thoughts, texts = [], []
    for piece in content if isinstance(content, list) else []:
        piece = table(piece)
        if piece.get("type") == "thinking":
            inner = piece.get("thinking")
            thoughts.append(inner if isinstance(inner, str) else _split(inner)[1])
        else:
            texts.append(strings(piece.get("text")))
    return "".join(thoughts), "".join(texts)


def _calls(said: Mapping[str, Any]) -> tuple[list[ToolCall], dict[str, Any]]:
    """The calls, and what a service wants back with each (Gemini signs its reasoning there), by call id."""
    calls: list[ToolCall] = []
    extras: dict[str, Any] = {}
    listed = said.get("tool_calls")
    for each in listed if isinstance(listed, list) else []:
        call = table(each)
        function = table(call.get("function"))
        given, error = arguments(function.get("arguments"))
        id_ = whole(strings(call.get("id")))
        calls.append(ToolCall(id_, whole(strings(function.get("name"))), given, error))
        if id_ and isinstance(call.get("extra_content"), dict):
            extras[id_] = call["extra_content"]
    return calls, extras


def usage(counts: Mapping[str, Any]) -> Usage:
    """Token counts; cached ones are part of the prompt's."""
    details = table(counts.get("prompt_tokens_details"))
    cached = number(details.get("cached_tokens")) or number(counts.get("prompt_cache_hit_tokens"))
    written = number(details.get("cache_write_tokens"))
    return Usage(number(counts.get("prompt_tokens")), number(counts.get("completion_tokens")), cached, written)


# ---- stream -> response


class Reader:
    """Puts the chunks of one stream together. `complete` turns true with a finish reason, `ended` with
    `[DONE]`.
    """

    def __init__(self, claims: Claims, where: str, secrets: Sequence[str] = ()) -> None:
        self.complete = self.ended = False
        self._claims, self._where, self._secrets = claims, where, secrets
        self._top: dict[str, Any] = {"object": "chat.completion"}
        self._usage: Any = None
        self._reason: str | None = None
        self._texts: dict[str, list[str]] = {}
        self._halves = {"text": Halves(), "thinking": Halves()}
        self._calls: list[dict[str, Any]] = []
        self._at: dict[int, dict[str, Any]] = {}

    def feed(self, event: sse.Event) -> list[dict[str, Any]]:
        """What to show of one event, as `.stream` lines. Raises Refusal for an error, ValueError for what is
        no JSON.
        """
        if event.data.strip() == "[DONE]":
            self.complete = self.ended = True
            return []
        try:
            chunk = table(document(event.data))
        except ValueError:
            # Some servers forget the blank line between two events.
            if "\n" not in event.data:
                raise
            parts = [sse.Event(line, event.name) for line in event.data.split("\n") if line]
            return [line for part in parts for line in self.feed(part)]
        if chunk.get("error") or event.name == "error":
            raise failures.in_stream(chunk, self._where, self._secrets)
        for key in ("id", "model", "created"):
            if chunk.get(key) and key not in self._top:
                self._top[key] = chunk[key]
        if isinstance(chunk.get("usage"), dict):
            self._usage = chunk["usage"]
        choices = chunk.get("choices")
        return [
            line
            for choice in map(table, choices if isinstance(choices, list) else [])
            if (choice.get("index") or 0) == 0  # others were not asked for
            for line in self._choice(choice)
        ]

    def _choice(self, choice: dict[str, Any]) -> list[dict[str, Any]]:
        delta = table(choice.get("delta")) or table(choice.get("message"))
        lines = []
        for field in REASONING:
            if strings(delta.get(field)):
                lines += self._say("thinking", field, delta[field])
                break
        thoughts, text = _split(delta.get("content"))
        lines += self._say("thinking", REASONING[1], thoughts)
        lines += self._say("text", "content", text)
        lines += self._say("text", "refusal", strings(delta.get("refusal")))
        listed = delta.get("tool_calls")
        for each in listed if isinstance(listed, list) else []:
            self._call(table(each))
        reason = strings(choice.get("finish_reason"))
        if reason == "error":
            raise failures.in_stream(choice, self._where, self._secrets)
        if reason:
            self._reason, self.complete = reason, True
        return lines

    def _say(self, kind: str, field: str, text: str) -> list[dict[str, Any]]:
        if not text:
            return []
        self._texts.setdefault(field, []).append(text)
        shown = self._halves[kind].feed(text)
        return [{"type": kind, "text": shown}] if shown else []

    def _call(self, delta: dict[str, Any]) -> None:
        """Add a piece of a call. Pieces belong together by index, else by id, else they go to the last
        call.
        """
        function = table(delta.get("function"))
        id_, name = whole(strings(delta.get("id"))), whole(strings(function.get("name")))
        call = self._find(delta.get("index"), id_, name)
        call["id"] = call["id"] or id_
        call["name"] = _longer(call["name"], name)
        given = function.get("arguments")
        if given is not None:
            call["arguments"].append(given if isinstance(given, str) else dump(given))
        if isinstance(delta.get("extra_content"), dict):
            call["extra_content"] = delta["extra_content"]

    def _find(self, index: Any, id_: str, name: str) -> dict[str, Any]:
        if isinstance(index, int):
            found = self._at.get(index)
            # Some services give every call the index 0: another id tells that it is another call.
            if found is None or (id_ and found["id"] and found["id"] != id_):
                found = self._at[index] = self._new()
            return found
        last = self._calls[-1] if self._calls else None
        if id_:
            same = next((call for call in self._calls if call["id"] == id_), None)
            if same is not None:
                return same
        begins = last is None or (id_ and last["id"]) or (name and last["name"])
        return self._new() if begins or last is None else last

    def _new(self) -> dict[str, Any]:
        self._calls.append({"id": "", "name": "", "arguments": []})
        return self._calls[-1]

    def close(self) -> list[dict[str, Any]]:
        """What to show at the end: the calls, whose arguments are whole now."""
        lines: list[dict[str, Any]] = [
            {"type": kind, "text": rest} for kind, half in self._halves.items() if (rest := half.end())
        ]
        broken = STOPS.get(self._reason or "") in ("length", "refusal")
        for call in self._calls:
            call["id"] = self._claims.claim(call["id"])
            if broken:
                continue  # it will not run
            given, _ = arguments("".join(call["arguments"]))
            lines.append({"type": "tool_start", "id": call["id"], "name": call["name"], "input": given})
        return lines if self.complete else []

    def result(self) -> dict[str, Any]:
        """The response, shaped as if it had not been streamed."""
        said: dict[str, Any] = {"role": "assistant", "content": None}
        said.update({field: whole("".join(texts)) for field, texts in self._texts.items()})
        if self._calls:
            said["tool_calls"] = [_whole_call(call) for call in self._calls]
        choice = {"index": 0, "message": said, "finish_reason": self._reason}
        return {**self._top, "choices": [choice], "usage": self._usage or {}}


def _longer(name: str, piece: str) -> str:
    """A name and what came for it later: the same again, the whole of it, or another piece."""
    return piece if piece.startswith(name) else name if name.startswith(piece) else name + piece


def _whole_call(call: dict[str, Any]) -> dict[str, Any]:
    whole_: dict[str, Any] = {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": "".join(call["arguments"])},
    }
    return {**whole_, "extra_content": call["extra_content"]} if "extra_content" in call else whole_
