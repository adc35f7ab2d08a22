"""What the Tab key offers: slash commands, their arguments, and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

MOST = 200
"""Entries of a directory that are offered."""


class Offer(NamedTuple):
    """A possible end of what is typed: `text` replaces the last `back` characters."""

    text: str
    back: int
    about: str = ""


Arguments = Callable[[], Iterable[tuple[str, str]]]
"""Gives the possible arguments of a command, each with a word about it."""


def offers(line: str, cwd: str, commands: Mapping[str, str], arguments: Mapping[str, Arguments]) -> list[Offer]:
    """The completions of `line`, the text before the cursor. `commands`: names with slash, what they do."""
    first, blank, rest = line.partition(" ")
    if line.startswith("/") and "/" not in line[1:] and not blank and "\n" not in line:
        return [Offer(name, len(line), about) for name, about in commands.items() if name.startswith(line)]
    if blank and first in arguments and " " not in rest:
        known = arguments[first]()
        return [Offer(word, len(rest), about) for word, about in known if word.startswith(rest)]
    word = last_word(line)
    if word.startswith("@"):
        return paths(word[1:], cwd)
    return paths(word, cwd) if "/" in word else []


def last_word(line: str) -> str:
    """What stands after the last blank."""
    return "" if not line or line[-1].isspace() else line.split()[-1]


def paths(word: str, cwd: str) -> list[Offer]:
    """Files that begin with `word`, directories first; hidden ones only when that is what is typed."""
    folder, _, start = word.rpartition("/")
    place = os.path.expanduser(f"{folder}/") if "/" in word else ""
    try:
        with os.scandir(os.path.join(cwd, place)) as found:
            entries = [each for each in found if each.name.startswith(start) and _fits(each.name, start)]
            named = sorted((not each.is_dir(), each.name) for each in entries)
    except OSError:
        return []
    return [
        Offer(name + ("" if is_file else "/"), len(start), "" if is_file else "directory")
        for is_file, name in named[:MOST]
    ]


def _fits(name: str, start: str) -> bool:
    return name.isprintable() and not any(c.isspace() for c in name) and (not name.startswith(".") or start[:1] == ".")
