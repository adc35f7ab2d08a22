"""What we claim about rebuilding a ledger: 10,000 operations take at most 5 times what a bare script takes to insert
as many rows.

    python bench/ledger_rebuild.py [--operations 10000] [--repeat 5]

Both run as whole processes, in turns, each on a new database; the figures are medians. The bare script begins one
transaction and executes one INSERT per row into a table of the columns that a trace fills, without an index. This
script exits 1 when the claim does not hold.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

FACTOR = 5.0
BARE = """
import sqlite3, sys
names = ("created_at", "task_summary", "intake_id", "story_id", "agent", "actions_taken", "files_read", "outcome",
         "duration_seconds", "uid", "intake_uid", "recorded_at_unix_ns")
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode=WAL")
db.execute("CREATE TABLE trace (id INTEGER PRIMARY KEY AUTOINCREMENT, " + ", ".join(names) + ")")
db.execute("BEGIN IMMEDIATE")
insert = "INSERT INTO trace (" + ", ".join(names) + ") VALUES (" + ", ".join("?" * len(names)) + ")"
for i in range(int(sys.argv[2])):
    db.execute(insert, ("2026-01-01 00:00:00", f"Step {i} of the work on the import of invoices", i // 10,
                        f"US-{i % 100}", "codex", '["read the code","ran the tests"]',
                        '["docs/a.md","src/b.py"]', "completed", i, f"trc_{i:032x}", f"ink_{i:032x}",
                        1767225600000000000 + i))
db.execute("COMMIT")
"""
COMMAND = [os.path.join(sysconfig.get_path("scripts"), "harness-cli")]


def write_changesets(root: Path, operations: int) -> None:
    """Files of up to 1,000 operations each, of the kinds that a project has most of, by the code that writes them."""
    from bridoon.ledger.ledger import Ledger
    from bridoon.ledger.place import Place
    from bridoon.ledger.store import db as database
    from bridoon.ledger.store import schema
    from bridoon.ledger.store.op import Op
    from bridoon.ledger.store.write import new_uid

    path = str(root / "source.db")
    db = database.connect(path, mode="rwc")
    with database.transaction(db):
        schema.fill(db)
    db.close()
    done = 0
    while done < operations:
        ledger = Ledger(Place(str(root), path, str(root), f"run-{done:06}"), {})
        with ledger.writing() as write:
            for index in range(done, min(done + 1000, operations)):
                kind, story = index % 10, f"US-{index - index % 10}"
                if kind == 0:
                    write.do(Op("story.add", {"title": f"Story {index}", "risk_lane": "normal"}, id=story))
                elif kind == 1:
                    intake = new_uid("ink")
                    payload = {"input_type": "spec_slice", "summary": f"Slice {index}", "risk_lane": "normal"}
                    write.do(Op("intake.add", {**payload, "risk_flags": '["auth"]'}, uid=intake))
                elif kind == 2:
                    write.do(Op("story.update", {"status": "in_progress", "unit_proof": 1}, id=story))
                elif kind == 3:
                    write.do(Op("story.verify", {"result": "pass"}, id=story))
                else:
                    trace = {"task_summary": f"Step {index} of the work on the import of invoices", "story_id": story,
                             "intake_uid": intake, "agent": "codex", "outcome": "completed",
                             "actions_taken": '["read the code","ran the tests"]', "duration_seconds": index,
                             "files_read": '["docs/a.md","src/b.py"]'}  # fmt: skip
                    write.do(Op("trace.add", trace))
        done += 1000


def seconds(command: list[str], cwd: Path) -> float:
    """How long a process takes, start and end included."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HARNESS_")}
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    ours: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_changesets(root, given.operations)
        directory = root / ".harness" / "changesets"
        for number in range(given.repeat + 1):
            database = root / "harness.db"
            taken = seconds([*COMMAND, "db", "rebuild", "--from", str(directory)], root)
            database.unlink()
            script = seconds([sys.executable, "-c", BARE, str(root / f"{number}.db"), str(given.operations)], root)
            if number:  # the first one fills the caches
                ours.append(taken)
                bare.append(script)
    factor = statistics.median(ours) / statistics.median(bare)
    print(f"rebuild of {given.operations} operations  {statistics.median(ours) * 1000:7.1f} ms")
    print(f"bare script, as many rows    {statistics.median(bare) * 1000:7.1f} ms")
    print(f"factor {factor:.2f} (at most {FACTOR}) {'ok' if factor <= FACTOR else 'TOO SLOW'}")
    return 0 if factor <= FACTOR else 1


if __name__ == "__main__":
    sys.exit(main())
