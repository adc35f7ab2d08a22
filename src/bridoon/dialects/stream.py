"""The model's events as `.stream` lines and back. `hs --json` prints the same objects.

The names are those of the `.stream` protocol: text, thinking, tool_start, tool_output, tool_done, stop, error, done;
`notice` and the fields `seconds`, `usage`, `exit_code` are additions that its readers skip.
"""

from __future__ import annotations

from typing import Any

from bridoon.model.event import (
    Event,
    Failed,
    Notice,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnEnded,
)
from bridoon.model.message import Usage


def encode(event: Event) -> dict[str, Any]:  # noqa: PLR0911 - one per event
    """The line of an event, as a JSON object."""
    match event:
        case TextDelta(text):
            return {"type": "text", "text": text}
        case ThinkingDelta(text):
            return {"type": "thinking", "text": text}
        case ToolStarted(id, name, input):
            return {"type": "tool_start", "id": id, "name": name, "input": input}
        case ToolOutput(text, id):
            return {"type": "tool_output", "text": text, **({"id": id} if id else {})}
        case ToolFinished(id, name, failed, seq, seconds):
            error = "true" if failed else "false"  # a string: readers of the protocol compare it as one
            return {
                "type": "tool_done",
                "id": id,
                "name": name,
                "seq": seq,
                "error": error,
                "seconds": seconds,
            }
        case TurnEnded(stop, seq, usage):
            return {"type": "stop", "reason": stop, "seq": seq, "usage": usage._asdict()}
        case Notice(text):
            return {"type": "notice", "text": text}
        case Failed(message):
            return {"type": "error", "message": message}
        case RunEnded(output, stop, exit_code):
            return {"type": "done", "output": output, "stop": stop, "exit_code": exit_code}


def decode(line: dict[str, Any]) -> Event | None:  # noqa: PLR0911 - one per event
    """The event of a line; None for a type that we do not know or a line without its fields."""
    text = line.get("text")
    match line.get("type"):
        case "text" if isinstance(text, str):
            return TextDelta(text)
        case "thinking" if isinstance(text, str):
            return ThinkingDelta(text)
        case "notice" if isinstance(text, str):
            return Notice(text)
        case "tool_output" if isinstance(text, str):
            return ToolOutput(text, str(line.get("id", "")))
        case "tool_start":
            given = line.get("input")
            return ToolStarted(
                str(line.get("id", "")), str(line.get("name", "")), given if isinstance(given, dict) else {}
            )
        case "tool_done":
            failed = line.get("error") in (True, "true")
            return ToolFinished(
                str(line.get("id", "")),
                str(line.get("name", "")),
                failed,
                _number(line.get("seq")),
                float(line.get("seconds") or 0.0),
            )
        case "stop":
            return TurnEnded(str(line.get("reason", "")), _number(line.get("seq")), usage_of(line.get("usage")))
        case "error":
            return Failed(str(line.get("message", "")))
        case "done":
            return RunEnded(str(line.get("output", "")), str(line.get("stop", "")), _number(line.get("exit_code")))
        case _:
            return None


def usage_of(value: Any) -> Usage:
    """Token counts out of a JSON object; missing or odd ones count as 0."""
    if not isinstance(value, dict):
        return Usage()
    return Usage(*(_number(value.get(field)) for field in Usage._fields))


def _number(value: Any) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        return 0
