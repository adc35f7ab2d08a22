"""From a prompt to its outcome: what every face does to have the loop carry something out."""

from __future__ import annotations

from bridoon.errors import UsageError
from bridoon.loop.follow import Outcome, carry_out
from bridoon.loop.resolve import resolve
from bridoon.loop.run import Run
from bridoon.model.message import Image, Message, Text
from bridoon.session import store
from bridoon.session.store import Session


def new_session(run: Run, cwd: str) -> Session:
    """Resolve provider and model, then make a session for the run. Nothing is made when there is no provider."""
    choice = resolve(run)
    session = store.create(
        run.env["HARNESS_SESSIONS"], cwd=cwd, provider=choice.provider, model=choice.model, parent=""
    )
    run.attach(session)
    return session


def continue_session(run: Run, session: Session) -> None:
    """Take up a session: its provider and model count unless the environment names others."""
    if not run.env.get("HARNESS_PROVIDER") and session.provider:
        run.env["HARNESS_PROVIDER"] = session.provider
        if not run.env.get("HARNESS_MODEL"):
            run.env["HARNESS_MODEL"] = session.model
    choice = resolve(run)
    if choice != (session.provider, session.model):
        session.update(provider=choice.provider, model=choice.model)
    run.attach(session)


def prompt(run: Run, text: str, images: tuple[Image, ...] = ()) -> Outcome:
    """Carry out one prompt in the run's session, under its lock.

    An empty `text` continues a history that ends with a tool result or an interrupted turn. Raises UsageError when
    there is nothing to continue, SessionBusy when another process writes the session.
    """
    session = run.session
    with session.lock(cancel=run.cancel):
        session.refresh()
        session.repair()
        if not text.strip() and not images and not _can_continue(session):
            raise UsageError("the message is empty", "say what to do, or pipe it in")
        run.stream.start_over()
        if text.strip() or images:
            parts = ((Text(text),) if text else ()) + images
            session.append(Message("user", parts))
        return carry_out(run)


def _can_continue(session: Session) -> bool:
    messages = session.messages()
    if not messages:
        return False
    last = messages[-1]
    return last.role != "assistant" or last.stop in ("cancelled", "error", "length")
