"""A trace out of what is on disk: the messages of a session, the record of a run, and how the run ended."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridoon.evidence import calls, excerpt
from bridoon.evidence.calls import Done
from bridoon.model.message import Message, Usage
from bridoon.session.view import is_summary

SUMMARY = 200
MOST_FILES = 300
KILLED = "killed"
"""The `stop` of a run that never came to its end."""

ENDS = {"cancelled": "partial", "limit": "partial", "length": "partial", "refusal": "blocked", KILLED: "failed"}
"""Outcomes by the word that a run stopped with."""


class Scene(NamedTuple):
    """What a trace is made of, besides the messages."""

    record: Mapping[str, Any]
    """As it was written when the run began: `run`, `session`, `cwd`, `root`, `first`, `summary`, `began`, `agent`,
    `providers`, `postures`."""
    end: Mapping[str, Any]
    """The payload of the stage `end`; of a killed run what can be told: `stop`, `seconds`."""
    others: Sequence[Sequence[Message]] = ()
    """The messages of sub-agents."""
    changed: Sequence[str] = ()
    """Files that changed meanwhile, as the repository tells, relative to its ledger's root."""
    notes: Sequence[str] = ()


def build(history: Sequence[Message], scene: Scene) -> dict[str, Any]:
    """The payload of `trace.add`, without what links it to an intake or a story. Lists are lists."""
    record, end = scene.record, scene.end
    first = int(record["first"])
    own = [message for message in history if message.seq >= first]
    done = calls.calls(own)
    inner = [call for messages in scene.others for call in calls.calls(messages)]
    everything = [*done, *inner]
    cwd, root = str(record["cwd"]), str(record["root"])
    changed = calls.files(everything, calls.CHANGES, cwd, root)
    changed += [path for path in scene.changed if path not in changed]
    errors = calls.errors(everything)
    if str(end.get("output", "")).startswith("error: "):
        errors.append(excerpt.line(end["output"][len("error: ") :], 200))
    friction = calls.friction(everything) + _stopped(end)
    return {
        "task_summary": summary(history, first) if history else str(record.get("summary") or "(continued)"),
        "agent": str(record["agent"]),
        "actions_taken": calls.actions(everything) or _words(own),
        "files_read": excerpt.several(calls.files(everything, calls.READS, cwd, root), MOST_FILES),
        "files_changed": excerpt.several(changed, MOST_FILES),
        "errors": errors,
        "outcome": outcome(end, done),
        "duration_seconds": round(float(end.get("seconds") or 0.0)),
        "token_estimate": _tokens(end, own, scene.others),
        "harness_friction": "; ".join(friction) or "none",
        "notes": "\n".join([*weaknesses(everything, record), *scene.notes, _where(record, scene)]),
    }


def summary(history: Sequence[Message], first: int) -> str:
    """The first line of what the user said; of an earlier message when the run went on without one."""
    for message in reversed([each for each in history if each.seq <= first and each.role == "user"]):
        text = excerpt.first_line(message.text, SUMMARY)
        if is_summary(message):
            continue
        if message.seq == first:
            return text or "(pictures without words)"
        return excerpt.line(f"(continued) {text}", SUMMARY)
    return "(continued)"


def outcome(end: Mapping[str, Any], done: Sequence[Done]) -> str:
    """`completed`, `partial`, `failed` or `blocked`."""
    stop, code = str(end.get("stop", "")), end.get("exit_code", 0)
    if stop in ENDS:
        return ENDS[stop]
    if not code and stop != "error":
        return "completed"
    if code == 3:  # nobody could be reached: no provider, no credentials
        return "blocked"
    last = [call for call in done if not call.content.startswith(calls.NOT_RUN)][-1:]
    return "blocked" if last and last[0].refused_by else "failed"


def weaknesses(done: Sequence[Done], record: Mapping[str, Any]) -> list[str]:
    """The notes about capabilities that were asked for or used and were not fully there."""
    providers: Mapping[str, str] = record.get("providers") or {}
    postures: Mapping[str, str] = record.get("postures") or {}
    found: dict[str, None] = {}
    for call in done:
        if call.name == "capability" and not call.failed:
            last = call.content.rstrip().rpartition("\n")[2]
            if last.startswith("note: "):
                found[excerpt.line(last.removeprefix("note: "), 400)] = None
        elif call.ran and (text := postures.get(providers.get(call.name, ""), "")):
            found[text] = None
    return list(found)[:20]


def _words(own: Sequence[Message]) -> list[str]:
    return ["answered in words" if any(message.role == "assistant" for message in own) else "no answer is recorded"]


def _stopped(end: Mapping[str, Any]) -> list[str]:
    stop = end.get("stop")
    if stop == "limit":
        return ["the run reached its limit of model calls"]
    return ["the run was killed"] if stop == KILLED else []


def _tokens(end: Mapping[str, Any], own: Sequence[Message], others: Sequence[Sequence[Message]]) -> int:
    usage = end.get("usage")
    if isinstance(usage, Mapping):
        return int(usage.get("input_tokens") or 0) + int(usage.get("output_tokens") or 0)
    total = Usage()
    for messages in (own, *others):
        for message in messages:
            total = total.plus(message.usage or Usage())
    return total.input_tokens + total.output_tokens


def _where(record: Mapping[str, Any], scene: Scene) -> str:
    """Where to find the whole story."""
    count = len(scene.others)
    helpers = f", {count} sub-agent{'s' if count > 1 else ''}" if count else ""
    session = os.path.basename(str(record["session"]))  # its path would tell whoever gets the changeset a user's name
    return f"run {excerpt.line(record['run'], 160)} in session {excerpt.line(session, 160)}{helpers}"
