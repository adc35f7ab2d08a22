"""Which provider and model a run talks to: the `resolve` stage."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.errors import BridoonError, HookFailed, NoProvider
from bridoon.loop.chain import run_stage
from bridoon.loop.run import Run


class Choice(NamedTuple):
    """A provider's name and a model's name; the model may be empty when the provider needs none."""

    provider: str
    model: str


def resolve(run: Run) -> Choice:
    """Ask the hooks of `resolve`, starting from HARNESS_PROVIDER and HARNESS_MODEL.

    Raises NoProvider when there is nothing to talk to, with the shortest ways out as its hint.
    """
    given = {"provider": run.env.get("HARNESS_PROVIDER", ""), "model": run.env.get("HARNESS_MODEL", "")}
    try:
        found = run_stage(run, "resolve", dict(given))
    except HookFailed as failed:
        kind = NoProvider if failed.exit_code in (1, NoProvider.exit_code) else BridoonError
        error = kind(failed.message or "provider resolution failed", failed.hint)
        error.exit_code = failed.exit_code if failed.exit_code != 1 else NoProvider.exit_code
        raise error from failed
    choice = Choice(str(found.get("provider") or ""), str(found.get("model") or ""))
    if not choice.provider:
        raise NoProvider("no provider was found", "set HARNESS_PROVIDER or run: hs auth set <provider>")
    run.choose(choice.provider, choice.model)
    return choice
