"""What the `assemble` and `receive` hooks of the provider packs share: messages out, answers in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Protocol

from bridoon.model.message import Message, Text, ToolCall, Usage
from bridoon.providers import outcome
from bridoon.providers.history import history, unchanged
from bridoon.providers.values import table
from bridoon.sdk.script import Context


class Conversation(Protocol):
    """The part of a session that is needed here."""

    dir: str

    def messages(self) -> tuple[Message, ...]: ...
    def view(self) -> tuple[Message, ...]: ...
    def append(self, message: Message) -> Message: ...


def assemble(
    payload: dict[str, Any], session: Conversation, protocol: ModuleType, env: Mapping[str, str]
) -> dict[str, Any]:
    """Put the conversation into the payload in the shape of a protocol (a module such as
    `providers.anthropic`).

    The messages are shared with later turns: a hook that wants another message replaces it in the list.
    """
    provider = env.get("HARNESS_PROVIDER", "")
    kept = history(session.dir, f"{protocol.NAME}/{provider}", protocol.protocol(provider))
    payload["messages"] = kept.update(session.view())
    payload["protocol"] = protocol.NAME
    return payload


def save(raw: dict[str, Any], session: Conversation, answer: outcome.Answer, context: Context) -> dict[str, Any]:
    """Save an answer and say what follows: its tool calls, or the end with its text.

    Emits `stop`, and a notice when something of the answer was dropped.
    """
    seq = next_seq(session)
    provider = context.env.get("HARNESS_PROVIDER", "")
    message, notes = outcome.message(answer, provider, seq, call_ids(session))
    saved = session.append(message)
    usage = saved.usage or Usage()
    context.emit({"type": "stop", "reason": saved.stop, "seq": saved.seq, "usage": usage._asdict()})
    for note in notes:
        context.emit({"type": "notice", "text": note})
    if not saved.calls:
        return {"next_state": "done", "output": saved.text}
    following: dict[str, Any] = {
        "next_state": "tool_exec",
        "tool_calls": [_listed(call) for call in saved.calls],
    }
    return {**following, "output": saved.text} if saved.text else following


def _listed(call: ToolCall) -> dict[str, Any]:
    listed = {"id": call.id, "name": call.name, "input": call.input}
    return {**listed, "error": call.error} if call.error else listed


def next_seq(session: Conversation) -> int:
    """The number that the next message will have."""
    messages = session.messages()
    return messages[-1].seq + 1 if messages else 1


class _Known:
    __slots__ = ("ids", "messages")

    def __init__(self) -> None:
        self.messages: tuple[Message, ...] = ()
        self.ids: set[str] = set()


_known: dict[str, _Known] = {}
"""Call ids of the sessions that this process works in, kept so that a turn looks at new messages only."""


def call_ids(session: Conversation) -> set[str]:
    """The ids of all calls of a conversation."""
    known = _known.setdefault(session.dir, _Known())
    messages = session.messages()
    same = unchanged(known.messages, messages)
    if same < len(known.messages):
        same, known.ids = 0, set()
    for message in messages[same:]:
        known.ids.update(call.id for call in message.calls)
    known.messages = messages
    return known.ids


def claims(payload: Mapping[str, Any], context: Context) -> outcome.Claims:
    """Who gives the calls of the coming answer their ids. They will be the same when the answer is saved."""
    if context.run is not None:
        return outcome.Claims(next_seq(context.run.session), call_ids(context.run.session))
    messages = payload.get("messages")
    found = messages if isinstance(messages, list) else []
    return outcome.Claims(len(found) + 1, _ids_in(found))


def _ids_in(messages: Sequence[Any]) -> set[str]:
    """The call ids in messages of any of the protocols."""
    ids: set[Any] = set()
    for message in map(table, messages):
        ids.add(message.get("call_id"))
        content = message.get("content")
        ids.update(table(block).get("id") for block in (content if isinstance(content, list) else []))
        calls = message.get("tool_calls")
        ids.update(table(call).get("id") for call in (calls if isinstance(calls, list) else []))
    return {each for each in ids if isinstance(each, str)}


def plain(text: str) -> outcome.Answer:
    """An answer that is text and nothing else."""
    return outcome.Answer("", (Text(text),) if text else (), "end", "", Usage())
