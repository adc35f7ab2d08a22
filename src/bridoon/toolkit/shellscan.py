"""Whatever might be a command in a shell command line, found generously.

Used where a mistake would let something through that is denied: substitutions, quoted strings, here-documents
and the arguments of programs that start others are looked into. It is no sandbox: what a command line
computes only when it runs (a name put together by printf, a script on disk, a decoded string) is not seen.
`shellwords` is the opposite.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator

Words = list[str]

SIZE_LIMIT = 100_000
"""Characters of a command line that are looked at; the caller decides what a longer one means."""

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"})

WRAPPERS = SHELLS | {
    *("env", "timeout", "nohup", "nice", "ionice", "chrt", "taskset", "stdbuf", "setsid", "sudo", "doas"),
    *(
        "su",
        "runuser",
        "pkexec",
        "xargs",
        "parallel",
        "watch",
        "time",
        "strace",
        "ltrace",
        "unshare",
        "nsenter",
    ),
    *("chroot", "flock", "script", "systemd-run", "busybox", "toybox", "entr", "ssh"),
    *("command", "builtin", "exec", "eval", "source", ".", "trap", "coproc"),
}
"""Programs and builtins that run the command in their arguments."""

_RESERVED = frozenset(("!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "function"))
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_DEFAULT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*:?[-=+](.*)", re.DOTALL)
_HERE = re.compile(r"<<-?[ \t]*(\\?[^\s;&|<>()]+)")
_PLAIN = re.compile(r"[^\\'\"`$ \t\r\n;&|()<>]+")
_TO_SINGLE = re.compile(r"[^']*'")
_TO_QUOTE = {quote: re.compile(rf"(?:[^\\{quote}]|\\.)*{quote}", re.DOTALL) for quote in "'\""}
_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_LETTERS = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v", strict=True))
_OPERATOR = re.compile(r"<<<|[<>&|]+")
_FD = re.compile(r"[0-9]+|\{\w+\}")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
"""Options of find that run a command."""

_DEPTH = 6
_WORDS = 200
"""Words of a command that are looked at one by one."""


def glimpses(text: str) -> list[Words]:
    """The words of everything in `text` (up to SIZE_LIMIT characters) that might be run as a command.

    Quotes are taken off, and variables and braces are worked out where that is possible. Wrapped commands are
    listed with and without their wrappers; words in front (assignments, `then`) are not listed.
    """
    text = text[:SIZE_LIMIT]
    found = _scan(text, 0)
    # Once more line by line: a quote that a comment or a here-document leaves open must not hide other lines.
    for line in text.split("\n") if "\n" in text else ():
        found += _scan(line, 1)
    piped = any(words and os.path.basename(words[0]) in SHELLS for words in found)
    unique: dict[tuple[str, ...], None] = {}
    for words in found:
        for each in _unwrapped(words, piped):
            unique[tuple(each)] = None
    return [list(words) for words in unique if words]


def _scan(text: str, depth: int) -> list[Words]:
    scanner = _Scanner(text)
    scanner.run()
    found = scanner.commands
    if depth < _DEPTH:
        for inner in scanner.inner:
            found += _scan(inner, depth + 1)
        for string in scanner.strings:
            if re.search(r"[\s;&|$`(]", string):
                found += _scan(string, depth + 1)
    return found


def _unwrapped(words: Words, everything: bool) -> Iterator[Words]:
    """The command itself, and those that it would run. `everything` takes every program for a wrapper."""
    words = words[:_WORDS]
    braced = [piece for word in words for piece in _expand_braces(word)]
    if braced != words:
        yield from _unwrapped(braced, everything)
    wrapped = everything
    for index in range(len(words)):
        if index and not wrapped and words[index - 1] not in FIND_RUNS:
            continue
        part = _command_part(words[index:])
        if not part:
            return
        yield part
        yield from _without_options(part)
        name = os.path.basename(part[0])
        wrapped = wrapped or name in WRAPPERS
        if name == "alias":
            yield from (word.partition("=")[2].split() for word in part[1:])


def _command_part(words: Words) -> Words:
    """Without reserved words and assignments in front."""
    start = 0
    while start < len(words) and (words[start] in _RESERVED or _ASSIGNMENT.match(words[start])):
        start += 1
    return words[start:]


def _without_options(words: Words) -> Iterator[Words]:
    """`git -C x push` is also `git push`: leading options are left out, each with and without an argument."""
    for index in range(2, len(words)):
        option_before_last = index > 2 and words[index - 2].startswith("-")
        if not (words[index - 1].startswith("-") or option_before_last):
            return
        yield [words[0], *words[index:]]


def _expand_braces(word: str) -> list[str]:
    """`{a,b}c` as `ac`, `bc`; at most some dozens of results."""
    if len(word) > 1000:
        return [word]
    done: list[str] = []
    queue = [word]
    while queue and len(done) + len(queue) < 64:
        each = queue.pop(0)
        found = _BRACES.search(each)
        if found is None:
            done.append(each)
            continue
        queue[:0] = [each[: found.start()] + part + each[found.end() :] for part in found[1].split(",")]
    return done + queue


class _Scanner:
    """Reads text like a shell, but never gives up: what makes no sense is an ordinary character."""

    def __init__(self, text: str) -> None:
        self.commands: list[Words] = []
        self.inner: list[str] = []
        """Texts that are command lines themselves."""
        self.strings: list[str] = []
        """Texts that might be."""
        self._text = text
        self._at = 0
        self._words: Words = []
        self._word: str | None = None
        self._target = ""
        """The redirection operator whose target comes next; that is no word of the command."""
        self._values: dict[str, str] = {}
        self._here: list[str] = []
        self._patience = 50
        """How many more nests that do not fit together are looked through to the end of the text."""

    def run(self) -> None:
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "#" and self._word is None:
                end = self._text.find("\n", self._at)
                self._at = end if end >= 0 else len(self._text)
            elif char in " \t\r":
                self._end_word()
                self._at += 1
            elif char in "\n;&|()":
                self._end_command()
                self._at += 1
                if char == "\n" and self._here:
                    self._take_here_documents()
            elif char in "<>":
                self._redirection(char)
            else:
                self._read_piece(char)
        self._end_command()

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = self._word, None
        if self._target:
            if self._target == "<<<":
                self.inner.append(word)
            self._target = ""
            return
        assignment = _ASSIGNMENT.match(word)
        if assignment:
            self._values[assignment[0].rstrip("+=")] = word[assignment.end() :]
        if word in ("{", "}"):
            self._end_command()
        else:
            self._words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        self._target = ""
        if self._words:
            self.commands.append(self._words)
            self._words = []

    def _redirection(self, char: str) -> None:
        if self._text[self._at + 1 : self._at + 2] == "(":
            self._at += 1
            self._enclosed(")")
            self._add("/dev/fd/63")
            return
        if self._word is not None and _FD.fullmatch(self._word):
            self._word = None
        self._end_word()
        here = _HERE.match(self._text, self._at)
        if here and not self._text.startswith("<<<", self._at):
            self._here.append(re.sub(r"[\\'\"]", "", here[1]))
            self._at = here.end()
            return
        operator = _OPERATOR.match(self._text, self._at)
        self._target = operator[0] if operator else char
        self._at += len(self._target)

    def _take_here_documents(self) -> None:
        for delimiter in self._here:
            end = re.compile(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE).search(self._text, self._at)
            self.inner.append(self._text[self._at : end.start() if end else len(self._text)])
            self._at = end.end() if end else len(self._text)
        self._here = []

    def _read_piece(self, char: str) -> None:
        match char:
            case "\\":
                after = self._text[self._at + 1 : self._at + 2]
                self._at += 2
                if after != "\n":
                    self._add(after)
            case "'":
                self._quoted("'")
            case '"':
                self._quoted('"')
            case "`":
                self._enclosed("`")
                self._add("")
            case "$":
                self._dollar()
            case _:
                plain = _PLAIN.match(self._text, self._at)
                self._add(plain[0] if plain else char)
                self._at = plain.end() if plain else self._at + 1

    def _quoted(self, quote: str, ansi: bool = False) -> None:
        """A quoted string; a quote that is never closed is left out."""
        end = self._closing('"') if quote == '"' else -1
        if end < 0:
            found = (_TO_SINGLE if quote == "'" and not ansi else _TO_QUOTE[quote]).match(self._text, self._at + 1)
            if found is None:
                self._at += 1
                return
            end = found.end() - 1
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        if ansi:
            inside = _ANSI.sub(_ansi_char, inside)
        elif quote == '"':
            inside = self._double_quoted(inside)
        self.strings.append(inside)
        self._add(inside)

    def _double_quoted(self, inside: str) -> str:
        """What the string becomes; substitutions in it are taken note of."""
        if "\\" not in inside and "$" not in inside and "`" not in inside:
            return inside
        scanner = _Scanner("")
        scanner._values = self._values
        pieces: list[str] = []
        scanner._text = inside
        while scanner._at < len(inside):
            char = inside[scanner._at]
            if char in "$`" or char == "\\":
                scanner._word = None
                scanner._read_piece(char)
                pieces.append(" ".join([*scanner._words, scanner._word or ""]))
                scanner._words = []
            else:
                pieces.append(char)
                scanner._at += 1
        self.inner += scanner.inner
        return "".join(pieces)

    def _enclosed(self, closing: str) -> None:
        """Take note of what stands between here and the fitting `closing`; without one, of all the rest."""
        end = self._closing(closing)
        if end < 0:
            end = self._text.find(closing, self._at + 1)
        if end < 0:
            end = len(self._text)
        self.inner.append(self._text[self._at + 1 : end])
        self._at = end + 1

    def _closing(self, closing: str) -> int:
        """Where what begins here ends, past whatever is nested in it; -1 when it does not fit together."""
        if self._patience == 0:
            return -1
        open_ends = [closing]
        at = self._at + 1
        while at < len(self._text):
            char, end = self._text[at], open_ends[-1]
            if char == end:
                open_ends.pop()
                if not open_ends:
                    return at
            elif end != "'":
                if char == "\\":
                    at += 1
                elif char == "`" or (char in "'\"" and end != '"'):
                    open_ends.append(char)
                elif char == "(" and (end != '"' or self._text[at - 1] == "$"):
                    open_ends.append(")")
            at += 1
        self._patience -= 1
        return -1

    def _dollar(self) -> None:
        after = self._text[self._at + 1 : self._at + 2]
        self._at += 1
        if after == "'":
            self._quoted("'", ansi=True)
        elif after == '"':
            self._quoted('"')
        elif after == "(":
            self._enclosed(")")
            self._add("")
        elif after == "{":
            end = self._text.find("}", self._at)
            end = end if end >= 0 else len(self._text)
            self._variable(self._text[self._at + 1 : end])
            self._at = end + 1
        elif name := _NAME.match(self._text, self._at):
            self._at = name.end()
            self._variable(name[0])
        else:
            self._add("$")

    def _variable(self, expression: str) -> None:
        """The value of a variable as far as it can be seen; unknown ones are empty, and IFS is a blank."""
        if expression.startswith("IFS"):
            self._end_word()
            return
        value = self._values.get(expression, "")
        default = _DEFAULT.fullmatch(expression)
        if default and not value:
            value = default[1]
        if "$(" in value or "`" in value:
            self.inner.append(value)
        first, *rest = re.split(r"\s+", value)
        if first or self._word is not None:
            self._add(first)
        for word in rest:
            self._end_word()
            if word:
                self._add(word)


def _ansi_char(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code or found[4]:
        number = int(code, 16) if code else int(found[4], 8)
        return chr(number) if number < 0x110000 else ""
    return _ANSI_LETTERS.get(found[5], found[5])
