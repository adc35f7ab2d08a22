"""The part of YAML that people write at the top of a file, read as nested dicts, lists and strings.

Plain and quoted scalars, `|` and `>` blocks, nested maps, lists, `[a, b]` and `{a: b}`, comments. Scalars
stay strings. It is kinder than YAML in one point: a plain value may contain `: `. Anchors, aliases and tags
are refused.
"""

from __future__ import annotations

import re
from typing import TypeAlias

Value: TypeAlias = "str | list[Value] | dict[str, Value]"


class FrontMatterError(ValueError):
    """The front matter cannot be read. `line` counts from 1, at the file's first `---` line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def parse(front: str) -> dict[str, Value]:
    """Read the lines between the markers. Raises FrontMatterError."""
    reader = _Reader(front.replace("\r\n", "\n").removesuffix("\n").split("\n"))
    try:
        return reader.document()
    except RecursionError:
        raise FrontMatterError("nested too deeply", 1) from None


_COLON = re.compile(r":(?=[ \t]|$)")
_COMMENT = re.compile(r"(?:^|[ \t])[ \t]*#")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_BLOCK = re.compile(r"([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?[ \t]*(?:[ \t]#.*)?$")
_ESCAPE = re.compile(r"\\(\n[ \t]*|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|[ \t]*\n[ \t\n]*", re.S)
_FOLD = re.compile(r"[ \t]*\n[ \t\n]*")
_FLOW_PLAIN = re.compile(r"(?:[^,\[\]{}\n:#]|:(?![ \t\n,\[\]{}]|$)|(?<![ \t\n])#)+")
_FLOW_GAP = re.compile(r"(?:[ \t\n]|(?<![^ \t\n])#[^\n]*)*")
_MEANING = {
    **dict(zip("0abtnvfre", "\0\a\b\t\n\v\f\r\x1b", strict=True)),
    **{"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029", "\t": "\t"},
    **{same: same for same in ' "/\\'},
}


class _Reader:
    """Reads lines from `at` on. A method that returns a value has consumed its lines."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def wrong(self, message: str) -> FrontMatterError:
        return FrontMatterError(message, self.at + 2)

    def document(self) -> dict[str, Value]:
        first = self.peek()
        if first is None:
            return {}
        value = self.mapping(first[0])
        if self.peek() is not None:
            raise self.wrong("this line is indented less than those above")
        return value

    def peek(self) -> tuple[int, str] | None:
        """Indentation and text of the next line that is neither empty nor a comment."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            text = line.strip(" \t")
            if text and not text.startswith("#"):
                indent = len(line) - len(line.lstrip(" "))
                if line[indent] == "\t":
                    raise self.wrong("a tab cannot indent")
                return indent, text
            self.at += 1
        return None

    def mapping(self, indent: int) -> dict[str, Value]:
        result: dict[str, Value] = {}
        while (ahead := self.peek()) is not None and ahead[0] >= indent:
            pair = self.key(ahead[1]) if ahead[0] == indent else None
            if pair is None:
                raise self.wrong(
                    "expected `key: value`" if ahead[0] == indent else "this line is indented too far"
                )
            result[pair[0]] = self.value(pair[1], indent, dashes=indent)
        return result

    def key(self, text: str) -> tuple[str, str] | None:
        """A line as key and the text behind the colon; None when it is something else."""
        if text[0] in "\"'":
            found = (_DOUBLE if text[0] == '"' else _SINGLE).match(text)
            colon = _COLON.match(text, found.end()) if found else None
            if found is None or colon is None:
                return None
            return self.unquote(found), text[colon.end() :].strip(" \t")
        colon = _COLON.search(text)
        if (
            colon is None
            or text[0] in "[{|>&*!%@`"
            or text.startswith("- ")
            or _COMMENT.search(text[: colon.start()])
        ):
            return None
        return text[: colon.start()].rstrip(" \t"), text[colon.end() :].strip(" \t")

    def sequence(self, indent: int) -> list[Value]:
        result: list[Value] = []
        while (ahead := self.peek()) is not None and ahead[0] == indent and _is_item(ahead[1]):
            rest = ahead[1][1:].lstrip(" \t")
            if rest and (_is_item(rest) or self.key(rest) is not None):
                # The item's first line belongs to a nested block: read it again as a line of its own.
                inner = indent + len(ahead[1]) - len(rest)
                self.lines[self.at] = " " * inner + rest
                result.append(self.block(indent))
            else:
                result.append(self.value(rest, indent, dashes=indent + 1))
        return result

    def block(self, parent: int) -> Value:
        """A value that begins on a line of its own."""
        ahead = self.peek()
        assert ahead is not None
        indent, text = ahead
        if _is_item(text):
            return self.sequence(indent)
        if self.key(text) is not None:
            return self.mapping(indent)
        return self.value(text, parent, dashes=parent + 1)

    def value(self, text: str, indent: int, dashes: int) -> Value:
        """What stands behind a colon or a dash in a line indented by `indent`; a list begins at `dashes`."""
        if not text or text.startswith("#"):
            self.at += 1
            ahead = self.peek()
            if ahead is None or ahead[0] < (dashes if _is_item(ahead[1]) else indent + 1):
                return ""
            return self.block(indent)
        match text[0]:
            case "|" | ">":
                return self.lines_block(text, indent)
            case '"' | "'":
                return self.quoted(text)
            case "[" | "{":
                return self.flow(text)
            case "&" | "*" | "!" | "%" | "@" | "`":
                raise self.wrong(f"a value cannot begin with {text[0]!r} here: put it in quotes")
            case _:
                return self.plain(text, indent)

    def plain(self, text: str, indent: int) -> str:
        lines = [text]
        self.at += 1
        while not _COMMENT.search(lines[-1]) and self.at < len(self.lines):
            line = self.lines[self.at]
            inside = line.strip(" \t")
            if inside.startswith("#") or (inside and len(line) - len(line.lstrip(" ")) <= indent):
                break
            lines.append(inside)
            self.at += 1
        comment = _COMMENT.search(lines[-1])
        if comment:
            lines[-1] = lines[-1][: comment.start()]
        return _FOLD.sub(_folded, "\n".join(lines).strip(" \t\n"))

    def lines_block(self, text: str, indent: int) -> str:
        header = _BLOCK.match(text)
        if header is None:
            raise self.wrong(f"{text[:20]!r} is no block header: put the value in quotes")
        chomp, width = header[2] or header[5] or "", header[3] or header[4]
        self.at += 1
        margin = indent + int(width) if width else 0
        taken: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            depth = len(line) - len(line.lstrip(" "))
            if line.strip(" "):
                margin = margin or max(depth, indent + 1)
                if depth < margin:
                    break
            taken.append(line)
            self.at += 1
        taken = [line[margin:] if margin else "" for line in taken]
        content = list(taken)
        while content and not content[-1]:
            content.pop()
        body = "\n".join(content) if header[1] == "|" else _fold_block(content)
        if chomp == "+":
            return body + "\n" * (len(taken) - len(content) + bool(content))
        return body + "\n" if content and not chomp else body

    def quoted(self, text: str) -> str:
        joined = "\n".join([text, *self.lines[self.at + 1 :]])
        found = (_DOUBLE if text[0] == '"' else _SINGLE).match(joined)
        if found is None:
            raise self.wrong("the quote is never closed")
        value = self.unquote(found)
        self.end_of(joined, found.end())
        return value

    def unquote(self, found: re.Match[str]) -> str:
        if found[0][0] == "'":
            return _FOLD.sub(_folded, found[1]).replace("''", "'")
        return _ESCAPE.sub(self.unescape, found[1])

    def unescape(self, found: re.Match[str]) -> str:
        code = found[1]
        if code is None:
            return _folded(found)
        if code[0] == "\n":
            return ""
        if len(code) > 1:
            number = int(code[1:], 16)
            if number > 0x10FFFF:
                raise self.wrong(f"there is no character \\{code}")
            return chr(number)
        if code not in _MEANING:
            raise self.wrong(f"unknown escape \\{code} in double quotes")
        return _MEANING[code]

    def end_of(self, joined: str, at: int) -> None:
        """Move behind a value that ends at `at` of the joined lines; only a comment may follow it."""
        self.at += joined.count("\n", 0, at)
        tail = joined[at:].partition("\n")[0]
        if tail.strip(" \t") and not _COMMENT.match(tail):
            raise self.wrong(f"unexpected text after the value: {tail.strip()[:30]!r}")
        self.at += 1

    def flow(self, text: str) -> Value:
        joined = "\n".join([text, *self.lines[self.at + 1 :]])
        value, at = self.flow_value(joined, 0)
        self.end_of(joined, at)
        return value

    def flow_value(self, text: str, at: int) -> tuple[Value, int]:
        start = text[at : at + 1]
        if start in ("[", "{"):
            return self.flow_collection(text, at + 1, "]" if start == "[" else "}")
        if start in ('"', "'"):
            found = (_DOUBLE if start == '"' else _SINGLE).match(text, at)
            if found is None:
                raise self.wrong("the quote is never closed")
            return self.unquote(found), found.end()
        plain = _FLOW_PLAIN.match(text, at)
        return (plain[0].strip(" \t"), plain.end()) if plain else ("", at)

    def flow_collection(self, text: str, at: int, end: str) -> tuple[Value, int]:
        items: list[Value] = []
        pairs: dict[str, Value] = {}
        while True:
            at = _gap(text, at)
            if text.startswith(end, at):
                return (items if end == "]" else pairs), at + 1
            item, at = self.flow_value(text, at)
            at = _gap(text, at)
            if end == "}":
                if not isinstance(item, str):
                    raise self.wrong("a key must be text")
                pairs[item], at = (
                    self.flow_value(text, _gap(text, at + 1)) if text.startswith(":", at) else ("", at)
                )
                at = _gap(text, at)
            else:
                items.append(item)
            if text.startswith(",", at):
                at += 1
            elif not text.startswith(end, at):
                raise self.wrong(f"expected `,` or `{end}`")


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith(("- ", "-\t"))


def _gap(text: str, at: int) -> int:
    found = _FLOW_GAP.match(text, at)
    return found.end() if found else at


def _folded(found: re.Match[str]) -> str:
    """One line end is a blank, n of them are n - 1 line ends."""
    ends = found[0].count("\n")
    return " " if ends == 1 else "\n" * (ends - 1)


def _fold_block(lines: list[str]) -> str:
    """Join lines as `>` does: with a blank, but lines that are indented further stay on their own."""
    text, before, empty = "", "", 0
    for line in lines:
        if not line:
            empty += 1
            continue
        if not before:
            text += "\n" * empty
        elif before[0] in " \t" or line[0] in " \t":
            text += "\n" * (empty + 1)
        else:
            text += "\n" * empty if empty else " "
        text, before, empty = text + line, line, 0
    return text
