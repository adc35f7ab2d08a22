"""What happens during a run, told as it happens. Every run ends with exactly one `RunEnded`."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridoon.model.message import Usage


class TextDelta(NamedTuple):
    """A piece of the answer."""

    text: str


class ThinkingDelta(NamedTuple):
    """A piece of the model's reasoning."""

    text: str


class ToolStarted(NamedTuple):
    """The arguments of a call are complete. It has not passed its gates yet."""

    id: str
    name: str
    input: dict[str, Any]


class ToolOutput(NamedTuple):
    """A result as it is displayed to people: shortened, indented."""

    text: str
    id: str = ""


class ToolFinished(NamedTuple):
    """A result is saved."""

    id: str
    name: str
    failed: bool
    seq: int = 0
    seconds: float = 0.0


class TurnEnded(NamedTuple):
    """An assistant message is saved."""

    stop: str
    seq: int = 0
    usage: Usage = Usage()


class Notice(NamedTuple):
    """Something the user should know that stops nothing."""

    text: str


class Failed(NamedTuple):
    """Something went wrong inside the run."""

    message: str


class RunEnded(NamedTuple):
    """The last event of a run."""

    output: str = ""
    stop: str = ""
    exit_code: int = 0


Event = TextDelta | ThinkingDelta | ToolStarted | ToolOutput | ToolFinished | TurnEnded | Notice | Failed | RunEnded
