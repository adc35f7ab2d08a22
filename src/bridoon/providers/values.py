"""JSON as models write it: arguments of calls, text with broken surrogates; and JSON as APIs want it."""

from __future__ import annotations

import json
from typing import Any

from bridoon.wire.jsontext import dump, load
from bridoon.wire.jsontext import number as _number

QUOTED = 200
"""Characters of unusable arguments that the model is shown."""


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
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a string", type(None): "null", bool: "a boolean"}.get(
            type(value), "a number"
        )
        shown = given if isinstance(given, str) else dump(given)
        return {}, f"the arguments are {kind}, not a JSON object: {shown[:QUOTED]}"
    return value, ""


def parse(text: str) -> Any:
    """A JSON value with exact numbers and without lone surrogates. Raises ValueError, RecursionError."""
    value = load(text)
    return whole_value(value) if "\\u" in text or not _clean(text) else value


def document(text: str) -> Any:
    """A JSON answer of an API. What servers put in against the rules (NaN in timings) counts as null."""
    return json.loads(text, parse_float=_number, parse_constant=lambda word: None)


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
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else 0


def strings(value: Any) -> str:
    """The value if it is a string, else nothing."""
    return value if isinstance(value, str) else ""


def table(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
