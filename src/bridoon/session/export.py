"""A session as one text: Markdown for people, JSON or JSON lines for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bridoon.errors import UsageError
from bridoon.model.message import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from bridoon.session import exact
from bridoon.session.store import Session
from bridoon.wire.fence import fenced

FORMATS = ("md", "json", "jsonl")


def export(session: Session, format: str = "md") -> str:
    """The whole history. Pictures are embedded in JSON, and named in Markdown. Raises UsageError."""
    messages = session.messages()
    match format:
        case "md":
            return "".join(_markdown(session, messages))
        case "json":
            about = {"id": session.id, **{key: value for key, value in session.conf.items() if key != "id"}}
            return exact.dump({**about, "messages": [exact.to_json(message, _embedded) for message in messages]}) + "\n"
        case "jsonl":
            return "".join(exact.dump(exact.to_json(message, _embedded)) + "\n" for message in messages)
        case _:
            raise UsageError(f"unknown format {format!r}", f"known are {', '.join(FORMATS)}")


def _embedded(image: Image) -> dict[str, Any]:
    import base64

    return {"mime_type": image.mime_type, "data": base64.b64encode(image.data).decode("ascii")}


def _markdown(session: Session, messages: tuple[Message, ...]) -> Iterator[str]:
    yield f"# Session {session.id}\n"
    about = [f"{key}: {value}" for key in ("created", "cwd", "provider", "model") if (value := session.conf.get(key))]
    if about:
        yield "\n" + "".join(f"* {line}\n" for line in about)
    for message in messages:
        if message.role != "tool_result":
            who = "User" if message.role == "user" else "Assistant"
            yield f"\n## {who}, {message.at}\n"
        for part in message.parts:
            yield "\n" + _part(part)


def _part(part: Part) -> str:
    match part:
        case Text(text):
            return text.rstrip("\n") + "\n"
        case Thinking(text, _, redacted):
            return "_Thinking_\n\n" + fenced("text", text or f"({len(redacted)} characters that are not shown)")
        case Image(mime_type, data):
            return f"_Picture: {mime_type}, {len(data)} bytes_\n"
        case ToolCall(_, name, input, error):
            about = f"_Call of {name}_" + (f" (not run: {error})" if error else "")
            return f"{about}\n\n" + fenced("json", exact.dump(input))
        case ToolResult(_, name, content, failed, images):
            pictures = "".join("\n" + _part(image) for image in images)
            return f"_{'Failure' if failed else 'Result'} of {name}_\n\n" + fenced("text", content) + pictures
