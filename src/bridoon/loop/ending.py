"""The end of a run: the hooks of the stage `end` are told how it went, and change nothing of it."""

from __future__ import annotations

import time
from contextlib import nullcontext

from bridoon.catalog.lookup import Executable
from bridoon.errors import Cancelled, HookFailed
from bridoon.loop.chain import HOOK_LIMIT, Payload, run_hook
from bridoon.loop.env import seconds
from bridoon.loop.run import Run
from bridoon.proc.cancel import Cancel

STAGE = "end"

LIMIT = 30.0
"""Seconds that all hooks of the stage may take together."""

LIMIT_STOPPED = 5.0
"""The same when somebody stopped the run: who presses Ctrl-C wants to be let go."""

LEAST = 0.05
"""Seconds that a hook must have left to be started at all."""


def tell_end(run: Run, facts: Payload) -> None:
    """Run the hooks of `end`, once, for the outermost run. Whatever they do, the outcome stands.

    What a hook prints goes to the next one, beside the facts, which stay what they are. A hook that fails or takes too
    long is a notice, and the next one is given what it was given. A run that was stopped has a time of its own for
    this; stopping one that is here already stops its hooks.
    """
    if run.parent is not None:
        return
    hooks = run.hooks(STAGE)
    if not hooks:
        return
    payload = facts
    before, own = run.cancel, Cancel()
    give_up = time.monotonic() + (LIMIT_STOPPED if before.is_set else LIMIT)
    run.cancel = own
    try:
        with nullcontext() if before.is_set else before.on_set(lambda: own.set(before.signum)):
            for number, hook in enumerate(hooks):
                left = give_up - time.monotonic()
                if left < LEAST or own.is_set:
                    names = ", ".join(each.name for each in hooks[number:])
                    run.notice(f"{'stopped' if own.is_set else 'no time was left'}: not run at the end: {names}")
                    return
                payload = {**_tell(run, hook, payload, left), **facts}
    finally:
        run.cancel = before


def _tell(run: Run, hook: Executable, payload: Payload, left: float) -> Payload:
    limit = min(left, seconds(run.env, "HARNESS_HOOK_TIMEOUT", HOOK_LIMIT) or HOOK_LIMIT)
    try:
        return run_hook(run, hook, STAGE, dict(payload), limit=limit)
    except HookFailed as failed:
        run.notice(f"{failed.message}. The run had ended: its outcome stands")
    except Cancelled:
        run.notice(f"hook {hook.path} was stopped at the end of the run")
    except OSError as wrong:
        run.notice(f"hook {hook.path} could not be run at the end: {wrong.strerror or wrong}")
    return payload
