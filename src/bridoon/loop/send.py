"""Calls the active provider with a payload, inline or as a process, and returns the raw answer of the API."""

from __future__ import annotations

import json
from typing import Any

from bridoon.errors import BridoonError, ProviderError
from bridoon.loop.chain import dump
from bridoon.loop.env import seconds
from bridoon.loop.run import Run
from bridoon.loop.standalone import run_of
from bridoon.model.event import TextDelta, ToolStarted
from bridoon.proc import inline
from bridoon.proc.run import CannotStart, Completed, command_for, run
from bridoon.providers import generic, select
from bridoon.sdk.script import Context

ANSWER_LIMIT = 64 << 20
"""Bytes that a provider process may print."""


def send(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Send the payload and return the response with `next_state: receive`.

    Raises ProviderError when the API refused or broke off, ConfigError or NoProvider when it cannot be called.
    """
    run_ = run_of(context)
    name = run_.env.get("HARNESS_PROVIDER", "")
    payload.pop("next_state", None)
    payload.setdefault("model", run_.env.get("HARNESS_MODEL", ""))
    prepared = select.prepare(run_.catalog, name, run_.env)
    provider = prepared.provider
    if provider.bundled and provider.marked:
        response = inline.load(provider.path).run(payload, run_.context("send", prepared.env))
    else:
        response = _process(run_, prepared, payload)
    if not isinstance(response, dict):
        raise ProviderError(f"provider {provider.path} answered no JSON object", "invalid")
    if not run_.streamed:
        _show(run_, response)
    return {**response, "next_state": "receive"}


def _process(run_: Run, prepared: select.Prepared, payload: dict[str, Any]) -> dict[str, Any]:
    provider = prepared.provider
    flags = ["--stream"] if prepared.streams else []
    try:
        with run_.overhearing() as tick:
            done = run(
                [*command_for(provider.path, provider.marked), *flags],
                stdin=dump(payload).encode("utf-8", "replace") + b"\n",
                env=run_.child_environment("send", prepared.env),
                timeout=seconds(run_.env, "HARNESS_HOOK_TIMEOUT", None),
                cancel=run_.cancel,
                out_limit=ANSWER_LIMIT,
                tick=tick,
            )
    except CannotStart as wrong:
        raise BridoonError(f"provider {provider.path} cannot start: {wrong}") from None
    return _answer(run_, provider.path, done)


def _answer(run_: Run, path: str, done: Completed) -> dict[str, Any]:
    stderr = done.stderr.text().strip()
    if stderr:
        run_.log.write(stderr)
    if done.code != 0:
        last = " | ".join(stderr.splitlines()[-3:])
        raise ProviderError(last or f"provider {path} exited {done.code}", "server", partial=run_.shown)
    text = done.stdout.data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise ProviderError(f"provider {path} returned invalid JSON ({wrong})", "invalid") from None
    if not isinstance(value, dict):
        raise ProviderError(f"provider {path} returned a JSON {type(value).__name__}, not an object", "invalid")
    return value


def _show(run_: Run, response: dict[str, Any]) -> None:
    """A provider that does not stream is shown all at once."""
    message = generic.from_response(response, run_.env.get("HARNESS_PROVIDER", ""), len(run_.session.messages()) + 1)
    if message.text:
        run_.emit(TextDelta(message.text))
    for call in message.calls:
        run_.emit(ToolStarted(call.id, call.name, call.input))
