"""Makes good what an interrupted run left: open calls, text that was shown but not saved, drafts of files."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from bridoon.model.message import Message, Part, Text, Thinking, ToolCall, ToolResult
from bridoon.session import files
from bridoon.session.view import NO_RESULT

if TYPE_CHECKING:
    from bridoon.session.store import Session


def repair(session: Session) -> None:
    """All repairs, in order. Doing it twice changes nothing. The session's lock must be held."""
    files.sweep(session.dir)
    if not close_open_calls(session, NO_RESULT):
        save_shown(session)


def open_calls(messages: tuple[Message, ...]) -> list[ToolCall]:
    """The calls of the last assistant message that no result answers; none when a user message follows."""
    answered: Counter[str] = Counter()
    for message in reversed(messages):
        match message.role:
            case "tool_result":
                answered.update(part.call_id for part in message.parts if isinstance(part, ToolResult))
            case "assistant":
                return [call for call in message.calls if not _take(answered, call.id)]
            case _:
                return []
    return []


def _take(counts: Counter[str], key: str) -> bool:
    counts[key] -= 1
    return counts[key] >= 0


def close_open_calls(session: Session, reason: str) -> tuple[Message, ...]:
    """Write a failed result for every call at the end that has none; returns the new messages."""
    return tuple(
        session.append(Message("tool_result", (ToolResult(call.id, call.name, reason, failed=True),)))
        for call in open_calls(session.messages())
    )


def save_shown(session: Session) -> Message | None:
    """Save what `.stream` shows of an answer that was never saved, as a message with stop `cancelled`."""
    path = f"{session.dir}/.stream"
    parts = unsaved(_backwards(path), session.messages())
    if not parts:
        return None
    saved = session.append(
        Message("assistant", tuple(parts), model=session.model, provider=session.provider, stop="cancelled")
    )
    line = json.dumps({"type": "stop", "reason": "cancelled", "seq": saved.seq}).encode() + b"\n"
    torn = next(_backwards(path), b"") != b""
    try:
        with open(path, "ab") as stream:  # so that nobody saves it again; the saved message says so, too
            stream.write(b"\n" + line if torn else line)
    except OSError:
        pass
    return saved


def unsaved(events: Iterable[bytes], messages: tuple[Message, ...]) -> list[Part]:
    """What the lines of a `.stream`, last line first, show that no message holds.

    A kill between saving a message and its `stop` line leaves text that was shown and is saved: messages that
    came after the last `stop` or `tool_done` line are taken off the front of the text.
    """
    after, runs = _tail(events)
    if after is None:
        after = max((message.seq for message in messages if message.role == "user"), default=0)
    saved = [message for message in messages if message.role == "assistant" and message.seq > after]
    if saved:
        rest = "".join(text for kind, text in runs if kind == "text").strip()
        for message in saved:
            said = message.text.strip()
            if not rest.startswith(said):  # saved in other words: a hook changed it
                return []
            rest = rest[len(said) :].lstrip()
        runs = [("text", rest)]
    return [Thinking(text) if kind == "thinking" else Text(text) for kind, text in runs if text.strip()]


def _tail(events: Iterable[bytes]) -> tuple[int | None, list[tuple[str, str]]]:
    """The last message that the lines call saved, and the runs of text and thinking after it."""
    deltas: list[tuple[str, str]] = []
    after = None
    for line in events:
        event = _event(line)
        kind, text = event.get("type"), event.get("text")
        if kind in ("stop", "tool_done"):
            number = str(event.get("seq", ""))  # upstream writes it as text: "0002"
            after = int(number) if number.isascii() and number.isdigit() and int(number) else None
            break
        if kind in ("text", "thinking") and isinstance(text, str):
            deltas.append((kind, text))
    runs = [(kind, [text for _, text in group]) for kind, group in groupby(reversed(deltas), key=lambda each: each[0])]
    return after, [(kind, "".join(texts)) for kind, texts in runs]


def _backwards(path: str) -> Iterator[bytes]:
    """The lines of a regular file, last one first; only as much is read as is asked for. No file has no lines."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except OSError:
        return
    with file:
        at, block, rest = file.seek(0, os.SEEK_END), 1 << 16, b""
        while at:
            size = min(block, at)
            at = file.seek(at - size)
            rest, *lines = (file.read(size) + rest).split(b"\n")
            yield from reversed(lines)
            block *= 2
        yield rest


def _event(line: bytes) -> dict[str, Any]:
    """A line as an object; a torn or foreign line is an empty one."""
    try:
        value = json.loads(line) if line.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
