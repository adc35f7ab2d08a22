"""A changeset file, read: its header and its operations, all of them checked before anything is done with one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from bridoon.ledger.errors import Incompatible, Invalid, LedgerError, Missing
from bridoon.ledger.place import check_run_id
from bridoon.ledger.store.op import HEADER, INT, LIST, NOW, TEXT, TIME, Kind, Op, kind_of
from bridoon.ledger.store.outbox import chain
from bridoon.ledger.store.schema import NEWEST
from bridoon.ledger.vocabulary import LARGEST

LARGEST_FILE = 256 << 20
"""Bytes of a changeset that we read."""
LARGEST_LINE = 16 << 20
"""Characters of one operation."""
BLANKS = " \t\r"


class Changeset(NamedTuple):
    """A file whose header is right. Its operations are looked at one by one, when they are asked for."""

    file: str
    """Where it was read; empty when it is no file."""
    path: str
    """As errors call it."""
    run_id: str
    sha256: str
    """Of its bytes as they are."""
    size: int
    """In bytes."""
    lines: list[str]
    """The text of each operation."""
    numbers: list[int]
    """Which line each of them is, from 1."""

    def op(self, index: int) -> Op:
        """An operation, checked. Raises Incompatible, which names file and line."""
        try:
            return _operation(_value(self.lines[index]))
        except (ValueError, RecursionError, LedgerError) as wrong:
            raise _refusal(self.path, self.numbers[index], wrong) from None

    def ops(self) -> list[Op]:
        """All operations, checked. Raises Incompatible for the first that is wrong."""
        return [self.op(index) for index in range(len(self.lines))]

    def digest(self, count: int | None = None) -> str:
        """The chained digest of the operations, or of the first `count`, as `bridoon_run` has it for a run."""
        digest = ""
        for line in self.lines[:count]:
            digest = chain(digest, line)
        return digest


def read(path: str, shown: str = "") -> Changeset:
    """Read and check a file. Errors call it `shown`.

    Raises Missing when it is not there, LedgerError when it cannot be read, Incompatible when it is no changeset.
    """
    shown = shown or path
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise Missing(f"there is no changeset at {shown}") from None
    except OSError as wrong:
        raise LedgerError(f"{shown} cannot be read: {wrong.strerror}") from wrong
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Incompatible(f"{shown} is not a file", "a changeset is a file *.changeset.jsonl")
    with open(fd, "rb") as file:
        try:
            content = file.read(LARGEST_FILE + 1)
        except OSError as wrong:
            raise LedgerError(f"{shown} cannot be read: {wrong.strerror}") from wrong
    if len(content) > LARGEST_FILE:
        raise Incompatible(f"{shown} is larger than {LARGEST_FILE >> 20} MiB", "no run writes that much")
    return parse(content, shown, path)


def parse(content: bytes, shown: str, file: str = "") -> Changeset:
    """Take the bytes of a `file` apart, and check its header. Raises Incompatible, which names file and line."""
    try:
        text = content.decode()
    except UnicodeDecodeError as wrong:
        number = content.count(b"\n", 0, wrong.start) + 1
        raise _refusal(shown, number, ValueError("it is not UTF-8")) from None
    lines = [line.strip(BLANKS) for line in text.split("\n")]
    numbers = [number for number, line in enumerate(lines, 1) if line]
    if not numbers:
        raise Incompatible(f"{shown} holds no changeset: it is empty")
    lines = [line for line in lines if line]
    try:
        run_id = _header(_value(lines[0]))
    except (ValueError, RecursionError) as wrong:
        raise _refusal(shown, numbers[0], wrong) from None
    return Changeset(file, shown, run_id, hashlib.sha256(content).hexdigest(), len(content), lines[1:], numbers[1:])


def _refusal(shown: str, number: int, wrong: Exception) -> Incompatible:
    """The error for a line that cannot be applied."""
    text = str(wrong)
    if isinstance(wrong, json.JSONDecodeError):
        text = f"it is no JSON: {wrong.msg} at character {wrong.pos + 1}"
    elif isinstance(wrong, RecursionError):
        text = "its JSON is nested too deeply"
    hint = getattr(wrong, "hint", "") or "nothing was changed"
    return Incompatible(f"{shown}:{number}: {text}", hint, file=shown, line=number)


def _value(line: str) -> Any:
    """The JSON value of a line. Raises ValueError, RecursionError."""
    if len(line) > LARGEST_LINE:
        raise ValueError(f"the line is longer than {LARGEST_LINE >> 20} Mi characters")
    found, end = _decode(line)
    if end < len(line):
        raise json.JSONDecodeError("something follows", line, end)
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)[:80]!r} stands twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


_decode = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number).raw_decode


def _header(found: Any) -> str:
    """The run id of the first line. Raises ValueError."""
    if not isinstance(found, dict) or found.get("op") != HEADER:
        raise ValueError(f"a changeset begins with {HEADER}")
    version, base, run_id = found.get("version"), found.get("base_schema_version"), found.get("run_id")
    if type(version) is not int or version != 1:
        raise ValueError(f"its header has version {_shown(version)}; this harness-cli knows version 1")
    if type(base) is not int or not 1 <= base <= NEWEST:
        raise ValueError(f"its base_schema_version is {_shown(base)}; this harness-cli knows 1 to {NEWEST}")
    if not isinstance(run_id, str):
        raise ValueError(f"its run_id is {_shown(run_id)}, which is no text")
    try:
        return check_run_id(run_id)
    except Invalid as wrong:
        raise ValueError(f"its run_id {_shown(run_id)} cannot name a changeset: {wrong.hint}") from None


class Form(NamedTuple):
    """What an operation of one kind must look like in one version, prepared for reading many of them."""

    kind: Kind
    fields: tuple[tuple[str, type, Callable[[Any], bool] | None, bool], ...]
    """Name, type, what else it must fulfil, whether it is required."""
    uid: Callable[[str], object] | None
    """What a uid must match; None: the row is named by an id."""
    id_type: Any
    """Of its id."""
    expects: bool
    """Whether it must say which revision it expects."""


_forms: dict[tuple[str, int], Form] = {}


def _form(name: Any, version: Any) -> Form:
    kind = kind_of(name)
    if type(version) is not int or not 1 <= version <= 3:
        raise ValueError(f"{name} has version {_shown(version)}; this harness-cli knows 1 to 3")
    fields = tuple((field.name, *TESTS[field.type], field.required) for field in kind.fields if field.since <= version)
    by_uid = kind.key == "uid" or (kind.key == "integer" and version > 1)
    uid = re.compile(kind.prefix + "_[0-9a-f]{32}").fullmatch if by_uid else None
    form = Form(kind, fields, uid, int if kind.key == "integer" else str, kind.revisioned and version > 2)
    _forms[kind.name, version] = form
    return form


def _operation(found: Any) -> Op:
    """The operation of a line, with the fields of its kind alone. Raises ValueError, LedgerError."""
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    name: Any = found.get("op")
    version: Any = found.get("version")
    known = type(name) is str and type(version) is int
    form = (_forms.get((name, version)) if known else None) or _form(name, version)
    given = found.get("payload")
    if type(given) is not dict:
        raise ValueError(f"{name} has no payload" if given is None else f"the payload of {name} is no object")
    payload: dict[str, Any] = {}
    for field, type_, fits, required in form.fields:
        value = payload[field] = given.get(field)
        if value is None:
            if required:
                raise ValueError(f"{name} lacks {field}")
        elif type(value) is not type_ or (fits is not None and not fits(value)):
            raise ValueError(_misfit(form, field, value))
    row, uid = _name(found, form)
    at = found.get("recorded_at_unix_ns")
    if at is not None and not (type(at) is int and 0 < at <= LARGEST):
        raise ValueError(f"recorded_at_unix_ns is {_shown(at)}, which is no time")
    return Op(name, payload, row, uid, version, at or 0, _expected(found, form, version))


def _name(found: dict[str, Any], form: Form) -> tuple[Any, str]:
    """How the row is called: id and uid. Raises ValueError."""
    if form.uid is None:
        row: Any = found.get("id")
        if type(row) is not form.id_type or (form.id_type is int and not _is_integer(row)):
            what = "a text" if form.id_type is str else "an integer"
            raise ValueError(f"the id of {form.kind.name} must be {what}, not {_shown(row)}")
        return row, ""
    uid = found.get("uid")
    if type(uid) is not str or not form.uid(uid):
        wanted = f"{form.kind.prefix}_ and 32 hexadecimal digits"
        raise ValueError(f"the uid of {form.kind.name} must be {wanted}, not {_shown(uid)}")
    return None, uid


def _expected(found: dict[str, Any], form: Form, version: int) -> int | None:
    expected = found.get("expected_revision")
    if expected is None:
        if form.expects:
            raise ValueError(f"{form.kind.name} of version 3 lacks expected_revision")
        return None
    if version < 3:
        raise ValueError(f"{form.kind.name} of version {version} cannot have an expected_revision")
    if type(expected) is not int or not 0 <= expected <= LARGEST:
        raise ValueError(f"expected_revision is {_shown(expected)}, which is no revision")
    if not form.kind.revisioned:
        raise ValueError(f"{form.kind.name} changes no row that has a revision")
    return expected


def _misfit(form: Form, field: str, value: Any) -> str:
    wanted = next(each.type for each in form.kind.fields if each.name == field)
    return f"{field} of {form.kind.name} must be {SPELT[wanted]}, not {_shown(value)}"


def _shown(value: Any) -> str:
    """A value in an error: short, and on one line."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = "null" if value is None else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _is_integer(value: int) -> bool:
    return -LARGEST - 1 <= value <= LARGEST


_times: dict[str, bool] = {}


def _is_time(value: str) -> bool:
    """Whether it is `YYYY-MM-DD HH:MM:SS` of a day that exists."""
    known = _times.get(value)
    if known is None:
        from datetime import datetime

        try:
            known = len(value) == 19 and datetime.fromisoformat(value).isoformat(" ") == value
        except ValueError:
            known = False
        if len(_times) < 10_000:
            _times[value] = known
    return known


TESTS: dict[str, tuple[type, Callable[[Any], bool] | None]] = {
    TEXT: (str, None),
    INT: (int, _is_integer),
    TIME: (str, _is_time),
    NOW: (str, _is_time),
    LIST: (list, None),
    "object": (dict, None),
}
SPELT = {
    TEXT: "a text",
    INT: "an integer of 64 bits",
    TIME: "a time like 2026-01-31 23:59:59",
    NOW: "a time like 2026-01-31 23:59:59",
    LIST: "a list",
    "object": "an object",
}
