"""The witness of a run, which knows where the ledger is, what may be called, who failed, and what was going on."""

from __future__ import annotations

import os
import threading
from typing import Any

from bridoon.errors import BridoonError
from bridoon.evidence import detect, excerpt, spool
from bridoon.loop.run import Run

PATIENCE = 0.05
"""Seconds that work in the background waits, so that the first request is on its way before it begins."""

FRESH = 60.0
"""Seconds for which what was found of a tool counts, before it is looked for again."""

MOST_GONE = 1000
"""Files of a repository that may be absent when a run begins; with more of them (a sparse checkout) none is noted."""

JOIN = 1.0
"""Seconds that the end of a run waits for that work."""


class Witness:
    """Looks on at one run of the loop in a project that has a ledger. Made by `witness_of`."""

    def __init__(self, run: Run) -> None:
        from bridoon.evidence.offer import Offer
        from bridoon.evidence.registry import Registry
        from bridoon.ledger.place import find

        self.run = run
        self.place = find(run.env, run.session.cwd or os.getcwd())
        self.folder = spool.folder(run.env["HARNESS_HOME"], self.place.database)
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
        self._prompt: tuple[object, object, str] = (None, None, "")
        self._checked: object = None
        """The tools in which news were looked for."""
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
            self._judged = (now, trust.distrust(self.run.catalog.trust, self.run.env, self.place))
        return self._judged[1]

    def barred(self) -> dict[str, str]:
        """Names of registered tools that are neither run nor probed, each with the reason."""
        from bridoon.evidence import trust

        return trust.barred(self.run.catalog.trust, self.run.env, self.place, self.registry.look(), self.distrust())

    def warn(self) -> None:
        """Tell which tools are listed only, and which of others may be used although nobody was shown them."""
        from bridoon.evidence import trust

        if names := self.barred():
            self.run.notice(trust.told(names, self.place, self.distrust()))
        elif self.registry.look().foreign:
            self._tell_news()

    def _tell_news(self) -> None:
        from bridoon.evidence import released, trust

        now = self.registry.look()
        if now is self._checked:
            return
        self._checked = now
        theirs = [tool for tool in now.tools if tool.name in now.foreign]
        if fresh := released.news(self.folder, theirs):
            self.run.notice(trust.allowed_now([released.line(tool) for tool in fresh]))
            try:
                released.remember(self.folder, theirs)
            except OSError as wrong:
                self.run.log.write(f"[harness] ledger: they will be told again: {wrong}")

    def prompt(self) -> str:
        """The lines of the system prompt about capabilities."""
        from bridoon.evidence import registry
        from bridoon.ledger.judge import posture

        tools, known = self.registry.look().tools, (frozenset(self.failed), self.barred())
        if self._prompt[0] is not tools or self._prompt[1] != known:
            text = registry.prompt(posture.postures(tools, registry.CAN, *known))
            self._prompt = (tools, known, text)
        return self._prompt[2]

    def postures(self) -> dict[str, str]:
        """What a trace notes of each capability that is not fully there and that a call can use."""
        from bridoon.evidence import registry
        from bridoon.ledger.judge import posture

        used = set(self.offer.providers().values())
        found = posture.postures(self.registry.look().tools, registry.CAN, self.failed, self.barred())
        notes = {one.capability: posture.note(one) for one in found if one.capability in used}
        return {name: excerpt.line(note, 400) for name, note in notes.items() if note}

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
            if spool.any_waiting(self.folder, self.path):
                from bridoon.evidence import leftovers

                leftovers.write_all(self.folder, self.place, self.run.env, self.record or {}, self.run.log.write)
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
        if gone is not None and len(gone) < MOST_GONE:
            self.record["gone"] = gone
            if self.path and os.path.exists(self.path):
                spool.write(self.folder, os.path.basename(self.path), self.record)

    def _refresh(self) -> None:
        from bridoon.evidence import registry

        barred = self.barred()
        tools = tuple(tool for tool in self.registry.look().tools if tool.name not in barred)
        if tools and registry.is_stale(tools, FRESH):
            try:
                registry.refresh(self.place, self.run.env, barred)
            except BridoonError:
                pass  # what keeps it from being written is told when the trace meets it


def witness_of(run: Run) -> Witness | None:
    """The witness of the outermost run around `run`, made when it is first asked for; None without a ledger."""
    run = run.outermost
    if not detect.has_ledger(run):
        return None
    known: Witness | str = run.kept[detect.KEY]
    if isinstance(known, Witness):
        return known
    witness = Witness(run)
    run.kept[detect.KEY] = witness if witness.active else ""  # not yet: a command may make it one
    return witness if witness.active else None
