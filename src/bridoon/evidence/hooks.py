"""What the hooks of the pack `ledger` do: begin, lend tools, tell the model, and record the run when it has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from bridoon.errors import BridoonError
from bridoon.evidence import detect, excerpt, spool, trace
from bridoon.evidence.witness import Witness, witness_of
from bridoon.ledger.place import holds_changesets
from bridoon.loop.run import Run

if TYPE_CHECKING:
    from bridoon.evidence.keep import Kept

Rest = ParamSpec("Rest")


def _harmless(body: Callable[Concatenate[Run, Rest], None]) -> Callable[Concatenate[Run, Rest], None]:
    """What goes wrong in `body` is told, and the run goes on without the ledger."""

    def guarded(run: Run, /, *args: Rest.args, **kwargs: Rest.kwargs) -> None:
        try:
            body(run, *args, **kwargs)
        except Exception as wrong:
            import traceback

            run.log.write(traceback.format_exc())
            run.notice(f"this run goes on without its ledger: {type(wrong).__name__}: {wrong}")
            detect.forget(run)

    return guarded


@_harmless
def begin(run: Run) -> None:
    """The run begins: leave a record from which its trace can be made if it never ends."""
    witness = witness_of(run)
    if witness is None or run.parent is not None or witness.record is not None or not run.first:
        return  # without `first` it is one stage that a program asked for, and no run that will end
    witness.record = new_record(witness, run.first, run.env["HARNESS_LOOP_RUN_ID"])
    try:
        witness.path = spool.write(witness.folder, spool.run_name(witness.record["run"]), witness.record)
    except OSError as wrong:
        run.log.write(f"[harness] ledger: no record of this run can be kept: {wrong}")
    witness.start_work()


@_harmless
def lend(run: Run) -> None:
    """Let the model call `capability` and registered commands. They are those of the outermost run everywhere."""
    witness = witness_of(run)
    if witness is not None:
        witness.offer.lend(run.catalog)
        witness.warn()


@_harmless
def tell(run: Run, payload: dict[str, Any]) -> None:
    """Add the lines about capabilities to the system prompt."""
    witness = witness_of(run)
    text = witness.prompt() if witness is not None else ""
    if text:
        system = payload.get("system")
        payload["system"] = f"{system}\n\n{text}" if system else text


@_harmless
def finish(run: Run, payload: dict[str, Any]) -> None:
    """The run has ended: put its trace into the ledger, or beside it when the ledger cannot take it now."""
    witness = witness_of(run)
    if witness is None:
        return
    witness.finish_work()
    from bridoon.evidence.gather import Ended, kept_of

    name = spool.run_name(str(payload["run"]))
    path = witness.path or os.path.join(witness.folder, name)
    known = witness.record or spool.read(path) or new_record(witness, int(payload["first"]), str(payload["run"]))
    known = {
        **known,
        "agent": agent(run),
        "first": payload["first"],
        "providers": {**known.get("providers", {}), **witness.offer.providers()},
        "postures": witness.postures(),
    }
    _keep(witness, kept_of(Ended(known, payload, run.session.messages(), time.time(), run.env)))
    try:
        os.unlink(path)
    except OSError:
        pass


def _keep(witness: Witness, kept: Kept) -> None:
    from bridoon.evidence import leftovers
    from bridoon.evidence.keep import keep

    try:
        for warning in keep(witness.place, kept, witness.run.env):
            witness.run.notice(f"ledger: {warning}")
        if not kept.run_id and holds_changesets(witness.place.changesets):
            witness.run.notice("the trace of this run is in no changeset: HARNESS_RUN_ID is not set")
        return
    except BridoonError as wrong:
        reason = wrong.message
    try:
        leftovers.put_aside(witness.folder, witness.place.database, kept)
        witness.run.notice(f"the trace of this run waits for the next one: {reason}")
    except OSError as wrong:
        witness.run.notice(f"this run left no trace: {reason}; and {witness.folder}: {wrong.strerror or wrong}")


def new_record(witness: Witness, first: int, run_id: str) -> dict[str, Any]:
    """What has to be known of a run to make its trace."""
    from bridoon.ledger.store.write import new_uid

    run, env = witness.run, witness.run.env
    return {
        "uid": new_uid("trc"),
        "run": run_id,
        "session": run.session.dir,
        "cwd": run.session.cwd or os.getcwd(),
        "root": witness.place.root,
        "database": witness.place.database,
        "first": first,
        "summary": trace.summary(run.session.messages(), first),
        "began": run.began,
        "agent": agent(run),
        "intake": _named(env.get("HARNESS_INTAKE", "")),
        "story": _named(env.get("HARNESS_STORY", "")),
        "run_id": witness.place.run_id,
        "providers": witness.offer.providers(),
        "postures": witness.postures(),
        "owner": spool.owner(),
    }


def _named(text: str) -> str:
    """What names an intake or a story; one of which nothing can be shown is a name all the same."""
    return excerpt.line(text, 200) or ("?" if text.strip() else "")


def agent(run: Run) -> str:
    """Who works: the loop, and whom it talks to."""
    who = "/".join(part for part in (run.env.get("HARNESS_PROVIDER", ""), run.env.get("HARNESS_MODEL", "")) if part)
    return f"hs ({excerpt.line(who, 120)})" if who else "hs"
