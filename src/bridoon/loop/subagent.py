"""Sub-agents: a run inside a run, with a session of its own below its parent's."""

from __future__ import annotations

import os
import threading
from typing import Any

from bridoon.errors import BridoonError
from bridoon.loop.env import seconds
from bridoon.loop.follow import Outcome, carry_out
from bridoon.loop.place import catalog_of
from bridoon.loop.resolve import resolve
from bridoon.loop.run import Front, Run
from bridoon.loop.standalone import run_of
from bridoon.model.event import Event, ToolFinished, ToolStarted
from bridoon.model.message import Message, Text
from bridoon.proc.cancel import Cancel
from bridoon.sdk.script import Context, Result
from bridoon.session import store

MAX_DEPTH = 2
"""How deep agents may start agents when HARNESS_MAX_DEPTH (or RLM_MAX_DEPTH) does not say."""

PATIENCE = 600.0
"""Seconds that a sub-agent may take when HARNESS_AGENT_TIMEOUT does not say."""

OWN = (
    "HARNESS_SESSION",
    "SESSION_DIR",
    "HARNESS_CWD",
    "HARNESS_STAGE",
    "HARNESS_TOOL_FIFO",
    "HARNESS_SOURCES",
)
"""Variables that belong to the parent's run."""


def delegate(given: dict[str, Any], context: Context) -> Result:
    """Carry out `prompt` as a run of its own; its last words are the result.

    The calls of the child pass the gates of the parent's run, and its tokens count there too.
    """
    prompt = given.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        return Result("error: prompt is required", failed=True)
    parent = run_of(context)
    depth = _number(context.env, "HARNESS_DEPTH", 0)
    limit = _number(context.env, "HARNESS_MAX_DEPTH", _number(context.env, "RLM_MAX_DEPTH", MAX_DEPTH))
    if depth >= limit:
        return Result(f"error: an agent at depth {depth} may not start another (HARNESS_MAX_DEPTH={limit})", True)
    patience = seconds(context.env, "HARNESS_AGENT_TIMEOUT", PATIENCE) or PATIENCE
    child = _child(parent, given, depth)
    alarm = threading.Timer(patience, child.cancel.set)
    alarm.daemon = True
    try:
        with parent.cancel.on_set(lambda: child.cancel.set(parent.cancel.signum)):
            alarm.start()
            outcome = _carry_out(child, prompt)
    except BridoonError as wrong:
        return Result(f"subagent failed: {wrong.message}", failed=True)
    finally:
        alarm.cancel()
        child.close()
    parent.cancel.check()
    if child.cancel.is_set:
        return Result(f"subagent stopped after {patience:g} s (HARNESS_AGENT_TIMEOUT): {outcome.output}", failed=True)
    if outcome.exit_code:
        return Result(f"subagent failed (exit {outcome.exit_code}): {outcome.output}", failed=True)
    return Result(outcome.output or "subagent completed with no output")


def _carry_out(child: Run, prompt: str) -> Outcome:
    with child.session.lock(cancel=child.cancel):
        resolve(child)
        child.session.update(provider=child.env["HARNESS_PROVIDER"], model=child.env["HARNESS_MODEL"])
        child.stream.start_over()
        child.session.append(Message("user", (Text(prompt),)))
        return carry_out(child)


def _child(parent: Run, given: dict[str, Any], depth: int) -> Run:
    env = {key: value for key, value in parent.env.items() if key not in OWN}
    if given.get("provider"):
        env["HARNESS_PROVIDER"], env["HARNESS_MODEL"] = str(given["provider"]), ""
    if given.get("model"):
        env["HARNESS_MODEL"] = str(given["model"])
    env["HARNESS_DEPTH"] = str(depth + 1)
    env["HARNESS_PARENT_SESSION"] = parent.session.dir
    root = os.path.join(parent.session.dir, ".harness", "sessions")
    session = store.create(root, cwd=parent.session.cwd, parent=parent.session.id)
    env["HARNESS_SESSIONS"] = root
    env["HARNESS_LOG"] = os.path.join(session.dir, "harness.log")
    catalog = catalog_of(env, session.cwd, warn=False)
    return Run(session, catalog, env, cancel=Cancel(), front=_Below(parent), parent=parent)


class _Below(Front):
    """Shows a sub-agent's calls as notices of its parent, and puts its questions to the same person."""

    def __init__(self, parent: Run) -> None:
        self._parent = parent

    def event(self, event: Event) -> None:
        match event:
            case ToolStarted(_, name, _):
                self._parent.notice(f"sub-agent: {name} …", once=False)
            case ToolFinished(_, name, True):
                self._parent.notice(f"sub-agent: {name} failed", once=False)
            case _:
                pass

    def ask(self, question: str, choices: list[str], detail: str) -> str | None:
        return self._parent.front.ask(f"sub-agent: {question}", choices, detail)

    def terminal(self) -> Any:
        return self._parent.front.terminal()


def _number(env: Any, name: str, default: int) -> int:
    text = str(env.get(name, ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default
