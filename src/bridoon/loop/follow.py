"""The state follower: run the hooks of a state, go where their payload says, until no state follows."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from bridoon.dialects.stream import usage_of
from bridoon.errors import Cancelled, HookFailed, LimitReached
from bridoon.loop import ending
from bridoon.loop.chain import Payload, carried, run_stage
from bridoon.loop.env import turn_limit
from bridoon.loop.gate import run_tool_exec, settle
from bridoon.loop.run import Run
from bridoon.loop.toolpass import keep_result
from bridoon.model.event import RunEnded, TurnEnded
from bridoon.model.message import Message, Text, Usage

STATES_PER_TURN = 50
"""States in one turn, besides those of its calls, before hooks that lead in a circle are stopped."""

STANDARD = frozenset({"start", "assemble", "send", "receive", "tool_exec", "tool_done"})


class Outcome(NamedTuple):
    """How a run ended."""

    output: str
    """What the last stage left in `output`."""
    stop: str
    """`end`, `length`, `error`, `limit`, `cancelled`, or the word of the API."""
    exit_code: int
    usage: Usage
    turns: int


def carry_out(run: Run) -> Outcome:
    """Follow the states of a run whose user message is saved, and leave a valid history, however it ends.

    Tells the hooks of `end` how it went, and emits exactly one `RunEnded`, last. Cancelled is answered with an
    outcome, not raised.
    """
    outcome = Outcome("", "error", 1, run.usage, run.turns)
    began, run.first = time.monotonic(), _first(run)
    try:
        outcome = _guarded(run)
    finally:
        try:
            run.session.sync()
        finally:
            _end(run, outcome, time.monotonic() - began)
    return outcome


def _first(run: Run) -> int:
    """The number of the user's message; of the next message when the run goes on without one."""
    messages = run.session.messages()
    if not messages:
        return 1
    return messages[-1].seq + (messages[-1].role != "user")


def _end(run: Run, outcome: Outcome, seconds: float) -> None:
    payload: Payload = {
        "output": outcome.output,
        "stop": outcome.stop,
        "exit_code": outcome.exit_code,
        "turns": run.turns,
        "seconds": round(seconds, 3),
        "usage": run.usage._asdict(),
        "run": run.env["HARNESS_LOOP_RUN_ID"],
        "first": run.first,
    }
    try:
        ending.tell_end(run, payload)
    finally:
        run.emit(RunEnded(outcome.output, outcome.stop, outcome.exit_code))


def _guarded(run: Run) -> Outcome:
    try:
        try:
            output = follow(run)
        finally:
            settle(run)
        stop, code = _stop_word(run), run.failure
    except Cancelled as cancelled:
        keep_shown(run, "cancelled")
        run.session.close_open_calls("interrupted: the run was stopped; the tool may have done part of its work")
        output, stop, code = "", "cancelled", cancelled.exit_code
    except LimitReached as reached:
        run.session.close_open_calls("not run: the run reached its limit")
        run.fail(reached.message)
        output, stop, code = f"error: {reached.message}", "limit", reached.exit_code
    return Outcome(output, stop, code, run.usage, run.turns)


def _stop_word(run: Run) -> str:
    if run.failure:
        return "error"
    messages = run.session.messages()
    last = messages[-1] if messages else None
    return (last.stop if last is not None and last.role == "assistant" else "") or "end"


def keep_shown(run: Run, stop: str) -> None:
    """Save text that people have seen and that no message holds, so that resuming loses nothing of it."""
    text = run.take_shown()
    if not text.strip():
        return
    message = run.session.append(
        Message("assistant", (Text(text),), stop=stop, provider=run.env.get("HARNESS_PROVIDER", ""))
    )
    run.emit(TurnEnded(stop, message.seq))


def follow(run: Run) -> str:
    """Follow states from `start` until one names no successor; return its `output`.

    Raises LimitReached before the model is called once more than HARNESS_MAX_TURNS allows, and when hooks lead in a
    circle without calling it.
    """
    limit = turn_limit(run.env, run.notice)
    state: str = "start"
    payload: Payload = {}
    states = 0
    output = ""
    while state:
        run.cancel.check()
        run.refresh()
        if run.flight and state in ("assemble", "send", "receive"):
            settle(run)
        states += 1
        if state == "send":
            states = 0
            if run.turns >= limit:
                raise LimitReached(f"exceeded max model turns ({limit})", "raise it with --max-turns")
            run.turns += 1
        elif states > STATES_PER_TURN + 4 * len(payload.get("tool_calls") or ()):
            raise LimitReached(f"{states} states without a call of the model: hooks lead in a circle at {state!r}")
        entered = payload
        try:
            payload = _stage(run, state, payload)
        except HookFailed as failed:
            if state == "error":
                output = str(failed.output.get("output") or output)
                break
            if state == "tool_done":
                keep_result(run, entered)
            state, payload = "error", error_context(run, failed, entered)
            run.failure = failed.exit_code
            continue
        following = payload.pop("next_state", None)
        if state == "error" and following:
            run.failure = 0
        output = _output(payload)
        if not following and state in STANDARD and payload == entered:
            if state == "tool_done":
                keep_result(run, entered)
            output = f"error: stage {state} made no transition"
            run.fail(f"stage {state} made no transition: none of its hooks named a next state")
            run.failure = 1
        state = following if isinstance(following, str) and following != ending.STAGE else ""
    return output


def _stage(run: Run, state: str, payload: Payload) -> Payload:
    given = dict(payload)
    if state == "tool_exec":
        return run_tool_exec(run, given)
    if state == "receive":
        return _receive(run, given)
    if state == "assemble" and run.turns:
        for text in run.front.queued():
            run.session.append(Message("user", (Text(text),)))
    if state == "send":
        run.streamed = False
    return dict(run_stage(run, state, given))


def _receive(run: Run, response: Payload) -> Payload:
    """The stage that saves an answer, and what third-party hooks in it leave to do."""
    before = run.usage
    kept = carried(response)
    result = dict(run_stage(run, "receive", response))
    if run.usage == before:  # the hook that saved it told no token counts
        run.count(usage_of(kept.get("usage")))
    if result.get("next_state") == "tool_exec" and "tool_calls" not in result:
        result["tool_calls"] = result.pop("items", [])
    return result


def _output(payload: Payload) -> str:
    value = payload.get("output")
    return value if isinstance(value, str) else "" if value is None else str(value)


def error_context(run: Run, failed: HookFailed, payload: Payload) -> dict[str, Any]:
    """What the `error` stage is given: message, stage, hook, exit code, stderr, and the payload of the stage."""
    context: dict[str, Any] = {
        **failed.output,
        "error": failed.message,
        "stage": failed.stage,
        "hook": failed.hook,
        "exit_code": failed.code,
        "stderr": failed.stderr[-2048:],
        "context": {key: value for key, value in payload.items() if key not in ("messages", "tools", "system")},
    }
    context.pop("next_state", None)
    if failed.hint:
        context["hint"] = failed.hint
    if failed.refused is not None:
        context["refused"] = failed.refused
        context["tool_calls"] = list(payload.get("tool_calls") or [])[1:]
    if run.shown.strip():
        context["partial"] = run.shown
        keep_shown(run, "error")
    return context
