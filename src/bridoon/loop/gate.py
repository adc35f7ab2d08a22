"""The one gate: every tool call passes the `tool_exec` chain, and only the executor in it starts the tool.

A hook before the executor is a gate. One that exits non-zero, crashes, cannot start, takes too long, prints nothing or
prints what is not the call has refused it: the call never starts. Hooks after the executor are observers.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from bridoon.catalog.lookup import Executable
from bridoon.errors import Cancelled, HookFailed
from bridoon.loop import executor
from bridoon.loop.chain import Payload, output, parse, run_hook, spawn
from bridoon.loop.env import seconds
from bridoon.loop.run import Run
from bridoon.loop.toolpass import record, stops_at_refusal

EXECUTOR = "10-exec"
"""The basename of the hook that starts tools."""

GATE_LIMIT = 60.0
GATE_LIMIT_AT_TERMINAL = 3600.0
"""Seconds that a gate may take, without and with a terminal at which a person can answer."""


class Ahead(NamedTuple):
    """A call whose gates have run before its pass, because its neighbours run beside it."""

    payload: Payload
    """After its gates; it names the call that runs."""
    refusal: HookFailed | None
    task: executor.Task | None
    after: tuple[list[Executable], list[Executable]]
    """Executor and observers, as they were when the gates ran."""


def run_tool_exec(run: Run, payload: Payload) -> Payload:
    """Take the first call of `payload["tool_calls"]` through its gates, the executor and the observers.

    Raises HookFailed; its `refused` holds the call when a gate stopped it.
    """
    calls = _calls(payload)
    if not calls:
        return {key: value for key, value in payload.items() if key != "tool_calls"} | {"next_state": "assemble"}
    ahead = run.flight.pop(calls[0]["id"], None) or _at_the_gates(run, {**payload, "tool_calls": calls}, calls)
    if ahead.refusal is not None:
        raise ahead.refusal
    executors, observers = ahead.after
    passed = {**ahead.payload, "tool_calls": [ahead.payload["tool_calls"][0], *calls[1:]]}
    if ahead.task is not None:
        passed["result"], passed["error"], passed["images"], passed["seconds"] = ahead.task.wait()
    if not executors:
        message = f"no {EXECUTOR} hook in tool_exec: nothing may start a tool"
        raise HookFailed(message, stage="tool_exec", hook=EXECUTOR, refused=calls[0])
    for hook in executors:
        passed = run_hook(run, hook, "tool_exec", passed)
    for hook in observers:
        try:
            passed = run_hook(run, hook, "tool_exec", passed)
        except HookFailed:
            record(run, passed)  # the tool has run: what it answered is not lost with the run
            raise
    return passed


def _at_the_gates(run: Run, payload: Payload, calls: list[dict[str, Any]]) -> Ahead:
    """Take the first call through its gates, and with it those that run beside it: they wait in `run.flight`."""
    try:
        gates, executors, observers = _hooks(run)
    except HookFailed as failed:
        failed.refused = calls[0]
        raise
    after = (executors, observers)
    group = executor.concurrent_group(run, calls) if _ours(executors) else 1
    if group > 1:
        _go_ahead(run, gates, payload, group, after)
        ahead: Ahead = run.flight.pop(calls[0]["id"])
        return ahead
    return Ahead(_pass_gates(run, gates, _for_call(payload)), None, None, after)


def settle(run: Run) -> None:
    """Wait for calls that were started beside others and whose pass never came, and record what they answered."""
    flight, run.flight = run.flight, {}
    cancelled: Cancelled | None = None
    for ahead in flight.values():
        if ahead.task is None:
            continue
        try:
            text, failed, images, seconds = ahead.task.wait()
        except Cancelled as stopped:
            cancelled = stopped
            continue
        record(run, {**ahead.payload, "result": text, "error": failed, "images": images, "seconds": seconds})
    if cancelled is not None:
        raise cancelled


def _hooks(run: Run) -> tuple[list[tuple[Executable, bool, str]], list[Executable], list[Executable]]:
    """Gates (with whether they are new, and their stage), executor, observers: pinned as the run found them."""
    keep = os.path.join(run.session.dir, ".gates")
    gates = [
        (hook, new, "pre-tool")
        for hook, new in run.pins.hooks("pre-tool", run.catalog.hooks("pre-tool"), keep, run.notice)
    ]
    executors, observers = [], []
    for hook, new in run.pins.hooks("tool_exec", run.catalog.hooks("tool_exec"), keep, run.notice):
        if hook.name == EXECUTOR:
            executors.append(hook)
        elif os.fsencode(hook.name) < os.fsencode(EXECUTOR):
            gates.append((hook, new, "tool_exec"))
        else:
            observers.append(hook)
    return gates, executors, observers


def _ours(executors: list[Executable]) -> bool:
    return bool(executors) and executors[0].bundled


def _go_ahead(
    run: Run,
    gates: list[tuple[Executable, bool, str]],
    payload: Payload,
    group: int,
    after: tuple[list[Executable], list[Executable]],
) -> None:
    """Take the first `group` calls through their gates, one after the other; then start together those that passed.

    When a refusal ends the run, the calls behind a refused one are left for later, that is, for never.
    """
    calls = payload["tool_calls"]
    passed: list[Ahead] = []
    for first in range(group):
        given = _for_call({**payload, "tool_calls": calls[first:]})
        try:
            passed.append(Ahead(_pass_gates(run, gates, given), None, None, after))
        except HookFailed as refusal:
            passed.append(Ahead(given, refusal, None, after))
            if stops_at_refusal(run):
                break
    for call, ahead in zip(calls, passed, strict=False):
        if ahead.refusal is None and not isinstance(ahead.payload.get("result"), str):
            ahead = ahead._replace(task=executor.start(run, ahead.payload["tool_calls"][0]))
        run.flight[call["id"]] = ahead


def _pass_gates(run: Run, gates: list[tuple[Executable, bool, str]], payload: Payload) -> Payload:
    call = payload["tool_calls"][0]
    for hook, new, stage in gates:
        try:
            payload = _pass(run, hook, stage, payload, new)
        except HookFailed as failed:
            failed.refused, failed.message = call, _reason(hook, failed)
            raise
    return payload


def _reason(hook: Executable, failed: HookFailed) -> str:
    """What the model and the user are told about a refusal: who refused, and its last words."""
    words = failed.stderr.strip().splitlines()[-1:] if failed.code not in (0, 124, 126) else []
    if hook.bundled or not words:
        return f"refused by hook {hook.name}: {failed.message}"
    return f"refused by hook {hook.name} (exit {failed.code}): {words[0]}"


def _pass(run: Run, hook: Executable, stage: str, payload: Payload, new: bool) -> Payload:
    before = payload["tool_calls"][0]
    given = dict(before) if stage == "pre-tool" else payload
    if hook.bundled and hook.marked:
        answer = run_hook(run, hook, stage, given)
    else:
        answer = _ask_program(run, hook, stage, given)
    passed = _read_answer(hook, stage, payload, answer)
    after = passed["tool_calls"][0]
    changed = (after["name"], after.get("input")) != (before["name"], before.get("input"))
    if isinstance(payload.get("result"), str):
        changed = changed or passed.get("result") != payload["result"]
    if new and changed:
        reason = f"hook {hook.path} is new in this run: it may refuse a call, but not change it"
        raise HookFailed(reason, stage=stage, hook=hook.path)
    return passed


def _ask_program(run: Run, hook: Executable, stage: str, given: Payload) -> Payload:
    with run.asking, run.front.terminal() as terminal:
        limit = seconds(run.env, "HARNESS_GATE_TIMEOUT", None)
        if limit is None:
            limit = _setting(run) or (GATE_LIMIT_AT_TERMINAL if terminal else GATE_LIMIT)
        done = spawn(run, hook, stage, given, tty=terminal, limit=limit)
    text = output(hook, stage, done)
    if not text.strip():
        raise HookFailed(
            f"hook {hook.path} printed nothing: a gate prints the call to let it pass",
            stage=stage,
            hook=hook.path,
        )
    return parse(hook, stage, text)


def _setting(run: Run) -> float | None:
    return seconds({"gate_timeout": run.settings.get("gate_timeout", "")}, "gate_timeout", None)


def _read_answer(hook: Executable, stage: str, payload: Payload, answer: Payload) -> Payload:
    """The payload after a gate: its `tool_calls[0]` and the fields beside it say the same again.

    The fields `id`, `name`, `input` beside `tool_calls` mirror its first call. A gate may change either; a change of
    `tool_calls[0]` wins. An answer without the queue is the call alone, and the queue is put back.
    """
    before = payload["tool_calls"][0]
    queue = answer.get("tool_calls")
    if queue is None:
        queue = payload["tool_calls"]
    if not (isinstance(queue, list) and queue and isinstance(queue[0], dict)):
        raise _nonsense(hook, stage, "an empty queue of calls")
    first = queue[0]
    mirror = {key: answer.get(key, before.get(key)) for key in ("id", "name", "input")}
    if first == before and any(mirror[key] != before.get(key) for key in mirror):
        first = {**first, **mirror}
    if first.get("id") != before.get("id"):
        raise _nonsense(hook, stage, "another call")
    if not isinstance(first.get("name"), str) or not isinstance(first.get("input"), dict):
        raise _nonsense(hook, stage, "a call without name or input")
    if not ({"id", "name", "input", "tool_calls"} & answer.keys()):
        raise _nonsense(hook, stage, "no call")
    if before.get("error") and first.get("input") == before.get("input"):
        first = {**first, "error": before["error"]}  # arguments that could not be read stay so
    # A gate decides about its own call: the others keep their places and contents.
    rest = payload["tool_calls"][1:]
    extra = {key: answer[key] for key in answer if key not in ("tool_calls", "id", "name", "input", "call_id")}
    kept = {key: value for key, value in payload.items() if key in ("images", "seconds")}
    if isinstance(payload.get("result"), str) and not isinstance(extra.get("result"), str):
        # What was answered in the tool's place stays answered: gates before this one let it pass for that reason.
        extra |= {"result": payload["result"], "error": payload.get("error", False)}
    return _for_call({**kept, **extra, "tool_calls": [first, *rest]})


def _nonsense(hook: Executable, stage: str, what: str) -> HookFailed:
    return HookFailed(f"hook {hook.path} printed {what} instead of the call it was given", stage=stage, hook=hook.path)


def _for_call(payload: Payload) -> Payload:
    first = payload["tool_calls"][0]
    mirror = {
        "id": first["id"],
        "name": first["name"],
        "input": first.get("input", {}),
        "call_id": first["id"],
    }
    return {**payload, **mirror}


def _calls(payload: Payload) -> list[dict[str, Any]]:
    """The queue of calls of a payload (`items` is its other name), each with id, name and input."""
    queue = payload.get("tool_calls")
    if queue is None:
        queue = payload.get("items")
    calls = []
    for number, call in enumerate(queue if isinstance(queue, list) else []):
        if not isinstance(call, dict):
            continue
        ident = call.get("id") or call.get("call_id") or f"call_{number}"
        given = call.get("input")
        checked = {**call, "id": str(ident), "name": str(call.get("name", ""))}
        if not isinstance(given, dict):
            checked["input"] = {}
            checked.setdefault("error", f"the arguments are not an object: {str(given)[:200]}" if given else "")
        calls.append(checked)
    return calls
