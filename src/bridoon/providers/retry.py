"""Tries again what failed for a reason that passes, with growing pauses, and says so."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any, TypeVar

from bridoon.errors import ProviderError
from bridoon.providers.failures import Refusal
from bridoon.sdk.script import Stoppable

ATTEMPTS = 4

LONGEST_PAUSE = 60.0
"""Seconds. A server that asks for more is told of at once: people decide about longer waits, not programs."""

FIRST_PAUSE = 0.5
"""Seconds before the second attempt; the pause doubles each time, plus up to a quarter at random."""

LONGEST_WAIT = 1e6
"""Seconds of one wait: the system takes no more than a month."""

T = TypeVar("T")


def persist(
    once: Callable[[], T],
    *,
    shown: Callable[[], bool],
    tell: Callable[[dict[str, Any]], None],
    cancel: Stoppable | None = None,
    attempts: int = ATTEMPTS,
) -> T:
    """The result of `once`, called again while it fails for a passing reason and nothing of the attempt was
    shown.

    `tell` is given a `notice` event before each pause. Raises the last ProviderError, and Cancelled during a
    pause.
    """
    for attempt in range(1, attempts + 1):
        try:
            return once()
        except ProviderError as wrong:
            if shown() or attempt == attempts or not _passing(wrong):
                raise
            seconds = wrong.retry_after if wrong.retry_after is not None else _pause(attempt)
            if seconds > LONGEST_PAUSE:
                raise
            again = f"trying again in {seconds:.1f} s (attempt {attempt + 1} of {attempts})"
            tell({"type": "notice", "text": f"{wrong}; {again}"})
            sleep(seconds, cancel)
    raise AssertionError("unreachable")


def sleep(seconds: float, cancel: Stoppable | None) -> None:
    """Wait. Raises Cancelled as soon as `cancel` is set."""
    if cancel is None:
        time.sleep(min(max(0.0, seconds), LONGEST_WAIT))
        return
    cancel.check()
    poll = select.poll()
    poll.register(cancel.fileno(), select.POLLIN)
    poll.poll(min(max(0.0, seconds), LONGEST_WAIT) * 1000)
    cancel.check()


def _passing(wrong: ProviderError) -> bool:
    if isinstance(wrong, Refusal):
        return wrong.retried
    return wrong.kind in ("network", "incomplete")


def _pause(attempt: int) -> float:
    # os.urandom instead of `random`, whose import costs more than the rest of this module.
    import os

    jitter = os.urandom(1)[0] / 255
    return float(min(8.0, FIRST_PAUSE * 2 ** (attempt - 1)) * (1 + jitter / 4))
