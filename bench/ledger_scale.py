"""What `harness-cli` needs for 10,000 stories and 10,000 traces: whole processes, against the clock and against growth.

    python bench/ledger_scale.py [--rows 10000]

Makes two ledgers, one with a tenth of the rows, and runs each command on both. Exits 1 when one takes longer than a
second, or more than 15 times as long as with a tenth of the rows.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "audit": ["audit"],
    "propose": ["propose"],
    "query matrix": ["query", "matrix"],
    "query matrix --json": ["query", "matrix", "--json"],
    "propose --json": ["propose", "--json"],
    "score-trace": ["score-trace"],
    "query stats": ["query", "stats"],
}
LIMIT = 1.0
"""Seconds."""
GROWTH = 15.0
RUNS = 3
FRICTIONS = (
    "Tests are slow on this machine",
    "No fixture for the ledger database",
    "Die Anleitung für den Server fehlt",
    "測試太慢了",
    "unclear owner of module {n}",
)
PROGRAM = Path(sys.executable).with_name("harness-cli")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    rows = parser.parse_args().rows
    slow = []
    with tempfile.TemporaryDirectory() as directory:
        small, large = (ledger(Path(directory) / str(count), count) for count in (rows // 10, rows))
        print(f"{'command':<22}{rows // 10:>10}{rows:>10}   seconds, best of {RUNS}")
        for name, words in COMMANDS.items():
            before, after = seconds(small, words), seconds(large, words)
            wrong = after > LIMIT or after > GROWTH * before
            slow += [name] if wrong else []
            print(f"{name:<22}{before:>10.3f}{after:>10.3f}{'   too slow' if wrong else ''}")
    return 1 if slow else 0


def ledger(root: Path, rows: int) -> Path:
    """A repository whose ledger holds as many stories, traces and backlog items, and a hundred tools."""
    root.mkdir()
    run(root, ["init"])
    db = sqlite3.connect(root / "harness.db")
    lanes, statuses = ("tiny", "normal", "high_risk"), ("planned", "in_progress", "implemented", "changed", "retired")
    with db:
        db.executemany(
            "INSERT INTO story (id, title, risk_lane, status, verify_command, last_verified_result, evidence) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (f"US-{n:06}", f"Story number {n}", lanes[n % 3], statuses[n % 5], "true" if n % 2 else None,
                 "pass" if n % 4 == 1 else None, "unit tests")
                for n in range(rows)
            ),
        )  # fmt: skip
        db.executemany(
            "INSERT INTO trace (uid, created_at, task_summary, story_id, agent, outcome, actions_taken, files_read, "
            "files_changed, errors, harness_friction) VALUES (?, datetime('now', ?), ?, ?, 'bench', 'completed', "
            """'["edit"]', '["README.md"]', '[]', '[]', ?)""",
            (
                (f"trc_{n:032x}", f"-{n % 60} days", f"Work on story {n}", f"US-{n * 7 % (rows // 2):06}",
                 FRICTIONS[n % len(FRICTIONS)].format(n=n // 15))
                for n in range(rows)
            ),
        )  # fmt: skip
        db.executemany(
            "INSERT INTO intervention (uid, type, description, source) VALUES (?, 'correction', ?, 'human')",
            ((f"int_{n:032x}", f"wrong lane for area {n % (rows // 3)}") for n in range(rows)),
        )
        db.executemany(
            "INSERT INTO backlog (uid, title, status, predicted_impact) VALUES (?, ?, ?, 'less of it')",
            ((f"blg_{n:032x}", f"Idea {n}", ("proposed", "implemented")[n % 2]) for n in range(rows // 10)),
        )
        db.executemany(
            "INSERT INTO tool (name, command, description, responsibility) VALUES (?, ?, ?, 'Verification')",
            ((f"tool-{n}", f"tool-{n} --check", "One of many tools of the bench") for n in range(100)),
        )
    db.close()
    return root


def seconds(root: Path, words: list[str]) -> float:
    """How long a command takes, from its start to its end; the best of a few."""
    best = float("inf")
    for _ in range(RUNS):
        begun = time.perf_counter()
        run(root, words)
        best = min(best, time.perf_counter() - begun)
    return best


def run(root: Path, words: list[str]) -> None:
    env = {**os.environ, "HARNESS_REPO_ROOT": str(root), "HARNESS_DB_PATH": str(root / "harness.db")}
    done = subprocess.run([PROGRAM, *words], cwd=root, env=env, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"harness-cli {' '.join(words)} ended with {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
