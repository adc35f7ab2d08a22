"""A model's part played from a file: what to say, which tools to call, what to expect of the results.

steps:
- call: {name: bash, input: {command: ls}}
- expect: {contains: README.md}
  say: Nothing to tidy.
- fail: {kind: rate_limit, retry_after: 2, times: 1}
  say: Back again.

The step to play follows from the conversation (how many answers it holds), so a resumed session goes on
where it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridoon.errors import ConfigError, ProviderError
from bridoon.providers import receive, retry
from bridoon.providers.failures import Refusal
from bridoon.providers.values import strings, table
from bridoon.sdk.script import Context

ENVIRONMENT = "BRIDOON_SCRIPT      the script, a YAML or JSON file (without one it only echoes)"

MODEL = "script"

KEYS = {"say", "think", "call", "calls", "expect", "fail", "delay", "stop", "usage"}
EXPECTATIONS = {"contains", "absent", "matches", "failed", "tool_result"}
FAILURES = ("auth", "rate_limit", "invalid", "server", "network", "incomplete", "overflow")

NOT_A_MODEL = (
    "I am the scripted stand-in of Bridoon, not a model: I understand nothing and only repeat.\n"
    "BRIDOON_SCRIPT=FILE makes me play a script; hs models lists real providers.\n\n"
    "You said: "
)


class Step(NamedTuple):
    """One answer of the script."""

    say: str
    think: str
    calls: tuple[dict[str, Any], ...]
    expect: Mapping[str, Any]
    fail: Mapping[str, Any]
    delay: float
    stop: str
    usage: Mapping[str, Any]
    place: str
    """File and step, for messages."""


# ---- the file


def load(path: str, task: str) -> list[Step]:
    """The steps of a script. `task` is the first user message: an entry of `agents` whose `for` it contains
    plays instead.

    Raises ConfigError with the file and the place in it.
    """
    value = _parse(path)
    steps = value
    place = ""
    if isinstance(value, dict):
        _only(value, {"steps", "agents"}, path, "$")
        steps, place = value.get("steps"), "steps"
        agents = value.get("agents") or []
        if not isinstance(agents, list):
            raise ConfigError("agents is no list", path, "$.agents")
        for index, agent in enumerate(agents):
            _kind(agent, dict, "an object", path, f"$.agents[{index}]")
            _only(agent, {"for", "steps"}, path, f"$.agents[{index}]")
            if strings(agent.get("for")) and agent["for"] in task:
                steps, place = agent.get("steps"), f"agents[{index}].steps"
                break
    if not isinstance(steps, list):
        raise ConfigError("a script is a list of steps", path, f"$.{place}".rstrip("."))
    return [_step(each, path, f"$.{place}[{index}]".replace("$.[", "$[")) for index, each in enumerate(steps)]


def _parse(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as wrong:
        raise ConfigError(f"the script cannot be read: {getattr(wrong, 'strerror', None) or wrong}", path) from None
    if path.endswith(".json"):
        import json

        try:
            return json.loads(text)
        except ValueError as wrong:
            raise ConfigError(f"the script is not valid JSON: {wrong}", path) from None
        except RecursionError:
            raise ConfigError("the script is nested too deeply", path) from None
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark is not None else ""
        raise ConfigError(f"the script is not valid YAML: {getattr(wrong, 'problem', wrong)}", path, place) from None
    except RecursionError:
        raise ConfigError("the script is nested too deeply", path) from None


def _only(given: Mapping[str, Any], known: set[str], path: str, place: str) -> None:
    unknown = sorted(str(key) for key in set(given) - known)
    if unknown:
        raise ConfigError(f"unknown key {unknown[0]!r} (known: {', '.join(sorted(known))})", path, place)


def _kind(value: Any, kinds: type | tuple[type, ...], what: str, path: str, place: str) -> None:
    if value is not None and not isinstance(value, kinds):
        raise ConfigError(f"it is not {what}", path, place)


def _step(value: Any, path: str, place: str) -> Step:
    if isinstance(value, str):
        value = {"say": value}
    if not isinstance(value, dict):
        raise ConfigError("a step is an object or a text", path, place)
    _only(value, KEYS, path, place)
    for key in ("say", "think", "stop"):
        _kind(value.get(key), (str, int, float), "a text", path, f"{place}.{key}")
    for key in ("expect", "fail", "usage"):
        _kind(value.get(key), dict, "an object", path, f"{place}.{key}")
    usage = table(value.get("usage"))
    for key, count in usage.items():
        _kind(count, int, "a whole number", path, f"{place}.usage.{key}")
    return Step(
        _plain(value.get("say")),
        _plain(value.get("think")),
        _calls(value, path, place),
        _expectation(table(value.get("expect")), path, f"{place}.expect"),
        _failure(table(value.get("fail")), path, f"{place}.fail"),
        _seconds(value.get("delay"), path, f"{place}.delay"),
        _plain(value.get("stop")),
        usage,
        f"{path}: {place}",
    )


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


def _calls(value: Mapping[str, Any], path: str, place: str) -> tuple[dict[str, Any], ...]:
    _kind(value.get("calls"), list, "a list", path, f"{place}.calls")
    calls = [*(value.get("calls") or []), *([value["call"]] if value.get("call") is not None else [])]
    for call in calls:
        if not isinstance(call, dict) or not strings(call.get("name")):
            raise ConfigError("a call is {name: ..., input: {...}}", path, place)
        _only(call, {"id", "name", "input", "arguments"}, path, place)
    return tuple(calls)


def _expectation(expect: dict[str, Any], path: str, place: str) -> dict[str, Any]:
    _only(expect, EXPECTATIONS, path, place)
    _kind(expect.get("tool_result"), dict, "an object", path, f"{place}.tool_result")
    for pattern in _listed({**expect, **table(expect.get("tool_result"))}.get("matches")):
        try:
            re.compile(pattern)
        except re.error as wrong:
            raise ConfigError(f"{pattern!r} is no regular expression: {wrong}", path, place) from None
    return expect


def _failure(fail: dict[str, Any], path: str, place: str) -> dict[str, Any]:
    _only(fail, {"kind", "retry_after", "times", "message"}, path, place)
    if fail and fail.get("kind") not in FAILURES:
        raise ConfigError(f"kind is one of {', '.join(FAILURES)}", path, place)
    _kind(fail.get("times"), int, "a whole number", path, f"{place}.times")
    if fail.get("retry_after") is not None:
        fail = {**fail, "retry_after": _seconds(fail["retry_after"], path, f"{place}.retry_after")}
    return fail


def _seconds(value: Any, path: str, place: str) -> float:
    try:
        seconds = float(value or 0)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ConfigError(f"{place.rpartition('.')[2]} is a number of seconds", path, place)
    return seconds


# ---- playing it


def call(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Play the next step and return it in the shape of an Anthropic response.

    Raises ProviderError when the script has no further step, an expectation is not met, or the step says
    `fail`.
    """
    messages = [table(each) for each in payload.get("messages") or []]
    path = context.env.get("BRIDOON_SCRIPT", "")
    if not path:
        said = _text([message for message in messages if message.get("role") == "user"][-1:])
        return _answer(Step(NOT_A_MODEL + said, "", (), {}, {}, 0, "", {}, ""), {}, payload, context)
    steps = load(path, _text(messages[:1]))
    position = _position(messages, context)
    if position >= len(steps):
        raise ProviderError(f"{path}: the script has {len(steps)} steps, and this is answer {position + 1}", "invalid")
    step = steps[position]
    last = _last(messages)
    words = {
        "result": _text(last),
        "user": _text([m for m in messages if m.get("role") == "user"][-1:]),
        **_check(step, last),
    }
    attempts = iter(range(1, 1 << 30))

    def once() -> dict[str, Any]:
        if step.delay:
            retry.sleep(step.delay, context.cancel)
        _fail(step, next(attempts))
        return _answer(step, words, payload, context)

    return retry.persist(once, shown=lambda: False, tell=context.emit, cancel=context.cancel)


def _position(messages: Sequence[Mapping[str, Any]], context: Context) -> int:
    """How many answers the conversation holds; the session knows better than a compacted request."""
    if context.run is not None:
        return sum(message.role == "assistant" for message in context.run.session.messages())
    return sum(message.get("role") == "assistant" for message in messages)


def _last(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What came since the last answer."""
    start = len(messages)
    while start and messages[start - 1].get("role") != "assistant":
        start -= 1
    return list(messages[start:])


def _blocks(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else map(table, content or [])
    return blocks


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    """All text of some messages, results of tools included."""
    texts = []
    for block in _blocks(messages):
        content = block.get("content", block.get("text", ""))
        if isinstance(content, list):
            content = "\n".join(strings(table(each).get("text")) for each in content)
        texts.append(strings(content))
    return "\n".join(text for text in texts if text)


def _check(step: Step, last: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Compare what came with what the step expects; the groups of `matches` for the templates."""
    expect = {**step.expect, **table(step.expect.get("tool_result"))}
    text = _text(last)
    shown = text if len(text) <= 300 else text[:300] + " ..."
    groups: dict[str, str] = {}
    for wanted in _listed(expect.get("contains")):
        if wanted not in text:
            raise ProviderError(f"{step.place}: expected {wanted!r} in the last message: {shown!r}", "invalid")
    for unwanted in _listed(expect.get("absent")):
        if unwanted in text:
            raise ProviderError(
                f"{step.place}: {unwanted!r} was not expected in the last message: {shown!r}", "invalid"
            )
    for pattern in _listed(expect.get("matches")):
        found = re.search(pattern, text, re.S)
        if found is None:
            raise ProviderError(f"{step.place}: nothing matches {pattern!r} in the last message: {shown!r}", "invalid")
        groups.update({f"match.{index}": group or "" for index, group in enumerate(found.groups(), 1)})
    if "failed" in expect:
        results = [block for block in _blocks(last) if block.get("type") == "tool_result"]
        failed = bool(results and results[-1].get("is_error"))
        if failed != bool(expect["failed"]):
            was = "failed" if failed else "succeeded" if results else "was never made"
            raise ProviderError(f"{step.place}: the last call {was}: {shown!r}", "invalid")
    return groups


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [] if value is None else [str(value)]


def _fail(step: Step, attempt: int) -> None:
    """Fail as the step says: `times` attempts, or all of them."""
    if not step.fail or attempt > (step.fail.get("times") or 1 << 30):
        return
    kind = step.fail["kind"]
    after = step.fail.get("retry_after")
    status = {"auth": 401, "rate_limit": 429, "invalid": 400, "server": 503, "overflow": 413}.get(kind, 0)
    raise Refusal(
        str(step.fail.get("message") or f"the script failed on purpose ({kind})"),
        kind,
        status=status,
        retry_after=after,
        retried=kind in ("rate_limit", "server", "network", "incomplete"),
    )


def _answer(step: Step, words: Mapping[str, str], payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """The response of a step, shown word by word."""
    names = receive.claims(payload, context)
    say, think = _filled(step.say, words), _filled(step.think, words)
    content: list[dict[str, Any]] = []
    for kind, text in (("thinking", think), ("text", say)):
        if text:
            content.append({"type": kind, kind: text, **({"signature": "script"} if kind == "thinking" else {})})
            for word in re.findall(r"\S+\s*|\s+", text):
                context.emit({"type": kind, "text": word})
    for each in step.calls:
        given = each["arguments"] if "arguments" in each else _filled(each.get("input") or {}, words)
        call_ = {
            "type": "tool_use",
            "id": names.claim(strings(each.get("id"))),
            "name": each["name"],
            "input": given,
        }
        content.append(call_)
        shown = given if isinstance(given, dict) else {}
        context.emit({"type": "tool_start", "id": call_["id"], "name": call_["name"], "input": shown})
    counts = {
        "input_tokens": len(_text(payload.get("messages") or []).split()),
        "output_tokens": len(say.split()),
    }
    return {
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": step.stop or ("tool_use" if step.calls else "end_turn"),
        "usage": {**counts, **step.usage},
    }


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    """A value with `{{result}}`, `{{user}}` and `{{match.1}}` replaced in its strings."""
    match value:
        case str():
            return re.sub(r"\{\{\s*([a-z.0-9]+)\s*\}\}", lambda found: words.get(found[1], found[0]), value)
        case list():
            return [_filled(each, words) for each in value]
        case dict():
            return {key: _filled(each, words) for key, each in value.items()}
        case _:
            return value
