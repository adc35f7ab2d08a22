"""What an API's refusal means: the kind of error, its words without any key, when to try again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bridoon.errors import ProviderError

RETRIED = frozenset({408, 409, 425, 429})
"""Status codes below 500 after which the same request may succeed."""

FINAL = frozenset({501, 505})
"""Status codes from 500 on after which it cannot."""

TEXT_LIMIT = 500
"""Characters of an API's own words in a message."""

TOO_LONG = (
    r"prompt is too long|context.{0,12}(length|window|size)|too many (input )?tokens|maximum.{0,20}tokens|"
    r"exceeds? .{0,40}(context|token limit)|input is too long|request_too_large|"
    r"maximum (model|prompt) length|prompt exceeds|messages\[\d+\].{0,40}string too long|"
    r"inputs?`? tokens.{0,40}must be <="
)
"""How services say that a conversation does not fit their model's window (a pattern)."""

NO_IMAGES = (
    r"(image|vision|multimodal).{0,40}(not support|unsupported|not allowed|not enabled)|mmproj|"
    r"(not support|unsupported|no endpoints).{0,60}(image|vision|multimodal)"
)
"""How services say that their model sees no images (a pattern)."""

TOO_LARGE = r"request too large"
"""How services say with 429 that a request is larger than all that a minute allows: waiting does not help."""

KEY = r"\b(?:sk|gsk|xai|pplx|fw)[-_][\w*.\-]{8,}|\bAIza[\w\-]{20,}|(?<=Bearer )\S{8,}"
"""Keys as services write them: an API may quote part of the key that it was shown (a pattern)."""


class Refusal(ProviderError):
    """An answer that says no. `retried` tells whether another attempt may help, `parameter` what was not
    wanted.
    """

    def __init__(self, message: str, kind: str, *, status: int, retry_after: float | None, retried: bool) -> None:
        super().__init__(message, kind, status=status, retry_after=retry_after)
        self.retried = retried


def refusal(status: int, headers: Mapping[str, str], body: bytes, where: str, secrets: Iterable[str]) -> Refusal:
    """The error for an answer with a status other than 200. `where` is the origin that answered."""
    value = _json(body)
    words, code = told(value) if value is not None else (_plain(body, headers), "")
    kind = kind_of(status, words, code)
    if 300 <= status < 400:
        target = re.sub(r"[?#].*", "", headers.get("location", "another place"))
        words = f"it redirects to {target}, and redirects are not followed: set the URL to the right one"
    text = f"{where} answered {status}" + (f": {scrub(words, secrets)}" if words else "")
    asked = headers.get("x-should-retry", "").lower()
    final = asked == "false" or code == "insufficient_quota" or kind == "overflow" or sees_none(words)
    retried = (passes(status) or asked == "true") and not final
    return Refusal(text, kind, status=status, retry_after=retry_after(headers), retried=retried)


def sees_none(words: str) -> bool:
    """Whether a refusal says that the model sees no images."""
    return bool(re.search(NO_IMAGES, words, re.I))


def passes(status: int) -> bool:
    """Whether the same request may succeed later."""
    return status in RETRIED or (status >= 500 and status not in FINAL)


def in_stream(value: Any, where: str, secrets: Iterable[str]) -> Refusal:
    """The error for an error event inside a stream whose status was 200."""
    words, code = told(value)
    status = _number(code) or _STATUS.get(code, 0)
    kind = kind_of(status or 500, words, code)
    text = f"{where} broke off: {scrub(words or code or 'an error without words', secrets)}"
    retried = kind != "overflow" and passes(status or 500)
    return Refusal(text, kind, status=status, retry_after=None, retried=retried)


_STATUS = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 402,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "request_too_large": 413,
    "insufficient_quota": 402,
    "context_length_exceeded": 400,
}


def told(value: Any) -> tuple[str, str]:
    """The words and the code of an API's error object, in any of the usual shapes."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return (value if isinstance(value, str) else "", "")
    error = value.get("error", value)
    if isinstance(error, str):
        return error, ""
    if not isinstance(error, dict):
        return "", ""
    words = next((error[key] for key in ("message", "detail", "msg") if isinstance(error.get(key), str)), "")
    codes = [error.get(key) for key in ("code", "type", "status")]
    code = next((str(each) for each in codes if isinstance(each, (str, int)) and str(each) not in ("", "error")), "")
    if not words and "detail" in error:
        words = json.dumps(error["detail"], ensure_ascii=False)
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        words = f"{words} ({metadata['raw']})"
    return words, code


def kind_of(status: int, words: str, code: str) -> str:
    """The kind of a ProviderError for a status and what the API said."""
    if status == 413 or (status in (400, 422, 500) and re.search(TOO_LONG, f"{words} {code}", re.I)):
        return "overflow"
    if status == 429 and re.search(TOO_LARGE, words, re.I):
        return "overflow"
    if status in (401, 403, 407):
        return "auth"
    if status == 429:
        return "rate_limit"
    if status >= 500 or status in (408, 409, 425):
        return "server"
    return "invalid"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: a number, or a date."""
    text = headers.get("retry-after", "").strip()
    for said, unit in ((headers.get("retry-after-ms", ""), 1000), (text, 1)):
        try:
            seconds = float(said) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if seconds == seconds else None  # "nan" is no time
    if not text:
        return None
    import time
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return None


def scrub(text: str, secrets: Iterable[str]) -> str:
    """A text in which no key stands and nothing that a terminal acts on, cut to what a person reads."""
    for secret in secrets:
        for word in {secret, *secret.split()}:
            if len(word) >= 6:
                text = text.replace(word, "[key]")
    text = re.sub(KEY, "[key]", text)
    text = " ".join(text.split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "\ufffd" for c in text[: 2 * TEXT_LIMIT])
    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + " ..."


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _plain(body: bytes, headers: Mapping[str, str]) -> str:
    text = body.decode("utf-8", "replace")
    if "html" in headers.get("content-type", "") or text.lstrip()[:1] == "<":
        title = re.search(r"<title[^>]*>(.*?)</title>", text[:4096], re.I | re.S)
        return f"a web page ({title.group(1).strip()})" if title else "a web page"
    return text.strip()


def _number(code: str) -> int:
    return int(code) if code.isascii() and code.isdigit() and len(code) == 3 else 0
