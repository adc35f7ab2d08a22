"""`hs "message"`: one prompt, carried out to its end."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from bridoon.cli import fronts
from bridoon.cli.compose import catalog_here, end_children, say, stop_on_signals
from bridoon.cli.options import Options, parse
from bridoon.errors import BridoonError, Cancelled, UsageError
from bridoon.loop import begin
from bridoon.loop.env import start_environment
from bridoon.loop.follow import Outcome
from bridoon.loop.run import Run
from bridoon.model.message import Image, Usage
from bridoon.proc import children
from bridoon.proc.cancel import Cancel
from bridoon.session import history, store

STDIN_PATIENCE = 3.0
"""Seconds that a message on the command line waits for the first byte of a pipe on standard input."""

INPUT_LIMIT = 32 << 20
"""Bytes of standard input, or of an attached file, that become part of a message. A pipe may have no end."""


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out the words of `argv` as a message; the first word may be the id of a session to continue."""
    if argv[:1] in (["--help"], ["-h"]):
        from bridoon.cli import declare, declared

        print(declare.help_text(declared.AGENT))
        return 0
    options, words, _ = parse(argv)
    env = {**env, **options.variables()}
    if options.cwd:  # after the message: everything that depends on the place is found anew
        os.chdir(options.cwd)
        os.environ["PWD"] = os.getcwd()
        env = start_environment({**os.environ, **options.variables()}, os.getcwd())
    cancel = Cancel()
    stop_on_signals(cancel)
    children.sweep_stale(env["HARNESS_HOME"])
    front = _front(options, cancel)
    try:
        outcome = _carry_out(options, words, env, cancel, front)
    except BridoonError as wrong:
        if not isinstance(front, fronts.Lines):
            raise
        outcome = fronts.failed(wrong)
    except Cancelled as cancelled:
        outcome = Outcome("", "cancelled", cancelled.exit_code, Usage(), 0)
    finally:
        end_children(env)
    try:
        front.finish(outcome)
    except OSError as wrong:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(wrong, BrokenPipeError):
            return 141
        say(f"harness: cannot write the output: {wrong.strerror}")
        return 1
    return outcome.exit_code


Shown = fronts.Plain | fronts.Quiet | fronts.Lines


def _front(options: Options, cancel: Cancel) -> Shown:
    if options.json:
        return fronts.Lines(cancel)
    return fronts.Quiet(cancel) if options.quiet else fronts.Plain(cancel)


def _carry_out(options: Options, words: list[str], env: Mapping[str, str], cancel: Cancel, front: Shown) -> Outcome:
    cwd = os.getcwd()
    place = ""
    roots = [env["HARNESS_SESSIONS"]]
    if options.session:
        place = history.find(roots, options.session)
    elif words and store.ID.fullmatch(words[0]) and os.path.isdir(os.path.join(roots[0], words[0])):
        place, words = os.path.join(roots[0], words[0]), words[1:]
    text = _message(words, cancel)
    images, attached = attachments(options.attach, cancel)
    text = "\n\n".join(part for part in (text, attached) if part)
    if not place and not text.strip() and not images:
        raise UsageError("the message is empty", 'say what to do: hs "list the todo comments"')
    run = Run(None, catalog_here(env, cwd), env, cancel=cancel, front=front)
    try:
        if place:
            begin.continue_session(run, store.open_session(place))
        else:
            begin.new_session(run, cwd)
        if isinstance(front, fronts.Lines):
            front.session = run.session.id
        elif not options.quiet:
            introduce(run)
        return begin.prompt(run, text, images)
    finally:
        run.close()


def introduce(run: Run) -> None:
    """Say on standard error where the session is and who answers."""
    home = os.path.expanduser("~")
    place = run.session.dir
    say("session: " + (f"~{place[len(home) :]}" if place.startswith(home + "/") else place))
    say(f"provider: {run.env['HARNESS_PROVIDER']}")
    say(f"model: {run.env['HARNESS_MODEL'] or '(the provider has one only)'}")


def attachments(paths: tuple[str, ...], cancel: Cancel | None = None) -> tuple[tuple[Image, ...], str]:
    """Files to send along: images as images, anything else as text. Raises UsageError for what cannot be read."""
    from bridoon.toolkit.picture import mime_type as image_type

    images, texts = [], []
    for path in paths:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # waiting is done below
            try:
                data = _collect(fd, cancel, f"--attach {path}")
            finally:
                os.close(fd)
        except OSError as wrong:
            raise UsageError(f"--attach {path}: {wrong.strerror}") from None
        mime_type = image_type(data)
        if mime_type:
            images.append(Image(mime_type, data))
        else:
            texts.append(
                f"<attached-file name={os.path.basename(path)!r}>\n{data.decode('utf-8', 'replace')}\n</attached-file>"
            )
    return tuple(images), "\n".join(texts)


def _message(words: list[str], cancel: Cancel) -> str:
    """The message: the words, what is piped in, or both."""
    text = " ".join(words)
    piped = _piped(cancel, patient=not text)
    if text and piped.strip():
        return f"{text}\n\n<stdin>\n{piped}\n</stdin>"
    return text or piped


def _piped(cancel: Cancel, *, patient: bool) -> str:
    """What is on standard input, unless that is a terminal. A silent pipe is not waited for when there is a message."""
    if os.isatty(0):
        return ""
    try:
        data = _collect(0, cancel, "standard input", None if patient else STDIN_PATIENCE)
    except TimeoutError:
        say(f"harness: nothing came on standard input within {STDIN_PATIENCE:.0f} s: going on without it")
        return ""
    except OSError:
        return ""  # it is closed, or open for writing only
    return data.decode("utf-8", "replace").rstrip("\n")


def _collect(fd: int, cancel: Cancel | None, what: str, patience: float | None = None) -> bytes:
    """Everything that can be read from a descriptor.

    Raises TimeoutError when its first byte takes longer than `patience` seconds, UsageError when it holds more than
    a message may, OSError, and Cancelled as soon as `cancel` is set.
    """
    import select

    data = bytearray()
    waits = not stat.S_ISREG(os.fstat(fd).st_mode)
    watched = [fd] if cancel is None else [fd, cancel.fileno()]
    while True:
        if waits and not select.select(watched, [], [], None if data else patience)[0]:
            raise TimeoutError
        if cancel is not None:
            cancel.check()
        try:
            chunk = os.read(fd, 1 << 16)
        except BlockingIOError:
            continue
        if not chunk:
            return bytes(data)
        data += chunk
        if len(data) > INPUT_LIMIT:
            raise UsageError(
                f"{what} holds more than {INPUT_LIMIT >> 20} MiB, which no model reads at once",
                "name a file in the message instead: the agent reads what it needs of it",
            )
