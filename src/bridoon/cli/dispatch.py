"""Which command a command line means, and running it."""

from __future__ import annotations

import os
import sys

from bridoon.catalog.lookup import Catalog, Executable
from bridoon.cli.compose import catalog_here
from bridoon.cli.options import COMMAND, RUNNING, Options, is_bundled_command, parse
from bridoon.errors import NotFound, UsageError
from bridoon.loop.env import start_environment
from bridoon.proc import inline
from bridoon.sdk.script import Context


def run(words: list[str]) -> int:
    """Carry out a command line and return the exit code."""
    if words[:1] in (["--help"], ["-h"]):
        words = ["help"]
    options, rest, literal = parse(words, leading=True)
    if options.cwd:
        os.chdir(options.cwd)
        os.environ["PWD"] = os.getcwd()
    env = start_environment({**os.environ, **options.variables()}, _cwd())
    asks = _may_ask(env["HARNESS_ROOT"], "" if literal else "".join(rest[:1]))
    catalog = catalog_here(env, _cwd(), asks=asks)
    name, arguments = _command(catalog, rest, literal, options, env["HARNESS_SESSIONS"])
    command = catalog.find("commands", name)
    if command is None:
        raise NotFound(f"no {name} command found", f"is {env['HARNESS_ROOT']} a whole installation?")
    return start(command, arguments, env, catalog)


def _may_ask(root: str, first: str) -> bool:
    """Whether code of a checkout might run: a bundled command that starts no run only looks at things."""
    if first.startswith("__"):
        return False
    if first in RUNNING or not COMMAND.fullmatch(first):
        return True
    return not is_bundled_command(first, root)


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise UsageError("the working directory no longer exists", "cd to one that does, or give --cwd DIR") from None


def _command(
    catalog: Catalog, rest: list[str], literal: bool, options: Options, sessions: str
) -> tuple[str, list[str]]:
    """The command's name and its arguments: the first word, if it is one; else the words are for the agent."""
    run_options = _spell(options)
    first = rest[0] if rest and not literal else ""
    if first.startswith("__"):
        return "internal", rest
    if COMMAND.fullmatch(first) and catalog.find("commands", first) is not None:
        if first not in RUNNING and len(rest) > 1 and not rest[1].startswith("-") and sys.stderr.isatty():
            _hint(first, rest)
        if first in RUNNING:
            return first, [*run_options, *rest[1:]]
        end = rest.index("--") if "--" in rest else len(rest)
        return first, [*rest[1:end], *(["--json"] if options.json else []), *rest[end:]]
    talks = sys.stdin is not None and sys.stdin.isatty() and not (options.json or options.quiet)
    if talks and (not rest or (len(rest) == 1 and _is_session(sessions, first))):
        return "repl", [*run_options, *rest]
    if len(rest) == 1 and COMMAND.fullmatch(first):
        _check_typo(catalog, first)
    return "agent", [*run_options, *(["--", *rest] if literal else rest)]


def _check_typo(catalog: Catalog, word: str) -> None:
    """One word that is nearly a command is a slip, not a task for a model."""
    import difflib

    names = {each.name for each in catalog.entries("commands")}
    near = difflib.get_close_matches(word, names, 1, 0.8)
    if near:
        raise UsageError(f"no command {word!r}: did you mean {near[0]}?", f"hs -- {word} sends it as a message")


def _is_session(sessions: str, word: str) -> bool:
    name = word.isascii() and word[:1].isalnum() and "/" not in word
    return name and os.path.isdir(os.path.join(sessions, word, "messages"))


def _hint(first: str, rest: list[str]) -> None:
    if len(rest) > 3:
        sys.stderr.write(f"harness: running the command {first!r}; for a message: hs -- {' '.join(rest)}\n")


def _spell(options: Options) -> list[str]:
    words = [f"--session={options.session}"] if options.session else []
    words += [f"--attach={path}" for path in options.attach]
    words += ["--json"] if options.json else []
    return words + (["--quiet"] if options.quiet else [])


def start(command: Executable, arguments: list[str], env: dict[str, str], catalog: Catalog) -> int:
    """Run a command in this process when it is one of ours; anything else takes the process over."""
    env = {**env, "HARNESS_SOURCES": catalog.sources_variable}
    if command.bundled and command.marked:
        code = inline.load(command.path).run(arguments, Context(env))
        return code or 0
    from bridoon.proc.become import become
    from bridoon.proc.environment import child_env

    return become(command.path, command.marked, arguments, child_env(env, root=env["HARNESS_ROOT"]))
