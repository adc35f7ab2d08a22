"""One pass of a call: the executor's turn, saving the result, and what happens to a refusal."""

from __future__ import annotations

from typing import Any

from bridoon.loop import executor
from bridoon.loop.display import tool_text
from bridoon.loop.run import Run
from bridoon.loop.standalone import run_of
from bridoon.model.event import Failed, ToolFinished, ToolOutput
from bridoon.model.message import Image, Message, ToolResult
from bridoon.sdk.script import Context


def run_first(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Run `tool_calls[0]` unless the payload holds its `result`; the rest of the queue stays in the payload."""
    run = run_of(context)
    call, *rest = payload["tool_calls"]
    seconds = payload.get("seconds", 0.0)
    images = payload.get("images") or []
    if isinstance(payload.get("result"), str):
        text, failed = payload["result"], payload.get("error") in (True, "true")
    else:
        run.session.sync(names=False)
        text, failed, images, seconds = executor.execute(run, call)
    given = call.get("input") or {}
    run.emit(ToolOutput(tool_text(call["name"], given, text, failed), call["id"]))
    answer = {
        "call_id": call["id"],
        "name": call["name"],
        "input": given,
        "result": text,
        "error": failed,
        "seconds": round(seconds, 3),
        "tool_calls": rest,
        "next_state": "tool_done",
    }
    return {**answer, "images": images} if images else answer


def save_result(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Write the tool_result message of a payload that the executor printed, and lead on."""
    record(run_of(context), payload)
    return _onward(payload)


def record(run: Run, payload: dict[str, Any]) -> None:
    """Save the result that a payload of the executor holds."""
    images = _decoded(payload["images"]) if payload.get("images") else ()
    failed = payload.get("error") in (True, "true")
    name, call_id = str(payload.get("name", "")), str(payload.get("call_id", ""))
    _save(
        run,
        ToolResult(call_id, name, str(payload.get("result", "")), failed, images),
        payload.get("seconds", 0.0),
    )


def keep_result(run: Run, payload: dict[str, Any]) -> None:
    """Save the result of a call whose `tool_done` stage failed before it did: the tool has run, and was shown."""
    for message in reversed(run.session.messages()):
        if message.role != "tool_result":
            break
        if any(isinstance(part, ToolResult) and part.call_id == payload.get("call_id") for part in message.parts):
            return
    if isinstance(payload.get("result"), str):
        record(run, payload)


def stops_at_refusal(run: Run) -> bool:
    """Whether a refused call ends the run: `on_refuse=stop` in `settings.conf`, or HARNESS_ON_REFUSE=stop."""
    return (run.env.get("HARNESS_ON_REFUSE") or run.settings.get("on_refuse", "continue")) == "stop"


def _decoded(images: list[dict[str, str]]) -> tuple[Image, ...]:
    import base64

    return tuple(Image(str(image["mime_type"]), base64.b64decode(image["data"])) for image in images)


def _save(run: Run, result: ToolResult, seconds: float) -> None:
    saved = run.session.append(Message("tool_result", (result,)))
    run.emit(ToolFinished(result.call_id, result.name, result.failed, saved.seq, seconds))


def _onward(payload: dict[str, Any]) -> dict[str, Any]:
    rest = payload.get("tool_calls") or []
    if rest:
        return {"next_state": "tool_exec", "tool_calls": rest}
    return {"next_state": "assemble"}


def show_error(payload: dict[str, Any], context: Context) -> dict[str, Any]:
    """Answer a refused call and go on, or tell the error and end.

    `on_refuse=stop` in `settings.conf` (or HARNESS_ON_REFUSE=stop) ends the run at a refusal.
    """
    run = run_of(context)
    refused = payload.get("refused")
    if payload.get("next_state"):
        return payload  # an earlier hook of this stage has recovered
    message = str(payload.get("error") or f"a hook failed (see {context.env.get('HARNESS_LOG', 'the log')})")
    if isinstance(refused, dict):
        run.emit(ToolOutput(tool_text(refused["name"], refused.get("input") or {}, message, True), refused["id"]))
        _save(run, ToolResult(refused["id"], refused["name"], message, True), 0.0)
        if not stops_at_refusal(run):
            return _onward(payload)
        run.session.close_open_calls("not run: an earlier call of this message was refused")
    run.emit(Failed(message))
    hint = payload.get("hint")
    return {**payload, "output": f"error: {message}" + (f"\n{hint}" if hint else "")}
