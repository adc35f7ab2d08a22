"""What the hooks of the pack `ledger` do: begin, lend tools, tell the model, and record the run when it has ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from bridoon.errors import BridoonError
from bridoon.evidence import near, plain, record, trace
from bridoon.evidence.state import State, state_of
from bridoon.loop.run import Run

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
            near.forget(run)

    return guarded


@_harmless
def begin(run: Run) -> None:
    """The run begins: leave a record from which its trace can be made if it never ends."""
    state = state_of(run)
    if state is None or run.parent is not None or state.record is not None or not run.first:
        return  # without `first` it is one stage that a program asked for, and no run that will end
    state.record = new_record(state, run.first, run.env["HARNESS_LOOP_RUN_ID"])
    try:
        state.path = record.write(state.folder, record.run_name(state.record["run"]), state.record)
    except OSError as wrong:
        run.log.write(f"[harness] ledger: no record of this run can be kept: {wrong}")
    state.start_work()


@_harmless
def lend(run: Run) -> None:
    """Let the model call `capability` and registered commands. They are those of the outermost run everywhere."""
    state = state_of(run)
    if state is not None:
        run.catalog.lend("ledger", state.offer.tools())
        state.warn()


@_harmless
def tell(run: Run, payload: dict[str, Any]) -> None:
    """Add the lines about capabilities to the system prompt."""
    state = state_of(run)
    text = state.prompt() if state is not None else ""
    if text:
        system = payload.get("system")
        payload["system"] = f"{system}\n\n{text}" if system else text


@_harmless
def finish(run: Run, payload: dict[str, Any]) -> None:
    """The run has ended: put its trace into the ledger, or beside it when the ledger cannot take it now."""
    state = state_of(run)
    if state is None:
        return
    state.finish_work()
    from bridoon.evidence.story import Told
    from bridoon.evidence.story import tell as told

    name = record.run_name(str(payload["run"]))
    path = state.path or os.path.join(state.folder, name)
    known = state.record or record.read(path) or new_record(state, int(payload["first"]), str(payload["run"]))
    known = {
        **known,
        "agent": agent(run),
        "first": payload["first"],
        "providers": {**known.get("providers", {}), **state.offer.providers()},
        "postures": state.postures(),
    }
    kept = told(Told(known, payload, run.session.messages(), time.time(), run.env))
    _keep(state, kept)
    try:
        os.unlink(path)
    except OSError:
        pass


def _keep(state: State, kept: Any) -> None:
    from bridoon.evidence import leftovers
    from bridoon.evidence.keep import keep

    try:
        for warning in keep(state.place, kept, state.run.env):
            state.run.notice(f"ledger: {warning}")
        return
    except BridoonError as wrong:
        reason = wrong.message
    try:
        leftovers.spool(state.folder, state.place.database, kept)
        state.run.notice(f"the trace of this run waits for the next one: {reason}")
    except OSError as wrong:
        state.run.notice(f"this run left no trace: {reason}; and {state.folder}: {wrong.strerror or wrong}")


def new_record(state: State, first: int, run_id: str) -> dict[str, Any]:
    """What has to be known of a run to make its trace."""
    run, env = state.run, state.run.env
    return {
        "uid": f"trc_{os.urandom(16).hex()}",
        "run": run_id,
        "session": run.session.dir,
        "cwd": run.session.cwd or os.getcwd(),
        "root": state.place.root,
        "database": state.place.database,
        "first": first,
        "summary": trace.summary(run.session.messages(), first),
        "began": run.began,
        "agent": agent(run),
        "intake": _named(env.get("HARNESS_INTAKE", "")),
        "story": _named(env.get("HARNESS_STORY", "")),
        "run_id": state.place.run_id,
        "providers": state.offer.providers(),
        "postures": state.postures(),
        "owner": record.owner(),
    }


def _named(text: str) -> str:
    """What names an intake or a story; one of which nothing can be shown is a name all the same."""
    return plain.line(text, 200) or ("?" if text.strip() else "")


def agent(run: Run) -> str:
    """Who works: the loop, and whom it talks to."""
    who = "/".join(part for part in (run.env.get("HARNESS_PROVIDER", ""), run.env.get("HARNESS_MODEL", "")) if part)
    return f"hs ({plain.line(who, 120)})" if who else "hs"
