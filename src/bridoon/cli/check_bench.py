"""Where drop-ins are tried out: a scratch directory and session, a clock, and what they said there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bridoon.catalog.sources import Executable
from bridoon.proc.cancel import Cancel

PATIENCE = 10.0
"""Seconds that one trial may take."""

LEVELS = ("error", "warning", "note", "ok")


class Finding(NamedTuple):
    """One thing to say about a file. An `error` means that it would not work."""

    path: str
    level: str
    text: str
    remedy: str = ""
    ms: float | None = None


class Shot(NamedTuple):
    """What one trial of a program came to."""

    code: int
    out: str
    err: str
    ms: float
    timed_out: bool = False
    obstacle: str = ""
    """Why it could not be started; everything else is empty then."""

    @property
    def reason(self) -> str:
        """How it failed, with its own last words."""
        if self.obstacle:
            return self.obstacle
        if self.timed_out:
            return f"not finished after {PATIENCE:.0f} s"
        told = (self.err.strip().partition("\nhint: ")[0] or self.out.strip()).splitlines()[-1:]
        return f"exit {self.code}" + "".join(f": {line.strip()[:200]}" for line in told)

    @property
    def failed(self) -> bool:
        return bool(self.obstacle) or self.timed_out or self.code != 0


class Bench:
    """Runs drop-ins away from everybody's work. Made by `bench`."""

    def __init__(self, place: str, session: str, env: Mapping[str, str], cancel: Cancel) -> None:
        self.place = place
        self.work = os.path.join(place, "work")
        self.session = session
        self.env = env
        self._cancel = cancel

    def shoot(self, file: Executable, arguments: Sequence[str] = (), stdin: str = "", stage: str = "") -> Shot:
        """Run a drop-in once, without a terminal. Raises Cancelled."""
        from bridoon.proc.environment import child_env
        from bridoon.proc.run import WHOLE, CannotStart, command_for, run

        env = child_env({**self.env, "HARNESS_STAGE": stage}, root=self.env["HARNESS_ROOT"])
        try:
            done = run(
                [*command_for(file.path, file.marked), *arguments],
                stdin=stdin.encode("utf-8", "replace"),
                cwd=self.work,
                env=env,
                timeout=PATIENCE,
                cancel=self._cancel,
                out_limit=8 << 20,
            )
        except CannotStart as wrong:
            return Shot(126, "", "", 0.0, obstacle=wrong.message)
        out, err = done.stdout.text(WHOLE), done.stderr.text()
        return Shot(done.code, out, err, done.seconds * 1000, done.timed_out)


@contextlib.contextmanager
def bench(env: Mapping[str, str]) -> Iterator[Bench]:
    """A scratch directory with a session in it; both are removed at the end."""
    import shutil
    import tempfile

    from bridoon.cli.compose import stop_on_signals
    from bridoon.model.message import Message, Text
    from bridoon.proc import children
    from bridoon.session import store

    cancel = Cancel()
    stop_on_signals(cancel)
    place = tempfile.mkdtemp(prefix="hs-check-")
    try:
        work = os.path.join(place, "work")
        os.mkdir(work)
        session = store.create(os.path.join(place, "sessions"), cwd=work, provider="scripted")
        session.append(Message("user", (Text("a message that hs check made up"),)))
        known = {
            "HARNESS_SESSION": session.dir,
            "SESSION_DIR": session.dir,
            "HARNESS_SESSIONS": os.path.dirname(session.dir),
            "HARNESS_CWD": work,
            "HARNESS_LOG": os.path.join(place, "log"),
            "HARNESS_PROVIDER": "scripted",  # a hook of `send` that calls the provider calls nobody
            "HARNESS_MODEL": "script",
            "BRIDOON_SCRIPT": "",
        }
        yield Bench(place, session.dir, {**env, **known}, cancel)
    finally:
        children.end_all()
        shutil.rmtree(place, ignore_errors=True)
