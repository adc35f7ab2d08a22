"""The history as a model may be given it. What is on disk stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from bridoon.model.message import Message, Part, Text, Thinking, ToolCall, ToolResult

NO_RESULT = "interrupted: no result was recorded; it may or may not have run"
NO_BEGINNING = "[the beginning of this conversation is missing]"


def window(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What is left of the history after compaction.

    A summary is a user message with the header `compaction: <number of the first message that is kept>`. The
    newest one stands for everything before that message; older summaries are part of it. A call is never
    parted from its results: the message with the call is kept when one of its results is.
    """
    at = next((i for i in range(len(messages) - 1, -1, -1) if is_summary(messages[i])), -1)
    if at < 0:
        return tuple(messages)
    first = int(messages[at].extra["compaction"])
    start = next((i for i, message in enumerate(messages[:at]) if message.seq >= first), at + 1)
    start = _with_call(messages, start)
    return (messages[at], *(message for message in messages[start:] if not is_summary(message)))


def _with_call(messages: Sequence[Message], start: int) -> int:
    """Where to begin instead of `start`, so that results there keep the message with their calls."""
    while start < len(messages) and is_summary(messages[start]):
        start += 1
    at = start
    while 0 < at < len(messages) and (messages[at].role == "tool_result" or is_summary(messages[at])):
        at -= 1
    return at if at < len(messages) and messages[at].role == "assistant" else start


def is_summary(message: Message) -> bool:
    """Whether a message stands for older ones."""
    if not message.extra or message.role != "user":
        return False
    first = message.extra.get("compaction", "")
    return first.isascii() and first.isdigit() and len(first) < 20


def valid_view(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The history in a form that no provider refuses. Messages that are fine are passed on as they are.

    Every call is answered right after its message, in call order: a missing result is replaced by a failed
    one, a result without a call becomes words of the user. Call ids occur once. Empty messages and empty
    texts are left out, and so is reasoning that was broken off, because it has no signature. The first
    message is the user's.
    """
    out: list[Message] = []
    ids: set[str] = set()
    at = 0
    while at < len(messages):
        at = _take_group(messages, at, out, ids)
    return _begun(out)


class View:
    """`valid_view(window(...))` of a history that grows: what was settled before is not looked at again."""

    def __init__(self) -> None:
        self._generation = -1
        self._known = 0
        self._source: list[Message] = []
        self._settled: list[Message] = []
        self._ids: set[str] = set()
        self._at = 0

    def of(self, messages: Sequence[Message], generation: int) -> tuple[Message, ...]:
        """The view of `messages`. While `generation` stays the same, messages are only added at the end."""
        fresh = messages[self._known :]
        bare = len(self._source) == 1 and is_summary(self._source[0])  # a result may bring its call along
        if generation != self._generation or bare or any(map(is_summary, fresh)):
            self._generation, self._at = generation, 0
            self._settled, self._ids = [], set()
            self._source = list(window(messages))
        else:
            self._source += fresh
        self._known = len(messages)
        last = len(self._source) - 1
        while last > 0 and self._source[last].role == "tool_result":
            last -= 1
        while self._at < last:
            self._at = _take_group(self._source, self._at, self._settled, self._ids)
        # The last group may get more results: it is taken anew the next time.
        tail: list[Message] = []
        if self._source:
            _take_group(self._source, self._at, tail, self._ids)
        self._ids.difference_update(call.id for message in tail for call in message.calls)
        return _begun(self._settled + tail)


def _take_group(messages: Sequence[Message], at: int, out: list[Message], ids: set[str]) -> int:
    """Add a message and the results after it to the view; return where the next group begins."""
    message = messages[at]
    end = at + 1
    while end < len(messages) and messages[end].role == "tool_result":
        end += 1
    results = list(messages[at + 1 : end])
    if message.role == "tool_result":
        results.insert(0, message)
    else:
        kept = _filled(message)
        if kept is not None and kept.role == "assistant":
            out += _answered(kept, results, ids)
        elif kept is not None:
            out.append(kept)
    out += map(_as_words, results)
    return end


def _begun(view: list[Message]) -> tuple[Message, ...]:
    beginning = [Message("user", (Text(NO_BEGINNING),))] if view and view[0].role != "user" else []
    return (*beginning, *view)


def _filled(message: Message) -> Message | None:
    """A user or assistant message without its empty parts; None when nothing to say is left."""
    broken_off = message.stop in ("cancelled", "error")
    parts = tuple(part for part in message.parts if not _is_empty(part, broken_off))
    if not any(not isinstance(part, Thinking) for part in parts):
        return None
    return message if len(parts) == len(message.parts) else message._replace(parts=parts)


def _is_empty(part: Part, broken_off: bool) -> bool:
    match part:
        case Text(text):
            return not text or text.isspace()
        case Thinking(_, signature, redacted):
            return broken_off and not signature and not redacted
        case _:
            return False


def _answered(message: Message, results: list[Message], ids: set[str]) -> list[Message]:
    """A message followed by one result for each of its calls. Takes those results out of `results`."""
    calls = message.calls
    if not calls:
        return [message]
    out = [message]
    renamed: list[str] = []
    for number, call in enumerate(calls, 1):
        id = _unique(call.id or f"call_{message.seq}_{number}", ids)
        renamed.append(id)
        place = next((i for i, each in enumerate(results) if _result(each).call_id == call.id), -1)
        if place < 0:
            found = Message("tool_result", (ToolResult(id, call.name, NO_RESULT, failed=True),))
        else:
            found = results.pop(place)
            if id != call.id:
                found = found._replace(parts=(_result(found)._replace(call_id=id),))
        out.append(found)
    if renamed != [call.id for call in calls]:
        fresh = iter(renamed)
        parts = (part._replace(id=next(fresh)) if isinstance(part, ToolCall) else part for part in message.parts)
        out[0] = message._replace(parts=tuple(parts))
    return out


def _unique(id: str, ids: set[str]) -> str:
    """An id that no call before it has: APIs refuse a history in which one occurs twice."""
    fresh, number = id, 1
    while fresh in ids:
        number += 1
        fresh = f"{id}_{number}"
    ids.add(fresh)
    return fresh


def _result(message: Message) -> ToolResult:
    part = message.parts[0] if message.parts else None
    return part if isinstance(part, ToolResult) else ToolResult("", "", message.text)


def _as_words(message: Message) -> Message:
    result = _result(message)
    words = f"[a result of {result.name or 'a tool'} whose call is not in this conversation]\n{result.content}"
    return Message("user", (Text(words), *result.images), seq=message.seq, at=message.at)
