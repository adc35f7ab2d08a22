"""`hs help`: everything at a glance, without a network fast."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bridoon.catalog.lookup import Catalog, Executable
from bridoon.cli import declared, known
from bridoon.cli.compose import catalog_here
from bridoon.cli.declare import columns, group_help, help_text, read
from bridoon.cli.describe import describe
from bridoon.cli.show import clean, did_you_mean, put, tilde
from bridoon.cli.stopping import stop_at_once
from bridoon.errors import NotFound

USAGE = """\
usage: hs [OPTIONS] MESSAGE...          carry out one message: hs "list the todo comments"
       hs [OPTIONS]                     talk to the agent, at a terminal
       hs [OPTIONS] SESSION MESSAGE...  continue a session
       hs COMMAND [ARGUMENTS]           run a command; hs COMMAND --help says how
       hs -- MESSAGE...                 a message that begins like a command or an option
       ... | hs [MESSAGE...]            what is piped in is the message, or attached to it"""


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs help [COMMAND]`. Raises NotFound for what is no command."""
    given = read(declared.HELP, argv)
    if given is None:
        return 0
    stop_at_once()
    catalog = catalog_here(env, os.getcwd())
    if given.words:
        return _about(" ".join(given.words), catalog, env)
    sections = [
        ("options:", columns([(option.spelling, option.about) for option in declared.RUN_OPTIONS], left=24)),
        ("commands:", columns(_commands(catalog, env))),
        ("providers (hs providers says more):", _providers(catalog, env)),
        ("environment:", columns(_environment(), left=28, total=110)),
        ("exit codes:", columns(list(declared.EXIT_CODES), left=8)),
        ("tools (hs tools says more):", "  " + " ".join(clean(each) for each in _tools(catalog))),
        ("directories that take part, the later ones more local:", _directories(catalog, env)),
    ]
    put(USAGE)
    for title, text in sections:
        if text.strip():
            put(f"\n{title}\n{text}")
    return 0


def _about(name: str, catalog: Catalog, env: Mapping[str, str]) -> int:
    """Help for one command: what it declares, else what it says about itself."""
    command = declared.command_of(name)
    found = catalog.find("commands", name)
    if command is not None and (found is None or found.bundled or " " in name):
        put(help_text(command))
        return 0
    group = declared.group_of(name)
    if group is not None and (found is None or found.bundled):
        put(group_help(name, group.about, group.commands))
        return 0
    if found is None:
        names = sorted({each.name for each in catalog.entries("commands")})
        raise NotFound(f"no command is called {clean(name)!r}", did_you_mean(name, names, "hs help lists them"))
    about = clean(describe([found], env)[found.path]) or "(no description)"
    put(f"usage: hs {name} ...\n\n{about}\n[{clean(found.path)}]")
    if name in declared.RUNS:
        put("\n" + columns([(option.spelling, option.about) for option in declared.RUN_OPTIONS], left=24))
    return 0


def _commands(catalog: Catalog, env: Mapping[str, str]) -> list[tuple[str, str]]:
    found: dict[str, Executable] = {each.name: each for each in catalog.entries("commands")}
    found.pop("internal", None)
    about = describe(found.values(), env)
    rows = [(clean(name), clean(about[each.path]) or "(no description)") for name, each in found.items()]
    return sorted(rows)


def _tools(catalog: Catalog) -> list[str]:
    return sorted({each.name for each in catalog.entries("tools")})


def _environment() -> list[tuple[str, str]]:
    rows = []
    for setting in known.SETTINGS:
        if setting.variable:
            default = f" ({setting.default.strip('()')})" if setting.default else ""
            choices = f": {', '.join(setting.choices)}" if setting.choices else ""
            rows.append((setting.variable, f"{setting.about}{choices}{default}"))
    return rows


def _providers(catalog: Catalog, env: Mapping[str, str]) -> str:
    from bridoon.cli.providing import survey

    rows = [(f"{'*' if each.ready else ' '} {clean(each.name)}", clean(each.summary)) for each in survey(catalog, env)]
    return columns(rows, total=110) + ("\n  (* ready)" if rows else "")


def _directories(catalog: Catalog, env: Mapping[str, str]) -> str:
    users = [source.path for source in catalog.sources if source.scope != "bundled"]
    lines = [f"  {tilde(path, env)}" for path in users]
    lines += [f"  {tilde(source.path, env)}  (not trusted: hs trust)" for source in catalog.untrusted]
    return "\n".join(lines)
