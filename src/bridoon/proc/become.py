"""Hand this process over to another program, which keeps its pid, its terminal and its streams."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from bridoon.proc import children
from bridoon.proc.start import command_for, explain


def become(path: str, marked: bool, arguments: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Replace this process by an executable file. A file without `#!` line is run by bash, else by sh.

    Raises CannotStart (a BridoonError) when it cannot be started.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    children.let_go()
    # This interpreter ignores them, and a program inherits that: `yes | head` would complain or never end.
    ours = {signum: signal.signal(signum, signal.SIG_DFL) for signum in (signal.SIGPIPE, signal.SIGXFSZ)}
    words = [*command_for(path, marked), *arguments]
    try:
        _exec(words, env)
    except (OSError, ValueError) as wrong:
        for signum, disposition in ours.items():
            signal.signal(signum, disposition)
        raise explain(words, env, None, wrong) from None


def _exec(words: list[str], env: Mapping[str, str]) -> NoReturn:
    try:
        os.execve(words[0], words, env)
    except OSError as wrong:
        if wrong.errno != errno.ENOEXEC:
            raise
    try:
        os.execvpe("bash", ["bash", *words], env)
    except FileNotFoundError:
        os.execvpe("sh", ["sh", *words], env)
