"""What the pack `ledger` knows during a run: where the ledger is, what may be called, who failed."""

from __future__ import annotations

import os
import threading
from typing import Any

from bridoon.errors import BridoonError
from bridoon.evidence import near, plain, record
from bridoon.loop.run import Run

PATIENCE = 0.05
"""Seconds that work in the background waits, so that the first request is on its way before it begins."""

JOIN = 1.0
"""Seconds that the end of a run waits for that work."""


class State:
    """One run of the loop in a project that has a ledger. Made by `state_of`."""

    def __init__(self, run: Run) -> None:
        from bridoon.evidence.offer import Offer
        from bridoon.evidence.registry import Registry
        from bridoon.ledger.place import find

        self.run = run
        self.place = find(run.env, run.session.cwd or os.getcwd())
        self.folder = record.folder(run.env["HARNESS_HOME"], self.place.database)
        self.registry = Registry(self.place, run.env)
        self.failed: set[str] = set()
        """Registered tools that failed when they were called in this run: they count as missing."""
        first = self.registry.look()
        self.active = first.schema != 0
        """Whether the file is a ledger at all."""
        self._judged: tuple[tuple[int, ...], str] = ((), "")
        self.offer = Offer(self.registry, self.failed, self.barred, run.notice)
        self.record: dict[str, Any] | None = None
        self.path = ""
        """Of the record of this run."""
        self._go = threading.Event()
        self._thread: threading.Thread | None = None
        self._prompt: tuple[object, frozenset[str], str] = (None, frozenset(), "")
        if self.active and first.trouble:
            run.notice(f"the ledger cannot be read: {first.trouble}")

    def distrust(self) -> str:
        """Why registered tools are not run and not probed; empty when they may be.

        Judged again when another file has come to the place of the database: a command may have checked it out.
        """
        from bridoon.evidence import trust

        if not self.registry.look().tools:
            return ""
        now = trust.identity(self.place)
        if self._judged[0] != now:
            self._judged = (now, trust.distrust(self.run.catalog, self.run.env, self.place))
        return self._judged[1]

    def barred(self) -> frozenset[str]:
        """Names of registered tools that are neither run nor probed."""
        from bridoon.evidence import trust

        now = self.registry.look()
        if self.distrust():
            return frozenset(tool.name for tool in now.tools)
        return trust.barred(self.run.catalog, self.run.env, self.place, now.foreign)

    def warn(self) -> None:
        """Tell which tools are listed only."""
        from bridoon.evidence import trust

        if why := self.distrust():
            self.run.notice(why)
        elif names := self.barred():
            self.run.notice(trust.told(names, self.place))

    def prompt(self) -> str:
        """The lines of the system prompt about capabilities."""
        from bridoon.evidence import registry

        tools, failed = self.registry.look().tools, frozenset(self.failed)
        if self._prompt[0] is not tools or self._prompt[1] != failed:
            text = registry.prompt(registry.postures(tools, self.failed))
            self._prompt = (tools, failed, text)
        return self._prompt[2]

    def postures(self) -> dict[str, str]:
        """What a trace notes of each capability that is not fully there and that a call can use."""
        from bridoon.evidence import registry
        from bridoon.ledger.judge import posture

        used = set(self.offer.providers().values())
        found = registry.postures(self.registry.look().tools, self.failed)
        notes = {one.capability: posture.note(one) for one in found if one.capability in used}
        return {name: plain.line(note, 400) for name, note in notes.items() if note}

    def start_work(self) -> None:
        """Begin what is done beside the run: write what earlier runs left, look which tools are there."""
        self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
        self._thread.start()

    def finish_work(self) -> None:
        """Wait for it, a short time."""
        self._go.set()
        if self._thread is not None:
            self._thread.join(JOIN)

    def _work(self) -> None:
        try:
            self._note_what_is_gone()
            self._go.wait(PATIENCE)
            if record.any_waiting(self.folder, self.path):
                from bridoon.evidence import leftovers

                leftovers.write_all(self)
            self._refresh()
        except Exception as wrong:  # nothing of this may disturb the run
            self.run.log.write(f"[harness] ledger: {type(wrong).__name__}: {wrong}")

    def _note_what_is_gone(self) -> None:
        """Files of the repository that are not there: what is gone at the end was not removed by this run, then."""
        from bridoon.evidence import changes

        if self.record is None:
            return
        repository = changes.find(self.run.env, self.record["cwd"])
        gone = changes.gone(repository) if repository else None
        if gone is not None and len(gone) < 1000:
            self.record["gone"] = gone
            if self.path and os.path.exists(self.path):
                record.write(self.folder, os.path.basename(self.path), self.record)

    def _refresh(self) -> None:
        from bridoon.evidence import registry

        barred = self.barred()
        tools = tuple(tool for tool in self.registry.look().tools if tool.name not in barred)
        if tools and registry.is_stale(tools, 60.0):
            try:
                registry.refresh(self.place, self.run.env, barred)
            except BridoonError:
                pass  # what keeps it from being written is told when the trace meets it


def state_of(run: Run) -> State | None:
    """The state of the outermost run around `run`, made when it is first asked for; None without a ledger."""
    while run.parent is not None:
        run = run.parent
    if not near.found(run):
        return None
    known: State | str = run.kept[near.KEY]
    if isinstance(known, State):
        return known
    state = State(run)
    run.kept[near.KEY] = state if state.active else ""  # not yet: a command may make it one
    return state if state.active else None
