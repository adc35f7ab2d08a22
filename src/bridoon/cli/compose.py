"""Puts the engines together for the command line."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from bridoon.catalog.lookup import Catalog
from bridoon.loop.place import catalog_of
from bridoon.proc.cancel import Cancel

AskTrust = Callable[[str, list[str]], bool | None]

_catalogs: dict[str, Catalog] = {}
_asker: AskTrust | None = None


def catalog_here(env: Mapping[str, str], cwd: str, *, asks: bool = True) -> Catalog:
    """The catalog of a working directory, made once per process. Without `asks` it is only looked at: no question
    about trust, no notices."""
    catalog = _catalogs.get(cwd)
    if catalog is None:
        catalog = _catalogs[cwd] = catalog_of(env, cwd, warn=asks, ask_trust=_ask_trust if asks else None)
    return catalog


@contextmanager
def asking(asker: AskTrust) -> Iterator[None]:
    """Within this context, questions of trust are put by a face that holds the terminal."""
    global _asker
    _asker = asker
    try:
        yield
    finally:
        _asker = None


def _ask_trust(directory: str, contents: list[str]) -> bool | None:
    """Ask the person at the terminal whether code that came with a checkout may run; None: nobody to ask."""
    if _asker is not None:
        return _asker(directory, contents)
    from bridoon.cli.tty import Terminal

    terminal = Terminal.open()
    if terminal is None:
        return None
    with terminal:
        listing = "\n".join(f"  {line}" for line in contents[:40])
        answer = terminal.ask(
            f"{directory} came with this checkout. Trust it, and let the following run?",
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
            import os

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
