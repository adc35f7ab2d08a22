"""A program that asks its user on `/dev/tty`: it gets the terminal, and we get it back."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from processes import ENV, PATIENCE, bash, eventually

OWNER = """
import os, signal, sys, termios
from bridoon.errors import Cancelled
from bridoon.proc.cancel import Cancel
from bridoon.proc.run import run
cancel = Cancel()
signal.signal(signal.SIGINT, lambda signum, frame: cancel.set(signum))
try:
    command = ["bash", "-c", sys.argv[1]]
    done = run(command, env={"PATH": os.environ["PATH"]}, timeout=20, grace=0.2, cancel=cancel, tty=True)
    print("code", done.code, done.stdout.text().strip(), done.stderr.text().strip())
except Cancelled as cancelled:
    print("cancelled", cancelled.exit_code)
echo = bool(termios.tcgetattr(0)[3] & termios.ECHO)
print("mine", os.tcgetpgrp(0) == os.getpgrp(), "echo", echo, flush=True)
"""
CONTROLLED = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes standard input the controlling terminal of the program that follows."""


class Screen:
    """A terminal with an owner in its foreground that runs a script."""

    def __init__(self, script: str, wrapper: str = 'exec "$@"') -> None:
        self.master, slave = os.openpty()
        command = ["/bin/bash", "-c", wrapper, "bash", sys.executable, "-c", OWNER, script]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CONTROLLED, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=ENV,
        )
        os.close(slave)
        self.seen = ""

    def until(self, text: str) -> str:
        """Read until `text` appears; all that was seen so far."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 4096).decode()
                except OSError:
                    break
        assert text in self.seen
        return self.seen

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    """Terminals that are closed after the test."""
    opened: list[Screen] = []
    yield opened
    for screen in opened:
        screen.close()


PROMPT = "read -p 'Allow? ' answer </dev/tty 2>/dev/tty && echo got $answer"


def test_a_gate_can_ask_and_is_answered(screens: list[Screen]) -> None:
    screens.append(screen := Screen(PROMPT))
    screen.until("Allow? ")
    screen.type("yes\n")
    assert "code 0 got yes" in screen.until("mine")
    assert "mine True echo True" in screen.until("echo True")


def test_ctrl_c_at_the_prompt_stops_us_too(screens: list[Screen]) -> None:
    screens.append(screen := Screen(PROMPT))
    screen.until("Allow? ")
    screen.type("\x03")
    assert "cancelled 130" in screen.until("mine True")


def test_ctrl_z_at_the_prompt_does_not_leave_us_hanging(screens: list[Screen]) -> None:
    screens.append(screen := Screen(PROMPT))
    screen.until("Allow? ")
    screen.type("\x1a")
    screen.until("^Z")
    screen.type("later\n")
    assert "code 0 got later" in screen.until("mine True")


def test_the_terminals_modes_are_put_back_after_a_gate_that_died(screens: list[Screen]) -> None:
    screens.append(screen := Screen("stty -echo </dev/tty; kill -9 $$"))
    assert "code -9" in screen.until("mine True echo True")


def test_a_gate_that_is_stopped_gives_the_terminal_back(screens: list[Screen]) -> None:
    screens.append(screen := Screen(f"trap '' INT; {PROMPT}"))
    screen.until("Allow? ")
    (gate,) = _children(screen.process.pid)
    os.kill(gate, 9)
    assert "code -9" in screen.until("mine True echo True")


def test_in_the_background_it_fails_at_once_and_is_not_stopped(screens: list[Screen]) -> None:
    screens.append(screen := Screen(PROMPT, wrapper='set -m; "$@" & wait; echo over'))
    seen = screen.until("over")
    assert "code 1" in seen
    assert "/dev/tty: No such device or address" in seen


def test_without_a_terminal_it_fails_at_once() -> None:
    done = bash(PROMPT, tty=True)
    assert done.code == 1
    assert "/dev/tty" in done.stderr.text()


def _children(pid: int) -> list[int]:
    found: list[int] = []

    def look() -> bool:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            found[:] = map(int, children.read().split())
        return bool(found)

    assert eventually(look)
    return found
