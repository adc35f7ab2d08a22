"""What happens to children when their owner ends: by itself, by a signal, or by one that it never sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from processes import DEAF, ENV, alive, bash, eventually, python

from bridoon.proc import children, records, table
from bridoon.proc.cancel import Cancel
from bridoon.proc.environment import OWNER
from bridoon.proc.run import Interrupted, run

OWNER_SOURCE = """
import os, sys, signal
from bridoon.proc import children
from bridoon.proc.run import run
home, script, rest = sys.argv[1:4]
env = {"PATH": os.environ["PATH"], "HARNESS_HOME": home}
env |= {name: value for name, value in os.environ.items() if name in ("HARNESS_OWNER", "HARNESS_CALL")}
done = run(["bash", "-c", script], env=env, keep_background=True,
           on_output=lambda name, chunk: (sys.stdout.write(chunk.decode()), sys.stdout.flush()))
exec(rest)
"""
"""A stand-in for `hs`: runs a tool that may leave something in the background, then does `rest`."""


DEAD = f"4194301.{time.time_ns()}"
"""The identity of a process that is no more."""
TOOL = f"echo $$; {DEAF} (setsid sleep 300 & echo $!); (env -i setsid sleep 300 & echo $!); sleep 300 & wait"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def owner(home: Path) -> Iterator[subprocess.Popen[str]]:
    """An owner whose tool never ends, with what it prints."""
    command = [sys.executable, "-c", OWNER_SOURCE, str(home), TOOL, ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean()) as process:
        yield process
        process.kill()


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("HARNESS_")}


def three(stream: IO[str] | None) -> list[int]:
    assert stream is not None
    return [int(stream.readline()) for _ in range(3)]


def test_after_a_kill_the_next_start_ends_what_was_left(owner: subprocess.Popen[str], home: Path) -> None:
    left = three(owner.stdout)
    owner.kill()
    owner.wait()
    assert [alive(pid) for pid in left] == [True, True, True]
    assert children.sweep_stale(str(home)) >= 2
    # The third had thrown its environment away: with its owner went the only tie to it.
    assert [alive(pid) for pid in left[:2]] == [False, False]
    assert os.listdir(home / records.FOLDER) == []
    os.kill(left[2], signal.SIGKILL)


def test_a_living_owner_is_left_alone(owner: subprocess.Popen[str], home: Path) -> None:
    running = three(owner.stdout)
    assert children.sweep_stale(str(home)) == 0
    assert all(alive(pid) for pid in [owner.pid, *running])
    assert len(os.listdir(home / records.FOLDER)) == 1
    owner.kill()
    owner.wait()
    children.sweep_stale(str(home))
    os.kill(running[2], signal.SIGKILL)


def test_at_the_end_nothing_is_left_however_it_hides(home: Path) -> None:
    deaf = f"(setsid bash -c '{DEAF} echo $$; touch {home}.up; while :; do sleep 300; done' &)"
    script = f"{deaf}; (env -i setsid sleep 300 & echo $!); until [ -e {home}.up ]; do sleep 0.01; done"
    rest = "children.end_all(grace=0.3); os._exit(0)"
    done = python(OWNER_SOURCE, str(home), script, rest, env=clean())
    left = [int(word) for word in done.stdout.split()]
    assert len(left) == 2
    assert not any(alive(pid) for pid in left)
    assert os.listdir(home / records.FOLDER) == []


def test_what_may_stay_stays_and_is_never_swept(home: Path) -> None:
    rest = "children.end_all(keep=True); os._exit(0)"
    done = python(OWNER_SOURCE, str(home), "setsid sleep 300 >/dev/null 2>&1 & echo $!", rest, env=clean())
    pid = int(done.stdout)
    assert children.sweep_stale(str(home)) == 0
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_a_process_that_ends_without_a_word_leaves_no_record(home: Path) -> None:
    done = python(OWNER_SOURCE, str(home), "sleep 300 >/dev/null 2>&1 & echo $!", "", env=clean())
    assert os.listdir(home / records.FOLDER) == []
    os.kill(int(done.stdout), signal.SIGKILL)


def test_an_impatient_signal_in_the_middle_of_a_start_does_not_hang(home: Path) -> None:
    source = """
import os, signal
from bridoon.proc import children
def stop(signum, frame):
    children.end_all(grace=0.2)
    os._exit(3)
signal.signal(signal.SIGALRM, stop)
def start():
    signal.raise_signal(signal.SIGALRM)
children.begin(start, "call")
"""
    assert python(source).returncode == 3


def test_an_owner_inside_a_call_ends_with_it_and_so_do_its_own(home: Path) -> None:
    cancel, said = Cancel(), bytearray()

    def listen(name: str, chunk: bytes) -> None:
        said.extend(chunk)
        if said.count(b"\n") == 3:
            cancel.set()

    command = [sys.executable, "-c", OWNER_SOURCE, str(home), TOOL, ""]
    with pytest.raises(Interrupted):
        run(command, env=ENV, cancel=cancel, grace=0.3, on_output=listen)
    assert not any(alive(int(pid)) for pid in said.split())
    assert not (home / records.FOLDER).exists()


def test_children_of_other_code_in_this_process_are_not_touched() -> None:
    other = subprocess.Popen(["sleep", "300"])
    try:
        assert bash("sleep 300", timeout=0.1, grace=0.1).timed_out
        assert children.end_all(grace=0.1)
        assert other.poll() is None
    finally:
        other.kill()
        assert other.wait() == -9


def test_the_exit_code_of_other_code_s_child_is_not_taken() -> None:
    other = subprocess.Popen(["bash", "-c", "exit 42"])
    assert eventually(lambda: not alive(other.pid))
    bash("(setsid true &)")
    children.reap_orphans()
    assert other.wait() == 42


def test_a_system_without_proc_still_ends_groups_and_lists_them(home: Path) -> None:
    source = """
import os, sys
from bridoon.proc import children, table
table.LINUX = False
from bridoon.proc.run import run
env = {"PATH": os.environ["PATH"], "HARNESS_HOME": sys.argv[1]}
left = run(["bash", "-c", "sleep 300 >/dev/null & echo $!"], env=env, keep_background=True)
stopped = run(["bash", "-c", "sleep 300 & echo $!; sleep 300"], env=env, timeout=0.5, grace=0.2)
print(left.background, [job.call == left.call for job in children.jobs()], stopped.timed_out)
children.end_all(grace=0.2)
print(left.stdout.text(), stopped.stdout.text())
"""
    first, *words = python(source, str(home), env=clean()).stdout.split("\n")
    assert first == "1 [True] True"
    # Whether they are gone from the table is up to init, who buries them.
    assert [alive(int(pid)) for pid in " ".join(words).split()] == [False, False]


# ---- records


def dead_record(home: Path, content: str | None = None) -> Path:
    folder = home / records.FOLDER
    folder.mkdir(parents=True)
    path = folder / DEAD
    path.write_text("\n".join(records.machine()) if content is None else content, encoding="utf-8")
    return path


def test_without_records_nothing_is_looked_at(home: Path) -> None:
    assert children.sweep_stale(str(home)) == 0
    assert not home.exists()


def test_a_dead_owner_without_remains_is_forgotten(home: Path) -> None:
    path = dead_record(home)
    assert children.sweep_stale(str(home)) == 0
    assert not path.exists()


def test_a_pid_that_is_in_use_again_is_not_its_owner(home: Path) -> None:
    path = dead_record(home).rename(home / records.FOLDER / f"{os.getpid()}.1")
    assert children.sweep_stale(str(home)) == 0
    assert not path.exists()


def test_records_of_another_machine_on_the_same_home_are_kept(home: Path) -> None:
    path = dead_record(home, "elsewhere\n0-0\n1")
    assert children.sweep_stale(str(home)) == 0
    assert path.exists()
    os.utime(path, (0, 0))
    children.sweep_stale(str(home))
    assert not path.exists()


def test_records_from_before_a_restart_are_forgotten(home: Path) -> None:
    host, _, namespace = records.machine()
    path = dead_record(home, f"{host}\n0-0\n{namespace}")
    children.sweep_stale(str(home))
    assert not path.exists()


def test_other_files_among_the_records_are_not_touched(home: Path) -> None:
    other = dead_record(home).rename(home / records.FOLDER / "notes.txt")
    children.sweep_stale(str(home))
    assert other.exists()


def test_the_process_that_sweeps_is_spared_with_all_that_it_runs_in(home: Path) -> None:
    dead_record(home)
    source = "import sys; from bridoon.proc import children; children.sweep_stale(sys.argv[1]); print('alive')"
    env = {**clean(), OWNER: DEAD}
    done = subprocess.run(
        ["bash", "-c", f'{sys.executable} -c "$0" {home}; echo parent', source],
        env=env,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    assert done.stdout == "alive\nparent\n"


def test_a_home_that_cannot_be_written_stops_nothing() -> None:
    source = "from bridoon.proc.run import run; print(run(['/bin/true'], env={'HARNESS_HOME': '/proc/no'}).code)"
    assert python(source, env=clean()).stdout == "0\n"


def test_signals_reach_only_the_process_that_was_meant() -> None:
    other = subprocess.Popen(["sleep", "300"])
    try:
        seen = table.read(other.pid)
        assert seen is not None
        table.send(seen._replace(started=seen.started - 1), signal.SIGKILL)
        table.send(seen, signal.SIGTERM)
        assert other.wait() == -15
    finally:
        other.kill()
