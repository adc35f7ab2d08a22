"""Writes the traces that earlier runs left: of killed runs, and of those whose ledger could not be written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from bridoon.errors import BridoonError
from bridoon.evidence import spool
from bridoon.evidence.gather import Ended, kept_of
from bridoon.evidence.keep import Kept, keep
from bridoon.evidence.trace import KILLED
from bridoon.ledger.errors import Conflict, Invalid, Missing
from bridoon.ledger.place import Place
from bridoon.model.message import Message
from bridoon.session import store


def write_all(
    folder: str, place: Place, env: Mapping[str, str], own: Mapping[str, Any], log: Callable[[str], object]
) -> None:
    """Write what waits in `folder` for a ledger. What cannot be written goes on waiting.

    `own` is the record of this run; `log` is told of what nothing can be made of.
    """
    for taken in spool.waiting(folder):
        if not _is_of(taken.content, place.database):
            taken.give_back()  # the numbers of two databases may be the same
            continue
        try:
            kept = _killed(taken.content, own, env) if taken.kind == spool.RUN else _spooled(taken.content)
        except (BridoonError, KeyError, TypeError, ValueError, AttributeError) as wrong:
            log(f"[harness] ledger: {taken.path} cannot be used: {type(wrong).__name__}: {wrong}")
            taken.done()
            continue
        try:
            keep(place, kept, env)
            taken.done()
        except BridoonError as wrong:
            if taken.kind == spool.RUN:
                put_aside(folder, place.database, kept)
                taken.done()
            else:
                taken.give_back()
            if not isinstance(wrong, Invalid | Missing | Conflict):
                return  # the others would fare no better


def _is_of(content: dict[str, Any], database: str) -> bool:
    """Whether something belongs to a database, whatever links its path went through."""
    named = content.get("database")
    return isinstance(named, str) and os.path.realpath(named) == os.path.realpath(database)


def put_aside(folder: str, database: str, kept: Kept) -> str:
    """Keep a trace in a file until the ledger can take it; its path. Raises OSError."""
    return spool.write(folder, kept.uid + spool.TRACE, {"database": database, **kept._asdict()})


def _spooled(content: dict[str, Any]) -> Kept:
    kept = Kept(**{name: content[name] for name in Kept._fields})
    if not isinstance(kept.trace, dict) or not isinstance(kept.uid, str):
        raise ValueError("it is no trace")
    return kept


def _killed(content: dict[str, Any], own: Mapping[str, Any], env: Mapping[str, str]) -> Kept:
    """The trace of a run that never came to its end, out of its session."""
    history = _messages(str(content["session"]))
    if own.get("session") == content["session"]:  # this run goes on where that one stopped
        history = tuple(message for message in history if message.seq < own["first"])
    began = float(content["began"])
    folder = os.path.join(str(content["session"]), "messages")
    ended = max(began, _last_written(folder, history[-1].seq if history else 0))
    end = {"stop": KILLED, "seconds": ended - began}
    return kept_of(Ended(content, end, history, ended, env))


def _messages(session: str) -> tuple[Message, ...]:
    """The messages of a session; none when somebody has removed it meanwhile: that there was a run is known still."""
    try:
        return store.open_session(session, repair=False).messages()
    except BridoonError:
        return ()


def _last_written(folder: str, last: int) -> float:
    """When the last of the messages up to a number was written, in seconds since 1970; 0 when there is none."""
    times = [0.0]
    try:
        for entry in os.scandir(folder):
            number = entry.name.partition("-")[0]
            if number.isdigit() and int(number) <= last:
                times.append(entry.stat().st_mtime)
    except OSError:
        pass
    return max(times)
