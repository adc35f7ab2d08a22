"""Which shell commands a pattern such as `git status*` stands for: strictly to allow, generously to deny.

A pattern is words. A word matches one word of a command, as a glob. A `*` at the end of the last word also
takes all words that follow, so `git status*` is `git status`, `git status -s`, ...; `npm run *` is `npm run`
with anything after it, and `make` is `make` alone.
"""

from __future__ import annotations

import os.path
from fnmatch import fnmatchcase
from typing import NamedTuple

from bridoon.toolkit.shellscan import FIND_RUNS, SHELLS, SIZE_LIMIT, WRAPPERS, Words, glimpses
from bridoon.toolkit.shellwords import Command, Word, simple_commands

NEVER = WRAPPERS - SHELLS | {
    *(
        "alias",
        "unalias",
        "bind",
        "compgen",
        "complete",
        "declare",
        "enable",
        "export",
        "fc",
        "getopts",
        "hash",
    ),
    *(
        "history",
        "jobs",
        "let",
        "local",
        "mapfile",
        "read",
        "readarray",
        "readonly",
        "set",
        "shopt",
        "typeset",
    ),
    "unset",
}
"""Commands that run what their arguments say, or change what later commands mean: no pattern allows them."""

_GLOB = frozenset("*?[")


class Pattern(NamedTuple):
    """The words of a pattern; `open` when any words may follow the last one."""

    text: str
    words: tuple[str, ...]
    open: bool

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read a pattern. One without words matches nothing."""
        words = tuple(text.split())
        if words and words[-1] == "*" and len(words) > 1:
            return cls(text, words[:-1], True)
        return cls(text, words, bool(words) and words[-1].endswith("*"))

    @property
    def everything(self) -> bool:
        """Whether it is `*`: any command line, whatever is in it."""
        return self.words in (("*",), ("**",))


def allows(patterns: list[Pattern], command: str) -> bool:
    """Whether every simple command of a command line is one that a pattern allows.

    False for whatever is not fully understood: it is then a person's business.
    """
    if any(pattern.everything for pattern in patterns):
        return True
    commands = simple_commands(command)
    return bool(commands) and all(
        not _runs_others(each) and any(_fits(pattern, each) for pattern in patterns) for each in commands or ()
    )


def touches(pattern: Pattern, command: str) -> str:
    """The part of a command line that a pattern may stand for, empty when none can be seen.

    A command line that is too long to be looked through counts as a hit.
    """
    if pattern.everything or (pattern.words and fnmatchcase(command, pattern.text)):
        return command
    if len(command) > SIZE_LIMIT:
        return f"{command[:60]}... (too long to check)"
    return next((" ".join(words) for words in glimpses(command) if _may_be(pattern, words)), "")


def prefixes(command: str) -> list[str]:
    """Patterns that together allow a command line: the first two words of each simple command.

    Empty when no pattern could allow it.
    """
    found: dict[str, None] = {}
    for each in simple_commands(command) or ():
        start = each[:2]
        if _runs_others(each) or not all(word.known and _plain(word.text) for word in start):
            return []
        text = " ".join(word.text for word in start)
        found[text if len(each) == 1 else f"{text} *"] = None
    return list(found)


def _plain(text: str) -> bool:
    return bool(text) and not _GLOB & set(text) and not any(char.isspace() for char in text) and ")" not in text


def _runs_others(command: Command) -> bool:
    """Whether a command may run something that its words do not show, or change what later commands mean."""
    name = os.path.basename(command[0].text)
    arguments = [word.text for word in command[1:]]
    if name in SHELLS:
        # Only a script file, named first: no -c, no commands on standard input.
        return not arguments or not command[1].known or arguments[0][:1] in ("", "-", "+")
    if name == "find":
        return any(not word.known or word.text in FIND_RUNS for word in command[1:])
    if name in ("printf", "test", "wait"):
        # Naming a variable makes bash evaluate its subscript.
        return any(not word.known or word.text.startswith(("-v", "-R", "-p")) for word in command[1:])
    return name in NEVER


def _fits(pattern: Pattern, command: Command) -> bool:
    if not pattern.words or len(command) < len(pattern.words):
        return False
    if len(command) > len(pattern.words) and not pattern.open:
        return False
    last = len(pattern.words) - 1
    return all(
        _word_fits(word, glob, index == last and pattern.open, first=index == 0)
        for index, (word, glob) in enumerate(zip(command, pattern.words, strict=False))
    )


def _word_fits(word: Word, glob: str, open_end: bool, *, first: bool) -> bool:
    if any(char.isspace() for char in word.text):
        # No word of a pattern holds a blank, and a glob is not meant to hide one.
        return False
    if first and word.text.count("/") != glob.count("/"):
        return False
    if word.known:
        return fnmatchcase(word.text, glob)
    # Of a word that is not known to its end, the certain part has to be enough.
    start = glob.rstrip("*")
    return open_end and glob.endswith("*") and not _GLOB & set(start) and word.text.startswith(start)


def _may_be(pattern: Pattern, words: Words) -> bool:
    if not pattern.words:
        return False
    name = words[0].rpartition("/")[2]
    for each in (words, [name, *words[1:]]):
        if fnmatchcase(" ".join(each), pattern.text):
            return True
        if len(each) < len(pattern.words) or (len(each) > len(pattern.words) and not pattern.open):
            continue
        pairs = zip(each[1:], pattern.words[1:], strict=False)
        if _name_may_be(each[0], pattern.words[0]) and all(fnmatchcase(word, glob) for word, glob in pairs):
            return True
    return False


def _name_may_be(word: str, glob: str) -> bool:
    """A glob in the name of a command can become the denied name when it runs."""
    return fnmatchcase(word, glob) or (bool(_GLOB & set(word)) and fnmatchcase(glob, word))
