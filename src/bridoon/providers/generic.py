"""Responses and conversations of providers that bring no hooks of their own: the shape decides."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bridoon.errors import ProviderError
from bridoon.model.message import Message
from bridoon.providers import outcome, receive
from bridoon.providers.receive import Conversation
from bridoon.sdk.script import Context

if TYPE_CHECKING:
    from bridoon.catalog.lookup import Catalog

PROTOCOLS = ("anthropic", "openai", "openai-responses")


def protocol_module(name: str) -> ModuleType:
    """The module of a protocol; Anthropic's for a name that we do not know."""
    if name == "openai":
        from bridoon.providers import openai_chat

        return openai_chat
    if name == "openai-responses":
        from bridoon.providers import openai_responses

        return openai_responses
    from bridoon.providers import anthropic

    return anthropic


_named: dict[tuple[str, object], str] = {}
"""Path and stamp of a provider to the protocol that it named."""


def protocol_named(catalog: Catalog, env: Mapping[str, str]) -> str:
    """The protocol that the active provider names in its `--defaults` (`protocol=openai`); empty for none.

    A program is asked once, and again only when its file has changed.
    """
    provider = catalog.find("providers", env.get("HARNESS_PROVIDER", ""))
    if provider is None:
        return ""
    key = (provider.path, provider.stamp)
    if key not in _named:
        from bridoon.providers import detect

        _named[key] = detect.defaults(provider, catalog, env).get("protocol", "")
    return _named[key]


def read(raw: Mapping[str, Any]) -> outcome.Answer:
    """Take a raw response apart: `choices` is chat completions, an `output` list Responses, `content`
    Anthropic's.

    `{"text": ...}` and `{"output": "..."}` are plain text. Raises ProviderError for any other shape.
    """
    if isinstance(raw.get("choices"), list):
        return protocol_module("openai").read(raw)  # type: ignore[no-any-return]
    if isinstance(raw.get("output"), list):
        return protocol_module("openai-responses").read(raw)  # type: ignore[no-any-return]
    if isinstance(raw.get("content"), (list, str)) or "stop_reason" in raw:
        return protocol_module("anthropic").read(raw)  # type: ignore[no-any-return]
    for key in ("text", "output"):
        if isinstance(raw.get(key), str):
            return receive.plain(raw[key])
    from bridoon.providers.failures import told

    words = told(raw)[0] if raw.get("error") else ""
    keys = ", ".join(sorted(str(key) for key in raw if key != "next_state")) or "nothing"
    raise ProviderError(words or f"the provider's response has no known shape (it holds {keys})", "invalid")


def from_response(raw: Mapping[str, Any], provider: str, seq: int) -> Message:
    """The message that a response of any shape stands for. Raises ProviderError."""
    return outcome.message(read(raw), provider, seq)[0]


def assemble(
    payload: dict[str, Any], session: Conversation, env: Mapping[str, str], protocol: str = ""
) -> dict[str, Any]:
    """Stand in for `assemble/10-messages`: the conversation in the shape of a protocol, and its name."""
    return receive.assemble(payload, session, protocol_module(protocol), env)


def save(raw: dict[str, Any], session: Conversation, context: Context) -> dict[str, Any]:
    """Stand in for `receive/10-save`."""
    return receive.save(raw, session, read(raw), context)
