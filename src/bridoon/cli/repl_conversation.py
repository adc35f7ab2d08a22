"""What stays from one prompt to the next: the session, the catalog, the mode, what the user allowed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bridoon.catalog.lookup import Catalog
from bridoon.cli.compose import catalog_here
from bridoon.errors import NotFound
from bridoon.loop import begin
from bridoon.loop.env import sessions_directory
from bridoon.loop.resolve import resolve
from bridoon.loop.run import Front, Run
from bridoon.model.message import Message
from bridoon.proc.cancel import Cancel
from bridoon.session import history, store
from bridoon.session.store import Session
from bridoon.toolkit.permissions import mode_of

MODE = "ask"
"""How tool calls are permitted in a REPL when nobody says otherwise: somebody sits there who can be asked."""


class Conversation:
    """A session that is being talked in. Runs are made one at a time."""

    def __init__(self, env: Mapping[str, str], cwd: str) -> None:
        """Nothing is made on disk before `start` or `resume`."""
        self.env = dict(env)
        self.cwd = cwd
        self.catalog = catalog_here(env, cwd)
        self.grants: list[Any] = []
        self._providers: list[str] = []
        self._session: Session | None = None
        self._made = ""

    @property
    def session(self) -> Session:
        """The session, once there is one."""
        if self._session is None:
            raise RuntimeError("the conversation has not started")
        return self._session

    @property
    def log(self) -> str:
        """Where the log of the session goes while somebody talks in it."""
        return os.path.join(self.session.dir, "repl.log")

    @property
    def mode(self) -> str:
        """How tool calls are permitted in the next run."""
        return mode_of(self.catalog.settings, self.env, MODE)

    def start(self) -> None:
        """Make a new session. Raises NoProvider when there is nobody to talk to."""
        run = Run(None, self.catalog, self.env, cancel=Cancel())
        try:
            self._take(begin.new_session(run, self.cwd), run)
            self._made = self.session.dir
        finally:
            run.close()

    def resume(self, place: str) -> None:
        """Go on in the session at a directory, with its provider and model unless the environment says."""
        session = store.open_session(place)
        catalog = self._catalog_for(session)
        run = Run(None, catalog, self.env, cancel=Cancel())
        try:
            begin.continue_session(run, session)
            self._take(session, run)
        finally:
            run.close()

    def change_to(self, session: Session) -> None:
        """Go on in another session, with its own provider and model."""
        before = {name: self.env.pop(name, "") for name in ("HARNESS_PROVIDER", "HARNESS_MODEL")}
        if not session.provider:
            self.env.update(before)
        old = self.session
        try:
            self.resume(session.dir)
            self._forget(old)
        except BaseException:
            self.env.update(before)
            raise
        self.grants = []

    def _catalog_for(self, session: Session) -> Catalog:
        """A session's drop-ins are those of the directory where it works."""
        here = session.cwd if os.path.isdir(session.cwd) else self.cwd
        return catalog_here(self.env, here)

    def _take(self, session: Session, run: Run) -> None:
        self._session, self.catalog = session, run.catalog
        self.env.update(
            HARNESS_PROVIDER=run.env["HARNESS_PROVIDER"],
            HARNESS_MODEL=run.env["HARNESS_MODEL"],
            HARNESS_LOG=self.log,
            HARNESS_SESSIONS=os.path.dirname(session.dir),
        )

    def run(self, cancel: Cancel, front: Front | None = None) -> Run:
        """A run of its own for the next thing to do in the session. Close it."""
        self.catalog.refresh()
        # A project's settings may be stricter than the REPL's own default, and never looser.
        env = {**self.env, "HARNESS_PERMISSIONS": self.mode}
        return Run(self.session, self.catalog, env, cancel=cancel, front=front, grants=self.grants)

    def choose(self, provider: str, model: str, cancel: Cancel) -> None:
        """Talk to another provider or model from now on. Raises BridoonError when it cannot be reached."""
        wanted = {**self.env, "HARNESS_PROVIDER": provider, "HARNESS_MODEL": model}
        run = Run(self.session, self.catalog, wanted, cancel=cancel)
        try:
            found = resolve(run)
            self.session.update(provider=found.provider, model=found.model)
            self.env.update(HARNESS_PROVIDER=found.provider, HARNESS_MODEL=found.model)
        except BaseException:
            self.catalog.choose(self.env["HARNESS_PROVIDER"])
            raise
        finally:
            run.close()

    def providers(self, *, fresh: bool = True) -> list[str]:
        """The names of all providers and variants. Not `fresh`: as they were when this was asked last."""
        if fresh or not self._providers:
            self.catalog.refresh()
            known = {each.name for each in self.catalog.entries("providers", unscoped=True)}
            self._providers = sorted(known | {conf.name for conf in self.catalog.confs()})
        return self._providers

    def others(self) -> list[history.Entry]:
        """The other sessions of this place, newest first."""
        return [each for each in history.list_sessions(self._roots()) if each.dir != self.session.dir]

    def find(self, text: str) -> Session:
        """The session of an id, or the newest other one when `text` is empty. Raises NotFound, UsageError."""
        if text:
            return store.open_session(history.find(self._roots(), text))
        others = self.others()
        if not others:
            raise NotFound("there is no other session")
        return store.open_session(others[0].dir)

    def _roots(self) -> list[str]:
        return [os.path.dirname(self.session.dir), sessions_directory(self.env, self.cwd)]

    def last_exchange(self) -> tuple[str, str]:
        """The last thing the user said and the last answer, to remind people where they were."""
        said, answered = "", ""
        for message in reversed(self.session.messages()):
            if message.role == "assistant" and message.text and not answered:
                answered = message.text
            elif _spoken(message):
                said = message.text
                break
        return said, answered

    def leave(self) -> None:
        """The conversation is over: a session that was made for it and in which nothing was said goes."""
        self._forget(self.session)

    def _forget(self, session: Session) -> None:
        if session.dir == self._made and not session.messages():
            history.remove(session)


def _spoken(message: Message) -> bool:
    return message.role == "user" and bool(message.text) and not message.extra
