"""Ways out of a command line that is wrong: what may have been meant, or the line as it should be. No wild guesses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.declared import COMMANDS, PROGRAM, names_below

ALIKE = 0.8
"""How much of a word must be the same for a guess (difflib)."""
LEAST = 3
"""Characters of which the beginning of a word consists at least."""
MOST = 3
"""Guesses: whoever is told more of them is told none."""
LONGEST = 200
"""Characters of a line that is shown again."""
LOOKING = frozenset(("list", "ls", "show", "get", "view", "all"))
LISTINGS = {
    "intake": "query intakes",
    "story": "query stories",
    "decision": "query decisions",
    "backlog": "query backlog",
    "tool": "query tools",
    "trace": "query traces",
    "intervention": "query interventions",
}
"""What lists the records of a command or group."""
VERBS = frozenset(name.split()[-1] for name in COMMANDS if " " in name) | {"new", "create", "run", "record", "start"}


def of_command(group: str, word: str, rest: Sequence[str]) -> str:
    """What to say of a word that is no command of a group; `rest` follows it."""
    if not group and word == "version":
        return f"did you mean `{PROGRAM} --version`?"
    if rest and _below(group, f"{rest[0]} {word}") in COMMANDS:
        return _meant([_below(group, f"{rest[0]} {word}")])
    if group in LISTINGS and word in LOOKING:
        return _listing(group)
    if group == "query" and word in LISTINGS:
        return _meant([LISTINGS[word]])
    deeper = [name for name in COMMANDS if name.startswith(_below(group, "")) and name.split()[-1] == word]
    level = len(group.split()) + 2
    shallow = [name for name in deeper if len(name.split()) == level]
    if 0 < len(shallow) <= MOST:
        return _meant(shallow)
    if guess := near(word, names_below(group)):
        return guess
    if not shallow:
        ends = {name.split()[-1]: name for name in COMMANDS if len(name.split()) == level}
        wider = [ends[end] for end in _alike(word, ends) if ends[end].startswith(_below(group, ""))]
        if 0 < len(wider) + len(deeper) <= MOST:
            return _meant([*wider, *deeper])
    where = f"{PROGRAM} {group}".rstrip()
    return f"its commands: {', '.join(names_below(group))}; {where} --help explains them"


def of_early_option(group: str, words: Sequence[str]) -> str:
    """What to say of an option that stands where a command should; it is the first of `words`."""
    import shlex

    name = words[0].partition("=")[0]
    for at in range(1, len(words)):
        for length in (3, 2, 1):
            command = COMMANDS.get(_below(group, " ".join(words[at : at + length])))
            if command is None or name not in [option.name for option in command.options]:
                continue
            line = f"{PROGRAM} {shlex.join([*group.split(), *words[at:], *words[:at]])}"
            short = f"{PROGRAM} {command.name} ... {name}"
            return f"options come after the command: {line if len(line) <= LONGEST else short}"
    where = f"{PROGRAM} {group}".rstrip()
    return f"options come after the command; {where} --help lists the commands"


def of_option(command: Command, name: str, value: str) -> str:
    """What to say of an option that a command has not got; empty when there is nothing to say."""
    bare = name.lstrip("-")
    for place in command.places:
        if bare == place.name or bare in place.name.split("-"):
            return f"give it without the option: {_line(command, value or f'<{place.value}>', quote=bool(value))}"
    return near(name, [option.name for option in command.options])


def of_word(command: Command, word: str, values: Collection[str], absent: Sequence[Option]) -> str:
    """What to say of a word that a command has no place for; empty when there is nothing to say.

    `values`: what was given; `absent`: what is needed and was not.
    """
    open_now = {option.name: option for option in command.options if option.name not in values}
    if f"--{word}" in open_now:
        return f"did you mean '--{word}'?"
    if " " not in command.name and word in LOOKING and command.name in LISTINGS:
        return _listing(command.name)
    if " " not in command.name and word in VERBS:
        return f"it is just `{PROGRAM} {command.name}`"
    needed = [option for option in absent if option.name.startswith("--")]
    wanted = [name for name in open_now if name in ("--id", "--name")]
    wanted = wanted or [option.name for option in needed if len(needed) == 1]
    return f"give it with its option: {_line(command, word, wanted[0])}{' ...' if values else ''}" if wanted else ""


def near(word: str, known: Iterable[str]) -> str:
    """The word that may have been meant, as a question; empty when none is like it."""
    names = {each.lstrip("-"): each for each in known}
    found = [names[each] for each in _alike(word.lstrip("-"), names)]
    if not 0 < len(found) <= MOST:
        return ""
    return "did you mean " + " or ".join(f"'{each}'" for each in found) + "?"


def _alike(word: str, known: Collection[str]) -> list[str]:
    """Those that a word is the beginning of; else the one that it contains as a whole part; else the one most like."""
    from difflib import get_close_matches

    word = word[:80].lower().replace("_", "-")
    if word in known:
        return [word]
    longer = [each for each in known if len(word) >= LEAST and each.startswith(word)]
    part = [each for each in known if word.startswith(f"{each}-")]
    part = part or [each for each in known if word.endswith(f"-{each}")]
    like = get_close_matches(word, known, 1, ALIKE) or [each for each in known if _swapped(word, each)]
    return longer or part[:1] or like


def _swapped(word: str, other: str) -> bool:
    """Whether two neighbouring letters have changed places."""
    differs = [at for at, pair in enumerate(zip(word, other, strict=False)) if pair[0] != pair[1]]
    if len(word) != len(other) or len(word) <= LEAST or len(differs) != 2 or differs[1] != differs[0] + 1:
        return False
    first, second = differs
    return word[first] == other[second] and word[second] == other[first]


def _below(group: str, words: str) -> str:
    return f"{group} {words}" if group else words


def _meant(names: Sequence[str]) -> str:
    return "did you mean " + " or ".join(f"`{PROGRAM} {name}`" for name in names) + "?"


def _listing(noun: str) -> str:
    query = LISTINGS[noun]
    one = any(option.name == "--id" for option in COMMANDS[query].options)
    return f"`{PROGRAM} {query}` lists them" + (", and --id shows one" if one else "")


def _line(command: Command, word: str, option: str = "", *, quote: bool = True) -> str:
    """A command line with one word, after its option or in its place."""
    import shlex

    shown = shlex.quote(word) if quote else word
    shown = shown if len(shown) <= LONGEST else "..."
    if option:
        shown = f"{option}={shown}" if word.startswith("-") else f"{option} {shown}"
    elif word.startswith("-"):
        shown = f"-- {shown}"
    return f"{PROGRAM} {command.name} {shown}"
