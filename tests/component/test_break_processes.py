"""Processes that do all they can to outlive their call, and commands that are ended in the middle of one."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from project import Project, bash

PATIENCE = 15.0
AGES = str(10_000_000 + os.getpid())
"""Seconds that everything here sleeps: a number by which this test process knows its own."""

LEAVES = 3.0
"""Seconds within which `hs` is gone after a signal."""

DAEMON = f"python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep({AGES})'"
ESCAPES = {
    "in a session of its own": f"setsid sleep {AGES} & ",
    "twice removed": f"(setsid bash -c 'sleep {AGES} & exec sleep {AGES}' &); ",
    "with an empty environment": f"env -i {DAEMON}; ",
    "two hundred of them": f"for i in $(seq 200); do (trap '' TERM; sleep {AGES}) & done; ",
    "born anew again and again": f"setsid bash -c 'trap \"\" TERM; while :; do env -i setsid sleep {AGES} & sleep 0.02; done' & ",
    "holding the pipe": f"setsid bash -c 'while :; do echo x; sleep 0.1; done' {AGES} & ",
    "stopped": f"bash -c 'kill -STOP $$; sleep {AGES}' & ",
}


def reached(project: Project, process_poll: Callable[[], int | None]) -> None:
    """Wait until what runs has left its sign."""
    end = time.monotonic() + PATIENCE
    while not (project.dir / "reached").exists():
        assert time.monotonic() < end
        assert process_poll() is None
        select.select([], [], [], 0.01)


def left() -> list[str]:
    """Commands of living processes that know the number."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ")
            state = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if AGES.encode() in command and state != b"Z":
            found.append(command.decode("utf-8", "replace"))
    return found


@pytest.mark.parametrize("escape", ESCAPES)
def test_nothing_escapes_from_a_run_that_is_ended(project: Project, escape: str) -> None:
    script = project.script([{"calls": [bash(ESCAPES[escape] + f"touch reached; sleep {AGES}")]}, {"say": "done"}])
    process = project.start("--json", "-p", "scripted", "go", env={"BRIDOON_SCRIPT": script})
    reached(project, process.poll)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < LEAVES
    assert process.returncode == 143
    assert left() == []


HANGING: dict[str, Callable[[Project, str], object]] = {
    "a gate": lambda project, body: project.hook("tool_exec/05-x", body),
    "a hook": lambda project, body: project.hook("assemble/95-x", body),
    "a schema": lambda project, body: project.tool("t", f"#!/bin/bash\n{body}"),
    "a sources hook": lambda project, body: project.hook("sources/95-x", body),
    "a provider": lambda project, body: project.provider("scripted", body),
}


@pytest.mark.parametrize("where", HANGING)
def test_a_signal_ends_a_run_in_the_middle_of(project: Project, where: str) -> None:
    HANGING[where](project, f"touch reached; sleep {AGES}; cat")
    script = project.script([{"calls": [bash("true")]}, {"say": "done"}])
    process = project.start("--json", "-p", "scripted", "go", env={"BRIDOON_SCRIPT": script})
    reached(project, process.poll)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - began < LEAVES
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert left() == []


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["tools", "doctor"])
def test_a_command_that_installs_no_handlers_takes_its_children_along(
    project: Project, command: str, signum: signal.Signals
) -> None:
    project.hook("sources/95-x", f"touch reached; sleep {AGES}; cat")
    process = project.start(command)
    reached(project, process.poll)
    process.send_signal(signum)
    process.communicate(timeout=PATIENCE)
    assert process.returncode in (-signum, 128 + signum)
    assert left() == []
