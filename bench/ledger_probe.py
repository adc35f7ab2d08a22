"""How long `harness-cli tool check` takes for 200 registered tools of which 50 are endpoints that never answer.

    python bench/ledger_probe.py [--tools 200] [--dead 50] [--repeat 3]

The dead ones are listeners on loopback that accept nobody and whose queue is full, so that a connect hangs; the others
are commands, paths and endpoints that answer. The figure is a ratio to the 2 s that one tool may take; the script exits
1 when the median is over 1.5.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BUDGET = 2.0
LIMIT = 1.5
PROGRAM = [sys.executable, "-m", "bridoon.ledger"]


@contextlib.contextmanager
def endpoints(dead: int) -> Iterator[tuple[int, list[int]]]:
    """The port of a listener that answers, and those of listeners that do not."""
    with contextlib.ExitStack() as stack:
        alive = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=512))
        ports = []
        for _ in range(dead):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
            for _ in range(4):
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(listener.getsockname())
            ports.append(listener.getsockname()[1])
        yield alive.getsockname()[1], ports


def register(database: Path, tools: int, alive: int, dead: list[int]) -> None:
    """Fill the registry."""
    rows = [(f"dead-{port}", "http", "-", f"http://127.0.0.1:{port}/health") for port in dead]
    others = [
        ("cli", "sh -c true", None),
        ("skill", "-", "~"),
        ("http", "-", f"http://localhost:{alive}/"),
        ("mcp", "-", "."),
    ]
    for number in range(tools - len(dead)):
        kind, command, target = others[number % len(others)]
        rows.append((f"{kind}-{number}", kind, command, f"{target}?{number}" if kind == "http" else target))
    with contextlib.closing(sqlite3.connect(database)) as db, db:
        db.executemany(
            "INSERT INTO tool (name, kind, command, scan_target, description, responsibility, capability) "
            "VALUES (?, ?, ?, ?, 'a tool of the benchmark', 'Verification', 'benchmark')",
            rows,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, default=200)
    parser.add_argument("--dead", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, endpoints(options.dead) as (alive, dead):
        env = {"PATH": os.environ["PATH"], "HOME": directory, "HARNESS_REPO_ROOT": directory}
        subprocess.run([*PROGRAM, "init"], env=env, cwd=directory, check=True, stdout=subprocess.DEVNULL)
        register(Path(directory, "harness.db"), options.tools, alive, dead)
        taken = []
        for _ in range(options.repeat):
            start = time.perf_counter()
            done = subprocess.run([*PROGRAM, "tool", "check"], env=env, cwd=directory, check=True, capture_output=True)
            taken.append(time.perf_counter() - start)
        found = [line.split() for line in done.stdout.decode().splitlines()[2:]]
        missing = sum(words[3] == "missing" for words in found)
        assert (len(found), missing) == (options.tools, options.dead), (len(found), missing)
    median = statistics.median(taken)
    ratio = median / BUDGET
    print(f"{options.tools} tools, {options.dead} of them dead endpoints: {median:.2f} s")
    print(f"ratio to the budget of one tool ({BUDGET:g} s): {ratio:.2f} (at most {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    raise SystemExit(main())
