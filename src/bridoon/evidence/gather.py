"""Collects what a trace is made of: the session, those of its sub-agents, and the repository."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridoon.errors import BridoonError
from bridoon.evidence import calls, changes, trace
from bridoon.evidence.keep import Kept
from bridoon.ledger.store.write import timestamp
from bridoon.model.message import Message
from bridoon.session import store

HARMLESS = frozenset({"read_file", "skill", "capability"})
"""Tools that change no file: after these alone the repository is not asked."""

MOST_SESSIONS = 100
DEEPEST = 4


class Ended(NamedTuple):
    """A run that is over."""

    record: Mapping[str, Any]
    end: Mapping[str, Any]
    history: Sequence[Message]
    ended: float
    """Seconds since 1970."""
    env: Mapping[str, str]
    """What git is run with."""


def kept_of(run: Ended) -> Kept:
    """The trace of the run, ready to be kept."""
    record = run.record
    others = [session.messages() for session in _inner(str(record["session"]), float(record["began"]))]
    helpers = [messages for messages in others if messages]
    done = [call for messages in (_own(run), *helpers) for call in calls.calls(messages)]
    changed, note = _changed(run) if any(call.ran and call.name not in HARMLESS for call in done) else ([], "")
    scene = trace.Scene(record, run.end, helpers, changed, [note] if note else [])
    built = {**trace.build(run.history, scene), "created_at": timestamp(run.ended)}
    return Kept(
        str(record["uid"]), built, str(record.get("intake", "")), str(record.get("story", "")), str(record["run_id"])
    )


def _own(run: Ended) -> list[Message]:
    return [message for message in run.history if message.seq >= int(run.record["first"])]


def _changed(run: Ended) -> tuple[list[str], str]:
    record = run.record
    repository = changes.find(run.env, str(record["cwd"]))
    if repository is None:
        return [], ""
    known = record.get("gone")
    gone = [str(name) for name in known] if isinstance(known, list) else None
    found, note = changes.changed(repository, float(record["began"]), run.ended, gone)
    ours = os.path.realpath(str(record["database"]))
    kept = [path for path in found if not _is_ours(path, ours, str(record["session"]))]
    return [calls.relative(path, str(record["cwd"]), str(record["root"])) for path in kept], note


def _is_ours(path: str, database: str, session: str) -> bool:
    """Whether a file changed because the harness itself keeps its records there."""
    return os.path.realpath(path).removesuffix("-wal").removesuffix("-shm") == database or path.startswith(
        os.path.dirname(session) + "/"
    )


def _inner(session: str, began: float, depth: int = 0) -> list[store.Session]:
    """The sessions of sub-agents that worked since a time."""
    root = os.path.join(session, ".harness", "sessions")
    found: list[store.Session] = []
    try:
        names = sorted(name for name in os.listdir(root) if not name.startswith("."))
    except OSError:
        return found
    for name in names:
        place = os.path.join(root, name)
        try:
            if os.stat(os.path.join(place, "session.conf")).st_mtime < began - 1:
                continue
            found.append(store.open_session(place, repair=False))
        except (OSError, BridoonError):
            continue
        if depth < DEEPEST:
            found += _inner(place, began, depth + 1)
    return found[:MOST_SESSIONS]
