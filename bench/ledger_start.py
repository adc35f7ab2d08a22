"""How long `harness-cli query stats` takes, as a multiple of an interpreter that does nothing.

    python bench/ledger_start.py [--repeat 9]

Both run in turns, five times each (some machines wake a waiting process only every 16 ms); the figure is the ratio of
the medians. Exits 1 when it is over 3.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 3.0
RUNS = 5
"""Runs that are timed together."""
COMMAND = str(Path(sys.executable).parent / "harness-cli")


def seconds(words: list[str], place: str, env: dict[str, str]) -> float:
    """How long a process takes, from start to end."""
    began = time.perf_counter()
    for _ in range(RUNS):
        subprocess.run(words, cwd=place, env=env, stdout=subprocess.DEVNULL, check=True, timeout=30)
    return (time.perf_counter() - began) / RUNS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([COMMAND, "init"], cwd=place, env=env, stdout=subprocess.DEVNULL, check=True, timeout=30)
        base: list[float] = []
        ours: list[float] = []
        for turn in range(repeat + 1):
            bare = seconds([sys.executable, "-c", "pass"], place, env)
            whole = seconds([COMMAND, "query", "stats"], place, env)
            if turn:  # the first pays for byte code that is not there yet
                base.append(bare)
                ours.append(whole)
    ratio = statistics.median(ours) / statistics.median(base)
    print(f"python -c pass            {statistics.median(base) * 1000:6.1f} ms")
    print(f"harness-cli query stats   {statistics.median(ours) * 1000:6.1f} ms   {ratio:.2f}x (at most {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
