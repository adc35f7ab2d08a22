"""The tool `edit_file`: edits at line anchors, all of them or none."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridoon.errors import BridoonError
from bridoon.sdk.script import Context, Result
from bridoon.toolkit import textfile
from bridoon.toolkit.arguments import encode, json_name
from bridoon.toolkit.hashline import PREFIX, Anchor, line_hash, parse_anchor, show
from bridoon.toolkit.paths import drop_in_note, file_argument
from bridoon.toolkit.textfile import Line, TextFile

SIZE_LIMIT = 32 << 20
"""Bytes of a file that is edited by lines."""

SHOWN_WHOLE = 80
"""A file of at most so many lines is shown after an edit; of a longer one, the places that changed."""

AROUND = 2
"""Lines shown before and after a place."""


class Edit(NamedTuple):
    """One edit as it was asked for, in either spelling. `pos` and `end` are None for the ends of the file."""

    type: str
    pos: Anchor | None
    end: Anchor | None
    content: tuple[str, ...]
    strict: bool
    """True for the spelling `{at|after, end, content}`, which does not take an edit that changes nothing."""


class Change(NamedTuple):
    """Lines `start` to `stop` (from 0, `stop` excluded) become `lines`; an insertion has `start == stop`."""

    start: int
    stop: int
    rank: int
    """The order of insertions at one place."""
    lines: tuple[Line, ...]
    said: str


def edit_file(given: dict[str, Any], context: Context) -> Result:
    """Carry out a call of `edit_file`. Raises BridoonError; the file is then as it was."""
    path = file_argument(given, context.cwd)
    edits = parse_edits(given.get("edits"))
    snapshot = textfile.read_whole(path, SIZE_LIMIT)
    kind = textfile.binary_kind(snapshot.data)
    if kind:
        raise BridoonError(f"{path}: {kind}: it has no lines to edit, use bash")
    _check_tag(given.get("tag"), snapshot.data)
    file = TextFile.parse(snapshot.data)
    wrong = mismatches(file, edits)
    if wrong:
        return Result(wrong, failed=True)
    changes = [_change(edit, file) for edit in edits]
    _check_overlaps(changes)
    lines, places = apply(file.lines, changes)
    data = file.join(lines)
    if data == snapshot.data and any(edit.strict for edit in edits):
        raise BridoonError("nothing to change: the edits leave the file as it is")
    textfile.replace(path, data, snapshot.mark)
    report = [f"edited {path}:", *(f"  - {change.said}" for change in changes), ""]
    report += _view(TextFile.parse(data), places)
    note = drop_in_note(path, context.sources)
    return Result("\n".join([*report, note] if note else report))


def parse_edits(value: object) -> list[Edit]:
    """Read the `edits` argument. Raises BridoonError."""
    if value is None or value == []:
        raise BridoonError("no edits provided")
    if not isinstance(value, list):
        raise BridoonError(f"edits must be an array of objects, not {json_name(value)}")
    edits = []
    for number, each in enumerate(value, 1):
        if not isinstance(each, dict):
            raise BridoonError(f"edit {number} is {json_name(each)}, not an object")
        try:
            edits.append(_parse_edit(each))
        except BridoonError as wrong:
            place = f"edit {number}: " if len(value) > 1 else ""
            raise BridoonError(place + wrong.message) from None
    return edits


def _parse_edit(given: dict[str, Any]) -> Edit:
    if given.get("type") is None:
        return _parse_short(given)
    kind = given["type"]
    pos, end = given.get("pos", given.get("at")), given.get("end")
    content = _content(given.get("content"))
    if kind == "replace_range":
        if pos is None or end is None:
            raise BridoonError("replace_range requires both pos and end anchors")
        return Edit(kind, _anchor(pos, "pos"), _anchor(end, "end"), content or (), False)
    if kind not in ("append_at", "prepend_at", "append_file", "prepend_file"):
        raise BridoonError(f"unknown edit type {kind!r}")
    if content is None:
        raise BridoonError(f"{kind} requires content")
    if kind in ("append_file", "prepend_file"):
        return Edit(kind, None, None, content, False)
    if pos is None:
        raise BridoonError(f"{kind} requires a pos anchor")
    return Edit(kind, _anchor(pos, "pos"), None, content, False)


def _parse_short(given: dict[str, Any]) -> Edit:
    at, after, content = given.get("at"), given.get("after"), _content(given.get("content"))
    if (at is None) == (after is None):
        raise BridoonError("an edit needs `type`, or else either `at` (replace) or `after` (insert)")
    if at is not None:
        first = _anchor(at, "at")
        last = first if given.get("end") is None else _anchor(given["end"], "end")
        return Edit("replace_range", first, last, content or (), True)
    if not content:
        raise BridoonError("inserting requires content")
    if str(after) == "0":
        return Edit("prepend_file", None, None, content, True)
    return Edit("append_at", _anchor(after, "after"), None, content, True)


def _anchor(value: object, name: str) -> Anchor:
    anchor = parse_anchor(value)
    if anchor is None:
        raise BridoonError(f"invalid {name} anchor {str(value)[:80]!r}: expected LINE#HASH, e.g. 5#ZM")
    return anchor


def _content(value: object) -> tuple[str, ...] | None:
    """The lines of new content, without line ends; None for null.

    The `12#KX:` before a line that was copied with its anchor is taken off, but only when every line has one.
    """
    if value is None:
        return None
    parts = [value] if isinstance(value, str) else value
    if not isinstance(parts, list):
        raise BridoonError(f"content must be an array of strings, a string or null, not {json_name(value)}")
    lines: list[str] = []
    for part in parts:
        if not isinstance(part, str):
            raise BridoonError(f"content must hold strings, not {json_name(part)}")
        lines += part.removesuffix("\n").split("\n")
    prefixes = [PREFIX.match(line) for line in lines]
    if all(prefixes):
        lines = [line[found.end() :] for line, found in zip(lines, prefixes, strict=True) if found]
    return tuple(line.removesuffix("\r") for line in lines)


def _check_tag(tag: object, data: bytes) -> None:
    """Compare the `tag` that a reader gave (the beginning of the file's MD5). Raises BridoonError."""
    if not tag:
        return
    import hashlib

    now = hashlib.md5(data, usedforsecurity=False).hexdigest()[:8]
    if tag != now:
        raise BridoonError(f"the file changed since it was read (its tag is {now} now): read it again")


def mismatches(file: TextFile, edits: list[Edit]) -> str:
    """What to say about anchors that do not fit the file, with the lines around each; empty when all fit.

    Raises BridoonError for an anchor outside of the file, and for a range that ends before it begins.
    """
    anchors = {anchor: None for edit in edits for anchor in (edit.pos, edit.end) if anchor is not None}
    for line, letters in anchors:
        if not 1 <= line <= len(file.lines):
            raise BridoonError(f"invalid anchor {line}#{letters}: the file has {len(file.lines)} lines")
    for edit in edits:
        if edit.pos and edit.end and edit.end.line < edit.pos.line:
            raise BridoonError(f"invalid range {edit.pos.line}-{edit.end.line}: it ends before it begins")
    blocks = []
    for line, letters in sorted(anchors):
        actual = line_hash(line, file.lines[line - 1].text)
        if actual != letters:
            said = f"MISMATCH at line {line}: expected {letters}, got {actual}"
            blocks.append(f"{said}\n{_surroundings(file, line)}")
    return "\n\n".join(blocks)


def _surroundings(file: TextFile, line: int) -> str:
    shown = []
    for each in range(max(1, line - AROUND), min(len(file.lines), line + AROUND) + 1):
        mark = ">>> " if each == line else "    "
        shown.append(mark + show(each, file.lines[each - 1].text, file.encoding))
    return "\n".join(shown)


def _change(edit: Edit, file: TextFile) -> Change:
    lines = tuple(Line(_bytes(text, file.encoding), file.newline) for text in edit.content)
    first = edit.pos.line if edit.pos else 0
    match edit.type:
        case "replace_range":
            last = edit.end.line if edit.end else first
            return Change(first - 1, last, 0, lines, f"replaced lines {first}-{last}")
        case "append_at":
            return Change(first, first, 0, lines, f"appended after line {first}")
        case "prepend_at":
            return Change(first - 1, first - 1, 1, lines, f"prepended before line {first}")
        case "append_file":
            return Change(len(file.lines), len(file.lines), 1, lines, "appended to end of file")
        case _:
            return Change(0, 0, 0, lines, "prepended to start of file")


def _bytes(text: str, encoding: str) -> bytes:
    if encoding == "utf-8":
        return encode(text)
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as wrong:
        char = text[wrong.start : wrong.end]
        raise BridoonError(f"the file is Latin-1, which has no {char!r}: convert it first (iconv)") from None


def _check_overlaps(changes: list[Change]) -> None:
    reach: Change | None = None
    for change in sorted(changes, key=lambda change: (change.start, change.stop)):
        if reach is not None and change.start < reach.stop:
            raise BridoonError(f"edits overlap: {reach.said}, {change.said}")
        if change.stop > change.start:
            reach = change


def apply(lines: tuple[Line, ...], changes: list[Change]) -> tuple[list[Line], list[range]]:
    """The lines with all changes made, and which of the new lines each change put there, top first.

    The changes count lines as they were before any of them, and do not overlap.
    """
    order = sorted(changes, key=lambda change: (change.start, change.stop, change.rank))
    result: list[Line] = []
    places: list[range] = []
    done = 0
    for change in order:
        result += lines[done : change.start]
        places.append(range(len(result), len(result) + len(change.lines)))
        result += change.lines
        done = max(done, change.stop)
    return result + list(lines[done:]), places


def _view(file: TextFile, places: list[range]) -> list[str]:
    """The file with its new anchors, or (of a long one) the places that changed."""
    count = len(file.lines)
    if count <= SHOWN_WHOLE:
        return [show(number, line.text, file.encoding) for number, line in enumerate(file.lines, 1)]
    wanted: list[int] = []
    for place in places:
        first = max(place.start - AROUND, wanted[-1] + 1 if wanted else 0)
        wanted += range(first, min(place.stop + AROUND, count))
    shown: list[str] = []
    for before, index in zip([-1, *wanted], wanted[:SHOWN_WHOLE], strict=False):
        if index != before + 1:
            shown.append("...")
        shown.append(show(index + 1, file.lines[index].text, file.encoding))
    return [*shown, f"({count} lines — use read_file to view)"]
