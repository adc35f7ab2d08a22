"""What stands between two `---` lines at the top of a file. Message headers are `key: value` lines, taken literally."""

from __future__ import annotations

import re
from typing import NamedTuple


class Split(NamedTuple):
    """A file in two parts."""

    front: str | None
    """The lines between the markers; None when there are none."""
    body: str


def split(text: str) -> Split:
    """Divide a file at its first pair of `---` lines.

    A byte order mark is dropped. A file with CRLF line ends becomes one with LF; one whose markers end in LF
    keeps its carriage returns.
    """
    text = text.removeprefix("\ufeff")
    first, end, _ = text[:80].partition("\n")
    if first.endswith("\r") and (first.rstrip() == "---" or text.count("\r\n") == text.count("\n")):
        text = text.replace("\r\n", "\n")
        first = first[:-1]
    if first.rstrip() != "---" or not end:
        return Split(None, text)
    start = len(first) + 1
    at = start - 1
    while (at := text.find("\n---", at)) >= 0:
        stop = text.find("\n", at + 1)
        stop = stop if stop >= 0 else len(text)
        if text[at + 1 : stop].rstrip() == "---":
            return Split(text[start : at + 1], text[stop + 1 :])
        at = stop
    return Split(None, text)


def read_headers(text: str) -> tuple[dict[str, str], str]:
    """The headers of a message file and its body. Without front matter all is body."""
    front, body = split(text)
    if front is None:
        return {}, body
    headers: dict[str, str] = {}
    odd = False
    for line in front.split("\n"):
        found = _HEADER.match(line)
        if found:
            headers[found[1]] = found[2].strip()
        elif line.strip():
            odd = True
    if odd and "role" not in headers:  # a text that begins with a rule
        return {}, text.removeprefix("\ufeff")
    return headers, body


def write_headers(headers: dict[str, str], body: str) -> str:
    """A message file. Control characters in values become blanks, so that no value can end its line."""
    lines = [f"{key}: {_CONTROL.sub(' ', value)}\n" for key, value in headers.items()]
    return f"---\n{''.join(lines)}---\n{body}"


_HEADER = re.compile(r"([A-Za-z_][\w.-]*):[ \t]*(.*)$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
