"""From what an API answered to the message that is saved: stop words, call ids, what is dropped."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection
from typing import NamedTuple

from bridoon.model.message import Message, Part, ToolCall, Usage

PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Call ids that every API accepts."""


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
    return tuple(
        part._replace(id=claims.claim(part.id)) if isinstance(part, ToolCall) else part for part in parts
    )


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
    if PLAIN_ID.fullmatch(call_id) and len(call_id) <= limit:
        return call_id
    mark = f"{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[: limit - 9] + "_" + mark


def own_thinking(message: Message, provider: str, protocol: str) -> bool:
    """Whether the reasoning in a message may go back: it does so only to the service and protocol it came
    from.
    """
    return message.provider == provider and message.extra.get("protocol", protocol) == protocol
