"""`hs` at a terminal: a conversation, prompt by prompt, in one session."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from types import FrameType

from bridoon.catalog.conf import MODES
from bridoon.cli import compose
from bridoon.cli.declare import Command, help_text
from bridoon.cli.declared import RUN_OPTIONS
from bridoon.cli.options import Options, parse
from bridoon.cli.repl_commands import COMMANDS, recall
from bridoon.cli.repl_conversation import Conversation
from bridoon.cli.repl_talk import Repl
from bridoon.cli.terminal.paint import wanted
from bridoon.cli.terminal.screen import Screen
from bridoon.cli.terminal.words import Arguments, Offer, offers
from bridoon.errors import UsageError
from bridoon.proc import children
from bridoon.session import history

OPTIONS = tuple(option for option in RUN_OPTIONS if option.name not in ("--json", "--quiet", "--attach", "--cwd"))

REPL = Command(
    "repl", "talk with the agent, prompt by prompt", "[SESSION]", 0, 1, OPTIONS,
    "At a terminal, `hs` alone is the same, and `hs SESSION` goes on in a session. /help lists the commands."
    "",
    completes="session",
)  # fmt: skip
RESUME = Command(
    "resume", "go on in the session that was used last here (else anywhere), or in the given one",
    "[SESSION]", 0, 1, OPTIONS,
    completes="session",
)  # fmt: skip


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """Talk in a new session, or in the one that the command line names."""
    if argv[:1] in (["--help"], ["-h"]):
        print(help_text(REPL))
        return 0
    options, words = _parse(argv, REPL)
    return _talk(options, {**env, **options.variables()}, words[0] if words else options.session)


def resume(argv: list[str], env: Mapping[str, str]) -> int:
    """Talk in the session that was used last, or in the one that the command line names."""
    if argv[:1] in (["--help"], ["-h"]):
        print(help_text(RESUME))
        return 0
    options, words = _parse(argv, RESUME)
    wanted_session = words[0] if words else options.session
    if not wanted_session:
        wanted_session = os.path.basename(history.newest([env["HARNESS_SESSIONS"]], os.getcwd()))
    return _talk(options, {**env, **options.variables()}, wanted_session)


def _parse(argv: list[str], command: Command) -> tuple[Options, list[str]]:
    options, words, _ = parse(argv)
    if options.json or options.quiet or options.attach:
        raise UsageError(
            f"hs {command.name} takes no --json, --quiet or --attach",
            f'hs "..." does; usage: {command.usage}',
        )
    if options.cwd:
        raise UsageError(f"--cwd stands before the command: hs --cwd DIR {command.name}")
    if len(words) > 1:
        raise UsageError(f"hs {command.name}: unexpected {words[1]!r}", f"usage: {command.usage}")
    return options, words


def _talk(options: Options, env: dict[str, str], wanted_session: str) -> int:
    children.sweep_stale(env["HARNESS_HOME"])
    conversation = Conversation(env, os.getcwd())
    if wanted_session:
        conversation.resume(history.find([env["HARNESS_SESSIONS"]], wanted_session))
    else:
        conversation.start()
    compose.say(f"session: {conversation.session.id}")
    if conversation.session.cwd not in ("", os.getcwd()):
        compose.say(f"works in: {conversation.session.cwd}")
    compose.say(f"provider: {conversation.env['HARNESS_PROVIDER']}")
    compose.say(f"model: {conversation.env['HARNESS_MODEL']}")
    compose.say("/help lists the commands and keys")
    screen = _screen(conversation)
    repl = Repl(conversation, screen)
    _stop_on_signals(repl, screen)
    if wanted_session:
        recall(repl)
    try:
        with compose.asking(lambda directory, contents: _ask_trust(repl, directory, contents)):
            code = screen.run(repl)
        repl.close()
    finally:
        compose.end_children(env, grace=0.5)
        screen.close()
    conversation.leave()
    if code == 128 + signal.SIGHUP:
        _let_go_of_terminal()
    return code


def _let_go_of_terminal() -> None:
    """It is gone: nothing that is still to be flushed can get there."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)


def _screen(conversation: Conversation) -> Screen:
    """The screen that this terminal can have."""
    colours = wanted(os.environ)
    at_terminal = _is_terminal(0) and _is_terminal(1)
    if not at_terminal or os.environ.get("TERM", "dumb") in ("", "dumb"):
        from bridoon.cli.terminal.plain import Plain

        return Plain(colours and _is_terminal(1))
    from bridoon.cli.terminal.line import Line

    commands = {command.name: command.about for command in COMMANDS}
    arguments = _arguments(conversation)

    def complete(line: str) -> list[Offer]:
        return offers(line, conversation.session.cwd or conversation.cwd, commands, arguments)

    return Line(colours, os.path.join(conversation.env["HARNESS_HOME"], "history"), complete)


def _arguments(conversation: Conversation) -> dict[str, Arguments]:
    def sessions() -> Iterable[tuple[str, str]]:
        return [(each.id, history.title(each, 50)) for each in conversation.others()[:20]]

    return {
        "/model": lambda: [(name, "provider") for name in conversation.providers(fresh=False)],
        "/permissions": lambda: [(mode, "") for mode in MODES],
        "/resume": sessions,
    }


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False


def _ask_trust(repl: Repl, directory: str, contents: list[str]) -> bool | None:
    listing = "\n".join(f"  {repl.paint.style('dim', line)}" for line in compose.shortened(contents))
    return repl.screen.ask(compose.question(directory), ["yes", "no"], listing, repl.cancel) == "yes"


def _stop_on_signals(repl: Repl, screen: Screen) -> None:
    """SIGTERM and SIGHUP stop the run and leave; a second one leaves at once. SIGINT is a Ctrl-C."""
    asked: list[int] = []

    def stop(signum: int, frame: FrameType | None) -> None:
        if asked:
            children.end_all(grace=0.2)
            screen.close()
            os._exit(128 + signum)
        asked.append(signum)
        repl.stop(signum)

    def interrupt(signum: int, frame: FrameType | None) -> None:
        screen.post(repl.interrupt)  # not here: the signal may have come in the middle of a write

    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, stop)
    signal.signal(signal.SIGINT, interrupt)


__all__ = ["REPL", "RESUME", "main", "resume"]
