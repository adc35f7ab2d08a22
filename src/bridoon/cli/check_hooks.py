"""Tries a hook on made-up payloads of its stage: ordinary, empty, huge, and, for a gate, nonsense."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from typing import Any

from bridoon.catalog.sources import Executable
from bridoon.cli.check_bench import Bench, Finding, Shot

HUGE = 200_000
"""Characters of the big payload: more than one argument or variable of a program may hold."""

SLOW = 250.0
"""Milliseconds above which a hook is worth a word: it runs again in every turn."""

UNKNOWN = "x_hs_check"
"""A field that no hook knows. It should still be there afterwards."""

ASK = "auth-set"
"""The stage whose hooks ask a person: they are not run."""

CALL = {"id": "call_1", "name": "bash", "input": {"command": "true"}}
OTHER = {"id": "call_2", "name": "read_file", "input": {"path": "README.md"}}
USAGE = {"input_tokens": 12, "output_tokens": 3}

SAMPLES: dict[str, dict[str, Any]] = {
    "sources": {"sources": []},
    "resolve": {"provider": "scripted", "model": "none"},
    "start": {},
    "assemble": {"messages": [], "tools": [], "system": ""},
    "send": {"model": "none", "system": "", "tools": [], "messages": [{"role": "user", "content": "hello"}]},
    "receive": {
        "id": "msg_1", "model": "none", "stop_reason": "end_turn", "usage": USAGE, "role": "assistant",
        "type": "message", "content": [{"type": "text", "text": "hello"}],
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    },
    "tool_exec": {"tool_calls": [CALL, OTHER], **CALL, "call_id": "call_1"},
    "pre-tool": dict(CALL),
    "tool_done": {"call_id": "call_1", "name": "bash", "input": CALL["input"], "result": "ok", "error": False,
                  "tool_calls": [OTHER]},
    "error": {"error": "something failed", "stage": "send", "hook": "10-send", "exit_code": 1, "stderr": "",
              "context": {}},
    "done": {"output": "hello"},
    "end": {"output": "hello", "stop": "end", "exit_code": 0, "turns": 1, "seconds": 1.5, "usage": USAGE,
            "run": "20260101-120000-1.18c", "first": 1},
}  # fmt: skip


def is_gate(file: Executable) -> bool:
    """Whether the hook decides about a call: those of `pre-tool`, and of `tool_exec` before the executor."""
    stage = file.kind.removeprefix("hooks.d/")
    return stage == "pre-tool" or (stage == "tool_exec" and os.fsencode(file.name) < b"10-exec")


def check_hook(file: Executable, bench: Bench) -> Iterator[Finding]:
    """Findings about a hook. It is run several times."""
    stage = file.kind.removeprefix("hooks.d/")
    if stage == ASK:
        yield Finding(file.path, "note", "not run: hooks of auth-set ask a person")
        return
    gate = is_gate(file)
    sample = {**copy.deepcopy(SAMPLES.get(stage, {})), UNKNOWN: {"kept": True}}
    shot = _shoot(file, bench, sample)
    if shot.ms > SLOW and not shot.timed_out:
        again = _shoot(file, bench, sample)  # a busy machine is not the hook's fault
        shot = shot._replace(ms=min(shot.ms, again.ms))
    yield from _gate(file, sample, shot) if gate else _observer(file, shot)
    if shot.obstacle or shot.timed_out:
        return
    if shot.err.strip() and not shot.failed:
        yield Finding(file.path, "note", f"writes to the log: {shot.err.strip().splitlines()[0][:120]!r}")
    if gate:
        yield from _more_of_a_gate(file, bench)
    elif not shot.failed and SAMPLES.get(stage) and not _drives(shot) and stage != "resolve":
        yield from _empty(file, bench)
    big = _shoot(file, bench, _huge(sample))
    yield from _size(file, shot, big)
    if shot.ms > SLOW:
        yield Finding(file.path, "warning", f"takes {shot.ms:.0f} ms each time", "it runs in every turn", shot.ms)
    verdict = "refuses" if gate and shot.failed else "fails on" if shot.failed else "takes"
    text = f"{verdict} a sample payload in {shot.ms:.0f} ms, one of {HUGE // 1000} KB in {big.ms:.0f} ms"
    yield Finding(file.path, "ok", text, ms=shot.ms)


def _shoot(file: Executable, bench: Bench, payload: dict[str, Any] | str) -> Shot:
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return bench.shoot(file, stdin=text + "\n", stage=file.kind.removeprefix("hooks.d/"))


# ---- observers, and hooks that drive


def _observer(file: Executable, shot: Shot) -> Iterator[Finding]:
    if shot.failed:
        stage = file.kind.removeprefix("hooks.d/")
        yield Finding(file.path, "error", f"{stage} would end in an error: {shot.reason}")
        return
    if not shot.out.strip():
        yield Finding(
            file.path,
            "warning",
            "prints nothing: its input is passed on, with a notice each time",
            "print the payload at the end: cat",
        )
        return
    answer, wrong = read_answer(shot.out)
    if wrong:
        yield Finding(file.path, "error", wrong, "a hook prints one JSON object, and everything else to standard error")
        return
    if UNKNOWN not in answer and not _drives(shot):
        yield Finding(
            file.path,
            "warning",
            "drops fields that it does not know: what other hooks added is lost",
            "change the object that came in, do not make a new one",
        )


def _drives(shot: Shot) -> bool:
    """Whether the hook says what comes next: it makes a new payload then, out of one that it knows."""
    return bool(read_answer(shot.out)[0].get("next_state"))


def _empty(file: Executable, bench: Bench) -> Iterator[Finding]:
    shot = _shoot(file, bench, {})
    if shot.failed:
        yield Finding(file.path, "warning", f"fails on an empty payload: {shot.reason}", "take missing fields as empty")


# ---- gates


def _gate(file: Executable, sample: dict[str, Any], shot: Shot) -> Iterator[Finding]:
    if shot.obstacle or shot.timed_out:
        yield Finding(file.path, "error", f"every call would be refused: {shot.reason}")
    elif shot.failed:
        yield Finding(file.path, "note", f"refuses bash `true`: {shot.reason}")
        if not shot.err.strip():
            yield Finding(file.path, "note", "gives no reason", "write one to standard error: the model is told it")
    else:
        yield from _kept(file, sample, shot)


def _more_of_a_gate(file: Executable, bench: Bench) -> Iterator[Finding]:
    """Another tool, and what is no call at all."""
    pre = file.kind == "hooks.d/pre-tool"
    other = {**OTHER, UNKNOWN: 1} if pre else {"tool_calls": [OTHER], **OTHER, "call_id": "call_2", UNKNOWN: 1}
    shot = _shoot(file, bench, other)
    if shot.failed:
        yield Finding(file.path, "note", f"refuses read_file: {shot.reason}")
    else:
        yield from _kept(file, other, shot)
    shot = _shoot(file, bench, "this is not JSON")
    if not shot.failed and shot.out.strip():
        answer, wrong = read_answer(shot.out)
        if not wrong and (answer.get("tool_calls") or answer.get("name")):
            yield Finding(file.path, "error", "turns nonsense into a call", "exit non-zero when the input is not JSON")
        else:
            yield Finding(file.path, "note", "passes on what is not JSON; the loop refuses that itself")


def _kept(file: Executable, sample: dict[str, Any], shot: Shot) -> Iterator[Finding]:
    """Whether the call that went in came out."""
    refused = "every call would be refused"
    if not shot.out.strip():
        yield Finding(file.path, "error", f"prints nothing: {refused}", "print the payload to let a call pass")
        return
    answer, wrong = read_answer(shot.out)
    if wrong:
        yield Finding(
            file.path,
            "error",
            f"{wrong}: {refused}",
            "print the payload, and everything else to standard error",
        )
        return
    if isinstance(answer.get("result"), str):
        yield Finding(file.path, "note", "answers the call itself: the tool is not started")
        return
    queue = answer.get("tool_calls")
    first = queue[0] if isinstance(queue, list) and queue and isinstance(queue[0], dict) else {}
    after = {key: answer.get(key, first.get(key)) for key in CALL}
    before = {key: sample[key] for key in CALL}
    if not any(after.values()):
        yield Finding(file.path, "error", f"the call is not in what it prints: {refused}", "print what came in")
    elif after != before or (first and {key: first.get(key) for key in CALL} != before):
        changed = [key for key in CALL if after[key] != before[key]] or ["tool_calls"]
        yield Finding(file.path, "warning", f"changes the call ({', '.join(changed)})")


# ---- size


def _huge(sample: dict[str, Any]) -> dict[str, Any]:
    big = copy.deepcopy(sample)
    big[UNKNOWN] = {"kept": True, "text": "x" * HUGE}
    if isinstance(big.get("input"), dict):
        big["input"]["text"] = "y" * HUGE
        if big.get("tool_calls") and "result" not in big:
            big["tool_calls"][0] = {key: big[key] for key in CALL}
    return big


def _size(file: Executable, shot: Shot, big: Shot) -> Iterator[Finding]:
    if big.failed and not shot.failed:
        yield Finding(
            file.path,
            "error",
            f"fails on {HUGE // 1000} KB: {big.reason}",
            "pass data on standard input or in files, not as arguments",
        )
    elif not big.failed and shot.out.strip() and UNKNOWN in shot.out:
        answer, wrong = read_answer(big.out)
        if wrong:
            yield Finding(file.path, "error", f"of {HUGE // 1000} KB something is lost: {wrong}")
        elif len(str(answer.get(UNKNOWN))) < HUGE:
            yield Finding(file.path, "error", f"of {HUGE // 1000} KB something is lost")


def read_answer(text: str) -> tuple[dict[str, Any], str]:
    """The object that a hook printed, and what is wrong with it, if anything. Several are merged."""
    decoder = json.JSONDecoder()
    merged: dict[str, Any] = {}
    rest = text.strip()
    try:
        while rest:
            value, end = decoder.raw_decode(rest)
            if not isinstance(value, dict):
                return {}, f"prints a JSON {type(value).__name__}, not an object"
            merged |= value
            rest = rest[end:].lstrip()
    except ValueError as wrong:
        return {}, f"prints what is not JSON ({wrong}): {text.strip()[:60]!r}"
    except RecursionError:
        return {}, "prints JSON that is nested too deeply"
    return merged, ""
