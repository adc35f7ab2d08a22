"""What a request is made of besides the messages: the tools and the system prompt."""

from __future__ import annotations

from typing import Any

from bridoon.loop import executor
from bridoon.loop.run import Run
from bridoon.loop.standalone import run_of
from bridoon.sdk.script import Context


def tools(context: Context) -> list[dict[str, Any]]:
    """Name, description and input schema of every tool, in an order that is stable between turns."""
    specs = executor.index(run_of(context)).specs
    return [{key: spec[key] for key in ("name", "description", "input_schema")} for spec in specs]


def system(context: Context) -> str:
    """The system prompt: prompts and AGENTS.md files, global first, then what the model should know of this place."""
    run = run_of(context)
    parts = [*run.catalog.prompts(), f"Working directory: {run.session.cwd}", *_notes(run)]
    return "\n\n".join(parts)


def _notes(run: Run) -> list[str]:
    """Drop-ins that failed to load, so that an agent that extends itself can repair them."""
    lines = [f"{path}: {reason}" for path, reason in executor.index(run).problems]
    notes = ["tools that failed to load:\n" + "\n".join(lines)] if lines else []
    if run.notes:
        notes.append("hooks that failed:\n" + "\n".join(run.notes))
    return notes
