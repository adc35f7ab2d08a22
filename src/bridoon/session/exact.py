"""JSON that loses nothing: the arguments of calls with their numbers, and whole messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from bridoon.model.message import (
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

_SURROGATE = re.compile("[\ud800-\udfff]+")


def dump(value: Any) -> str:
    """Compact JSON on one line. Decimals, which `load` makes, are written digit by digit."""
    decimals: list[str] = []
    mark = ""

    def number(odd: Any) -> str:
        nonlocal mark
        if type(odd).__name__ != "Decimal":
            raise TypeError(f"{type(odd).__name__} is no JSON value")
        import os

        mark = mark or os.urandom(12).hex()
        decimals.append(str(odd))
        return f"{mark}{len(decimals) - 1}"

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=number)
    if not mark:
        return text
    return re.sub(f'"{mark}(\\d+)"', lambda found: decimals[int(found[1])], text)


def _float(text: str) -> Any:
    value = float(text)
    if repr(value) == text:
        return value
    from decimal import Decimal

    exact = Decimal(text)
    return value if abs(value) != float("inf") and Decimal(repr(value)) == exact else exact


_decoder = json.JSONDecoder(parse_float=_float)


def load(text: str) -> Any:
    """Read JSON. A number that a float would change becomes a Decimal. Raises ValueError, also for JSON that is
    nested too deeply."""
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def clean(text: str) -> str:
    """Text that UTF-8 can hold: halves of a surrogate pair are joined, lone ones become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(
            lambda found: found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), text
        )
    return text


def clean_value(value: Any) -> Any:
    """`clean` for every text inside a JSON value or a message."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key) if isinstance(key, str) else key: clean_value(inner) for key, inner in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return type(value)(*map(clean_value, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(clean_value, value))
    return value


def to_json(message: Message, image: Callable[[Image], dict[str, Any]]) -> dict[str, Any]:
    """A message as a JSON object; `image` says how a picture is written."""
    value: dict[str, Any] = {"role": message.role, "seq": message.seq, "at": message.at}
    for key in ("model", "provider", "stop"):
        if getattr(message, key):
            value[key] = getattr(message, key)
    if message.usage is not None:
        value["usage"] = message.usage._asdict()
    if message.extra:
        value["extra"] = dict(message.extra)
    value["parts"] = [_part_to_json(part, image) for part in message.parts]
    return value


def _part_to_json(part: Part, image: Callable[[Image], dict[str, Any]]) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking():
            return {"type": "thinking", **{key: value for key, value in part._asdict().items() if value}}
        case Image():
            return {"type": "image", **image(part)}
        case ToolCall(id, name, input, error):
            return {
                "type": "tool_call",
                "id": id,
                "name": name,
                "input": input,
                **({"error": error} if error else {}),
            }
        case ToolResult(call_id, name, content, failed, images):
            value = {
                "type": "tool_result",
                "call_id": call_id,
                "name": name,
                "content": content,
                "failed": failed,
            }
            return {**value, "images": [image(each) for each in images]} if images else value


def from_json(value: dict[str, Any], image: Callable[[dict[str, Any]], Image]) -> Message:
    """The message of `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
    usage = value.get("usage")
    return Message(
        value["role"],
        tuple(_part_from_json(part, image) for part in value["parts"]),
        seq=value["seq"],
        at=value["at"],
        model=value.get("model", ""),
        provider=value.get("provider", ""),
        stop=value.get("stop", ""),
        usage=None if usage is None else Usage(**usage),
        extra=value.get("extra", {}),
    )


def _part_from_json(value: dict[str, Any], image: Callable[[dict[str, Any]], Image]) -> Part:
    match value["type"]:
        case "text":
            return Text(value["text"])
        case "thinking":
            return Thinking(value.get("text", ""), value.get("signature", ""), value.get("redacted", ""))
        case "image":
            return image(value)
        case "tool_call":
            return ToolCall(value["id"], value["name"], value["input"], value.get("error", ""))
        case "tool_result":
            images = tuple(image(each) for each in value.get("images", ()))
            return ToolResult(value["call_id"], value["name"], value["content"], value["failed"], images)
        case other:
            raise ValueError(f"unknown part {other!r}")
