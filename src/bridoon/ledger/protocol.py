"""The envelope of protocol version 1, in which programs get their answers: one line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridoon.ledger.errors import TooMuch

VERSION = 1
LARGEST = 16 << 20
"""Bytes that an answer may have."""
REQUEST_ID = 128
"""Characters of a request id."""


def request_id(env: Mapping[str, str]) -> str:
    """The id of this request: HARNESS_REQUEST_ID, else one of our own."""
    given = env.get("HARNESS_REQUEST_ID", "").strip()[:REQUEST_ID]
    if given:
        return given
    import os
    import time

    return f"req-{os.getpid()}-{time.time_ns()}"


def answered(name: str, result: Any, env: Mapping[str, str]) -> bytes:
    """The line for a result. Raises TooMuch when it is larger than anybody reads."""
    return limited(line({"operation": name, "protocol_version": VERSION, "request_id": request_id(env),
                         "result": result}))  # fmt: skip


def refused(name: str, wrong: Exception, env: Mapping[str, str]) -> bytes:
    """The line for an error."""
    details = dict(getattr(wrong, "details", None) or {})
    hint = getattr(wrong, "hint", "")
    if hint:
        details["hint"] = hint
    error = {
        "code": code_of(wrong),
        "details": details,
        "message": str(wrong)[: LARGEST >> 5],
        "retryable": False,
    }
    whole = {"error": error, "operation": name, "protocol_version": VERSION, "request_id": request_id(env)}
    return line(whole)


def code_of(wrong: Exception) -> str:
    """The word for a kind of error."""
    known = getattr(wrong, "code", None)
    if isinstance(known, str):
        return known
    return "INVALID_ARGUMENT" if getattr(wrong, "exit_code", 1) == 2 else "INTERNAL_ERROR"


def exit_of(wrong: Exception) -> int:
    """The exit code for a kind of error, for those who asked for JSON."""
    machine = getattr(wrong, "machine_exit", None)
    if isinstance(machine, int):
        return machine
    return 2 if getattr(wrong, "exit_code", 1) == 2 else 5


def line(value: Any) -> bytes:
    """A value as one line of JSON in UTF-8."""
    return encoded(value) + b"\n"


def encoded(value: Any) -> bytes:
    """A value as JSON without line ends. What JSON cannot hold is told as text."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_other)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), default=_other)
    # A surrogate becomes `\udc80`, which is how JSON writes it.
    return text.encode("utf-8", "backslashreplace")


def limited(line: bytes) -> bytes:
    """The line itself. Raises TooMuch."""
    if len(line) > LARGEST:
        raise TooMuch(
            f"the answer has {len(line)} bytes of JSON; {LARGEST} are allowed", "ask for less, for example with --limit"
        )
    return line


def _other(value: Any) -> str:
    return f"<{len(value)} bytes>" if isinstance(value, (bytes, bytearray, memoryview)) else str(value)


def _finite(value: Any) -> Any:
    """The same without infinities."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
