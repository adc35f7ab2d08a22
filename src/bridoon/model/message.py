"""One message of a conversation, in words that belong to no provider."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Role = Literal["user", "assistant", "tool_result"]
Stop = Literal["end", "tool_calls", "length", "error", "cancelled", "refusal"]
"""Why the model stopped. Other words of an API are kept as they came."""


class Text(NamedTuple):
    """Words for the reader."""

    text: str


class Thinking(NamedTuple):
    """Reasoning that a model showed. It goes back only to the protocol that it came from."""

    text: str
    signature: str = ""
    redacted: str = ""
    """Opaque data of a block that the API did not show; `text` is empty then."""


class Image(NamedTuple):
    """A picture. `data` holds the decoded bytes."""

    mime_type: str
    data: bytes


class ToolCall(NamedTuple):
    """The model asks for a tool."""

    id: str
    name: str
    input: dict[str, Any]
    error: str = ""
    """Why the arguments cannot be used (with their first 200 characters). Such a call never runs."""


class ToolResult(NamedTuple):
    """What a tool answered."""

    call_id: str
    name: str
    content: str
    failed: bool = False
    images: tuple[Image, ...] = ()


class Usage(NamedTuple):
    """Tokens of one request. `input_tokens` includes cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        return Usage(*(a + b for a, b in zip(self, other, strict=True)))


Part = Text | Thinking | Image | ToolCall | ToolResult


class Message(NamedTuple):
    """What one side said, as parts in the order in which they came.

    A `tool_result` message holds exactly one `ToolResult`; a `user` message holds `Text` and `Image`;
    an `assistant` message holds `Text`, `Thinking` and `ToolCall`.
    """

    role: Role
    parts: tuple[Part, ...]
    seq: int = 0
    """Its number in the session, from 1; 0 while it is not saved."""
    at: str = ""
    """ISO 8601 with offset."""
    model: str = ""
    provider: str = ""
    stop: str = ""
    usage: Usage | None = None
    extra: dict[str, str] = {}  # noqa: RUF012 - a NamedTuple default, never mutated
    """Header lines that we do not know but keep."""

    @property
    def text(self) -> str:
        """All `Text` parts joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))
