"""JSON as models write it: arguments of calls, text with broken surrogates; and JSON as APIs want it."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from bridoon.wire.jsontext import dump, load
from bridoon.wire.jsontext import number as _number

QUOTED = 200
"""Characters of unusable arguments that the model is shown."""

DEEPEST = 128
"""Levels of nesting that arguments may have. What is deeper would run into Python's limit somewhere on its
way.
"""

LARGEST = 1 << 53
"""A count above this is no count."""

GIVEN = ("input", "arguments")
"""Keys under which APIs put the arguments of a call."""


def encoded(value: Any) -> bytes:
    """A value as compact JSON in UTF-8; what UTF-8 cannot hold becomes a question mark."""
    return dump(value).encode("utf-8", "replace")


def arguments(given: Any) -> tuple[dict[str, Any], str]:
    """The input of a call and, when it cannot be used, why not: such a call never runs.

    `given` is the JSON text of the protocols that send text, or the value of those that send values. No text
    at all is an empty input.
    """
    if given is None or given == "":
        return {}, ""
    value: Any = given
    if isinstance(given, str):
        if not given.strip():
            return {}, ""
        try:
            value = parse(given)
        except (ValueError, RecursionError) as wrong:
            reason = "they are nested too deeply" if isinstance(wrong, RecursionError) else str(wrong)
            return {}, f"the arguments are not valid JSON ({reason}): {given[:QUOTED]}"
    if too_deep(value):
        return {}, f"the arguments are nested more than {DEEPEST} levels deep"
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a string", type(None): "null", bool: "a boolean"}.get(type(value), "a number")
        shown = given if isinstance(given, str) else dump(given)
        return {}, f"the arguments are {kind}, not a JSON object: {shown[:QUOTED]}"
    return value, ""


def parse(text: str) -> Any:
    """A JSON value with exact numbers and without lone surrogates. Raises ValueError, RecursionError."""
    value = load(text)
    return whole_value(value) if "\\u" in text or not _clean(text) else value


def document(text: str) -> Any:
    """A JSON answer or event of an API, with exact numbers. Raises ValueError, RecursionError.

    What servers put in against the rules (NaN in timings) counts as null. Arguments of calls that hold such
    a thing, or that are nested too deeply, become their own text, so that `arguments` refuses them.
    """
    if "NaN" not in text and "Infinity" not in text and text.count("{") + text.count("[") <= DEEPEST:
        return _exact(text)
    return _settled(_exact(text), 2 * DEEPEST)


_exact = json.JSONDecoder(parse_float=_number, parse_constant=float).decode


def _settled(value: Any, levels: int) -> Any:
    match value:
        case float() if not isfinite(value):
            return None
        case list() | dict() if levels == 0:
            raise ValueError("it is nested too deeply")
        case list():
            return [_settled(each, levels - 1) for each in value]
        case dict():
            return {
                key: json.dumps(value_, ensure_ascii=False, default=str)
                if key in GIVEN and isinstance(value_, (dict, list)) and (too_deep(value_) or _odd(value_))
                else _settled(value_, levels - 1)
                for key, value_ in value.items()
            }
        case _:
            return value


def too_deep(value: Any) -> bool:
    """Whether a JSON value has more than DEEPEST levels."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(DEEPEST):
        level = [below for each in level for below in _inside(each) if isinstance(below, (dict, list))]
        if not level:
            return False
    return True


def _odd(value: Any) -> bool:
    """Whether a number that JSON does not have is somewhere in a value."""
    if isinstance(value, (dict, list)):
        return any(_odd(each) for each in _inside(value))
    return isinstance(value, float) and not isfinite(value)


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def whole(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if _clean(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def whole_value(value: Any) -> Any:
    """The same for every string of a JSON value, keys included."""
    match value:
        case str():
            return whole(value)
        case list():
            return [whole_value(each) for each in value]
        case dict():
            return {whole(key): whole_value(each) for key, each in value.items()}
        case _:
            return value


class Halves:
    """Text that comes in pieces which may cut a surrogate pair in two."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """What can be shown so far: a high surrogate at the end waits for its other half."""
        text = self._half + piece
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole(text)

    def end(self) -> str:
        """What is left when nothing follows."""
        text, self._half = whole(self._half), ""
        return text


def _clean(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def number(value: Any) -> int:
    """A count of an API, 0 when it is missing or odd."""
    counts = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < LARGEST
    return int(value) if counts else 0


def strings(value: Any) -> str:
    """The value if it is a string, else nothing."""
    return value if isinstance(value, str) else ""


def table(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
