"""One line about a drop-in: read from its file when it is one of ours, else asked with `--describe`.

Only files that mention `--describe` are started: anything else would do its work instead of answering.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bridoon.catalog.files import decode, read_file
from bridoon.catalog.lookup import Executable

if TYPE_CHECKING:
    from bridoon.proc.cancel import Cancel

LIMIT = 5.0
"""Seconds that `--describe` may take."""

GIVE_UP = 2.0
"""Seconds to wait for programs to be ended when the listing is interrupted."""

AT_ONCE = 8
"""Programs that are asked at the same time."""

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without importing ast: 4 ms
_ASIDE = re.compile(r"$|-\*-|(en)?coding[:=]|vim?:|shellcheck\b|type:|ruff:|pylint:|SPDX|Copyright")
"""How comments begin that are for tools, not for people."""

_DECORATORS = ("hook", "tool", "command", "provider")


def environment(provider: Executable, env: Mapping[str, str]) -> list[str]:
    """The variables that a provider says it reads (`--env`), as its own lines."""
    if provider.bundled and provider.marked:
        from bridoon.proc import inline

        return inline.load(provider.path).environment.strip().splitlines()
    try:
        asks = b"--env" in read_file(provider.path)
    except OSError:
        return []
    from bridoon.proc.cancel import Cancel

    return _answer(provider, "--env", env, Cancel()).strip().splitlines() if asks else []


def describe(drop_ins: Iterable[Executable], env: Mapping[str, str]) -> dict[str, str]:
    """The description of each drop-in, by its path; empty when it has none. Eight take 5 s at most."""
    found: dict[str, str] = {}
    asked: list[Executable] = []
    for each in drop_ins:
        if each.path in found:
            continue
        found[each.path] = ""
        try:
            content = read_file(each.path)
        except OSError:
            continue
        if each.marked and (each.bundled or b"--describe" not in content):
            found[each.path] = declared(decode(content))
        elif each.marked or b"--describe" in content:
            asked.append(each)
    if asked:
        _ask_all(asked, env, found)
    return found


def describe_quickly(drop_ins: Iterable[Executable]) -> dict[str, str]:
    """The same for marked drop-ins and scripts with a comment, from their text alone: nothing is started."""
    found = {}
    for each in drop_ins:
        try:
            text = decode(read_file(each.path, 1 << 14))
        except OSError:
            text = ""
        found[each.path] = declared(text) if each.marked else comment(text)
    return found


def declared(text: str) -> str:
    """What a marked drop-in says about itself, unstarted: the docstring of its function, else its own."""
    try:
        tree: Any = compile(text, "drop-in", "exec", _ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError):
        return ""
    for node in tree.body:
        for decorator in getattr(node, "decorator_list", ()):
            call = getattr(decorator, "func", decorator)
            if getattr(call, "id", getattr(call, "attr", "")) in _DECORATORS:
                given = {word.arg: word.value for word in getattr(decorator, "keywords", ())}
                said = getattr(given.get("description"), "value", None)
                about = said if isinstance(said, str) else _docstring(node.body)
                if about:
                    return first_sentence(about)
    return first_sentence(_docstring(tree.body))


def _docstring(body: list[Any]) -> str:
    value = getattr(getattr(body[0], "value", None), "value", None) if body else None
    return value if isinstance(value, str) else ""


def first_sentence(text: str) -> str:
    """The first sentence of a text whose lines may be wrapped, on one line."""
    paragraph = " ".join(text.strip().split("\n\n", 1)[0].split())
    end = re.search(r"[.!?](?=\s+[A-Z`])", paragraph)
    return paragraph[: end.end()] if end else paragraph


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].strip()


def comment(text: str) -> str:
    """The first comment line under the `#!` line of a script, else the docstring of a Python file."""
    lines = text.split("\n", 12)
    for line in lines[1:] if lines[0].startswith("#!") else lines:
        said = re.match(r'\s*(?:#+\s*(?P<comment>.*)|[rR]?"""(?P<quoted>.*?)(?:"""|$))', line)
        if said is None:
            if line.strip():
                break
        elif not _ASIDE.match(words := (said["comment"] or said["quoted"] or "").strip()):
            return words
    return ""


def _ask_all(asked: list[Executable], env: Mapping[str, str], found: dict[str, str]) -> None:
    """Ask several programs at a time."""
    import threading

    from bridoon.proc.cancel import Cancel

    cancel = Cancel()
    queue = list(reversed(asked))
    # Not `Thread.join`: interrupted by an exception, it takes the thread for finished (bpo-45274).
    answered = threading.Semaphore(0)

    def work() -> None:
        try:
            while not cancel.is_set:
                one = queue.pop()
                found[one.path] = _ask(one, env, cancel)
        except IndexError:
            pass
        finally:
            answered.release()

    at_work = min(AT_ONCE, len(asked))
    for _ in range(at_work):
        threading.Thread(target=work, daemon=True).start()
    try:
        while at_work:
            answered.acquire()
            at_work -= 1
    except BaseException:  # Ctrl-C, or a signal: nothing that was started stays
        cancel.set()
        for _ in range(at_work):
            answered.acquire(timeout=GIVE_UP)
        raise


def _ask(one: Executable, env: Mapping[str, str], cancel: Cancel) -> str:
    """The first line that `--describe` prints."""
    return _first_line(_answer(one, "--describe", env, cancel))


def _answer(one: Executable, flag: str, env: Mapping[str, str], cancel: Cancel) -> str:
    from bridoon.errors import Cancelled
    from bridoon.proc.environment import child_env
    from bridoon.proc.run import CannotStart, command_for, run

    try:
        done = run(
            [*command_for(one.path, one.marked), flag],
            env=child_env(env, root=env["HARNESS_ROOT"]),
            timeout=LIMIT,
            cancel=cancel,
            out_limit=1 << 16,
            grace=0.2,
        )
    except (CannotStart, Cancelled):
        return ""
    if done.timed_out:
        return f"(no answer to {flag} within 5 s)"
    return done.stdout.text(4000) if done.code == 0 else ""


__all__ = ["comment", "declared", "describe"]
