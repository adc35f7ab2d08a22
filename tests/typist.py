"""Somebody at a terminal: starts a program in a pseudo-terminal, types, reads until something is there."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from types import TracebackType
from typing import Any

from glass import Glass
from project import Project, Step, hs

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07")

PATIENCE = 15.0
"""Seconds that anything may take before a test fails."""


class Typist:
    """A program in a terminal of its own. Use it as a context manager: nothing is left running after it."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, *, columns: int = 100, rows: int = 40
    ) -> None:
        self.began = time.monotonic()
        self.seen = ""
        """Everything that was shown so far, without escape sequences."""
        self.raw = b""
        self.glass = Glass(rows)
        """What is to be seen now."""
        self._mark = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._code: int | None = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                os.execve(argv[0], list(argv), dict(env))
            finally:
                os._exit(127)
        self.resize(columns, rows)
        self.first_modes = self.modes()
        """The terminal's modes before the program changes them."""

    def __enter__(self) -> Typist:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()

    # ---- reading

    def until(self, pattern: str, patience: float = PATIENCE) -> re.Match[str]:
        """Read until a regular expression is found in what came since the last match."""
        deadline = time.monotonic() + patience
        while True:
            found = re.compile(pattern, re.DOTALL).search(self.seen, self._mark)
            if found:
                self._mark = found.end()
                return found
            if not self._read(deadline - time.monotonic()):
                rest = self.seen[self._mark :]
                raise AssertionError(f"{pattern!r} was not shown. Since the last match:\n{rest}")

    def _read(self, patience: float) -> bool:
        if patience <= 0 or not select.select([self.fd], [], [], patience)[0]:
            return False
        try:
            chunk = os.read(self.fd, 1 << 16)
        except OSError:
            return False
        self.raw += chunk
        self.glass.feed(self._decoder.decode(chunk))
        self.seen = ESCAPES.sub("", self.raw.decode("utf-8", "replace")).replace("\r", "")
        return bool(chunk)

    def until_seen(self, pattern: str, patience: float = PATIENCE) -> re.Match[str]:
        """Read until a regular expression is found in what is to be seen: for what is drawn anew."""
        deadline = time.monotonic() + patience
        while not (found := re.search(pattern, self.glass.text, re.DOTALL)):
            if not self._read(deadline - time.monotonic()):
                raise AssertionError(f"{pattern!r} is not to be seen:\n{self.glass.text}")
        return found

    def until_file(self, path: Path, patience: float = PATIENCE) -> None:
        """Read on until a file is there."""
        deadline = time.monotonic() + patience
        while not path.exists():
            assert time.monotonic() < deadline, f"{path} was not made. It showed:\n{self.seen}"
            self._read(0.02)

    # ---- typing

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.fd, keys.encode())

    def enter(self, line: str) -> None:
        """Type a line and press Enter."""
        self.type(line + "\r")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal."""
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """Close the terminal."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def modes(self) -> list[Any]:
        """The terminal's modes."""
        return termios.tcgetattr(self.fd)

    # ---- the end

    def signal(self, signum: int) -> None:
        """Send the program a signal."""
        os.kill(self.pid, signum)

    def wait(self, patience: float = PATIENCE) -> int:
        """Read on until the program ends; its exit code (128 + n for signal n)."""
        deadline = time.monotonic() + patience
        while self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self._code = code if code >= 0 else 128 - code
                while self.fd >= 0 and self._read(0.05):
                    pass
            elif time.monotonic() > deadline:
                raise AssertionError(f"it did not end. It showed:\n{self.seen[-2000:]}")
            elif self.fd < 0 or not self._read(0.02):
                select.select([], [], [], 0.01)
        return self._code


def repl(project: Project, *words: str, steps: Sequence[Step] = (), term: str = "xterm-256color", **env: str) -> Typist:
    """`hs -p scripted WORDS` at a terminal, in a project."""
    given = {**project.env, "TERM": term, "BRIDOON_SCRIPT": project.script(steps), **env}
    project.started = True
    return Typist([hs(), "-p", "scripted", *words], given, project.dir)


def drip(project: Project) -> None:
    """A provider `drip` that never comes to an end: word1 word2 word3 ..."""
    project.provider(
        "drip",
        """
        # understands --stream
        case "${1:-}" in --ready) exit 0 ;; --defaults) echo model=drip-1; exit 0 ;; esac
        cat > /dev/null
        for n in {1..3000}; do
            echo "{\\"type\\":\\"text\\",\\"text\\":\\"word$n \\"}" >> "$HARNESS_SESSION/.stream"
            sleep 0.02
        done
        """,
    )
