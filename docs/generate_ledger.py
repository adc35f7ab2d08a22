"""The parts of `ledger-reference.md` that follow from the declarations of `harness-cli`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.declared import COMMANDS
from bridoon.ledger.cmdline.usage import ENVIRONMENT, EXIT_CODES, spelling, usage

HEADINGS = {
    "The ledger itself": ("init", "migrate", "import", "db"),
    "What is asked for, and what is done about it": ("intake", "story", "decision"),
    "What happened": ("trace", "score-trace", "score-context", "intervention"),
    "Improving the harness": ("audit", "propose", "backlog"),
    "Tools": ("tool",),
    "Looking at it": ("query",),
}
"""The first words of the commands, in the order of the page."""


def code(text: str) -> str:
    """A text as a cell or a sentence shows it literally."""
    return f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars inside of cells are escaped."""
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def wrapped(text: str, width: int = 116) -> str:
    """A paragraph."""
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


def commands() -> str:
    """Every command under its heading."""
    listed = [word for words in HEADINGS.values() for word in words]
    there = {name.split()[0] for name in COMMANDS}
    if there != set(listed):
        raise SystemExit(f"docs/generate_ledger.py lists other commands than there are: {there ^ set(listed)}")
    parts = []
    for heading, words in HEADINGS.items():
        parts.append(f"### {heading}\n")
        for word in words:
            parts += [about(command) for name, command in COMMANDS.items() if name.split()[0] == word]
    return "\n".join(parts)


def about(command: Command) -> str:
    """What the page says of one command."""
    called = textwrap.fill(
        "\0".join(usage(command)).replace(" ", "\1").replace("\0", " "), 100, subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    ).replace("\1", " ")  # fmt: skip
    parts = [
        f"#### `harness-cli {command.name}`",
        f"```text\n{called}\n```",
        wrapped(" ".join(filter(None, (command.about, command.more)))),
    ]
    declared = (*command.places, *(option for option in command.options if option.name != "--json"))
    if declared:
        parts.append(table(("option", "meaning"), map(row, declared)).rstrip("\n"))
    shape = command.shape.removeprefix("no envelope: ")
    if shape != command.shape:
        parts.append("With `--json`, without an envelope:")
    elif shape:
        parts.append("`result` with `--json`:")
    if shape:
        parts.append(f"```text\n{wrapped(shape, 100)}\n```")
    return "\n\n".join(parts) + "\n"


def row(option: Option) -> tuple[str, str]:
    """An option and what it means."""
    return code(spelling(option)), option.about + (" (required)" if option.required else "")


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "environment": lambda: table(("variable", "meaning"), ((code(name), about) for name, about in ENVIRONMENT)),
    "exit-codes": lambda: table(("code", "meaning"), EXIT_CODES),
    "responsibilities": lambda: wrapped(", ".join(vocabulary.RESPONSIBILITIES) + ".") + "\n",
    "capabilities": lambda: wrapped(", ".join(map(code, vocabulary.CAPABILITIES)) + ".") + "\n",
}
