"""Writes the parts of `cli.md`, `providers.md` and `ledger-reference.md` that follow from declarations in the source.

    python docs/generate.py            write them
    python docs/generate.py --check    exit 1 and show the difference when they are not up to date

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`. Everything else is written by hand.
"""

from __future__ import annotations

import difflib
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import generate_ledger

from bridoon.catalog import conf
from bridoon.cli import declared, help, known, repl_commands
from bridoon.cli.declare import Command, Option
from bridoon.proc import inline

HERE = Path(__file__).parent
PLUGINS = Path(declared.__file__).parents[1] / "plugins"
PART = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)

COMMANDS = {
    "Talking": ("agent", "repl", "resume", "demo"),
    "Sessions": ("session",),
    "Drop-ins": ("new", "check", "tools", "hooks", "skills"),
    "Models": ("providers", "models", "auth"),
    "Safety": ("permissions", "trust", "untrust"),
    "Looking around": ("doctor", "config", "help", "completion"),
}
"""Every bundled command, in the order of the page."""

UNLISTED = {"internal", "version"}
"""Commands that are for programs only."""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; bars inside of cells are escaped."""
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", ":")) else f"{text}."


def wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 116, break_on_hyphens=False, break_long_words=False)


def options(found: Iterable[Option]) -> str:
    """Options as a table; values that are few are listed."""

    def about(option: Option) -> str:
        listed = ", ".join(map(code, option.choices))
        return f"{option.about}: {listed}" if listed and option.choices[0] not in option.about else option.about

    return table(("option", "meaning"), ((code(option.spelling), about(option)) for option in found))


def usage() -> str:
    return f"```text\n{help.USAGE}\n```\n"


def commands() -> str:
    there = {path.name for path in PLUGINS.glob("*/commands/*") if path.is_file()} - UNLISTED
    listed = [name for names in COMMANDS.values() for name in names]
    if sorted(there) != sorted(listed):
        raise SystemExit(f"docs/generate.py lists other commands than there are: {there ^ set(listed)}")
    parts = []
    for title, names in COMMANDS.items():
        parts.append(f"### {title}\n")
        for name in names:
            group = declared.group_of(name)
            one = declared.command_of(name)
            for command in group.commands if group else [one]:
                if command is None:
                    raise SystemExit(f"hs {name} is declared nowhere")
                parts.append(about(command))
    return "\n".join(parts)


def about(command: Command) -> str:
    """What the page says of one command."""
    run = [option for option in command.options if option in declared.RUN_OPTIONS]
    own = [option for option in command.options if option not in run]
    shown = "[OPTIONS] " if run else ""
    names = [f"[{option.name} {option.value}]".replace(" ]", "]") for option in own]
    words = " ".join(part for part in ("hs", command.name, *names, shown.strip(), command.places) if part)
    lines = "\n" in command.more
    said = [command.about, *([command.more] if command.more and not lines else [])]
    text = f"#### `hs {command.name}`\n\n```text\n{words}\n```\n\n{wrapped(' '.join(map(sentence, said)))}"
    if lines:
        text += f"\n\n```text\n{command.more}\n```"
    if own:
        text += "\n\n" + options(own).rstrip("\n")
    if run == list(declared.RUN_OPTIONS):
        text += "\n\nTakes all [options of a run](#options-of-a-run)."
    elif run:
        listed = ", ".join(code(option.short or option.name) for option in run)
        text += "\n\n" + wrapped(f"Of the [options of a run](#options-of-a-run) it takes {listed}.")
    return text + "\n"


def settings(found: Iterable[known.Setting]) -> str:
    def row(setting: known.Setting) -> tuple[str, ...]:
        listed = f": {', '.join(map(code, setting.choices))}" if setting.choices else ""
        default = setting.default
        shown = default.strip("()") if default.startswith("(") or " " in default else code(default)
        return code(setting.key), code(setting.variable), setting.about + listed, shown

    return table(("key", "variable", "meaning", "default"), map(row, found))


def variables(found: Iterable[known.Setting]) -> str:
    return table(("variable", "meaning"), ((code(each.variable), each.about) for each in found))


def slash_commands() -> str:
    rows = ((code(each.usage), each.about, "yes" if each.anytime else "") for each in repl_commands.COMMANDS)
    return table(("command", "what it does", "also while the agent works"), rows)


def programs() -> str:
    """The bundled provider programs."""
    rows = []
    for path in sorted(PLUGINS.glob("*/providers/*")):
        if path.suffix != ".conf" and path.is_file():
            drop_in = inline.load(str(path))
            rows.append((code(path.name), drop_in.describe, code(drop_in.defaults.get("model", ""))))
    return table(("provider", "what it is", "model unless one is named"), rows)


def variants() -> str:
    """The bundled `.conf` files."""
    rows = []
    for path in sorted(PLUGINS.glob("*/providers/*.conf")):
        values, _ = conf.parse(path.read_text("utf-8"))
        named = [values["protocol"], values["url"], values.get("auth_env", ""), values.get("model", "")]
        rows.append((code(path.stem), *map(code, named), values.get("context", "")))
    head = ("variant", "protocol", "endpoint", "key", "model unless one is named", "window")
    return table(head, sorted(rows))


def reads(name: str) -> str:
    """What a bundled provider says about its variables."""
    (path,) = PLUGINS.glob(f"*/providers/{name}")
    return f"```text\n{inline.load(str(path)).environment}\n```\n"


Parts = dict[str, Callable[[], str]]

PAGES: dict[str, Parts] = {
    "cli.md": {
        "usage": usage,
        "run-options": lambda: options(declared.RUN_OPTIONS),
        "commands": commands,
        "exit-codes": lambda: table(("code", "meaning"), declared.EXIT_CODES),
        "settings": lambda: settings(known.SETTINGS),
        "provider-variables": lambda: variables(known.PROVIDER_VARIABLES),
        "ledger-variables": lambda: variables(known.LEDGER_VARIABLES),
        "other-variables": lambda: variables(known.OTHER_VARIABLES),
        "slash-commands": slash_commands,
        "keys": lambda: wrapped(repl_commands.KEYS) + "\n",
    },
    "providers.md": {
        "programs": programs,
        "variants": variants,
        "anthropic": lambda: reads("anthropic"),
        "openai": lambda: reads("openai"),
        "local": lambda: reads("local"),
        "scripted": lambda: reads("scripted"),
    },
    "ledger-reference.md": generate_ledger.PARTS,
}


def filled(name: str, page: str) -> str:
    """A page with every part made anew."""
    parts = PAGES[name]
    used = [part["name"] for part in PART.finditer(page)]
    if sorted(used) != sorted(parts):
        raise SystemExit(f"docs/{name} has the parts {used}; there are {list(parts)}")
    return PART.sub(lambda part: f"{part[1]}{parts[part['name']]()}{part[3]}", page)


def main() -> int:
    old = 0
    for name in PAGES:
        page = (HERE / name).read_text("utf-8")
        fresh = filled(name, page)
        if sys.argv[1:] != ["--check"]:
            (HERE / name).write_text(fresh, "utf-8")
        elif page != fresh:
            old = 1
            lines = page.splitlines(), fresh.splitlines()
            print("\n".join(difflib.unified_diff(*lines, f"docs/{name}", "generated", lineterm="")))
    return old


if __name__ == "__main__":
    sys.exit(main())
