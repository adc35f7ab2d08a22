"""All the sessions there are: listing, finding, forking, exporting, removing."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from typing import NamedTuple

from bridoon.errors import BridoonError, NotFound, UsageError
from bridoon.session import conf as codec
from bridoon.session import files, transcript
from bridoon.session.store import Session, check_id, create_with

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_HEAD = 4096
"""Bytes of a first message that are read for its title."""


class Entry(NamedTuple):
    """A session in a list."""

    id: str
    dir: str
    changed: float
    """When its newest message, its events or its configuration changed: seconds since 1970."""
    messages: int
    """Files in `messages/`."""
    first: str
    """The file name of the first message, empty when there is none."""


def list_sessions(roots: str | Sequence[str]) -> list[Entry]:
    """The sessions in one or several folders, newest first. A folder that is missing holds none."""
    entries = [entry for root in _unique(roots) for name in _names(root) if (entry := _entry(root, name))]
    entries.sort(key=lambda entry: (entry.changed, entry.id), reverse=True)
    return entries


def newest(roots: str | Sequence[str], cwd: str = "") -> str:
    """The directory of the session that changed last; of those that work in `cwd`, if there is one.

    Raises NotFound when there is none at all.
    """
    entries = list_sessions(roots)
    if not entries:
        raise NotFound("no sessions found", 'hs "..." begins one')
    here = (entry.dir for entry in entries if cwd and _cwd(entry) == cwd)
    return next(here, entries[0].dir)


def _cwd(entry: Entry) -> str:
    data = files.read(f"{entry.dir}/session.conf")
    return codec.decode(data).get("cwd", "") if data else ""


def find(roots: str | Sequence[str], text: str) -> str:
    """The directory of a session, by its id or by a beginning that only one id has.

    Raises UsageError for what cannot be an id or fits several, NotFound when there is none.
    """
    check_id(text)
    places = _unique(roots)
    for root in places:
        if _entry(root, text):
            return os.path.join(root, text)
    found = [
        os.path.join(root, name)
        for root in places
        for name in _names(root)
        if name.startswith(text) and _entry(root, name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(sorted(map(os.path.basename, found))[-3:])
        raise UsageError(f"{len(found)} sessions begin with {text}", f"write more of the id, e.g. of {some}")
    raise NotFound(f"there is no session {text}", "hs session list shows them")


def title(entry: Entry, width: int = 60) -> str:
    """The beginning of the first message on one line, cut to `width` characters."""
    if not entry.first:
        return ""
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # it may be a pipe
        with open(os.open(os.path.join(entry.dir, "messages", entry.first), flags), "rb") as file:
            text = file.read(_HEAD).decode("utf-8", "replace")
        message = transcript.decode(text, entry.first)
    except (OSError, transcript.UnknownRole):
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in message.text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def fork(session: Session, at_seq: int | None = None) -> Session:
    """A new session beside the old one with its messages up to number `at_seq` (all by default).

    A call keeps its results: they are copied even when their numbers are higher. Raises UsageError when there
    is no message up to that number.
    """
    messages = session.messages()
    last = len(messages) if at_seq is None else sum(message.seq <= at_seq for message in messages)
    while 0 < last < len(messages) and messages[last].role == "tool_result":
        last += 1
    if at_seq is not None and last == 0:
        raise UsageError(f"session {session.id} has no message {at_seq} or before")
    limit = messages[last - 1].seq if last else 0

    def fill(draft: str) -> None:
        for folder in ("messages", "images", ".raw"):
            _copy(os.path.join(session.dir, folder), os.path.join(draft, folder), limit)

    own = {key: value for key, value in session.conf.items() if key not in ("id", "created")}
    return create_with(os.path.dirname(session.dir), {**own, "parent": session.id}, fill=fill)


def remove(session: Session) -> None:
    """Delete a session and everything in it. Raises SessionBusy while a run works in it."""
    import shutil

    if os.path.islink(session.dir):
        raise UsageError(f"{session.dir} is a link", "remove the session that it points to")
    with session.lock(wait=0):
        # Out of sight first: a deletion that is interrupted leaves no half session.
        away = os.path.join(os.path.dirname(session.dir), f".removed-{session.id}-{os.getpid()}")
        try:
            os.rename(session.dir, away)
            shutil.rmtree(away)
        except OSError as wrong:
            raise BridoonError(f"cannot remove session {session.id}: {wrong.strerror}") from wrong
    _sweep(os.path.dirname(session.dir))


def older_than(roots: str | Sequence[str], age: str, now: float | None = None) -> list[Entry]:
    """Sessions that have not changed for `age`, e.g. `30d`; oldest first."""
    limit = (time.time() if now is None else now) - parse_age(age)
    return [entry for entry in reversed(list_sessions(roots)) if entry.changed < limit]


def _sweep(root: str) -> None:
    """Clear away what interrupted makers and removers of sessions left, a day later."""
    import shutil

    for name in os.listdir(root) if os.path.isdir(root) else ():
        path = os.path.join(root, name)
        if name.startswith((".new-", ".removed-")) and _changed(path) < time.time() - 86400:
            shutil.rmtree(path, ignore_errors=True)


def parse_age(text: str) -> float:
    """`90s`, `15m`, `12h`, `30d`, `8w` in seconds. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,9})([smhdw])", text.strip())
    if not found:
        raise UsageError(f"{text!r} is no age", "write a number and s, m, h, d or w, e.g. 30d")
    return float(int(found[1]) * _UNITS[found[2]])


def _unique(roots: str | Sequence[str]) -> list[str]:
    given = [roots] if isinstance(roots, str) else roots
    return list(dict.fromkeys(os.path.abspath(root) for root in given))


def _names(root: str) -> list[str]:
    try:
        return [name for name in os.listdir(root) if not name.startswith(".")]
    except OSError:
        return []


def _entry(root: str, name: str) -> Entry | None:
    """What a list says of a folder; None when it is no session."""
    dir = os.path.join(root, name)
    try:
        names = os.listdir(f"{dir}/messages")
    except OSError:
        names = []
    numbered = [(int(match[1]), name) for name in names if (match := transcript.FILE_NAME.fullmatch(name))]
    paths = [f"{dir}/session.conf", f"{dir}/.stream"]
    if numbered:
        paths.append(f"{dir}/messages/{max(numbered)[1]}")
    times = [time for path in paths if (time := _changed(path))]
    if not times:
        return None
    return Entry(name, dir, max(times), len(numbered), min(numbered)[1] if numbered else "")


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _copy(source: str, target: str, limit: int) -> None:
    """Copy the files of a folder whose number is at most `limit`; files without a number are copied, too."""
    import shutil

    try:
        names = os.listdir(source)
    except FileNotFoundError:
        return
    os.makedirs(target, mode=0o700, exist_ok=True)
    for name in names:
        number = re.match(r"[0-9]{1,15}", name)
        if not (number and int(number[0]) > limit) and os.path.isfile(os.path.join(source, name)):
            shutil.copy2(os.path.join(source, name), os.path.join(target, name))
