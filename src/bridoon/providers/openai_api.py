"""Calls OpenAI, or one of the many services that speak its Chat Completions or Responses API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from bridoon.errors import ConfigError, NoProvider
from bridoon.providers import address, credentials, knobs
from bridoon.providers.exchange import Endpoint, Spelling, body, exchange, streams
from bridoon.providers.failures import Refusal, sees_none
from bridoon.providers.history import join
from bridoon.providers.receive import claims
from bridoon.sdk.script import Context

CHAT_URL = "https://api.openai.com/v1/chat/completions"
RESPONSES_URL = "https://api.openai.com/v1/responses"

ENVIRONMENT = """\
OPENAI_API_KEY      API key (required at api.openai.com; local servers need none)
OPENAI_API_URL      the full endpoint (https://api.openai.com/v1/chat/completions)
OPENAI_BASE_URL     the endpoint without /chat/completions
OPENAI_API          chat (default) or responses
OPENAI_MAX_TOKENS   longest answer in tokens (the service's own limit)
OPENAI_TEMPERATURE, OPENAI_TOP_P, OPENAI_TOP_K   sampling
HARNESS_THINKING    off, low, medium, high or max"""

Head = dict[str, Any]

_learnt: dict[tuple[str, str], list[Callable[[Head], bool]]] = {}
"""Endpoint and model to the changes that they made us make, so that a refusal is met once per process."""


_blind: set[tuple[str, str]] = set()
"""Endpoints and models that refused images."""

UNSEEN = "(an image was here, which this model cannot see)"


def ready(context: Context) -> bool:
    """Whether there is a key or an endpoint of the user's."""
    names = ("OPENAI_API_KEY", "OPENAI_API_URL", "OPENAI_BASE_URL")
    return any(context.env.get(name) for name in names) or bool(
        credentials.own_key(context, "openai", "OPENAI_API_KEY")
    )


def protocol_module(word: str) -> ModuleType:
    """The module of an API, by the word of `OPENAI_API`: chat (or nothing) or responses. Raises
    ConfigError.
    """
    word = word.strip().lower() or "chat"
    if word == "chat":
        from bridoon.providers import openai_chat

        return openai_chat
    if word == "responses":
        from bridoon.providers import openai_responses

        return openai_responses
    raise ConfigError(f"OPENAI_API={word[:40]!r} is neither chat nor responses")


def call(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Send a payload and return the API's response, shaped as if it had not been streamed.

    Raises ProviderError, NoProvider without a key, ConfigError for settings that are wrong.
    """
    shape = payload.get("protocol")
    responses = shape == "openai-responses" or (shape != "openai" and context.env.get("OPENAI_API") == "responses")
    protocol = protocol_module("responses" if responses else "chat")
    endpoint = endpoint_of(context, responses)
    head = responses_head(payload, context.env) if responses else chat_head(payload, context.env, endpoint.url)
    system = payload.get("system")
    conversation = payload.get("messages") or []
    if system and not responses:
        conversation = [{"role": "system", "content": system}, *conversation]
    learnt = _learnt.setdefault((endpoint.url, head.get("model", "")), [])
    for change in learnt:
        change(head)
    model = (endpoint.url, head.get("model", ""))
    while True:
        items = join([without_images(each) for each in conversation] if model in _blind else conversation)
        names = claims(payload, context)
        spelling = Spelling(partial(protocol.Reader, names, endpoint.origin, endpoint.secrets), protocol.shown)
        content = body(head, "input" if responses else "messages", items)
        try:
            return exchange(endpoint, content, spelling, context)
        except Refusal as wrong:
            images = model not in _blind and without_images(conversation) is not conversation
            if images and sees_none(wrong.message):
                _blind.add(model)
                context.emit({"type": "notice", "text": "this model sees no images: it gets the words alone"})
            elif not _give_way(learnt, head, wrong, context):
                raise


def endpoint_of(context: Context, responses: bool = False) -> Endpoint:
    """Where to send, and the headers with the key. Raises NoProvider, ConfigError."""
    env = context.env
    standard, path = (RESPONSES_URL, "/responses") if responses else (CHAT_URL, "/chat/completions")
    url = knobs.full_url(env, "OPENAI", standard, path)
    key = credentials.own_key(context, "openai", "OPENAI_API_KEY")
    headers = {"content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    elif address.parse(url, "OPENAI_API_URL").host == "api.openai.com":
        raise NoProvider("OPENAI_API_KEY is not set", "export OPENAI_API_KEY=..., or run: hs auth set openai")
    return Endpoint(url, headers, (key,) if key else ())


def chat_head(payload: Mapping[str, Any], env: Mapping[str, str], url: str) -> Head:
    """A Chat Completions request but for its messages.

    No limit is sent unless one is configured: a default would cut answers of models that think first, and
    every service has a limit of its own.
    """
    head: Head = {"model": knobs.model_of(payload, env), **knobs.sampling(env, "OPENAI")}
    if not head["model"]:
        del head["model"]  # a server with one model needs no name; others say that they do
    limit = knobs.count(env, "OPENAI_MAX_TOKENS")
    if limit:
        official = address.parse(url).host == "api.openai.com"
        head["max_completion_tokens" if official else "max_tokens"] = limit
    tools = payload.get("tools")
    if tools:
        head["tools"] = [{"type": "function", "function": _function(tool)} for tool in tools]
    effort = knobs.effort(env)
    if effort:
        head["reasoning_effort"] = "high" if effort == "max" else effort
    if streams(env):
        head["stream"] = True
        head["stream_options"] = {"include_usage": True}
    return head


def responses_head(payload: Mapping[str, Any], env: Mapping[str, str]) -> Head:
    """A Responses request but for its input."""
    head: Head = {
        "model": knobs.model_of(payload, env),
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    sampling = knobs.sampling(env, "OPENAI")
    sampling.pop("top_k", None)
    head.update(sampling)
    limit = knobs.count(env, "OPENAI_MAX_TOKENS")
    if limit:
        head["max_output_tokens"] = limit
    if payload.get("system"):
        head["instructions"] = payload["system"]
    tools = payload.get("tools")
    if tools:
        # Without strict=False the API changes the schemas to ones that its strict mode can hold.
        head["tools"] = [{"type": "function", "strict": False, **_function(tool)} for tool in tools]
    effort = knobs.effort(env)
    if effort:
        head["reasoning"] = {"effort": "high" if effort == "max" else effort, "summary": "auto"}
    if streams(env):
        head["stream"] = True
    return head


def _function(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.get("input_schema") or {"type": "object", "properties": {}}
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": schema}


# ---- what services refuse, and what can be done without


def without_images(value: Any) -> Any:
    """A message with words in the place of its images; the very same message when it has none."""
    if isinstance(value, list):
        found = [without_images(each) for each in value]
        return found if any(new is not old for new, old in zip(found, value, strict=True)) else value
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind in ("image_url", "input_image"):
        return {"type": "text" if kind == "image_url" else "input_text", "text": UNSEEN}
    for key in ("content", "output"):
        changed = without_images(value.get(key))
        if changed is not value.get(key):
            return {**value, key: changed}
    return value


def _without(name: str, head: Head) -> bool:
    return head.pop(name, None) is not None


def _renamed(old: str, new: str, head: Head) -> bool:
    if old not in head:
        return False
    head[new] = head.pop(old)
    return True


CHANGES: dict[str, tuple[Callable[[Head], bool], str]] = {
    "stream_options": (partial(_without, "stream_options"), ""),
    "max_completion_tokens": (partial(_renamed, "max_completion_tokens", "max_tokens"), ""),
    "max_tokens": (partial(_renamed, "max_tokens", "max_completion_tokens"), ""),
    "encrypted": (partial(_without, "include"), ""),
    "include": (partial(_without, "include"), ""),
    "reasoning_effort": (
        partial(_without, "reasoning_effort"),
        "the service refuses reasoning_effort: HARNESS_THINKING has no effect (OPENAI_API=responses may take it)",
    ),
}
"""Word in a refusal to the change that may satisfy the service, and what the user should know then."""


def _give_way(learnt: list[Callable[[Head], bool]], head: Head, wrong: Refusal, context: Context) -> bool:
    """Change the request when the service refused something that it can do without; whether anything
    changed.
    """
    if wrong.status not in (400, 422) or wrong.kind != "invalid":
        return False
    for word, (change, note) in CHANGES.items():
        if word in wrong.message and change not in learnt and change(head):
            learnt.append(change)
            if note:
                context.emit({"type": "notice", "text": note})
            return True
    return False
