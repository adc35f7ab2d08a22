"""Calls the Anthropic Messages API, or a service that speaks it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from bridoon.errors import ConfigError, NoProvider
from bridoon.providers import address, anthropic, credentials, knobs
from bridoon.providers.exchange import Endpoint, Spelling, body, exchange, streams
from bridoon.providers.history import join
from bridoon.providers.receive import claims
from bridoon.providers.values import table
from bridoon.sdk.script import Context

URL = "https://api.anthropic.com/v1/messages"
VERSION = "2023-06-01"
MAX_TOKENS = 8192

THINKING_MAX_TOKENS = 32000
"""For Claude 5 and later, which think unasked: their thinking counts, and what is left must hold a file."""

BUDGETS = {"low": 2048, "medium": 8192, "high": 16384, "max": 32000}
"""Tokens for thinking, for models that want a number."""

ENVIRONMENT = """\
ANTHROPIC_API_KEY      API key (required at api.anthropic.com)
ANTHROPIC_API_URL      the full endpoint (https://api.anthropic.com/v1/messages)
ANTHROPIC_BASE_URL     the endpoint without /v1/messages
ANTHROPIC_MAX_TOKENS   longest answer in tokens (8192)
ANTHROPIC_API_VERSION  API version (2023-06-01)
ANTHROPIC_BETA         value of the anthropic-beta header
ANTHROPIC_AUTH_HEADER  a whole header to use instead of the key, e.g. Authorization: Bearer ...
HARNESS_THINKING       off, low, medium, high or max
HARNESS_CACHE          auto (prompt-cache marks at api.anthropic.com only), always or never"""


def ready(context: Context) -> bool:
    """Whether there is a key or an endpoint of the user's."""
    env = context.env
    names = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_HEADER", "ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL")
    return any(env.get(name) for name in names) or bool(credentials.own_key(context, "anthropic", "ANTHROPIC_API_KEY"))


def call(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Send a payload and return the API's response, shaped as if it had not been streamed.

    Raises ProviderError, NoProvider without a key, ConfigError for settings that are wrong.
    """
    env = context.env
    endpoint = endpoint_of(context)
    head = request_head(payload, env)
    conversation = payload.get("messages") or []
    if _caches(env, endpoint.url):
        conversation = anthropic.mark_cached(head, conversation)
    content = body(head, "messages", join(conversation))
    names = claims(payload, context)
    spelling = Spelling(partial(anthropic.Reader, names, endpoint.origin, endpoint.secrets), anthropic.shown)
    return exchange(endpoint, content, spelling, context)


def endpoint_of(context: Context) -> Endpoint:
    """Where to send, and the headers with the key. Raises NoProvider, ConfigError."""
    env = context.env
    url = knobs.full_url(env, "ANTHROPIC", URL, "/v1/messages")
    key = credentials.own_key(context, "anthropic", "ANTHROPIC_API_KEY")
    headers = {
        "content-type": "application/json",
        "anthropic-version": env.get("ANTHROPIC_API_VERSION") or VERSION,
    }
    if env.get("ANTHROPIC_BETA"):
        headers["anthropic-beta"] = env["ANTHROPIC_BETA"].strip()
    whole = env.get("ANTHROPIC_AUTH_HEADER", "").strip()
    if whole:
        name, colon, value = whole.partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z0-9-]+", name):
            raise ConfigError("ANTHROPIC_AUTH_HEADER is not a header of the form Name: value")
        headers[name], key = value.strip(), value.strip()
    elif key:
        headers["x-api-key"] = key
    elif address.parse(url, "ANTHROPIC_API_URL").host == "api.anthropic.com":
        raise NoProvider("ANTHROPIC_API_KEY is not set", "export ANTHROPIC_API_KEY=..., or run: hs auth set anthropic")
    return Endpoint(url, headers, (key,) if key else ())


def request_head(payload: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """A request but for its messages. Raises ConfigError."""
    model = knobs.model_of(payload, env)
    head: dict[str, Any] = {
        "model": model,
        "max_tokens": knobs.count(env, "ANTHROPIC_MAX_TOKENS", _longest(model)),
        **knobs.sampling(env, "ANTHROPIC"),
    }
    if payload.get("system"):
        head["system"] = payload["system"]
    tools = payload.get("tools")
    if tools:
        head["tools"] = [
            {key: tool[key] for key in ("name", "description", "input_schema") if key in tool} for tool in tools
        ]
    effort = knobs.effort(env)
    if effort:
        _think(head, effort, payload.get("messages") or [])
    if streams(env):
        head["stream"] = True
    return head


def _think(head: dict[str, Any], effort: str, conversation: list[dict[str, Any]]) -> None:
    if adaptive(head["model"]):
        head["thinking"] = {"type": "adaptive"}
        head["output_config"] = {"effort": effort}
    elif not _mid_turn_without_thinking(conversation):
        budget = BUDGETS[effort]
        head["thinking"] = {"type": "enabled", "budget_tokens": budget}
        head["max_tokens"] = max(head["max_tokens"], budget + MAX_TOKENS)


def adaptive(model: str) -> bool:
    """Whether a model decides by itself how much to think (Claude 4.6 and later); others want a number."""
    return version(model) >= (4, 6)


def version(model: str) -> tuple[int, int]:
    """Claude's version in the name of a model; (0, 0) when there is none."""
    found = re.search(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _longest(model: str) -> int:
    return THINKING_MAX_TOKENS if version(model) >= (5, 0) else MAX_TOKENS


def _mid_turn_without_thinking(conversation: list[dict[str, Any]]) -> bool:
    """Whether tool results are being handed to an answer that held no thinking (another model's): it cannot
    begin now.
    """
    if len(conversation) < 2 or conversation[-1].get("role") != "user":
        return False
    results = _kinds(conversation[-1])
    return "tool_result" in results and not {"thinking", "redacted_thinking"} & _kinds(conversation[-2])


def _kinds(message: Mapping[str, Any]) -> set[Any]:
    content = message.get("content")
    return {table(block).get("type") for block in content} if isinstance(content, list) else set()


def _caches(env: Mapping[str, str], url: str) -> bool:
    word = env.get("HARNESS_CACHE", "").lower()
    return word == "always" or (word != "never" and address.parse(url).host == "api.anthropic.com")
