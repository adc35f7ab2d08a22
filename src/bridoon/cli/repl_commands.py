"""The slash commands of the REPL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from bridoon.catalog.conf import MODES
from bridoon.cli.show import clean, clean_lines, did_you_mean, squeeze, tilde
from bridoon.cli.terminal.calls import amount, duration, shortened
from bridoon.errors import UsageError
from bridoon.proc.cancel import Cancel
from bridoon.wire.digits import whole_number

if TYPE_CHECKING:
    from bridoon.cli.repl_talk import Repl

RECALL_LINES = 30
"""Lines of the last answer that are shown when a session is taken up again."""


class Command(NamedTuple):
    """A slash command."""

    name: str
    usage: str
    about: str
    run: Callable[[Repl, str], None]
    anytime: bool = False
    """Whether it is carried out at once while the agent works, instead of after that."""


KEYS = """\
Enter sends, Alt-Enter (or Esc, Enter) begins a new line, Tab completes /commands and files (also after @),
Up and Ctrl-R find earlier lines, Ctrl-C stops the agent or clears the line, twice it leaves, Ctrl-D leaves.
What you enter while the agent works is given to it at its next turn, or as the next prompt when it is done."""


def find(word: str) -> Command | None:
    """The command of a word such as `/help`, or of the beginning of one name only."""
    exact = BY_NAME.get(word) or BY_NAME.get({"/exit": "/quit"}.get(word, ""))
    if exact is not None:
        return exact
    near = [command for name, command in BY_NAME.items() if name.startswith(word)] if len(word) > 1 else []
    return near[0] if len(near) == 1 else None


def unknown(word: str) -> str:
    """What to say about a word that is no command."""
    return f"there is no {clean(word)}: {did_you_mean(word, [*BY_NAME, '/exit'], '/help lists the commands')}"


def _help(repl: Repl, argument: str) -> None:
    width = max(len(command.usage) for command in COMMANDS)
    lines = [f"  {command.usage:<{width}}  {command.about}" for command in COMMANDS]
    repl.say("\n".join(lines) + "\n" + repl.paint.style("dim", KEYS))


def _tools(repl: Repl, argument: str) -> None:
    def show(cancel: Cancel) -> None:
        from bridoon.loop import executor

        run = repl.conversation.run(cancel)
        try:
            index = executor.index(run)
            specs, problems = index.specs, index.problems
        finally:
            run.close()
        width = max([len(str(spec["name"])) for spec in specs], default=0)
        room = max(20, repl.paint.columns() - width - 4)
        lines = [f"  {clean(str(spec['name'])):<{width}}  {squeeze(str(spec['description']), room)}" for spec in specs]
        lines += [repl.paint.style("yellow", f"  {path}: {reason}") for path, reason in problems]
        repl.say("\n".join(lines) or "there are no tools")

    repl.work("looking for tools", show)


def _model(repl: Repl, argument: str) -> None:
    talk = repl.conversation
    if not argument:
        env = talk.env
        repl.say(f"provider: {env['HARNESS_PROVIDER']}\nmodel: {env['HARNESS_MODEL'] or '(its default)'}")
        repl.say(
            repl.paint.style("dim", f"providers: {', '.join(talk.providers())}\n/model MODEL or /model PROVIDER/MODEL")
        )
        return
    provider, model = chosen_model(argument, talk.providers(), talk.env["HARNESS_PROVIDER"])

    def change(cancel: Cancel) -> None:
        talk.choose(provider, model, cancel)
        repl.say(f"from now on: {talk.env['HARNESS_PROVIDER']}, {talk.env['HARNESS_MODEL'] or 'its default model'}")

    repl.work("looking for the model", change)


def chosen_model(text: str, providers: Iterable[str], current: str) -> tuple[str, str]:
    """Provider and model of `PROVIDER/MODEL`, `PROVIDER` or `MODEL`; a model's name may hold slashes."""
    known = set(providers)
    first, slash, rest = text.partition("/")
    if slash and first in known and rest:
        return first, rest
    return (text, "") if text in known else (current, text)


def _permissions(repl: Repl, argument: str) -> None:
    talk = repl.conversation
    if not argument:
        kept = f", {len(talk.grants)} allowed for this session" if talk.grants else ""
        repl.say(f"permissions: {talk.mode}{kept}\n" + repl.paint.style("dim", f"/permissions {'|'.join(MODES)}"))
        return
    if argument not in MODES:
        raise UsageError(f"there is no mode {argument!r}", did_you_mean(argument, MODES))
    talk.env["HARNESS_PERMISSIONS"] = argument
    repl.say(f"permissions: {argument}" + (" from the next prompt on" if repl.busy else ""))


def _jobs(repl: Repl, argument: str) -> None:
    from bridoon.proc import children

    now = time.time()
    lines = [
        f"  {job.pid:>7}  {duration(max(0.0, now - job.started)):>10}  {squeeze(job.command, 80)}"
        for job in children.jobs()
    ]
    repl.say("\n".join(lines) or "nothing runs in the background")


def _session(repl: Repl, argument: str) -> None:
    talk = repl.conversation
    session, total = talk.session, talk.session.total_usage()
    rows = {
        "session": session.id,
        "directory": session.dir,
        "works in": tilde(session.cwd, talk.env),
        "model": f"{talk.env['HARNESS_PROVIDER']}, {talk.env['HARNESS_MODEL'] or 'its default'}",
        "messages": str(len(session.messages())),
        "tokens": f"{amount(total.input_tokens)} in ({amount(total.cache_read_tokens)} cached), "
        f"{amount(total.output_tokens)} out",
        "log": tilde(talk.log, talk.env),
    }
    repl.say("\n".join(f"  {name:<10} {clean(value)}" for name, value in rows.items()))


def _resume(repl: Repl, argument: str) -> None:
    def change(cancel: Cancel) -> None:
        repl.conversation.change_to(repl.conversation.find(argument))
        repl.say(f"session: {repl.conversation.session.id}")
        recall(repl)

    repl.work("opening the session", change)


def recall(repl: Repl) -> None:
    """Show the end of what was said in the session."""
    said, answered = repl.conversation.last_exchange()
    lines = []
    if said:
        first, *rest = shortened(clean_lines(said.strip()).split("\n"), 0, "", max(20, repl.paint.columns() * 2))
        lines += [f"{repl.paint.style('you', 'You:')} {first}", *rest]
    if answered:
        answer = repl.paint.markdown(answered).split("\n")
        hidden = len(answer) - RECALL_LINES
        lines.append(repl.paint.style("agent", "Agent:"))
        lines += [repl.paint.style("dim", f"… {hidden} lines before")] if hidden > 0 else []
        lines += answer[-RECALL_LINES:]
    if lines:
        repl.say("\n".join(lines))


def _fork(repl: Repl, argument: str) -> None:
    from bridoon.session import history

    if argument and not whole_number(argument):
        raise UsageError(f"{argument!r} is not the number of a message", "/fork copies all, /fork 4 the first four")
    old = repl.conversation.session

    def change(cancel: Cancel) -> None:
        new = history.fork(old, whole_number(argument) or None)
        repl.conversation.change_to(new)
        repl.say(f"session: {new.id} (a copy of {old.id} with {len(new.messages())} messages)")

    repl.work("copying the session", change)


def _compact(repl: Repl, argument: str) -> None:
    def compact(cancel: Cancel) -> None:
        from bridoon.loop.compact import compact_now
        from bridoon.loop.run import Front
        from bridoon.model.event import Event, Notice

        class Told(Front):
            """Shows notices only."""

            def event(self, event: Event) -> None:
                if isinstance(event, Notice):
                    repl.say(repl.paint.style("yellow", f"· {event.text}"))

        run = repl.conversation.run(cancel, Told())
        try:
            with run.session.lock(cancel=cancel):
                repl.say(compact_now(run))
        finally:
            run.close()

    repl.work("compacting", compact)


def _quit(repl: Repl, argument: str) -> None:
    repl.leave(0)


COMMANDS = (
    Command("/help", "/help", "show this", _help, anytime=True),
    Command("/tools", "/tools", "list the tools that the model can call", _tools),
    Command("/model", "/model [NAME]", "show or change the model: MODEL, PROVIDER or PROVIDER/MODEL", _model),
    Command("/permissions", "/permissions [MODE]", f"show or change what runs unasked: {', '.join(MODES)}",
            _permissions, anytime=True),
    Command("/jobs", "/jobs", "list what runs in the background", _jobs, anytime=True),
    Command("/session", "/session", "show the session, where it is, what it cost", _session, anytime=True),
    Command("/resume", "/resume [ID]", "go on in another session, by default the newest", _resume),
    Command("/fork", "/fork [N]", "go on in a copy of this session, or of its messages up to N", _fork),
    Command("/compact", "/compact", "summarise older turns to make room in the model's window", _compact),
    Command("/quit", "/quit", "leave (also /exit, Ctrl-D)", _quit, anytime=True),
)  # fmt: skip
BY_NAME = {command.name: command for command in COMMANDS}

__all__ = ["BY_NAME", "COMMANDS", "Command", "chosen_model", "find", "recall", "unknown"]
