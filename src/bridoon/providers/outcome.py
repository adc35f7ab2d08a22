"""From what an API answered to the message that is saved: stop words, call ids, what is dropped."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from bridoon.model.message import Message, Part, Text, Thinking, ToolCall, Usage

NO_OUTPUT = "(no output)"
"""Stands for the result of a tool that printed nothing: APIs refuse empty content."""

PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
"""Characters of call ids that every API accepts."""


class Answer(NamedTuple):
    """One response, read. Call ids may be missing or used twice."""

    protocol: str
    parts: tuple[Part, ...]
    stop: str
    """A `model.message.Stop`, or the API's own word."""
    model: str
    usage: Usage


def message(answer: Answer, provider: str, seq: int, used: Collection[str] = ()) -> tuple[Message, list[str]]:
    """The message to save, and what the user should be told about it.

    `seq` is the number that the message will have; `used` holds the call ids of the history.
    """
    parts, stop, notes = answer.parts, answer.stop, []
    calls = any(isinstance(part, ToolCall) for part in parts)
    if calls and stop in ("length", "refusal"):
        parts = tuple(part for part in parts if not isinstance(part, ToolCall))
        why = "it reached the token limit" if stop == "length" else "the model refused"
        notes.append(f"the answer broke off because {why}: its tool calls were dropped")
    elif calls:
        stop = "tool_calls"
    elif stop == "tool_calls":
        notes.append("the model stopped for tool calls but made none")
        stop = "end"
    elif stop == "length":
        notes.append("the answer was cut at the token limit")
    elif stop == "end" and not any(isinstance(part, Text) and part.text.strip() for part in parts):
        notes.append("the model answered nothing")
    saved = Message(
        "assistant",
        name_calls(parts, seq, used),
        model=answer.model,
        provider=provider,
        stop=stop,
        usage=answer.usage,
        extra={"protocol": answer.protocol} if answer.protocol else {},
    )
    return saved, notes


def name_calls(parts: tuple[Part, ...], seq: int, used: Collection[str]) -> tuple[Part, ...]:
    """The parts with an id of its own for every call: missing ids are made, repeated ones get a suffix."""
    claims = Claims(seq, used)
    return tuple(part._replace(id=claims.claim(part.id)) if isinstance(part, ToolCall) else part for part in parts)


class Claims:
    """Gives every call of one message an id that no other call of the conversation has."""

    def __init__(self, seq: int, used: Collection[str]) -> None:
        self._seq, self._used = seq, used
        self._mine: set[str] = set()

    def claim(self, given: str) -> str:
        """An id as near to the given one as possible. The same calls in the same order get the same ids."""
        wanted = given or f"call_{self._seq}_{len(self._mine) + 1}"
        name, count = wanted, 1
        while name in self._mine or name in self._used:
            count += 1
            name = f"{wanted}_{self._seq}" if count == 2 else f"{wanted}_{self._seq}_{count}"
        self._mine.add(name)
        return name


def plain_id(call_id: str, limit: int = 64) -> str:
    """A call id in characters and a length that an API accepts; different ids stay different."""
    if call_id and len(call_id) <= limit and PLAIN.issuperset(call_id):
        return call_id
    from zlib import crc32

    mark = f"{crc32(call_id.encode('utf-8', 'replace')):08x}"
    return "".join(c if c in PLAIN else "_" for c in call_id)[: limit - 9] + "_" + mark


def plain_name(name: str, limit: int = 64) -> str:
    """The name of a called tool in characters and a length that an API accepts.

    Models call tools that do not exist by names that no tool could have. Sent back as they are, they would
    make the whole conversation invalid.
    """
    if len(name) <= limit and PLAIN.issuperset(name):
        return name or "unnamed"
    return "".join(c if c in PLAIN else "_" for c in name[:limit])


def own_thinking(message: Message, provider: str, protocol: str) -> bool:
    """Whether the reasoning in a message may go back: it does so only to the service and protocol it came
    from.
    """
    return message.provider == provider and message.extra.get("protocol", protocol) == protocol


def events_of(answer: Answer) -> list[dict[str, Any]]:
    """The `.stream` lines that tell what an answer holds."""
    events: list[dict[str, Any]] = []
    for part in answer.parts:
        match part:
            case Text(text):
                events.append({"type": "text", "text": text})
            case Thinking(text) if text:
                events.append({"type": "thinking", "text": text})
            case ToolCall(id, name, given):
                events.append({"type": "tool_start", "id": id, "name": name, "input": given})
            case _:
                pass
    return events
