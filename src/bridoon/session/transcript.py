"""A message as the Markdown file that holds it, and back.

    ---
    role: assistant
    seq: 0002
    timestamp: 2025-01-02T03:04:05+00:00
    stop: tool_calls
    ---
    Let me look.

    ```tool_call id=c1 name=bash
    {"command":"ls"}
    ```

`decode(encode(m), name) == m` for what people and models ordinarily write. Where it is not (empty text
blocks, two texts in a row, odd headers), the store keeps the exact message beside the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from bridoon.model.message import (
    Image,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from bridoon.session import exact, images
from bridoon.wire import fence, frontmatter

FILE_NAME = re.compile(r"([0-9]+)-([a-z_]+)\.md")
"""Names that count as messages: `0002-assistant.md`. Anything else in the folder is left alone."""

ROLES = ("user", "assistant", "tool_result")

Load = Callable[[str], bytes | None]
"""Reads a picture that a message names, relative to the session; None when it cannot."""

_SPACED = ("tool_call",)
_KINDS = {
    "assistant": ("thinking", "tool_call", "image"),
    "user": ("image",),
    "tool_result": ("image",),
}
_TOKENS = ("tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_write")
_COMMON = frozenset({"role", "seq", "timestamp", "model", "provider", "stop", "escape", "id_encoding", *_TOKENS})
_OWN = {
    "user": _COMMON,
    "assistant": _COMMON | {"call_errors"},
    "tool_result": _COMMON | {"call_id", "tool", "error"},
}
_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\s]")
_QUOTED = re.compile(r"[\x00-\x20\x7f-\xa0\s%]")
_C1 = re.compile(r"[\x7f-\x9f]")
_HEX = re.compile(rb"[0-9A-Fa-f]{2}")


class UnknownRole(ValueError):
    """A message of a kind that we do not know; readers skip it."""


def file_name(message: Message) -> str:
    """The file of a message: its number with at least four digits, and its role."""
    return f"{message.seq:04d}-{message.role}.md"


def encode(message: Message, files: Sequence[str] | None = None) -> str:
    """The text of a message file. `files` names its pictures, `images.names` by default."""
    pieces = list(_pieces(message, iter(images.names(message) if files is None else files)))
    result = next((part for part in message.parts if isinstance(part, ToolResult)), None)
    words = [value for piece in pieces if isinstance(piece, fence.Block) for value in piece.attrs.values()]
    if result is not None:
        words += result.call_id, result.name
    quote = any(map(_UNSAFE.search, words))
    if quote:
        pieces = [_with_attrs(piece, _quote) for piece in pieces]
    joined = fence.join(pieces, _KINDS[message.role], _SPACED)

    headers = {"role": message.role, "seq": f"{message.seq:04d}", "timestamp": message.at}
    if message.role == "tool_result" and result is not None:
        call_id, tool = result.call_id, result.name
        headers["call_id"], headers["tool"] = (_quote(call_id), _quote(tool)) if quote else (call_id, tool)
        headers["error"] = "true" if result.failed else "false"
    headers.update(_about(message))
    if quote:
        headers["id_encoding"] = "pct"
    if joined.escaped:
        headers["escape"] = "1"
    own = _OWN[message.role]
    headers |= {key: value for key, value in message.extra.items() if key not in own and _KEY.fullmatch(key)}
    return frontmatter.write_headers(headers, joined.text)


def _about(message: Message) -> dict[str, str]:
    """The headers of an answer; other messages have them only when somebody filled them in."""
    always = message.role == "assistant"
    found = {
        key: value
        for key, value in (("model", message.model), ("provider", message.provider), ("stop", message.stop))
        if value or (always and key != "stop")
    }
    if message.usage is not None:
        cached = any(message.usage[2:])
        found.update(
            (key, str(count)) for key, count in zip(_TOKENS[: 4 if cached else 2], message.usage, strict=False)
        )
    errors = {call.id: call.error for call in message.calls if call.error} if always else {}
    if errors:
        found["call_errors"] = _C1.sub(lambda odd: f"\\u{ord(odd[0]):04x}", exact.dump(errors))
    return found


def _pieces(message: Message, files: Iterator[str]) -> Iterator[fence.Piece]:
    for part in message.parts:
        match part:
            case Text(text):
                yield text
            case Thinking(text, signature, redacted):
                attrs = {"signature": signature, "redacted": redacted}
                yield fence.Block("thinking", {key: value for key, value in attrs.items() if value}, text)
            case Image(mime_type):
                yield fence.Block("image", {"mime": mime_type, "file": next(files)})
            case ToolCall(id, name, input):
                yield fence.Block("tool_call", {"id": id, "name": name}, exact.dump(input))
            case ToolResult(content=content, images=pictures):
                yield content
                for picture in pictures:
                    yield fence.Block("image", {"mime": picture.mime_type, "file": next(files)})


def decode(text: str, filename: str, load: Load = lambda path: None) -> Message:
    """The message of a file's text; number and, without front matter, role come from the file's name.

    Reads what people leave behind: CRLF, a byte order mark, no final line end, no front matter, broken
    arguments. Raises UnknownRole.
    """
    named = FILE_NAME.fullmatch(filename)
    headers, body = frontmatter.read_headers(text)
    role = headers.get("role") or (named[2] if named else "")
    if role not in ROLES:
        raise UnknownRole(role)
    unquote = _unquote if headers.get("id_encoding") == "pct" else _as_it_is
    calls_allowed = role == "assistant" and headers.get("stop", "") in ("", "tool_calls")

    def accept(kind: str, attrs: dict[str, str]) -> bool:
        match kind:
            case "thinking":
                return attrs.keys() <= {"signature", "redacted"}
            case "tool_call":
                return calls_allowed and list(attrs) == ["id", "name"]
            case _:
                return list(attrs) == ["mime", "file"]

    escaped = headers.get("escape") == "1"
    pieces = fence.split(body, _KINDS[role], _SPACED, escaped=escaped, accept=accept)
    pieces = [_with_attrs(piece, unquote) for piece in pieces]
    if role == "tool_result":
        parts: tuple[Part, ...] = (_result(headers, pieces, unquote, load),)
    else:
        errors = _errors(headers.get("call_errors", ""))
        parts = tuple(_part(piece, errors, load) for piece in pieces)
    return Message(
        cast(Role, role),
        parts,
        seq=int(named[1]) if named else _int(headers.get("seq", "")) or 0,
        at=headers.get("timestamp", ""),
        model=headers.get("model", ""),
        provider=headers.get("provider", ""),
        stop=headers.get("stop", ""),
        usage=_usage(headers),
        extra={key: value for key, value in headers.items() if key not in _OWN[role]},
    )


def _part(piece: fence.Piece, errors: dict[str, str], load: Load) -> Part:
    match piece:
        case str():
            return Text(piece)
        case fence.Block("thinking", attrs, body):
            return Thinking(body, attrs.get("signature", ""), attrs.get("redacted", ""))
        case fence.Block("tool_call", attrs, body):
            return _call(attrs["id"], attrs["name"], body, errors)
        case _:
            return _picture(piece, load)


def _result(
    headers: dict[str, str], pieces: list[fence.Piece], unquote: Callable[[str], str], load: Load
) -> ToolResult:
    texts: list[str] = []
    pictures: list[Image] = []
    for piece in pieces:
        seen = Text(piece) if isinstance(piece, str) else _picture(piece, load)
        if isinstance(seen, Image):
            pictures.append(seen)
        else:
            texts.append(seen.text)
    return ToolResult(
        unquote(headers.get("call_id", "")),
        unquote(headers.get("tool", "")),
        "\n".join(texts),
        headers.get("error") == "true",
        tuple(pictures),
    )


def _picture(block: fence.Block, load: Load) -> Image | Text:
    data = load(block.attrs["file"])
    if data is None:
        return Text(f"[the image {block.attrs['file']} cannot be read]")
    return Image(block.attrs["mime"], data)


def _call(id: str, name: str, body: str, errors: dict[str, str]) -> ToolCall:
    for text in (body, body.replace("\n", "")):  # hand-wrapped strings: line ends inside do not count
        try:
            given = exact.load(text) if text.strip() else {}
        except (ValueError, RecursionError):
            continue
        if isinstance(given, dict):
            return ToolCall(id, name, given, errors.get(id, ""))
    return ToolCall(id, name, {}, f"the saved arguments are no JSON object: {body[:200]}")


def _errors(header: str) -> dict[str, str]:
    try:
        value = exact.load(header) if header else {}
    except ValueError:
        return {}
    return {id: error for id, error in value.items() if isinstance(error, str)} if isinstance(value, dict) else {}


def _usage(headers: dict[str, str]) -> Usage | None:
    counts = [_int(headers.get(key, "")) for key in _TOKENS]
    return None if counts[0] is None and counts[1] is None else Usage(*(count or 0 for count in counts))


def _int(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _with_attrs(piece: fence.Piece, change: Callable[[str], str]) -> fence.Piece:
    if isinstance(piece, str) or change is _as_it_is:
        return piece
    return piece._replace(attrs={key: change(value) for key, value in piece.attrs.items()})


def _as_it_is(text: str) -> str:
    return text


def _quote(text: str) -> str:
    return _QUOTED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace")), text)


def _unquote(text: str) -> str:
    if "%" not in text:
        return text
    head, *rest = text.encode("utf-8", "replace").split(b"%")
    out = [head]
    for part in rest:
        coded = _HEX.match(part)
        out.append(bytes.fromhex(part[:2].decode()) + part[2:] if coded else b"%" + part)
    return b"".join(out).decode("utf-8", "replace")
