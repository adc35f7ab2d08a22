"""The parts of `ledger-reference.md` that follow from the declarations of `harness-cli`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.declared import COMMANDS
from bridoon.ledger.cmdline.usage import ENVIRONMENT, EXIT_CODES, spelling, usage
from bridoon.ledger.judge import audit, context, grouping, proposals, quality

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


FLAWS = {"empty": "at least one", "null": "given"}
"""What is wanted of a field of a trace, by what is wrong with it."""
TYPES = {
    "new_spec": "a product or a large piece of it is described, and nothing of it is there yet",
    "spec_slice": "a part of a specification that is known is to be made",
    "change_request": "something that is there is to behave otherwise",
    "new_initiative": "a larger undertaking begins that will need several stories",
    "maintenance": "upkeep that changes no behaviour: dependencies, repairs, tidying (also `maintenance-request`)",
    "harness_improvement": "the way of working itself is to get better: instructions, checks, tools, this ledger",
}
LANE_MEANINGS = {
    "tiny": "none or one flag, and the change is small and plain: do it, prove it, say so",
    "normal": "up to three flags: a story with a command that proves it; from two flags on with more proof than usual",
    "high_risk": "four flags or more, or a hard gate: decisions are written down, and a person looks before it is done",
}
DRIFT_RULES = {
    "orphaned_stories": "a story is `planned` or `in_progress`, and no trace names it",
    "unverified_stories": "a story has a verify command that did not pass when it was last run, if it was; retired "
    "ones do not count",
    "unverified_decisions": "the same of a decision",
    "missing_outcomes": "a backlog item is `implemented`, something was expected of it, and nobody has said what came "
    "of it (`backlog close --outcome`; for an accepted proposal `backlog outcome record`)",
    "stale_stories": f"a story is neither `implemented` nor `retired`, and its last trace is older than "
    f"{audit.STALE_DAYS} days",
    "broken_tools": "the command of a `cli` or `binary` cannot be run now, or a tool of another kind was missing when "
    "it was last looked for",
}
SOURCES = {
    proposals.FRICTION: "traces that name the same friction (`none` is no friction)",
    proposals.INTERVENTION: "interventions of one type that say the same",
    proposals.AUDIT: "a category of the audit that has findings",
}


def of_all(data: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    """What is written here about the words of the code, in their order; both have to have the same ones."""
    names = list(names)
    if set(data) != set(names):
        raise SystemExit(f"docs/generate_ledger.py explains other words than there are: {set(data) ^ set(names)}")
    return {name: data[name] for name in names}


def spelt(word: str) -> str:
    """A word as it is given on the command line."""
    return code(word.replace("_", "-"))


def tiers() -> str:
    """What each tier of a trace asks for, as a trace lacks it that says nothing."""
    asked = {tier: [wanted(label) for label in labels] for tier, labels in quality.wanted().items()}
    lanes = {tier: [spelt(lane) for lane, least in quality.REQUIRED.items() if least == tier] for tier in asked}
    rows = [
        (f"{number} {quality.TIERS[number]}", "; ".join(fields), ", ".join(lanes[number]))
        for number, fields in asked.items()
    ]
    first = (f"0 {quality.TIERS[0]}", "that it is there", "")
    return table(("tier", "asks for, besides all of the tiers above", "lanes that require it"), [first, *rows])


def wanted(label: str) -> str:
    """What a trace needs, out of what is said when it lacks it."""
    name, _, flaw = label.partition(": ")
    flaw, _, rest = flaw.partition(" (")
    fields = " or ".join(map(code, name.split(" or ")))
    least = flaw.removeprefix("fewer than ")
    what = FLAWS.get(flaw, f"at least {least}")
    if flaw == "empty" and name == "agent":
        what = "given"
    return f"{fields}: {what}" + (f" ({rest}" if rest else "")


def lanes() -> str:
    """The lanes, and what they ask for."""
    meanings = of_all(LANE_MEANINGS, vocabulary.LANES)
    rows = ((spelt(lane), about, quality.TIERS[quality.REQUIRED[lane]]) for lane, about in meanings.items())
    return table(("lane", "when, and what it means", "tier required of a trace"), rows)


def rules() -> str:
    """What is to be read. The documents are those of the project that uses the ledger: they are no paths of ours."""
    return re.sub(r"`(docs/[^`]*)`", r"\1", context.table())


def drift() -> str:
    """The categories of the audit, and what the sum of their weights is called."""
    found = of_all(DRIFT_RULES, [category.name for category in audit.CATEGORIES])
    rows = ((each.label, str(each.weight), found[each.name]) for each in audit.CATEGORIES)
    bands = [(name, str(most)) for most, name in audit.BANDS]
    return (
        table(("category", "weight", "a finding is"), rows)
        + "\n"
        + wrapped(
            f"The entropy is the sum of the weights of all findings, at most {audit.WORST}: "
            + ", ".join(f"up to {most} {code(name)}" for name, most in bands)
            + "."
        )
        + "\n"
    )


def proposed() -> str:
    """What becomes a proposal, from how many times on, and how sure it is."""
    words = of_all(SOURCES, proposals.COMPONENTS)
    least = grouping.THRESHOLD
    counted = f"{least} times: medium; {proposals.SURE} times and more: high"
    rows = [
        (code(name), words[name], "one finding: low" if name == proposals.AUDIT else counted, component)
        for name, component in proposals.COMPONENTS.items()
    ]
    return table(("source", "comes from", "from when on, with which confidence", "component"), rows)


def types() -> str:
    """The input types."""
    return table(
        ("type", "meaning"), ((spelt(name), about) for name, about in of_all(TYPES, vocabulary.INPUT_TYPES).items())
    )


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "environment": lambda: table(("variable", "meaning"), ((code(name), about) for name, about in ENVIRONMENT)),
    "exit-codes": lambda: table(("code", "meaning"), EXIT_CODES),
    "input-types": types,
    "lanes": lanes,
    "tiers": tiers,
    "context": rules,
    "drift": drift,
    "proposals": proposed,
    "responsibilities": lambda: wrapped(", ".join(vocabulary.RESPONSIBILITIES) + ".") + "\n",
    "capabilities": lambda: wrapped(", ".join(map(code, vocabulary.CAPABILITIES)) + ".") + "\n",
}
