"""Puts the engines together for the command line."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from bridoon.catalog.lookup import Catalog
from bridoon.loop.place import catalog_of
from bridoon.proc.cancel import Cancel

if TYPE_CHECKING:
    from bridoon.catalog.trust import Trust
    from bridoon.evidence.released import Waiting

AskTrust = Callable[[str, list[str]], bool | None]

MOST_SHOWN = 40
"""Lines of a question about trust."""

_catalogs: dict[str, Catalog] = {}
_asker: AskTrust | None = None


def catalog_here(env: Mapping[str, str], cwd: str, *, asks: bool = True) -> Catalog:
    """The catalog of a working directory, made once per process. Without `asks` it is only looked at: no question
    about trust, no notices."""
    catalog = _catalogs.get(cwd)
    if catalog is None:
        if asks:
            put = _Question(env, cwd)
            catalog = catalog_of(env, cwd, ask_trust=put.ask, released=put.released)
        else:
            catalog = catalog_of(env, cwd, warn=False)
        _catalogs[cwd] = catalog
    return catalog


def tools_waiting(trust: Trust, env: Mapping[str, str], harness: str, cwd: str) -> Waiting | None:
    """The registered tools that trusting a `.harness` would release; None, with little loaded, when there are none."""
    from bridoon.evidence import detect

    if not any(detect.database(env, here) for here in (cwd, os.path.dirname(harness))):
        return None
    from bridoon.evidence.released import waiting

    return waiting(trust, env, harness, cwd)


class _Question:
    """Asks whether what came with a checkout may be used, registered tools included."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        self._env, self._cwd = env, cwd
        self._waiting: dict[str, Waiting | None] = {}

    def released(self, directory: str) -> list[str]:
        """The tools that a yes would release. Nobody looks when nobody can be asked."""
        from bridoon.catalog.trust import Trust
        from bridoon.cli.tty import Terminal

        if _asker is None:
            terminal = Terminal.open()
            if terminal is None:
                return []
            with terminal:
                pass
        trust = Trust(self._env["HARNESS_HOME"], None, self._env)
        found = self._waiting[directory] = tools_waiting(trust, self._env, directory, self._cwd)
        return found.lines if found else []

    def ask(self, directory: str, contents: list[str]) -> bool | None:
        """Put the question; None: nobody to ask."""
        answer = _ask_trust(directory, contents)
        found = self._waiting.get(directory)
        if answer and found:
            found.remember()
        return answer


def shortened(contents: list[str]) -> list[str]:
    """What a question about trust shows of a long list."""
    more = len(contents) - MOST_SHOWN
    return [*contents[:MOST_SHOWN], f"... and {more} more: hs trust --dry-run lists them"] if more > 0 else contents


@contextmanager
def asking(asker: AskTrust) -> Iterator[None]:
    """Within this context, questions of trust are put by a face that holds the terminal."""
    global _asker
    _asker = asker
    try:
        yield
    finally:
        _asker = None


def question(directory: str) -> str:
    """The question about trust."""
    return f"{directory} is in git's index, as code of a checkout is. Trust it, and let the following run?"


def _ask_trust(directory: str, contents: list[str]) -> bool | None:
    """Ask the person at the terminal whether code that came with a checkout may run; None: nobody to ask."""
    if _asker is not None:
        return _asker(directory, contents)
    from bridoon.cli.tty import Terminal

    terminal = Terminal.open()
    if terminal is None:
        return None
    with terminal:
        listing = "\n".join(f"  {line}" for line in shortened(contents))
        answer = terminal.ask(
            question(directory),
            ["yes", "no"],
            listing,
        )
    return answer == "yes"


def stop_on_signals(cancel: Cancel) -> None:
    """Let the first SIGINT, SIGTERM or SIGHUP stop the run; a second one ends the process at once, children first."""

    def stop(signum: int, frame: FrameType | None) -> None:
        if cancel.is_set:
            from bridoon.proc import children

            children.end_all(grace=0.2)
            os._exit(128 + signum)
        cancel.set(signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, stop)


def end_children(env: Mapping[str, str], grace: float = 1.0) -> None:
    """The end of this process: end what it started, in `grace` + 1 seconds at most.

    HARNESS_BACKGROUND=keep, or `background=keep` in `settings.conf`, leaves what finished calls left in the background.
    """
    from bridoon.proc import children

    said = [
        env.get("HARNESS_BACKGROUND", ""),
        *(one.settings.get("background") for one in _catalogs.values()),
    ]
    children.end_all(grace=grace, keep=next((word for word in said if word), "") == "keep")


def say(text: str) -> None:
    """One line for the person at the terminal, on standard error."""
    try:
        sys.stderr.write(text + "\n")
    except OSError:
        pass
