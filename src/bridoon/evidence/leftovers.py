"""Writes the traces that earlier runs left: of killed runs, and of those whose ledger could not be written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bridoon.errors import BridoonError
from bridoon.evidence import record
from bridoon.evidence.story import Told, tell
from bridoon.evidence.trace import KILLED
from bridoon.ledger.errors import Conflict, Invalid, Missing
from bridoon.session import store

if TYPE_CHECKING:
    from bridoon.evidence.keep import Kept
    from bridoon.evidence.record import Taken
    from bridoon.evidence.state import State
    from bridoon.model.message import Message


def write_all(state: State) -> None:
    """Write what waits for this ledger. What cannot be written goes on waiting."""
    own = state.record or {}
    for taken in record.waiting(state.folder):
        if not _is_of(taken.content, state.place.database):
            taken.give_back()  # the numbers of two databases may be the same
            continue
        try:
            kept = _killed(taken.content, own, state.run.env) if taken.kind == record.RUN else _spooled(taken.content)
        except (BridoonError, KeyError, TypeError, ValueError, AttributeError) as wrong:
            state.run.log.write(f"[harness] ledger: {taken.path} cannot be used: {type(wrong).__name__}: {wrong}")
            taken.done()
            continue
        if not _write(state, kept, taken):
            return


def _is_of(content: dict[str, Any], database: str) -> bool:
    """Whether something belongs to a database, whatever links its path went through."""
    named = content.get("database")
    return isinstance(named, str) and os.path.realpath(named) == os.path.realpath(database)


def _write(state: State, kept: Kept, taken: Taken) -> bool:
    """Put a trace into the ledger, or let it wait; whether to go on with others."""
    from bridoon.evidence.keep import keep

    try:
        keep(state.place, kept, state.run.env)
    except BridoonError as wrong:
        if taken.kind == record.RUN:
            spool(state.folder, state.place.database, kept)
            taken.done()
        else:
            taken.give_back()
        return isinstance(wrong, Invalid | Missing | Conflict)  # the next one may be better off
    taken.done()
    return True


def spool(folder: str, database: str, kept: Kept) -> str:
    """Keep a trace in a file until the ledger can take it; its path. Raises OSError."""
    return record.write(folder, kept.uid + record.TRACE, {"database": database, **kept._asdict()})


def _spooled(content: dict[str, Any]) -> Kept:
    from bridoon.evidence.keep import Kept

    kept = Kept(**{name: content[name] for name in Kept._fields})
    if not isinstance(kept.trace, dict) or not isinstance(kept.uid, str):
        raise ValueError("it is no trace")
    return kept


def _killed(content: dict[str, Any], own: dict[str, Any], env: Mapping[str, str]) -> Kept:
    """The trace of a run that never came to its end, out of its session."""
    history = _messages(str(content["session"]))
    if own.get("session") == content["session"]:  # this run goes on where that one stopped
        history = tuple(message for message in history if message.seq < own["first"])
    began = float(content["began"])
    folder = os.path.join(str(content["session"]), "messages")
    ended = max(began, _last_written(folder, history[-1].seq if history else 0))
    end = {"stop": KILLED, "seconds": ended - began}
    return tell(Told(content, end, history, ended, env))


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
