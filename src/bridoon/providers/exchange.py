"""One call of a model API: send the request, read the stream or the document, retry what passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from bridoon.errors import ProviderError
from bridoon.providers import address, failures, http, retry
from bridoon.providers.values import document, table
from bridoon.sdk.script import Context
from bridoon.wire import sse
from bridoon.wire.jsontext import dump
from bridoon.wire.lines import LineTooLong

LINGER = 5.0
"""Seconds to wait for what may follow a complete answer (the token counts), when the server does not end
it.
"""

SLOW_LIMIT = 600.0
"""Seconds without a byte when the answer is not streamed: nothing comes before all of it is made."""

ERROR_BODY = 64 << 10
"""Bytes that are read of a refusal."""

DOCUMENT_LIMIT = 64 << 20
"""Bytes of an answer that is not streamed."""

Events = list[dict[str, Any]]


class Endpoint(NamedTuple):
    """Where an API answers, and how we are let in."""

    url: str
    headers: Mapping[str, str]
    secrets: Sequence[str] = ()
    """Keys, which must not appear in messages."""

    @property
    def origin(self) -> str:
        """Scheme, host and port: how messages name the API."""
        return address.parse(self.url).origin


class Reader(Protocol):
    """Puts one stream together (see `anthropic.Reader`)."""

    @property
    def complete(self) -> bool:
        """Whether the answer is whole: its terminal event has come."""

    @property
    def ended(self) -> bool:
        """Whether nothing more can follow."""

    def feed(self, event: sse.Event) -> Events: ...
    def close(self) -> Events: ...
    def result(self) -> dict[str, Any]: ...


class Spelling(NamedTuple):
    """What `exchange` must know of a protocol."""

    reader: Callable[[], Reader]
    shown: Callable[[Mapping[str, Any]], Events]
    """What to show of a response that came in one piece."""


def body(head: Mapping[str, Any], field: str, items: bytes) -> bytes:
    """A request: the fields of `head`, and `field` with a JSON array that is encoded already."""
    return dump(head)[:-1].encode("utf-8", "replace") + b',"' + field.encode() + b'":' + items + b"}"


def exchange(endpoint: Endpoint, content: bytes, spelling: Spelling, context: Context) -> dict[str, Any]:
    """Send a request and return the response in the shape that it has without streaming.

    What arrives is shown through `context.emit`. Raises ProviderError; its `partial` is the text that was
    shown.
    """
    call = _Call(endpoint, content, spelling, context)
    try:
        return retry.persist(call.once, shown=lambda: call.shown, tell=context.emit, cancel=context.cancel)
    except ProviderError as wrong:
        wrong.partial = "".join(call.text)
        raise


class _Call:
    def __init__(self, endpoint: Endpoint, content: bytes, spelling: Spelling, context: Context) -> None:
        self.endpoint, self.content, self.spelling, self.context = endpoint, content, spelling, context
        self.shown = False
        self.text: list[str] = []
        self.idle = idle_limit(context.env)

    def once(self) -> dict[str, Any]:
        """One attempt."""
        context = self.context
        request = http.Request(self.endpoint.url, self.endpoint.headers, self.content)
        response = http.pool().request(request, context.env, context.cancel, self.idle)
        try:
            coding = response.headers.get("content-encoding", "identity").lower()
            plain = coding in ("", "identity")
            if not 200 <= response.status < 300:
                told = response.read(ERROR_BODY) if plain else b""
                raise failures.refusal(
                    response.status, response.headers, told, self.endpoint.origin, self.endpoint.secrets
                )
            if not plain:
                raise ProviderError(f"{self.endpoint.origin} answered in an encoding that was not asked for", "invalid")
            answer = self._stream(response) if _streamed(response) else self._document(response)
        except ProviderError:
            response.finish()
            raise
        except BaseException:
            response.close()
            raise
        response.finish()
        return answer

    def _stream(self, response: http.Response) -> dict[str, Any]:
        decoder, reader = sse.Decoder(), self.spelling.reader()
        try:
            for chunk in response:
                if self.context.cancel is not None and self.context.cancel.is_set:
                    self.context.cancel.check()
                self._feed(decoder.feed(chunk), reader)
                if reader.ended:
                    break
                if reader.complete:
                    response.limit_idle(min(LINGER, self.idle))
            else:
                self._feed(decoder.end(), reader)
        except LineTooLong as wrong:
            response.close()
            raise ProviderError(f"{self.endpoint.origin} sent a stream that is not sane: {wrong}", "invalid") from None
        except ProviderError as wrong:
            if not reader.complete or isinstance(wrong, failures.Refusal):
                raise
        self._show(reader.close())
        if not reader.complete:
            self._cut_short(decoder.stray)
        return reader.result()

    def _cut_short(self, stray: str) -> None:
        origin, secrets = self.endpoint.origin, self.endpoint.secrets
        if stray.strip():
            text = f"{origin} sent no event stream: {failures.scrub(stray, secrets)}"
            raise ProviderError(text, "invalid")
        raise ProviderError(f"{origin} ended its answer before it was complete", "incomplete")

    def _feed(self, events: list[sse.Event], reader: Reader) -> None:
        lines: Events = []
        for event in events:
            if reader.ended:
                break
            try:
                lines += reader.feed(event)
            except (ValueError, RecursionError):
                self._show(lines)
                shown = failures.scrub(event.data[:200], self.endpoint.secrets)
                raise ProviderError(
                    f"{self.endpoint.origin} sent an event that is no JSON: {shown}", "incomplete"
                ) from None
            except ProviderError:
                self._show(lines)
                raise
        self._show(lines)

    def _document(self, response: http.Response) -> dict[str, Any]:
        content = response.read(DOCUMENT_LIMIT)
        try:
            value = document(content.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as wrong:
            raise ProviderError(f"{self.endpoint.origin} answered with invalid JSON ({wrong})", "incomplete") from None
        raw = table(value)
        if not raw or (raw.get("error") and not any(raw.get(key) for key in ("content", "choices", "output"))):
            raise failures.in_stream(value, self.endpoint.origin, self.endpoint.secrets)
        self._show(self.spelling.shown(raw))
        return raw

    def _show(self, lines: Events) -> None:
        for line in merged(lines):
            self.shown = True
            if line["type"] == "text":
                self.text.append(line["text"])
            self.context.emit(line)


def _streamed(response: http.Response) -> bool:
    """Whether an answer is a stream of events. What it begins with counts more than what its header says."""
    begins = response.beginning().removeprefix(b"\xef\xbb\xbf").lstrip()[:6]
    if begins[:1] == b"{":
        return False
    kind = response.headers.get("content-type", "").lower()
    return begins.startswith((b"data:", b"event:", b":")) or "json" not in kind


def merged(lines: Events) -> Events:
    """Neighbouring pieces of text that arrived together, as one: fewer lines to write and to draw."""
    result: Events = []
    for line in lines:
        if result and line["type"] in ("text", "thinking") and result[-1]["type"] == line["type"]:
            result[-1] = {**line, "text": result[-1]["text"] + line["text"]}
        else:
            result.append(line)
    return result


def idle_limit(env: Mapping[str, str]) -> float:
    """Seconds without a byte before an answer is given up (HARNESS_IDLE_TIMEOUT)."""
    try:
        value = float(env.get("HARNESS_IDLE_TIMEOUT") or "nan")
    except ValueError:
        value = 0.0
    if value > 0:
        return value
    return http.IDLE_LIMIT if streams(env) else SLOW_LIMIT


def streams(env: Mapping[str, str]) -> bool:
    """Whether answers are asked for as streams (HARNESS_STREAM=never says no)."""
    return env.get("HARNESS_STREAM", "").lower() != "never"
