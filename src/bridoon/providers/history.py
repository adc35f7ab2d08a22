"""A conversation in an API's own shape, kept from turn to turn: only what is new is converted and encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple

from bridoon.model.message import Message
from bridoon.providers.values import encoded

Pieces = list[Any]
"""What one message contributes to an API message: blocks, or whole items."""

KEPT = 8
"""Conversations whose converted form is kept (a run, its sub-agents)."""


class Protocol(NamedTuple):
    """How a protocol spells a conversation.

    `pieces` turns one message into the role it is merged by and its pieces; no pieces leaves it out. `build`
    makes API messages of the pieces of neighbours that have the same role.
    """

    pieces: Callable[[Message], tuple[str, Pieces]]
    build: Callable[[str, Pieces], list[dict[str, Any]]]


class _Group:
    __slots__ = ("built", "members", "role")

    def __init__(self, role: str) -> None:
        self.role = role
        self.members: list[tuple[int, Pieces]] = []
        self.built: list[dict[str, Any]] | None = None


class History:
    """The converted form of one conversation. Not to be shared between threads."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._view: tuple[Message, ...] = ()
        self._groups: list[_Group] = []

    def update(self, view: Sequence[Message]) -> list[dict[str, Any]]:
        """The API messages of a view, in a fresh list.

        The dictionaries in it are shared with the next call: replace them, never change them.
        """
        same = unchanged(self._view, view)
        if same < len(self._view):
            self._forget(same)
        for index in range(same, len(view)):
            role, pieces = self._protocol.pieces(view[index])
            if not pieces:
                continue
            if not self._groups or self._groups[-1].role != role:
                self._groups.append(_Group(role))
            self._drop(self._groups[-1])
            self._groups[-1].members.append((index, pieces))
        self._view = tuple(view)
        messages: list[dict[str, Any]] = []
        for group in self._groups:
            if group.built is None:
                joined = [piece for _, pieces in group.members for piece in pieces]
                group.built = self._protocol.build(group.role, joined)
                for message in group.built:
                    _encoded[id(message)] = (message, None)
            messages += group.built
        return messages

    def clear(self) -> None:
        """Forget everything."""
        self._forget(0)

    def _forget(self, start: int) -> None:
        while self._groups and self._groups[-1].members[0][0] >= start:
            self._drop(self._groups.pop())
        if self._groups and self._groups[-1].members[-1][0] >= start:
            last = self._groups[-1]
            last.members = [member for member in last.members if member[0] < start]
            self._drop(last)
        self._view = self._view[:start]

    def _drop(self, group: _Group) -> None:
        for message in group.built or ():
            _encoded.pop(id(message), None)
        group.built = None


_encoded: dict[int, tuple[dict[str, Any], bytes | None]] = {}
"""Identity of a converted message to the message (which keeps the identity its own) and its JSON."""

_histories: dict[tuple[str, str], History] = {}


def history(session: str, name: str, protocol: Protocol) -> History:
    """The converted form that this process keeps for a session (its directory) in a protocol (its name)."""
    key = (session, name)
    found = _histories.pop(key, None) or History(protocol)
    _histories[key] = found
    while len(_histories) > KEPT:
        _histories.pop(next(iter(_histories))).clear()
    return found


def unchanged(old: Sequence[Message], new: Sequence[Message]) -> int:
    """How many leading messages of `new` are the very objects of `old`."""
    shared = min(len(old), len(new))
    if all(map(is_, old, new)):
        return shared
    return next(index for index in range(shared) if old[index] is not new[index])


def join(messages: Sequence[Any]) -> bytes:
    """A JSON array of API messages. Those that `History.update` made are encoded once in their life."""
    parts = []
    for message in messages:
        known = _encoded.get(id(message))
        if known is None or known[0] is not message:
            parts.append(encoded(message))
            continue
        text = known[1]
        if text is None:
            text = encoded(message)
            _encoded[id(message)] = (message, text)
        parts.append(text)
    return b"[" + b",".join(parts) + b"]"
