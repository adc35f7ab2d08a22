"""What a model passed to a tool, checked: what is wrong is said in words that help to mend it."""

from __future__ import annotations

from typing import Any

from bridoon.errors import BridoonError

_JSON_NAMES = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


def json_name(value: object) -> str:
    """How JSON calls the type of a value: `an array`."""
    return _JSON_NAMES.get(type(value), type(value).__name__)


def text(given: dict[str, Any], name: str) -> str:
    """A string that must be there; it may be empty. Raises BridoonError."""
    value = given.get(name)
    if value is None:
        raise BridoonError(f"{name} is required")
    if not isinstance(value, str):
        raise BridoonError(f"{name} must be a string, not {json_name(value)}")
    return value


def whole_number(given: dict[str, Any], name: str) -> int | None:
    """A number from 0 that may be missing; digits in a string will do. Raises BridoonError."""
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        shown = repr(value) if isinstance(value, int | float | str) else json_name(value)
        raise BridoonError(f"{name} must be a whole number from 0, not {shown[:60]}")
    return value


def encode(text: str) -> bytes:
    """The text in UTF-8; half a surrogate pair, which JSON can hold and UTF-8 cannot, becomes U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
