"""`hs session list|show|dir|fork|export|rm`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from bridoon.cli import declared
from bridoon.cli.declare import Given, group_help, read, sub_command
from bridoon.cli.show import clean, clean_lines, put, put_json, squeeze, width
from bridoon.errors import BridoonError, NotFound, SessionBusy, UsageError
from bridoon.session import conf, history, store
from bridoon.session.history import Entry
from bridoon.session.store import Session
from bridoon.wire.digits import whole_number

BEGINNING = 80
"""Characters of the first message in a list that does not go to a terminal."""


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs session ...`; `list` when nothing else is said."""
    command, words = sub_command(declared.SESSION, argv, default="list")
    if " " not in command.name:
        put(group_help("session", declared.SESSION_ABOUT, declared.SESSION))
        return 0
    given = read(command, words)
    return 0 if given is None else _ACTIONS[command.name](given, env["HARNESS_SESSIONS"])


def _list(given: Given, root: str) -> int:
    entries = history.list_sessions(root)
    if given.has("--json"):
        put_json([_summary(entry) for entry in entries])
        return 0
    room = max(20, width(BEGINNING + 40) - 40) if entries else 0
    for entry in entries:
        put(f"{clean(entry.id)}  {_when(entry)}  {squeeze(history.title(entry, room), room)}".rstrip())
    if not entries:
        put("(no sessions)")
    return 0


def _when(entry: Entry) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.changed))


def _summary(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "dir": entry.dir,
        "changed": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(entry.changed)),
        "messages": entry.messages,
        "first": history.title(entry, BEGINNING),
    }


def recent(root: str, most: int) -> list[tuple[str, str]]:
    """Ids of the newest sessions, each with the beginning of its first message."""
    return [(entry.id, history.title(entry, 50)) for entry in history.list_sessions(root)[:most]]


def _show(given: Given, root: str) -> int:
    session = _open(root, given.words[0])
    if given.has("--messages"):
        from bridoon.session.export import export

        text = export(session, "json" if given.has("--json") else "md")
        put((text if given.has("--json") else clean_lines(text)).rstrip("\n"))
        return 0
    names = _message_files(session)
    if given.has("--json"):
        usage = session.total_usage()._asdict()
        put_json({"id": session.id, "dir": session.dir, "conf": session.conf, "usage": usage, "files": names})
        return 0
    lines = conf.encode(session.conf).decode("utf-8", "surrogateescape").splitlines()
    for line in [*lines, f"messages={len(names)}", *names]:
        put(clean(line))
    return 0


def _message_files(session: Session) -> list[str]:
    from bridoon.session.transcript import FILE_NAME

    try:
        found = os.listdir(os.path.join(session.dir, "messages"))
    except OSError:
        return []
    numbered = [(int(match[1]), name) for name in found if (match := FILE_NAME.fullmatch(name))]
    return [name for _, name in sorted(numbered)]


def _dir(given: Given, root: str) -> int:
    put(_find(root, given.words[0]) if given.words else root)
    return 0


def _fork(given: Given, root: str) -> int:
    text = given.value("--at")
    if given.has("--at") and not whole_number(text):
        raise UsageError(f"--at {text!r} is no number of a message", "hs session show ID lists them")
    put(history.fork(_open(root, given.words[0]), whole_number(text) or None).id)
    return 0


def _export(given: Given, root: str) -> int:
    from bridoon.session.export import export

    chosen = given.value("--format") or "md"
    text = export(_open(root, given.words[0]), chosen)
    # A terminal acts on what a tool may have printed; a file gets it as it is.
    at_terminal = chosen == "md" and _is_terminal()
    put((clean_lines(text) if at_terminal else text).rstrip("\n"))
    return 0


def _is_terminal() -> bool:
    try:
        return os.isatty(1)
    except OSError:
        return False


def _rm(given: Given, root: str) -> int:
    age = given.value("--older-than")
    if bool(given.words) == given.has("--older-than"):
        raise UsageError("usage: harness session rm ID... | --older-than AGE", "e.g. --older-than 30d")
    failed: list[BridoonError] = []
    directories = [entry.dir for entry in history.older_than(root, age)] if age or not given.words else []
    for word in given.words:
        try:
            directories.append(_find(root, word))
        except BridoonError as wrong:
            failed.append(wrong)
    for directory in dict.fromkeys(directories):
        try:
            history.remove(store.open_session(directory, repair=False))
            put(f"removed {clean(os.path.basename(directory))}")
        except BridoonError as wrong:
            failed.append(wrong)
    busy = [wrong for wrong in failed if isinstance(wrong, SessionBusy)]
    if not failed or (age and len(busy) == len(failed)):
        _tell(busy)
        return 0
    *others, last = failed
    _tell(others)
    raise last


def _tell(errors: list[SessionBusy] | list[BridoonError]) -> None:
    from bridoon.cli.compose import say

    for wrong in errors:
        say(f"harness: {wrong}")


def _find(root: str, text: str) -> str:
    """The directory of a session, by its id or a beginning of it. Raises NotFound, UsageError."""
    try:
        return history.find(root, text)
    except NotFound as wrong:
        raise NotFound(f"session '{clean(text)}' not found", wrong.hint) from None


def _open(root: str, text: str) -> Session:
    return store.open_session(_find(root, text), repair=False)


_ACTIONS: dict[str, Callable[[Given, str], int]] = {
    "session list": _list,
    "session show": _show,
    "session dir": _dir,
    "session fork": _fork,
    "session export": _export,
    "session rm": _rm,
}
