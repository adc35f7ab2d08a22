"""What the input line remembers from one day to the next, and what it offers, in the words of its library."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from bridoon.cli.terminal.words import Offer

HISTORY_BYTES = 1 << 20
"""Size from which the older half of the history file is dropped."""

Complete = Callable[[str], list[Offer]]
"""Gives the completions of the text before the cursor."""


class Offers(Completer):
    """Our offers as completions."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for text, back, about in self._complete(document.text_before_cursor):
            yield Completion(text, start_position=-back, display_meta=about)


class Past(FileHistory):
    """A history whose file may be full, read-only or odd: that costs nobody their line."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string.encode("utf-8", "replace").decode())
        except OSError:
            pass


def history_in(path: str) -> History:
    """The history in a file that only its owner can read; one in memory when there can be no such file."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return InMemoryHistory()
    with os.fdopen(fd, "r+b") as file:
        os.fchmod(fd, 0o600)
        if os.fstat(fd).st_size > HISTORY_BYTES:
            newer = file.read()[-HISTORY_BYTES // 2 :].partition(b"\n\n")[2]
            file.seek(0)
            file.write(newer)
            file.truncate()
    return Past(path)
