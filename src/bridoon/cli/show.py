"""What commands print: text that cannot disturb a terminal, one JSON object, paths and words for people."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from bridoon.errors import BridoonError

_DISTURBING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends, marks that turn the direction of writing, bytes that are no text."""


def clean(text: str) -> str:
    """One line without anything that a terminal would act on: `\\x1b` stands for an escape character."""
    return _DISTURBING.sub(_escape, text) if _DISTURBING.search(text) else text


def clean_lines(text: str) -> str:
    """The same for text of several lines: line ends and tabs stay."""
    return "\n".join("\t".join(map(clean, line.split("\t"))) for line in text.split("\n"))


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    number = ord(character)
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if 0xDC80 <= number <= 0xDCFF:
        number -= 0xDC00  # a byte that is no UTF-8, as Python keeps it in file names
    return known or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


def squeeze(text: str, width: int) -> str:
    """The beginning of a text as one line of at most `width` characters."""
    line = clean(" ".join(text[: width * 8 + 200].split()))
    return line if len(line) <= width else line[: max(1, width - 1)] + "…"


def put(text: str = "") -> None:
    """One line on standard output. What the stream's encoding lacks is replaced.

    Raises BrokenPipeError when nobody reads any more, BridoonError when the disk is full.
    """
    out = sys.stdout
    if out is None:
        return
    try:
        try:
            out.write(text + "\n")
        except UnicodeEncodeError:
            encoding = out.encoding or "ascii"
            out.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    except BrokenPipeError:
        raise
    except OSError as wrong:
        raise BridoonError(f"cannot write the output: {wrong.strerror}") from None


def put_json(value: Any, *, indent: int | None = 2) -> None:
    """A JSON value on standard output; pure ASCII, so that every reader and every terminal can take it."""
    put(json.dumps(value, ensure_ascii=True, indent=indent))


def tilde(path: str, env: Mapping[str, str]) -> str:
    """A path for people, with the user's home directory as `~`."""
    home = env.get("HOME") or os.path.expanduser("~")
    short = f"~{path[len(home) :]}" if len(home) > 1 and (path + "/").startswith(home + "/") else path
    return clean(short)


def near(word: str, choices: Iterable[str]) -> str:
    """The choice that was probably meant, or empty."""
    from difflib import get_close_matches

    found = get_close_matches(word.lower(), list(choices), n=1, cutoff=0.6)
    return found[0] if found else ""


def did_you_mean(word: str, choices: Iterable[str], otherwise: str = "") -> str:
    """A hint for a word that is none of the choices."""
    known = list(choices)
    found = near(word, known)
    if found:
        return f"did you mean {found}?"
    return otherwise or (f"one of: {', '.join(known)}" if known else "")


def width(default: int = 100) -> int:
    """Columns of the terminal on standard output; `default` when that is no terminal."""
    try:
        return os.get_terminal_size(1).columns or default
    except OSError:
        return default


def mask(secret: str) -> str:
    """A secret as it may be shown: its first and last four characters, or nothing of it when it is short."""
    return f"{clean(secret[:4])}...{clean(secret[-4:])}" if len(secret) > 16 else "****"
