"""A value of the database as text."""

from __future__ import annotations

from typing import Any


def text_of(value: Any) -> str:
    """What people see of a value: nothing of NULL, numbers in full, the size of bytes."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float):
        return real(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value)} bytes>"
    return str(value)


def real(value: float) -> str:
    """The shortest decimal that means the number, without an exponent and without `.0`."""
    text = repr(value)
    if "e" in text:
        from decimal import Decimal

        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def plain(value: Any) -> Any:
    """A cell as JSON can hold it: a blob is `{"blob": base64}`, a number without end `{"real": "inf"}`."""
    if isinstance(value, bytes):
        from base64 import b64encode

        return {"blob": b64encode(value).decode("ascii")}
    if isinstance(value, float) and value - value != 0:
        return {"real": str(value)}
    return value
