"""JSON whose numbers survive: integers of any size, and decimals that a float would change."""

from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 4000
"""Digits before the point of a number that is accepted: Python refuses to print longer ones."""

_plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dump(value: Any) -> str:
    """A value as compact JSON. Decimals, which `load` makes, are written digit by digit."""
    try:
        return _plain(value)
    except TypeError:
        return _with_decimals(value)


def load(text: str) -> Any:
    """Read JSON. A number that a float would change becomes a Decimal.

    Raises ValueError for what JSON does not allow (NaN and infinity are no numbers), RecursionError for text
    that is nested too deeply.
    """
    return json.loads(text, parse_float=number, parse_constant=_refuse)


def number(text: str) -> Any:
    """The float of a JSON number, or a Decimal where the float is another number. Raises ValueError."""
    value = float(text)
    if repr(value) == text:
        return value
    from decimal import Decimal

    exact = Decimal(text)
    if exact.adjusted() > LONGEST:
        raise ValueError(f"the number {text[:40]} is too large")
    if value not in (float("inf"), float("-inf")) and Decimal(repr(value)) == exact:
        return value
    return exact


def _with_decimals(value: Any) -> str:
    import os
    from decimal import Decimal

    mark = os.urandom(12).hex()
    decimals: list[str] = []

    def stand_in(odd: Any) -> str:
        if not isinstance(odd, Decimal):
            raise TypeError(f"{type(odd).__name__} is no JSON value")
        decimals.append(str(odd))
        return f"{mark}{len(decimals) - 1}"

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=stand_in)
    return re.sub(f'"{mark}(\\d+)"', lambda found: decimals[int(found[1])], text)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")
