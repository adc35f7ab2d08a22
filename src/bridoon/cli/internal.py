"""What `bin/harness` and `lib/session.sh` ask for: sub-commands that begin with `__`, for programs only."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bridoon.cli.compose import catalog_here, end_children, say, stop_on_signals
from bridoon.cli.fronts import AtTerminal, write
from bridoon.errors import BridoonError, Cancelled, HookFailed, NotFound, UsageError
from bridoon.model.event import Event, ToolOutput
from bridoon.proc.cancel import Cancel

if TYPE_CHECKING:
    from bridoon.catalog.lookup import Executable
    from bridoon.loop.run import Run


def main(words: list[str], env: Mapping[str, str]) -> int:
    """Run one hidden sub-command. Raises UsageError for a name that is none."""
    match words:
        case ["__complete", *rest]:
            from bridoon.cli import completion

            code: int = completion.complete(rest)
            return code
        case ["__sources"]:
            return sources(env)
        case ["__call", stage, count, *rest] if count.isdigit():
            return call(stage, rest[: int(count)], rest[int(count) :], env)
        case ["__loop", session]:
            return loop(session, env)
        case ["__new-session", cwd]:
            return new_session(cwd, env)
        case ["__save-message", session]:
            return save_message(session)
    raise UsageError(f"unknown command {' '.join(words[:1])}", "names that begin with __ are for programs")


def sources(env: Mapping[str, str]) -> int:
    """Print the source directories, lowest priority first, a NUL after each."""
    for source in catalog_here(env, os.getcwd()).sources:
        sys.stdout.buffer.write(os.fsencode(source.path) + b"\0")
    return 0


def new_session(cwd: str, env: Mapping[str, str]) -> int:
    """Make a session and print its directory."""
    from bridoon.session import store

    session = store.create(
        env["HARNESS_SESSIONS"],
        cwd=os.path.abspath(cwd),
        provider=env.get("HARNESS_PROVIDER", ""),
        model=env.get("HARNESS_MODEL", ""),
        parent=env.get("HARNESS_PARENT_SESSION", ""),
    )
    print(session.dir)
    return 0


def save_message(directory: str) -> int:
    """Append standard input as a message of the user."""
    from bridoon.model.message import Message, Text
    from bridoon.session import store

    session = store.open_session(directory, repair=False)
    session.append(Message("user", (Text(_input()),)))  # without the lock: a hook may call this inside of a run
    session.sync()
    return 0


# ---- one stage


def call(stage: str, directories: list[str], arguments: list[str], env: Mapping[str, str]) -> int:
    """Run the hooks of a stage that lie in `directories`, standard input to standard output.

    Only the last output is for somebody else to read: between hooks any text may pass. Returns the exit
    code of the hook that failed; an object with `error` is printed then.
    """
    text = _input()
    hooks = hooks_in(directories, stage, env["HARNESS_ROOT"])
    cancel = Cancel()
    stop_on_signals(cancel)
    run = _run_for_call(stage, env, cancel)
    try:
        for hook in hooks:
            text = _next(run, hook, stage, text, arguments)
    except HookFailed as failed:
        run.log.write(f"[harness] {failed.message}")
        _print_failure(failed)
        return failed.code if 0 < failed.code < 256 else 128 - failed.code if failed.code < 0 else 1
    except Cancelled as cancelled:
        return cancelled.exit_code
    finally:
        from bridoon.proc import children

        children.end_all()
        run.close()
    write(sys.stdout, text)
    return 0


def hooks_in(directories: list[str], stage: str, root: str) -> list[Executable]:
    """The hooks of a stage in directories that a program names itself, the last of each name, in order."""
    from bridoon.catalog.files import Watch
    from bridoon.catalog.passes import effective
    from bridoon.catalog.shelf import Reader, bundled_shelves
    from bridoon.catalog.sources import Source

    bundled = {shelf.source.path: shelf for shelf in bundled_shelves(root)}
    watch = Watch()
    shelves = [bundled.get(path) or Reader(Source(path, "project"), watch).read() for path in directories]
    return effective(shelves, f"hooks.d/{stage}")


def _run_for_call(stage: str, env: Mapping[str, str], cancel: Cancel) -> Run:
    from bridoon.loop.run import Run
    from bridoon.session import store

    directory = env.get("HARNESS_SESSION", "")
    session = store.open_session(directory, repair=False) if directory and os.path.isdir(directory) else None
    return Run(session, catalog_here(env, os.getcwd()), env, cancel=cancel, front=AtTerminal(cancel))


def _next(run: Run, hook: Executable, stage: str, text: str, arguments: list[str]) -> str:
    from bridoon.loop import chain

    if hook.bundled and hook.marked:
        return chain.dump(chain.run_hook(run, hook, stage, chain.parse(hook, stage, text or "{}")))
    with run.front.terminal() as terminal:
        done = chain.spawn(run, hook, stage, text, arguments, tty=terminal and stage in chain.PATIENT)
    printed = chain.output(hook, stage, done).rstrip("\n")
    if not printed:
        say(f"harness: hook {hook.path} printed nothing in {stage}: its input is passed on")
    return printed or text


def _print_failure(failed: HookFailed) -> None:
    from bridoon.loop import chain

    write(sys.stdout, chain.dump({**failed.output, "error": failed.message}))


# ---- the loop


class Logged(AtTerminal):
    """Shows calls where the hooks' own words go: in HARNESS_LOG. The output is printed at the end."""

    def __init__(self, cancel: Cancel) -> None:
        super().__init__(cancel)
        self.run: Run | None = None

    def event(self, event: Event) -> None:
        if isinstance(event, ToolOutput) and self.run is not None:
            self.run.log.write(event.text)


def loop(directory: str, env: Mapping[str, str]) -> int:
    """Carry out what stands at the end of a session's history; print the output, return the exit code."""
    from bridoon.loop import begin
    from bridoon.loop.follow import carry_out
    from bridoon.loop.run import Run
    from bridoon.proc import children
    from bridoon.session import store

    cancel = Cancel()
    stop_on_signals(cancel)
    # A killed process group, and the shell in it that passes the signal on: two TERMs that mean one.
    signal.signal(signal.SIGTERM, lambda signum, frame: cancel.set(signum))
    children.sweep_stale(env["HARNESS_HOME"])
    front = Logged(cancel)
    run = front.run = Run(None, catalog_here(env, os.getcwd()), env, cancel=cancel, front=front)
    try:
        session = store.open_session(directory)
        begin.continue_session(run, session)
        with session.lock(cancel=cancel):
            session.repair()
            run.stream.start_over()
            outcome = carry_out(run)
    except NotFound:
        raise
    except BridoonError as wrong:
        write(sys.stdout, f"error: {wrong.message}\n")
        return wrong.exit_code
    except Cancelled as cancelled:
        return cancelled.exit_code
    finally:
        end_children(env)
        run.close()
    if outcome.output:
        write(sys.stdout, outcome.output + "\n")
    return outcome.exit_code


def _input() -> str:
    """Standard input without its last line end, as a shell would keep it."""
    return sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
