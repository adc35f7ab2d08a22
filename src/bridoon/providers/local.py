"""A model file run inside this process by llama.cpp (the extra `local`), calls constrained by JSON schema.

Small models print calls as they please, so the grammar leaves them two forms: `{"say": text}`, or
`{"call": tool, "input": {...}}` with the input's schema. The engine is spoken to over loopback, with a key
that only this process knows: closing the connection is the one thing that stops it in the middle of a prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridoon.errors import ConfigError, NoProvider, ProviderError
from bridoon.providers import knobs, openai_chat
from bridoon.providers.exchange import Endpoint, Events, Spelling, exchange
from bridoon.providers.failures import Refusal
from bridoon.providers.outcome import Claims
from bridoon.providers.receive import claims
from bridoon.providers.values import Halves, encoded, number, parse, strings, table
from bridoon.sdk.script import Context
from bridoon.wire import sse
from bridoon.wire.jsontext import dump

CONTEXT = 8192
"""Tokens of the window when HARNESS_LOCAL_CONTEXT does not say."""

MAX_TOKENS = 1024
"""Tokens of an answer when HARNESS_LOCAL_MAX_TOKENS does not say."""

BATCH = 256
"""Tokens of a prompt that are worked on at a time: only between two batches the engine sees that nobody
waits.
"""

PATIENCE = "600"
"""Seconds without a byte: a long prompt takes minutes on a small machine."""

ENVIRONMENT = """\
HARNESS_LOCAL_MODEL       the model, a GGUF file (or -m PATH)
HARNESS_LOCAL_CONTEXT     tokens of the window (8192)
HARNESS_LOCAL_MAX_TOKENS  longest answer in tokens (1024)"""

RULES = """\
Answer with one JSON object and nothing else. Either {"say": "text for the user"}, or, to use a tool,
{"call": "name of the tool", "input": {its arguments}}. The tools:
"""


class Engine(NamedTuple):
    """A loaded model."""

    server: Any
    """Owns the engine's threads; they end when the last reference goes."""
    url: str
    key: str


_engines: dict[tuple[str, int], Engine] = {}


def ready(context: Context) -> bool:
    """Whether a model file is named and the engine is installed."""
    path = context.env.get("HARNESS_LOCAL_MODEL", "")
    return bool(path) and os.path.isfile(_absolute(path, context)) and _installed()


def call(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Have the model answer, and return that in the shape of an Anthropic response.

    Raises NoProvider when the engine or the file is missing, ProviderError when the model cannot be loaded
    or asked.
    """
    env = context.env
    engine = load(model_path(payload, context), knobs.count(env, "HARNESS_LOCAL_CONTEXT", CONTEXT))
    tools = list(payload.get("tools") or [])
    direct = {**env, "no_proxy": "*", "HARNESS_IDLE_TIMEOUT": env.get("HARNESS_IDLE_TIMEOUT") or PATIENCE}
    inner = Context(direct, cancel=context.cancel, emit=context.emit, log=context.log, run=context.run)
    endpoint = Endpoint(engine.url, {"content-type": "application/json", "authorization": f"Bearer {engine.key}"})
    head = {
        "messages": conversation(payload, tools),
        "max_tokens": knobs.count(env, "HARNESS_LOCAL_MAX_TOKENS", MAX_TOKENS),
        "stream": True,
        "stream_options": {"include_usage": True},
        **knobs.sampling(env, "HARNESS_LOCAL"),
    }
    names = claims(payload, context)
    spelling = Spelling(lambda: Reader(names, bool(tools)), lambda raw: [])
    for schema in _schemas(tools):
        asked = {**head, **schema}
        try:
            return exchange(endpoint, encoded(asked), spelling, inner)
        except Refusal as wrong:
            # A schema may use words that the grammar cannot express; the looser one comes next.
            if wrong.kind != "invalid" or not re.search(r"schema|grammar|parser", wrong.message, re.I):
                raise
            refused = wrong
    raise refused


# ---- the engine


def load(path: str, window: int) -> Engine:
    """The engine for a model file, loaded once per process. Raises NoProvider, ProviderError."""
    key = (path, window)
    if key not in _engines:
        if not _engines:
            import atexit

            atexit.register(unload)
        unload()
        _engines[key] = _start(path, window)
    return _engines[key]


def unload() -> None:
    """Stop the engine and its threads; what it was doing is broken off."""
    from bridoon.providers import http

    if _engines:
        http.pool().close()
        _engines.clear()


def abandon() -> None:
    """Do not stop the engine at the end: the process ends without a word to its threads, and at once."""
    import atexit

    atexit.unregister(unload)


def _start(path: str, window: int) -> Engine:
    try:
        import xllamacpp  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise NoProvider("the provider local needs the package xllamacpp", "pip install 'bridoon[local]'") from None
    if not os.path.isfile(path):
        raise NoProvider(f"there is no model file {path}", "name a GGUF file: HARNESS_LOCAL_MODEL=FILE or -m FILE")
    params = xllamacpp.CommonParams()
    params.model.path = path
    try:
        params.n_ctx, params.n_parallel = window, 1
    except OverflowError:
        raise ConfigError(f"HARNESS_LOCAL_CONTEXT={window} is larger than any window") from None
    params.n_batch = params.n_ubatch = BATCH
    params.n_threads_http = 2
    params.verbosity = -1
    params.warmup = params.ui = params.endpoint_slots = False
    key = os.urandom(16).hex()
    params.api_keys = [key]
    try:
        server = xllamacpp.Server(params)
    except Exception as wrong:
        raise ProviderError(f"the model {path} cannot be loaded: {wrong}", "invalid") from None
    return Engine(server, f"{server.listening_address}/v1/chat/completions", key)


def _installed() -> bool:
    from importlib.util import find_spec

    return find_spec("xllamacpp") is not None


def model_path(payload: Mapping[str, Any], context: Context) -> str:
    """The model file: the payload's model, else HARNESS_MODEL, else HARNESS_LOCAL_MODEL. Raises
    NoProvider.
    """
    path = knobs.model_of(payload, context.env) or context.env.get("HARNESS_LOCAL_MODEL", "")
    if not path:
        raise NoProvider("the provider local has no model", "name a GGUF file: HARNESS_LOCAL_MODEL=FILE or -m FILE")
    return _absolute(path, context)


def _absolute(path: str, context: Context) -> str:
    return os.path.join(context.cwd, os.path.expanduser(path))


# ---- the request


def conversation(payload: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages for the model: plain text, calls in the form in which the model has to make them."""
    system = strings(payload.get("system"))
    if tools:
        listed = "\n".join(_told(tool) for tool in tools)
        system = f"{system}\n\n{RULES}{listed}".strip()
    said = [{"role": "system", "content": system}] if system else []
    names: dict[str, str] = {}
    for message in map(table, payload.get("messages") or []):
        role = strings(message.get("role"))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(map(table, content or []))
        names.update({block["id"]: block["name"] for block in blocks if block.get("type") == "tool_use"})
        texts = [_spoken(block, role, names, bool(tools)) for block in blocks]
        text = "\n".join(each for each in texts if each)
        if text:
            said.append({"role": role, "content": text})
    return said


def _told(tool: Mapping[str, Any]) -> str:
    about = strings(tool.get("description")).strip().split("\n")[0]
    return f"- {tool['name']}: {about} input: {dump(tool.get('input_schema') or {})}"


def _spoken(block: Mapping[str, Any], role: str, names: Mapping[str, str], calls: bool) -> str:
    match block.get("type"):
        case "text":
            text = strings(block.get("text"))
            return dump({"say": text}) if role == "assistant" and calls else text
        case "tool_use":
            return dump({"call": block.get("name"), "input": block.get("input")})
        case "tool_result":
            name = names.get(strings(block.get("tool_use_id")), "the tool")
            content = block.get("content")
            if isinstance(content, list):
                content = "\n".join(strings(table(each).get("text")) for each in content)
            return f"{name} {'failed' if block.get('is_error') else 'answered'}:\n{strings(content)}"
        case "image":
            return "(an image that this model cannot see)"
        case _:
            return ""


def _schemas(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What constrains the answer, the strictest first; nothing does without tools."""
    if not tools:
        return [{}]
    strict = [_form(tool["name"], table(tool.get("input_schema")) or {"type": "object"}) for tool in tools]
    loose = [_form(tool["name"], {"type": "object"}) for tool in tools]
    say = {
        "type": "object",
        "properties": {"say": {"type": "string"}},
        "required": ["say"],
        "additionalProperties": False,
    }
    forms = ({"oneOf": [say, *forms]} for forms in (strict, loose))
    return [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": form}}}
        for form in forms
    ]


def _form(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"call": {"const": name}, "input": schema},
        "required": ["call", "input"],
        "additionalProperties": False,
    }


# ---- the answer


class Reader:
    """Reads the stream of a constrained answer: shows what it says while it comes, and its call at the
    end.
    """

    def __init__(self, claims_: Claims, constrained: bool) -> None:
        self._inner = openai_chat.Reader(Claims(0, ()), "the model")
        self._claims, self._constrained = claims_, constrained
        self._saying = Saying()
        self._said: list[str] = []
        self._call: dict[str, Any] | None = None

    @property
    def complete(self) -> bool:
        return self._inner.complete

    @property
    def ended(self) -> bool:
        return self._inner.ended

    def feed(self, event: sse.Event) -> Events:
        """What to show of one event, as `.stream` lines."""
        lines: Events = []
        for line in self._inner.feed(event):
            if line["type"] != "text":
                lines.append(line)
                continue
            text = self._saying.feed(line["text"]) if self._constrained else line["text"]
            if text:
                self._said.append(text)
                lines.append({"type": "text", "text": text})
        return lines

    def close(self) -> Events:
        """What to show at the end: the call, if there is one."""
        content = self._content()
        if self._constrained and self.complete and not self._said:
            self._call = _called(content)
        if self._call is None:
            return []
        self._call["id"] = self._claims.claim("")
        given = self._call["input"] if isinstance(self._call["input"], dict) else {}
        return [{"type": "tool_start", "id": self._call["id"], "name": self._call["name"], "input": given}]

    def result(self) -> dict[str, Any]:
        """The answer in the shape of an Anthropic response."""
        raw = self._inner.result()
        counts = openai_chat.usage(table(raw.get("usage")))
        text = "".join(self._said)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        if self._call is not None:
            blocks.append({"type": "tool_use", **self._call})
        reason = table(raw["choices"][0]).get("finish_reason")
        return {
            "type": "message",
            "role": "assistant",
            "model": os.path.basename(strings(raw.get("model"))),
            "content": blocks,
            "stop_reason": "max_tokens" if reason == "length" else "tool_use" if self._call else "end_turn",
            "usage": {
                "input_tokens": counts.input_tokens - counts.cache_read_tokens,
                "cache_read_input_tokens": counts.cache_read_tokens,
                "output_tokens": number(counts.output_tokens),
            },
        }

    def _content(self) -> str:
        return strings(self._inner.result()["choices"][0]["message"].get("content"))


def _called(content: str) -> dict[str, Any] | None:
    """The call in an answer that says nothing. One that was cut short keeps its text, which never runs."""
    try:
        value = table(parse(content))
    except (ValueError, RecursionError):
        name = re.match(r'\s*\{\s*"call"\s*:\s*"([^"\\]+)"', content)
        return {"name": name[1], "input": content} if name else None
    name_ = strings(value.get("call"))
    return {"name": name_, "input": value.get("input") or {}} if name_ else None


class Saying:
    """The text inside `{"say": "..."}` while it arrives."""

    _OPENING = re.compile(r'\s*\{\s*"say"\s*:\s*"')
    _SAFE = re.compile(r'(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')

    def __init__(self) -> None:
        self._held = ""
        self._open = False
        self._halves = Halves()

    def feed(self, piece: str) -> str:
        """What can be shown of the text so far."""
        self._held += piece
        if not self._open:
            opening = self._OPENING.match(self._held)
            if opening is None:
                return ""
            self._open, self._held = True, self._held[opening.end() :]
        whole = self._SAFE.match(self._held)
        if whole is None or not whole[0]:
            return ""
        self._held = self._held[whole.end() :]
        import json

        return self._halves.feed(json.loads(f'"{whole[0]}"', strict=False))
