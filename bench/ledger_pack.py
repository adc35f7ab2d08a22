"""What a ledger in the project costs a run of `hs`: the start, each turn, and the end, in ms.

    python bench/ledger_pack.py [--repeat 15] [--tools 20]

The same runs of 20 turns take place in two directories, in turns: one is empty, the other has a `harness.db` with
registered tools, a quarter of which can be called by the model. Every figure is the median over the repeats. The script
exits 1 when a claim does not hold.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from run import Figures, execute, median, server

TURNS = 20

CLAIMS = {"process start to first request": 25.0, "each turn": 1.0, "the end": 30.0}
"""Milliseconds that may come on top."""


def fill(place: str, count: int) -> None:
    """Make a ledger that lists so many tools."""
    program = str(Path(sys.executable).with_name("harness-cli"))
    subprocess.run([program, "init"], cwd=place, stdout=subprocess.DEVNULL, check=True)
    for number in range(count):
        words = [
            "tool",
            "register",
            "--name",
            f"tool-{number}",
            "--command",
            "ls",
            "--capability",
            f"purpose-{number // 2}",
        ]
        words += ["--description", "one of the tools of this bench", "--responsibility", "Verification"]
        words += ["--args", "x:string:optional:what it is for"] if number % 4 == 0 else []
        subprocess.run([program, *words], cwd=place, stdout=subprocess.DEVNULL, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--tools", type=int, default=20)
    parser.add_argument("--hs", default=str(Path(sys.executable).with_name("hs")))
    given = parser.parse_args()
    without: list[Figures] = []
    joined: list[Figures] = []
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full, server() as model:
        fill(full, given.tools)
        for _ in range(given.repeat + 1):
            without.append(execute([given.hs, "go"], model, TURNS, PLACE=empty))
            joined.append(execute([given.hs, "go"], model, TURNS, PLACE=full))
    worst = 0
    for name, of in (
        ("process start to first request", lambda run: run.start),
        ("each turn", lambda run: median(run.turns)),
        ("the end", lambda run: run.end),
    ):
        before, after = (median([of(run) * 1000 for run in runs[1:]]) for runs in (without, joined))
        held = after - before <= CLAIMS[name]
        worst |= not held
        print(
            f"{'ok  ' if held else 'FAIL'} {name:32s} {before:7.2f} -> {after:7.2f}"
            f"  (+{after - before:.2f} ms, must hold: {CLAIMS[name]:g} ms)"
        )
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
