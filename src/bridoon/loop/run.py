"""A run: one prompt carried out in a session, and everything that its stages share."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bridoon.catalog.conf import Settings
from bridoon.catalog.lookup import Catalog, Executable
from bridoon.dialects import stream as dialect
from bridoon.loop.log import Log
from bridoon.loop.pins import Pins
from bridoon.model.event import Event, Failed, Notice, TextDelta, ToolStarted, TurnEnded
from bridoon.model.message import Usage
from bridoon.proc.cancel import Cancel
from bridoon.proc.environment import child_env
from bridoon.sdk.script import Context
from bridoon.session.store import Session
from bridoon.session.stream import Stream

AT_ONCE = 16
"""Concurrent calls of one run that are carried out at the same time; the rest of a larger group waits its turn."""


class Front:
    """A face that watches a run. This one shows nothing and answers nothing; faces override what they can do."""

    def event(self, event: Event) -> None:
        """Called for every event, in order, from the thread that caused it. Must not raise."""

    def ask(self, question: str, choices: list[str], detail: str) -> str | None:
        """Put a question to a person; the chosen or typed answer, None when nobody can be asked."""
        return None

    def queued(self) -> list[str]:
        """What the person said while the run works. Asked before each request after the first; each is told once."""
        return []

    @contextlib.contextmanager
    def terminal(self) -> Iterator[bool]:
        """Hold the terminal free for a child that prompts on `/dev/tty`; yields whether there is one."""
        yield False


class Run:
    """What the stages of one run share. Made once per prompt; sub-agents get a `child`.

    `settings` and the gates are those of the moment when the run began: what the model changes about them while it
    works takes effect in the next run.
    """

    def __init__(
        self,
        session: Session | None,
        catalog: Catalog,
        env: Mapping[str, str],
        *,
        cancel: Cancel,
        front: Front | None = None,
        parent: Run | None = None,
        grants: list[Any] | None = None,
    ) -> None:
        self.catalog = catalog
        self.cancel = catalog.cancel = cancel
        self.front = front or Front()
        self.parent = parent
        self.env = dict(env)
        self.log = Log(env.get("HARNESS_LOG", ""), session.dir if session else "")
        self.env["HARNESS_LOG"] = self.log.path
        self._session: Session | None = None
        self._stream: Stream | None = None
        if session is not None:
            self.attach(session)
        self.settings: Settings = parent.settings if parent else catalog.settings
        self.pins: Pins = parent.pins if parent else Pins(catalog)
        self.grants: list[Any] = parent.grants if parent else [] if grants is None else grants
        """What a person allowed for the rest of this session; the `permissions` pack keeps it."""
        self.asking: threading.Lock = parent.asking if parent else threading.Lock()
        self.turns_at_once = threading.BoundedSemaphore(AT_ONCE)
        """One for each run: a sub-agent that holds a turn of its parent's must find some for its own calls."""
        self.flight: dict[str, Any] = {}
        """Calls whose gates have run before their pass: call id to `loop.gate.Ahead`."""
        self.notes: list[str] = []
        """What the next system prompt tells the model about broken drop-ins."""
        self.skipped: set[str] = set()
        """Paths of hooks that were made during this run and failed."""
        self.usage = Usage()
        self.turns = 0
        self.first = 0
        """The number of the user's message, or of the next one when the run goes on without; 0 before that is known."""
        self._shown: list[str] = []
        self.streamed = False
        """Whether the provider showed anything since the last request."""
        self.failure: int = 0
        """The exit code of the last failure that nothing recovered from."""
        self.compaction_failures = 0
        self.kept: dict[str, Any] = {}
        """What packs keep from one stage to the next, by their names."""
        self.began = time.time()
        self._told: set[str] = set()

    def choose(self, provider: str, model: str) -> None:
        """Settle whom the run talks to. Settings and gates of other providers' packs are no part of it any more."""
        self.env["HARNESS_PROVIDER"], self.env["HARNESS_MODEL"] = provider, model
        self.catalog.choose(provider)
        if self.parent is None:
            self.settings, self.pins = self.catalog.settings, Pins(self.catalog)

    def attach(self, session: Session) -> None:
        """Give the run its session. Before that only the `resolve` stage may run."""
        self._session = session
        self._stream = Stream(session.dir)
        self.env.update(HARNESS_SESSION=session.dir, SESSION_DIR=session.dir, HARNESS_CWD=session.cwd)
        self.env["HARNESS_LOOP_RUN_ID"] = f"{session.id}.{time.time_ns() // 1_000_000:x}"

    @property
    def outermost(self) -> Run:
        """The run that is nobody's sub-agent: this one, or the one around it."""
        return self if self.parent is None else self.parent.outermost

    @property
    def attached(self) -> bool:
        """Whether the run has a session."""
        return self._session is not None

    @property
    def session(self) -> Session:
        """The session that the run belongs to."""
        if self._session is None:
            raise RuntimeError("this run has no session yet")
        return self._session

    @property
    def stream(self) -> Stream:
        """The session's event file."""
        if self._stream is None:
            raise RuntimeError("this run has no session yet")
        return self._stream

    # ---- what drop-ins see

    def context(self, stage: str, extra: Mapping[str, str] | None = None) -> Context:
        """The surroundings of an inline drop-in."""
        return Context(
            self.environment(stage, extra), cancel=self.cancel, emit=self.relay, log=self.log.write, run=self
        )

    def environment(self, stage: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The variables of a drop-in in `stage`; the caller may keep and change the copy."""
        env = {**self.env, "HARNESS_STAGE": stage, "HARNESS_SOURCES": self.catalog.sources_variable}
        return {**env, **extra} if extra else env

    def child_environment(self, stage: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The whole environment of a child process in `stage`."""
        return child_env(self.environment(stage, extra), root=self.env["HARNESS_ROOT"])

    # ---- what people see

    def emit(self, event: Event) -> None:
        """Tell everybody who watches: the `.stream` file, then the face."""
        if self._stream is not None:
            self._stream.write(dialect.encode(event))
        self.witness(event)

    def relay(self, line: dict[str, Any]) -> None:
        """Tell an event in its `.stream` spelling; unknown types reach the file only."""
        if self._stream is not None:
            self._stream.write(line)
        event = dialect.decode(line)
        if event is not None:
            self.witness(event)

    def witness(self, event: Event) -> None:
        """Take note of an event that is in the file already, and show it."""
        match event:
            case TextDelta(text):
                self._shown.append(text)
                self.streamed = True
            case ToolStarted():
                self.streamed = True
            case TurnEnded(_, _, usage):
                self._shown.clear()
                self.count(usage)
            case _:
                pass
        self.front.event(event)

    @contextlib.contextmanager
    def overhearing(self) -> Iterator[Callable[[], None] | None]:
        """Show what a child process appends to `.stream` meanwhile; the yielded function looks once."""
        if self._stream is None:
            yield None
            return
        with self._stream.overhear() as heard:

            def look() -> None:
                for line in heard.events():
                    event = dialect.decode(line)
                    if event is not None:
                        self.witness(event)

            yield look
            look()

    @property
    def shown(self) -> str:
        """Text that was shown and is in no saved message yet."""
        return "".join(self._shown)

    def take_shown(self) -> str:
        """The same, and it counts as saved from now on."""
        text = self.shown
        self._shown.clear()
        return text

    def count(self, usage: Usage) -> None:
        """Add tokens to this run and to those that it works for."""
        self.usage = self.usage.plus(usage)
        if self.parent is not None:
            self.parent.count(usage)

    def notice(self, text: str, *, once: bool = True) -> None:
        """Tell the user something that stops nothing; the same sentence is told once per run."""
        if once and text in self._told:
            return
        self._told.add(text)
        self.log.write(f"[harness] {text}")
        self.emit(Notice(text))

    def fail(self, message: str) -> None:
        """Tell the user that something went wrong inside the run."""
        self.emit(Failed(message))

    def ask(self, question: str, choices: list[str], detail: str = "") -> str | None:
        """Put a question to the person at the face, one at a time; None when nobody can be asked."""
        with self.asking:
            self.cancel.check()
            return self.front.ask(question, choices, detail)

    # ---- what it is made of

    def refresh(self) -> None:
        """Look at the source directories again."""
        self.catalog.refresh()

    def hooks(self, stage: str) -> list[Executable]:
        """The hooks of a stage that take part in this run, in order."""
        found = self.catalog.hooks(stage)
        return [each for each in found if each.path not in self.skipped] if self.skipped else found

    def close(self) -> None:
        """Let go of files. The session stays open."""
        if self._stream is not None:
            self._stream.close()
        self.log.close()
