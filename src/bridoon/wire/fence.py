"""Typed blocks inside Markdown text, in a way that can be undone.

A block is a fenced code block whose info string is a kind and `key=value` attributes without blanks:

    ```tool_call id=c1 name=bash
    {"command":"ls"}
    ```

The fence is longer than every run of backticks that starts a line of the body, so any body survives. A line
of plain text that looks like the beginning of a block gets a backslash in front; whoever stores the text
remembers that (`Joined.escaped`) and hands it back to `split`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

_RUN = re.compile(r"^`+", re.M)


class Block(NamedTuple):
    """One fenced block. Attribute values hold no blanks and no line ends."""

    kind: str
    attrs: dict[str, str]
    body: str = ""


class Joined(NamedTuple):
    """Text with blocks in it."""

    text: str
    escaped: bool
    """Whether a line of plain text got a backslash."""


Piece = str | Block


def join(pieces: Iterable[Piece], kinds: Sequence[str], spaced: Sequence[str] = ()) -> Joined:
    """Write plain text and blocks one after the other.

    `kinds` are the words that a reader may take for a block; blocks of the kinds in `spaced` follow an empty
    line. What `split` gives back differs in two cases only: empty texts vanish, and adjacent texts become
    one.
    """
    looks = _looks_like_opener(tuple(kinds))
    out: list[str] = []
    escaped = False
    for piece in pieces:
        if isinstance(piece, Block):
            if piece.kind in spaced:
                out.append("\n")
            out.append(
                fenced(piece.kind + "".join(f" {key}={value}" for key, value in piece.attrs.items()), piece.body)
            )
            continue
        if "```" in piece:
            piece, changed = looks.subn(r"\\\g<0>", piece)
            escaped = escaped or changed > 0
        out.append(piece + "\n")
    return Joined("".join(out), escaped)


def fenced(info: str, body: str) -> str:
    """A fenced code block that holds any body. An empty body has no line."""
    longest = max((len(run) for run in _RUN.findall(body)), default=0) if "```" in body else 0
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{body}\n{fence}\n" if body else f"{fence}{info}\n{fence}\n"


def split(
    text: str,
    kinds: Sequence[str],
    spaced: Sequence[str] = (),
    *,
    escaped: bool = False,
    accept: Callable[[str, dict[str, str]], bool] = lambda kind, attrs: True,
) -> list[Piece]:
    """Take apart what `join` wrote.

    `accept` decides from kind and attributes whether a fence is a block at all; the rest stays text. So does
    a fence that is never closed.
    """
    if "```" not in text:
        return _plain(text, None)
    found: list[Piece] = []
    start = 0
    looks = _looks_like_opener(tuple(kinds)) if escaped else None
    for begin, end, block in _blocks(text, tuple(kinds), accept):
        found += _plain(_without_separator(text[start:begin], block.kind in spaced), looks)
        found.append(block)
        start = end
    return found + _plain(text[start:], looks)


def _plain(text: str, looks: re.Pattern[str] | None) -> list[Piece]:
    """The text between two blocks without the line end that closes it."""
    text = text.removesuffix("\n")
    if looks is not None and "\\" in text:
        text = looks.sub(lambda found: found[0].removeprefix("\\"), text)
    return [text] if text else []


def _without_separator(text: str, spaced: bool) -> str:
    """Cut the empty line in front of a spaced block; hand-written files may lack it."""
    return text[:-1] if spaced and (text == "\n" or text.endswith("\n\n")) else text


def _blocks(
    text: str, kinds: tuple[str, ...], accept: Callable[[str, dict[str, str]], bool]
) -> Iterator[tuple[int, int, Block]]:
    opener = _opener(kinds)
    unclosed: set[str] = set()  # lengths without an end further on: keeps hostile text from costing its square
    at = 0
    while (match := opener.search(text, at)) is not None:
        at = match.end()
        fence, kind = match[1], match[2]
        attrs = dict(pair.split("=", 1) for pair in match[3].split(" ")[1:])
        if fence in unclosed or not accept(kind, attrs):
            continue
        close = _closing_line(text, fence, at)
        if close < 0:
            unclosed.add(fence)
            continue
        end = close + 1 + len(fence)
        yield match.start(), min(end + 1, len(text)), Block(kind, attrs, text[at + 1 : close])
        at = end


def _closing_line(text: str, fence: str, at: int) -> int:
    """The position of the line end in front of the line that is exactly `fence`, -1 without one."""
    while (at := text.find("\n" + fence, at)) >= 0:
        if text[at + 1 + len(fence) : at + 2 + len(fence)] in ("", "\n"):
            return at
        at += 1
    return -1


@lru_cache(maxsize=16)
def _opener(kinds: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"^(`{{3,}})({'|'.join(kinds)})((?: [a-z_]+=[^ \n]*)*)$", re.M)


@lru_cache(maxsize=16)
def _looks_like_opener(kinds: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"^\\*`{{3,}}(?:{'|'.join(kinds)})", re.M)
