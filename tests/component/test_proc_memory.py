"""Sizes never matter: memory stays flat however much a program says."""

from __future__ import annotations

from processes import python

MEASURE = """
import resource
from bridoon.proc.run import run
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
env = {"PATH": "/usr/bin:/bin"}
run(["bash", "-c", "seq 1 100000"], env=env, spill=SPILL)
before = peak()
done = run(["bash", "-c", "head -c 100000000 /dev/zero | tr '\\\\0' x"], env=env, spill=SPILL, merge=MERGE)
assert done.stdout.total == 100_000_000, done
assert len(done.stdout.text(100_000)) < 101_000
print(peak() - before)
"""


def test_a_hundred_megabytes_of_output_take_little_memory(tmp_path: object) -> None:
    spill = f"{tmp_path}/full.txt"
    for merge in (False, True):
        done = python(f"SPILL, MERGE = {spill!r}, {merge}\n" + MEASURE)
        assert float(done.stdout) < 5, done.stderr


def test_what_is_beyond_the_files_limit_is_read_away_and_counted(tmp_path: object) -> None:
    spill = f"{tmp_path}/full.txt"
    source = f"SPILL, MERGE = {spill!r}, False\n" + MEASURE + "import os; print(os.path.getsize(SPILL))"
    assert python(source).stdout.split()[1] == str(64 << 20)
