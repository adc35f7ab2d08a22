"""The command of a `cli` or `binary` tool: its words, and whether there is something to run. Nothing is run here."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from typing import NamedTuple

LONGEST = 128 * 1024
"""Characters; the system takes no longer argument."""
LONGEST_WORD = 4096
"""Characters; no path is longer."""

PIECE = r"""[^ \t\r\n'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*\""""
"""A piece of a word of a POSIX shell. Pieces begin differently, so nothing is tried twice: it takes linear time."""
FIRST = re.compile(rf"[ \t\r\n]*((?:{PIECE})+)", re.DOTALL)
WHOLE = re.compile(rf"(?:[ \t\r\n]|{PIECE})*", re.DOTALL)
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)


class Found(NamedTuple):
    """What a command comes to."""

    path: str = ""
    """The file that its first word means, whether or not it can be run."""
    reason: str = ""
    """Why there is none; empty when there is."""
    executable: bool = False


def find(command: str, root: str, env: Mapping[str, str]) -> Found:
    """The file that a command would run. Never raises.

    Words are those of a shell; `NAME=value` in front is passed over. A word with a slash is a path below `root`
    (`~/` is the home), any other is looked up on PATH, whose empty elements mean nothing here.
    """
    try:
        word = first_word(command)
    except ValueError as wrong:
        return Found(reason=str(wrong))
    if "/" in word:
        return _at(place(word, root, env))
    for directory in env.get("PATH", os.defpath).split(os.pathsep):
        found = _at(os.path.join(root, directory, word)) if directory else Found()
        if found.executable:
            return found
    return Found(reason="not on PATH")


def first_word(command: str) -> str:
    """The word that names the program. Raises ValueError, with the reason, when there is none."""
    import shlex

    if len(command) > LONGEST:
        raise ValueError(f"longer than a command can be ({LONGEST} characters)")
    if "\0" in command:
        raise ValueError("it holds a NUL character")
    if WHOLE.fullmatch(command) is None:
        raise ValueError("a quote or a backslash is left open")
    at = 0
    while match := FIRST.match(command, at):
        if match.end() - match.start(1) > LONGEST_WORD:
            raise ValueError("its first word is longer than a path can be")
        word = shlex.split(match[1])[0]
        if word and not ASSIGNED.match(word):
            return word
        if not word:
            raise ValueError("its first word is empty")
        at = match.end()
    raise ValueError("it names no program")


def place(path: str, root: str, env: Mapping[str, str]) -> str:
    """A path as an absolute one: `~` and `~/...` from HOME, else from the user's entry, others below `root`."""
    if path == "~" or path.startswith("~/"):
        return home(env) + path[1:]
    return os.path.join(root, path)


def home(env: Mapping[str, str]) -> str:
    """The home directory."""
    if env.get("HOME"):
        return env["HOME"]
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def why(wrong: OSError | ValueError) -> str:
    """Why a path could not be looked at, in a few words."""
    if isinstance(wrong, FileNotFoundError | NotADirectoryError):
        return "there is no such path"
    if isinstance(wrong, OSError):
        return (wrong.strerror or str(wrong)).lower()
    return "no path can be called so"


def _at(path: str) -> Found:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as wrong:
        return Found(reason=why(wrong))
    if not stat.S_ISREG(mode):
        return Found(reason="a directory" if stat.S_ISDIR(mode) else "no regular file")
    if not os.access(path, os.X_OK):
        return Found(path, "not executable")
    return Found(path, "", True)
