"""What we claim about speed and memory, as ratios measured in one run.

    pip install httpx && python bench/run.py [--repeat 7]

`hs` and the base loop (`base_loop.py`, httpx) talk to `model_server.py` on loopback, in turns, each with a temporary
HOME. Every figure is the median over the repeats. The script exits 1 when a claim does not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Figures(NamedTuple):
    start: float
    """Process start until the first request has been read, s."""
    turns: list[float]
    """Last byte of an answer until the next request has been read, s."""
    end: float
    """Last byte of the last answer until the process is gone, s."""
    memory: float
    """Largest resident size of the process, MB."""


class Server:
    def __init__(self, command: str = "echo turn-{i}") -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "model_server.py"), command], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.lines = self.process.stdout
        self.port = int(self.lines.readline())

    def requests(self, count: int) -> list[dict]:
        return [json.loads(self.lines.readline()) for _ in range(count)]


@contextlib.contextmanager
def server(command: str = "echo turn-{i}") -> Iterator[Server]:
    running = Server(command)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        running.lines.close()


def execute(command: list[str], server: Server, turns: int, calls: int = 1, **env: str) -> Figures:
    """One run of one loop against the server."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as place:
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "OPENAI_BASE_URL": f"http://127.0.0.1:{server.port}/{turns}x{calls}/v1",
            "OPENAI_API_KEY": "bench",
            "HARNESS_PROVIDER": "openai",
            "HARNESS_MODEL": "bench",
            "HARNESS_MAX_TURNS": "10000",
            **env,
        }
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            env=variables,
            cwd=env.get("PLACE", place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.monotonic()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command[0]} exited {process.returncode}")
    log = server.requests(turns + 1)
    gaps = [after["received"] - before["done"] for before, after in itertools.pairwise(log)]
    return Figures(log[0]["received"] - began, gaps, ended - log[-1]["done"], usage.ru_maxrss / 1024)


def median(values: list[float]) -> float:
    return statistics.median(values)


Row = tuple[str, float, float, str]


def against_base(hs: str, repeat: int) -> list[Row]:
    """Start, turn, exit and memory beside the base loop."""
    ours, base = [], []
    loop = [sys.executable, str(HERE / "base_loop.py"), "go"]
    with server() as model:
        for _ in range(repeat + 1):
            base.append(execute(loop, model, 50))
            ours.append(execute([hs, "go"], model, 50))
    ours, base = ours[1:], base[1:]

    def ratio(figure: Callable[[Figures], float]) -> float:
        return median([figure(run) for run in ours]) / median([figure(run) for run in base])

    return [
        ("process start to first request, of base", ratio(lambda run: run.start), 1.0, "x"),
        ("overhead per turn with one shell call, of base", ratio(lambda run: median(run.turns)), 2.0, "x"),
        ("exit after the last byte, of base", ratio(lambda run: run.end), 1.0, "x"),
        ("peak memory of 50 turns", median([run.memory for run in ours]), 60.0, " MB"),
    ]


def parallel(hs: str) -> Row:
    """Four calls of one message that each sleep for half a second."""
    with server("sleep 0.5; echo turn-{i}") as model:
        return ("four parallel sleeps of 0.5 s", execute([hs, "go"], model, 1, calls=4).turns[0], 0.9, " s")


def long_session(hs: str) -> Row:
    """The last turns of 500 against the first ones."""
    with server() as model:
        turns = execute([hs, "go"], model, 500).turns
    return ("turn 500 over turn 10", median(turns[-20:]) / median(turns[5:25]), 1.5, "x")


def version(hs: str, repeat: int) -> Row:
    """`hs version` over the interpreter alone."""

    def once(command: list[str]) -> float:
        began = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - began

    pairs = [(once([hs, "version"]), once([sys.executable, "-c", "pass"])) for _ in range(repeat * 3)]
    return (
        "hs version over python -c pass",
        median([a for a, _ in pairs]) / median([b for _, b in pairs]),
        2.5,
        "x",
    )


def scripted_hooks(hs: str, repeat: int) -> Row:
    """Two observers in bash per turn: what each adds beyond its own time, ms."""
    with tempfile.TemporaryDirectory() as place, server() as model:
        folder = Path(place, ".harness", "hooks.d")
        plain = [median(execute([hs, "go"], model, 20, PLACE=place).turns) for _ in range(repeat)]
        stages = ("assemble", "send", "receive", "tool_done")
        for stage in stages:
            (folder / stage).mkdir(parents=True)
            path = folder / stage / "90-observe"
            path.write_text("#!/usr/bin/env bash\nexec cat\n")
            path.chmod(0o755)
        hooked = [median(execute([hs, "go"], model, 20, PLACE=place).turns) for _ in range(repeat)]
        own = []
        for _ in range(repeat * 4):
            began = time.monotonic()
            subprocess.run([str(path)], input=b"{}", stdout=subprocess.DEVNULL, check=True)
            own.append(time.monotonic() - began)
    each = (median(hooked) - median(plain)) / len(stages) - median(own)
    return ("a hook in bash, beyond its own time", each * 1000, 5.0, " ms")


def big_output(hs: str) -> Row:
    """Memory that 100 MB of tool output adds."""
    with server("echo turn-{i}") as model:
        small = execute([hs, "go"], model, 1).memory
    with server("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo turn-{i}") as model:
        large = execute([hs, "go"], model, 1).memory
    return ("memory that 100 MB of tool output adds", large - small, 20.0, " MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--hs", default=str(Path(sys.executable).with_name("hs")))
    given = parser.parse_args()
    rows = [
        *against_base(given.hs, given.repeat),
        parallel(given.hs),
        long_session(given.hs),
        version(given.hs, given.repeat),
        scripted_hooks(given.hs, given.repeat),
        big_output(given.hs),
    ]
    worst = 0
    for name, value, limit, unit in rows:
        held = value <= limit
        worst |= not held
        print(f"{'ok  ' if held else 'FAIL'} {name:50s} {value:8.2f}{unit:4s} must hold: {limit}{unit}")
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
