"""Surroundings for the tests of providers: a context that remembers what was shown, and conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakes import api_rules

from bridoon.model.message import Message, Part, Text, ToolCall, ToolResult
from bridoon.providers import anthropic_api, http, openai_api
from bridoon.sdk.script import Context

KEY = "sk-test-0123456789abcdef"

TOOLS = [
    {
        "name": "bash",
        "description": "Run a command",
        "input_schema": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    }
]


class Watched(Context):
    """A context without a run. `events` holds what was emitted, `lines` what was logged."""

    def __init__(self, env: Mapping[str, str] | None = None, cancel: Any = None) -> None:
        self.events: list[dict[str, Any]] = []
        self.lines: list[str] = []
        super().__init__(env or {}, cancel=cancel, emit=self.events.append, log=self.lines.append)

    @property
    def text(self) -> str:
        """The text that was shown."""
        return "".join(event["text"] for event in self.events if event["type"] == "text")

    @property
    def notices(self) -> list[str]:
        """The notices that were shown."""
        return [event["text"] for event in self.events if event["type"] == "notice"]


def payload(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What the send stage gives a provider."""
    said = list(messages) or [{"role": "user", "content": "hello"}]
    return {"messages": said, "tools": TOOLS, "system": "Be brief.", "model": "fake-1", **more}


def ask_anthropic(url: str, context: Watched | None = None, *messages: dict[str, Any], **env: str) -> dict[str, Any]:
    """Call the Messages API at `url`."""
    context = context or Watched()
    context.env = {"ANTHROPIC_API_URL": url, "ANTHROPIC_API_KEY": KEY, **context.env, **env}
    return fresh(lambda: anthropic_api.call(payload(*messages), context))


def ask_chat(url: str, context: Watched | None = None, *messages: dict[str, Any], **env: str) -> dict[str, Any]:
    """Call Chat Completions at `url`."""
    context = context or Watched()
    context.env = {"OPENAI_API_URL": url, "OPENAI_API_KEY": KEY, **context.env, **env}
    return fresh(lambda: openai_api.call(payload(*messages, protocol="openai"), context))


def ask_responses(url: str, context: Watched | None = None, *items: dict[str, Any], **env: str) -> dict[str, Any]:
    """Call Responses at `url`."""
    context = context or Watched()
    context.env = {
        "OPENAI_API_URL": url,
        "OPENAI_API_KEY": KEY,
        "OPENAI_API": "responses",
        **context.env,
        **env,
    }
    said = items or ({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},)
    return fresh(lambda: openai_api.call(payload(*said, protocol="openai-responses"), context))


def fresh(act: Any) -> Any:
    """Do something that uses the pool of the process, and leave the pool empty."""
    try:
        return act()
    finally:
        http.pool().close()


def wrong_with(said: list[dict[str, Any]], protocol: str) -> list[str]:
    """What an API would refuse in a conversation."""
    if protocol == "openai-responses":
        return api_rules.responses({"model": "m", "input": said})
    if protocol == "openai":
        return api_rules.chat({"model": "m", "messages": said})
    return api_rules.anthropic({"model": "m", "max_tokens": 9, "messages": said})


def user(text: str, *parts: Part) -> Message:
    """A user message."""
    return Message("user", (Text(text), *parts))


def assistant(*parts: Part, provider: str = "p", **more: Any) -> Message:
    """An assistant message."""
    return Message("assistant", parts, provider=provider, **more)


def bash(command: str, id: str = "call_1") -> ToolCall:
    """A call of bash."""
    return ToolCall(id, "bash", {"command": command})


def result(content: str, id: str = "call_1", **more: Any) -> Message:
    """The result of a call."""
    return Message("tool_result", (ToolResult(id, "bash", content, **more),))
