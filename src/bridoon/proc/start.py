"""Start a program, or say in a sentence why it cannot be started."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bridoon.errors import BridoonError
from bridoon.proc import children

if TYPE_CHECKING:
    from subprocess import Popen

_ARGUMENT_LIMIT = 128 << 10
"""Bytes that Linux takes in one argument or variable, its end included."""
_BUSY_RETRIES = 5
_RUN_MARKED = "import sys; from bridoon.sdk.py import main; sys.exit(main(sys.argv[1:]))"


class CannotStart(BridoonError):
    """A program could not be started: nothing of it ran. `path` names it, `errno` is the system's reason."""

    def __init__(self, message: str, *, path: str, errno: int, hint: str = "") -> None:
        super().__init__(message, hint)
        self.path = path
        self.errno = errno


class Streams(NamedTuple):
    """The child's ends of its standard streams: descriptors, or what `subprocess` has for none."""

    stdin: int
    stdout: int
    stderr: int


def command_for(path: str, marked: bool) -> list[str]:
    """How to start an executable file: a marked one by this interpreter, not by the shell that finds `hs`."""
    if not marked:
        return [path]
    # -P keeps the working directory, which may be anybody's checkout, out of the import path.
    return [sys.executable, "-P", "-c", _RUN_MARKED, path]


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | None,
    streams: Streams,
    call: str,
    session: bool,
) -> Popen[bytes]:
    """Start `argv` for `call`, at the head of a new session or (`session` false) of a process group.

    A file without `#!` line is run by bash, else by sh. Raises `CannotStart`.
    """
    words = list(argv)
    try:
        try:
            return _start(words, env, cwd, streams, call, session)
        except OSError as wrong:
            if wrong.errno != errno.ENOEXEC:
                raise
        try:
            return _start(["bash", *words], env, cwd, streams, call, session)
        except FileNotFoundError:
            return _start(["sh", *words], env, cwd, streams, call, session)
    except (OSError, ValueError) as wrong:
        raise explain(words, env, cwd, wrong) from None


def _start(
    argv: list[str], env: Mapping[str, str], cwd: str | None, streams: Streams, call: str, session: bool
) -> Popen[bytes]:
    import subprocess

    stdin, stdout, stderr = streams
    for attempt in range(_BUSY_RETRIES + 1):
        try:
            return children.begin(
                lambda: subprocess.Popen(
                    argv,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    cwd=cwd,
                    env=env,
                    start_new_session=session,
                    process_group=None if session else 0,
                ),
                call,
            )
        except OSError as wrong:
            # A file just written, and a sibling that was forked while it was open for writing.
            if wrong.errno != errno.ETXTBSY or attempt == _BUSY_RETRIES:
                raise
            time.sleep(0.01 * (attempt + 1))
    raise AssertionError("unreachable")


def explain(argv: Sequence[str], env: Mapping[str, str], cwd: str | None, wrong: OSError | ValueError) -> CannotStart:
    """What the system's refusal to start `argv` means, in a sentence."""
    path = argv[0]
    number = wrong.errno or 0 if isinstance(wrong, OSError) else errno.EINVAL
    hint = ""
    if cwd is not None and not os.path.isdir(cwd) and number in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
        reason = f"its working directory {cwd} does not exist"
    elif number == errno.E2BIG:
        reason, hint = _too_big(argv, env), "pass large data on standard input or in a file"
    elif number in (errno.ENOENT, errno.ENOTDIR):
        reason, hint = _not_found(path)
    elif number == errno.EACCES:
        reason, hint = _not_allowed(path)
    elif isinstance(wrong, OSError):
        reason = wrong.strerror or str(wrong)
    else:
        reason = str(wrong)
    return CannotStart(f"cannot start {path}: {reason}", path=path, errno=number, hint=hint)


def _not_found(path: str) -> tuple[str, str]:
    if "/" not in path:
        return "no such program in PATH", ""
    if not os.path.exists(path):
        return "no such file", ""
    # The file is there, so it is its interpreter that is not.
    try:
        with open(path, "rb") as file:
            line = file.readline(256).rstrip(b"\n")
    except OSError:
        line = b""
    if line.endswith(b"\r"):
        return "its first line ends in a carriage return", "save the file with Unix line ends"
    interpreter = line.removeprefix(b"#!").strip().decode("utf-8", "replace")
    if line.startswith(b"#!") and interpreter:
        return f"its interpreter is missing: {interpreter}", "mend the first line of the file"
    return "a part of it that the system needs is missing", ""


def _not_allowed(path: str) -> tuple[str, str]:
    if os.path.isdir(path):
        return "it is a directory", ""
    if "/" in path and os.path.exists(path) and not os.access(path, os.X_OK):
        return "it is not executable", f"chmod +x {path}"
    return "permission denied", ""


def _too_big(argv: Sequence[str], env: Mapping[str, str]) -> str:
    sizes = {f"argument {number}": len(os.fsencode(word)) + 1 for number, word in enumerate(argv)}
    sizes |= {f"variable {name}": len(os.fsencode(f"{name}={value}")) + 1 for name, value in env.items()}
    name, size = max(sizes.items(), key=lambda item: item[1])
    if size > _ARGUMENT_LIMIT:
        return f"{name} has {size} bytes, the system takes {_ARGUMENT_LIMIT}"
    return f"arguments and environment have {sum(sizes.values())} bytes together, more than the system takes"
