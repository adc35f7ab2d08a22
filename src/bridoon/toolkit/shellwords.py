"""The simple commands of a shell command line, for those command lines that can be understood without doubt.

Used where a mistake would allow something: what bash could take in another way than this module is not
understood, and then there is no answer. `shellscan` is the opposite: it finds whatever might be a command.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn


class Word(NamedTuple):
    """One word as the command gets it. `text` is what is certain of it: all, or its beginning."""

    text: str
    known: bool
    """False when a variable, a glob or `~` in it decides how it goes on, and into how many words."""


Command = tuple[Word, ...]

_TRANSPARENT = frozenset({"!", "{", "}", "if", "then", "elif", "else", "fi", "while", "until", "do", "done"})
"""Reserved words after which a command can begin."""

_REFUSED = frozenset({"for", "case", "esac", "select", "function", "coproc", "time", "[[", "]]", "in"})
"""Reserved words with a grammar of their own."""

_END = r"(?=[ \t\n;&|()<>]|\Z)"
_HARMLESS_REDIRECTION = re.compile(
    rf"(?:(?:[0-9]*(?:>>?|<)|&>>?)[ \t]*/dev/null|[0-9]*[<>]&[0-9]+){_END}",
)
_REDIRECTION = re.compile(r"[0-9]*[<>]|&>")
_LONE_BRACE = re.compile(rf"[{{}}]{_END}")
_OPERATOR = re.compile(r"&&|\|\||\|&|[;&|\n]")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9@*#?$!-])")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*)?\+?=", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=^\]-]+")


class NotUnderstood(Exception):
    """This command line could mean something else than it seems to."""


def simple_commands(text: str) -> list[Command] | None:
    """Every simple command of `text`, in order; None unless all of it is understood.

    Understood are words with quotes, plain variables and globs (not in the first word), the operators
    `; & && || | |&`, newlines, comments, `( )`, `{ }`, `!`, `if` and `while`, and redirections to /dev/null
    or to another descriptor. Everything else is not: substitutions, assignments, here-documents, files, brace
    expansion, arithmetic, functions, `for`, `case`, quotes in the name of a command...
    """
    try:
        return _Reader(text).commands()
    except NotUnderstood:
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._command: list[Word] = []
        self._found: list[Command] = []

    def commands(self) -> list[Command]:
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t":
                self._at += 1
            elif char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif _REDIRECTION.match(self._text, self._at):
                self._redirection()
            elif operator := _OPERATOR.match(self._text, self._at):
                self._at = operator.end()
                if self._text[self._at - 1] == ";" and self._text[self._at : self._at + 1] in (";", "&"):
                    self._refuse()
                self._end_command()
            elif char in "()":
                self._parenthesis(char)
            else:
                self._word()
        self._end_command()
        if self._depth:
            self._refuse()
        return self._found

    def _refuse(self) -> NoReturn:
        raise NotUnderstood(self._text[self._at : self._at + 20])

    def _end_command(self) -> None:
        if self._command:
            self._found.append(tuple(self._command))
            self._command = []

    def _redirection(self) -> None:
        # In front of a command it would turn a reserved word after it into a name.
        harmless = _HARMLESS_REDIRECTION.match(self._text, self._at) if self._command else None
        if harmless is None:
            self._refuse()
        self._at = harmless.end()

    def _parenthesis(self, char: str) -> None:
        if char == "(":
            # After a word it begins a function, an array or a pattern; doubled, arithmetic.
            if self._command or self._text[self._at : self._at + 2] == "((":
                self._refuse()
            self._depth += 1
        else:
            self._end_command()
            self._depth -= 1
            if self._depth < 0:
                self._refuse()
        self._at += 1

    def _word(self) -> None:
        start = self._at
        text, known = self._read_word()
        if self._command:
            self._command.append(Word(text, known))
            return
        # The first word decides what runs: it has to stand there as it is.
        raw = self._text[start : self._at]
        if raw in _TRANSPARENT:
            return
        if not known or raw != text or raw in _REFUSED or _ASSIGNMENT.match(raw):
            self._refuse()
        self._command.append(Word(text, True))

    def _read_word(self) -> tuple[str, bool]:
        """The certain part of the word that begins here, and whether that is all of it."""
        pieces: list[str] = []
        known = True
        brace = _LONE_BRACE.match(self._text, self._at)
        if brace:
            self._at = brace.end()
            return brace[0], True
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\n;&|()<>":
                break
            piece, certain = self._read_piece(char)
            if known:
                pieces.append(piece)
            known = known and certain
        return "".join(pieces), known

    def _read_piece(self, char: str) -> tuple[str, bool]:
        plain = _PLAIN.match(self._text, self._at)
        if plain:
            self._at = plain.end()
            return plain[0], True
        match char:
            case "'":
                return self._single_quoted(), True
            case '"':
                return self._double_quoted()
            case "\\":
                return self._escaped(), True
            case "$":
                return self._dollar(quoted=False)
            case "*" | "?" | "[" | "~":
                self._at += 1
                return "", False
        if char in "`{}" or not char.isprintable() or char.isspace():
            self._refuse()
        self._at += 1
        return char, True

    def _single_quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            self._refuse()
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        return inside

    def _double_quoted(self) -> tuple[str, bool]:
        self._at += 1
        pieces: list[str] = []
        known = True
        while True:
            char = self._text[self._at : self._at + 1]
            piece, certain = char, True
            if char == '"':
                self._at += 1
                return "".join(pieces), known
            if char == "$":
                piece, certain = self._dollar(quoted=True)
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in ('"', "\\", "$", "`"):
                piece = self._escaped()
            elif char in ("", "`") or self._text.startswith("\\\n", self._at):
                self._refuse()
            else:
                self._at += 1
            if known:
                pieces.append(piece)
            known = known and certain

    def _escaped(self) -> str:
        char = self._text[self._at + 1 : self._at + 2]
        if char in ("", "\n"):
            self._refuse()
        self._at += 2
        return char

    def _dollar(self, *, quoted: bool) -> tuple[str, bool]:
        variable = _VARIABLE.match(self._text, self._at)
        if variable:
            self._at = variable.end()
            return "", False
        after = self._text[self._at + 1 : self._at + 2]
        if after not in (("", " ", '"') if quoted else ("", " ", "\t", "\n", ";")):
            self._refuse()
        self._at += 1
        return "$", True
