"""Help, made from the declarations."""

from __future__ import annotations

from collections.abc import Sequence

from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.declared import ABOUT, COMMANDS, GROUPS, PROGRAM, names_below
from bridoon.ledger.cmdline.parse import shown

WIDTH = 100

ENVIRONMENT = (
    ("HARNESS_REPO_ROOT", "the repository; else the nearest directory upward with harness.db, .git or .harness"),
    ("HARNESS_DB_PATH", "the database; else harness.db in the repository"),
    ("HARNESS_RUN_ID", "write what changes to .harness/changesets/<id>.changeset.jsonl as well"),
    ("HARNESS_REQUEST_ID", "stands in the answers of --json"),
)


def help_text(name: str) -> str:
    """Help for the program (an empty name), a group or a command."""
    if name in COMMANDS:
        return _command(COMMANDS[name])
    commands = [(word, _about(f"{name} {word}".strip())) for word in names_below(name)]
    parts = [
        ABOUT if not name else GROUPS[name],
        f"usage: {PROGRAM} {name} <COMMAND> ...".replace("  ", " "),
        "commands:\n" + columns([*commands, ("help", "say more about one of them")]),
        "options:\n" + columns(_standing(top=not name)),
    ]
    if not name:
        parts.append("environment:\n" + columns(ENVIRONMENT))
        parts.append("exit codes:\n" + columns(EXIT_CODES))
        parts.append("where to begin:\n" + columns(BEGINNING))
    return "\n\n".join(parts) + "\n"


EXIT_CODES = (
    ("0", "done"),
    ("1", "it did not work, or a verification failed or a score is too low"),
    ("2", "the command line is wrong"),
    ("2 to 5", "with --json: 2 not possible so, 3 not there or in conflict, 4 not verified, 5 something else"),
)

BEGINNING = (
    ("harness-cli init", "make the ledger of this repository"),
    ("docs/ledger.md", "in the package (bridoon/docs/ledger.md where it is installed): a tour, from init to propose"),
)


def usage(command: Command) -> list[str]:
    """The words that show how a command is called; an option and its value are one."""
    words = [PROGRAM, command.name]
    words += [f"{option.name} {shown(option)}".rstrip() for option in command.options if option.required]
    if any(not option.required for option in command.options):
        words.append("[OPTIONS]")
    words += [shown(place) if place.required else f"[{place.value}]" for place in command.places]
    return words


def _wrapped(words: Sequence[str], indent: str) -> str:
    """Words on lines that are not too long, where words allow that."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) < WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent}{word}" if lines else word)
    return "\n".join(lines)


def spelling(option: Option) -> str:
    """An option or a place with its value."""
    return f"{option.name} {shown(option)}".rstrip() if option.name.startswith("-") else shown(option)


def columns(rows: Sequence[tuple[str, str]], indent: str = "  ") -> str:
    """Names on the left, what they mean on the right; a long name has a line of its own."""
    import textwrap

    left = min(26, max((len(name) for name, _ in rows), default=0)) + 2
    lines: list[str] = []
    for name, about in rows:
        wrapped = textwrap.wrap(about, WIDTH - left - len(indent), break_on_hyphens=False) or [""]
        if len(name) > left - 2:
            lines.append(indent + name)
        else:
            lines.append(f"{indent}{name:<{left}}{wrapped.pop(0)}".rstrip())
        lines += [indent + " " * left + line for line in wrapped]
    return "\n".join(lines)


def _command(command: Command) -> str:
    parts = [command.about, _wrapped(["usage:", *usage(command)], " " * 9)]
    if command.places:
        parts.append("places:\n" + columns([(spelling(place), place.about) for place in command.places]))
    needed = [(spelling(option), option.about) for option in command.options if option.required]
    if needed:
        parts.append("needed:\n" + columns(needed))
    others = [(spelling(option), option.about) for option in command.options if not option.required]
    parts.append("options:\n" + columns([*others, *_standing(top=False)]))
    if command.more:
        import textwrap

        parts.append(textwrap.fill(command.more, WIDTH, break_on_hyphens=False))
    return "\n\n".join(parts) + "\n"


def _about(name: str) -> str:
    return COMMANDS[name].about if name in COMMANDS else GROUPS[name]


def _standing(*, top: bool) -> list[tuple[str, str]]:
    """The options that are there without being declared."""
    version = [("-V, --version", "print the version")] if top else []
    return [("-h, --help", "print this"), *version]
