"""Many processes write at once, and some of them are killed: no write is lost, none is there twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from ledgers import Place

WRITER = """
import os, sys
from bridoon.ledger import place
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import Op

name, count = sys.argv[1], int(sys.argv[2])
for number in range(count):
    ledger = Ledger(place.find(os.environ, os.getcwd()), os.environ)
    ledger.repair()
    with ledger.writing() as write:
        write.do(Op("intake.add", {"input_type": "maintenance", "summary": f"{name}/{number}", "risk_lane": "tiny"}))
        write.do(Op("story.add", {"title": "t", "risk_lane": "tiny"}, id=f"{name}/{number}"))
    print(number, *ledger.warnings, flush=True)
"""
"""A process that records an intake and a story at a time, each time as a command of its own would."""


def writer(ledger: Place, name: str, count: int, run: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, name, str(count)],
        cwd=ledger.root,
        env={**ledger.env, "HARNESS_RUN_ID": run},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def recorded(ledger: Place, run: str) -> list[str]:
    """What the changeset of a run says was added, sorted; the file is well-formed."""
    head, *lines = ledger.changeset(run)
    assert (head["op"], head["run_id"]) == ("changeset.header", run)
    assert all(line["op"] in ("intake.add", "story.add") for line in lines)
    return sorted(line["payload"]["summary"] for line in lines if line["op"] == "intake.add")


def whole(ledger: Place, runs: list[str], directory: Path) -> None:
    """The changesets hold every row once, their order is that of the rows, and they give the same rows again."""
    assert ledger.value("PRAGMA integrity_check") == "ok"
    assert ledger.value("SELECT count(*) FROM bridoon_outbox") == 0
    rows = sorted(name for (name,) in ledger.sql("SELECT summary FROM intake"))
    assert max(Counter(rows).values()) == 1
    assert sorted(name for run in runs for name in recorded(ledger, run)) == rows
    assert sorted(name for (name,) in ledger.sql("SELECT id FROM story")) == rows
    copy = Place(directory)
    copy.ok(["db", "rebuild", "--from", str(ledger.changesets)])
    everything = "SELECT * FROM intake ORDER BY id"
    assert copy.sql(everything) == ledger.sql(everything)
    for run in runs:
        assert "already applied" in ledger.ok(f"db changeset apply .harness/changesets/{run}.changeset.jsonl")


@pytest.mark.timeout(240)
def test_eight_processes_write_while_a_ninth_keeps_the_lock(ledger: Place, tmp_path: Path) -> None:
    runs = ["shared", "other"]
    running = [writer(ledger, f"w{number}", 200, runs[number % 2]) for number in range(8)]
    with ledger.open() as db:
        for _ in range(2):
            db.execute("BEGIN IMMEDIATE")
            with pytest.raises(subprocess.TimeoutExpired):  # nobody gets ahead while the lock is held
                running[0].wait(timeout=7.0)
            db.execute("COMMIT")
            assert running[1].stdout is not None
            running[1].stdout.readline()
    for process in running:
        _, err = process.communicate(timeout=200)
        assert (process.returncode, err) == (0, b"")
    assert ledger.value("SELECT count(*) FROM intake") == 1600
    assert ledger.value("SELECT count(DISTINCT summary) FROM intake") == 1600
    whole(ledger, runs, tmp_path / "copy")


@pytest.mark.timeout(120)
def test_processes_that_are_killed_at_any_moment_lose_and_double_nothing(ledger: Place, tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged: list[str] = []
    runs = ["one", "two"]
    for round_ in range(12):
        names = [f"r{round_}w{number}" for number in range(3)]
        running = [writer(ledger, name, 10_000, chance.choice(runs)) for name in names]
        for name, process in zip(names, running, strict=True):
            assert process.stdout is not None
            for number in range(chance.randrange(1, 12)):
                line = process.stdout.readline()
                assert line.split()[:1] == [str(number).encode()], line
                acknowledged.append(f"{name}/{number}")
            os.kill(process.pid, signal.SIGKILL)
        for process in running:
            process.communicate(timeout=30)
            assert process.returncode == -signal.SIGKILL
    assert ledger.run("query stats").err == ""
    rows = {name for (name,) in ledger.sql("SELECT summary FROM intake")}
    assert set(acknowledged) <= rows
    used = [run for run in runs if ledger.changeset(run)]
    whole(ledger, used, tmp_path / "copy")


def test_commands_of_one_run_at_once_make_one_changeset(ledger: Place) -> None:
    env = {"HARNESS_RUN_ID": "mine"}
    running = [ledger.start(f"intake --type maintenance --summary s{n} --lane tiny", env=env) for n in range(20)]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
    assert recorded(ledger, "mine") == sorted(f"s{number}" for number in range(20))
    order = [json.loads(line)["payload"]["summary"] for line in
             (ledger.changesets / "mine.changeset.jsonl").read_text().splitlines()[1:]]  # fmt: skip
    assert order == [name for (name,) in ledger.sql("SELECT summary FROM intake ORDER BY id")]
