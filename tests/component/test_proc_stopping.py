"""Whatever a program starts, however it hides: it ends with its call."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import DEAF, alive, bash, eventually, pids, python

from bridoon.errors import Cancelled
from bridoon.proc import children
from bridoon.proc.cancel import Cancel
from bridoon.proc.run import Completed, Interrupted

LIST = 'until [ -s "$F" ]; do sleep 0.01; done; cat "$F"'
"""The end of a script: prints what the hidden process wrote, its pid."""

HIDING = {
    "in the background": "sleep 300 & echo $! > $F",
    "in a session of its own": "setsid sleep 300 & echo $! > $F",
    "daemonised twice over": "(setsid bash -c 'echo $$ > $F; exec sleep 300' &)",
    "without our marks": "env -i setsid bash -c 'echo $$ > $0; exec /bin/sleep 300' $F &",
    "without marks or parent": "(env -i setsid bash -c 'echo $$ > $0; exec /bin/sleep 300' $F &)",
    "deaf to TERM": f'setsid bash -c "{DEAF} echo \\$\\$ > $F; while :; do sleep 300; done" &',
    "stopped": "sleep 300 & echo $! > $F; kill -STOP $!",
    "holding the pipe": "sleep 300 >&1 & echo $! > $F",
    "in a group of its own": "set -m; sleep 300 & echo $! > $F",
}


@pytest.fixture(params=HIDING.values(), ids=HIDING.keys())
def hidden(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A script that leaves a process behind and prints its pid."""
    return f"export F={tmp_path}/pid; {request.param}\n{LIST}"


def cancelled(script: str, **options: Any) -> Completed:
    """Run a script and ask it to stop when it has said something."""
    cancel = Cancel()
    with pytest.raises(Interrupted) as caught:
        bash(script, cancel=cancel, on_output=lambda name, chunk: cancel.set(), **{"grace": 0.2, **options})
    return caught.value.completed


def test_a_descendant_ends_when_the_call_is_cancelled(hidden: str) -> None:
    (pid,) = pids(cancelled(f"{hidden}; sleep 300"))
    assert not alive(pid)


def test_a_descendant_ends_when_the_time_is_up(tmp_path: Path) -> None:
    done = bash(
        f"export F={tmp_path}/pid; {HIDING['daemonised twice over']}; {LIST}; sleep 300",
        timeout=1.5,
        grace=0.2,
    )
    (pid,) = pids(done)
    assert done.timed_out
    assert not alive(pid)


def test_a_descendant_ends_with_a_call_that_keeps_none(hidden: str) -> None:
    done = bash(hidden, grace=0.2)
    (pid,) = pids(done)
    assert (done.code, done.background, done.timed_out) == (0, 0, False)
    assert not alive(pid)


def test_a_descendant_ends_with_a_call_that_was_killed(hidden: str) -> None:
    done = bash(f"{hidden}; kill -9 $$", grace=0.2, keep_background=True)
    (pid,) = pids(done)
    assert done.code == -9
    assert not alive(pid)


def test_a_program_that_heeds_term_may_say_goodbye() -> None:
    done = cancelled("trap 'echo goodbye; exit 5' TERM; echo ready; while :; do sleep 0.01; done", grace=5)
    assert (done.stdout.text(), done.code) == ("ready\ngoodbye\n", 5)


def test_term_comes_once() -> None:
    done = cancelled("trap 'echo term' TERM; echo ready; for n in {1..30}; do sleep 0.01; done", grace=5)
    assert done.stdout.text() == "ready\nterm\n"


def test_a_program_that_ignores_term_is_killed_after_the_grace() -> None:
    assert cancelled(f"{DEAF} echo ready; while :; do sleep 300; done").code == -9


def test_what_it_said_before_its_time_was_up_is_kept() -> None:
    done = bash("echo before; exec sleep 300", timeout=0.5)
    assert (done.stdout.text(), done.code, done.timed_out) == ("before\n", -15, True)


def test_a_program_that_floods_us_is_stopped_in_time() -> None:
    done = bash(f"{DEAF} yes", timeout=0.5, grace=0.3)
    assert done.timed_out
    assert done.stdout.truncated


def test_one_that_forks_without_end_is_stopped(tmp_path: Path) -> None:
    forks = f"echo $$ >> {tmp_path}/pids; sleep 0.02; [ $(wc -l < {tmp_path}/pids) = 9 ] && echo nine; n"
    cancelled(f"n() {{ setsid bash -c '{forks}' & }}; export -f n; n; sleep 300")
    seen = [int(word) for word in (tmp_path / "pids").read_text(encoding="utf-8").split()]
    assert len(seen) >= 9
    assert not any(alive(pid) for pid in seen)


def test_it_can_be_cancelled_from_another_thread() -> None:
    cancel = Cancel()
    timer = threading.Timer(0.05, cancel.set, (signal.SIGTERM,))
    timer.start()
    with pytest.raises(Cancelled) as caught:
        bash("sleep 300", cancel=cancel)
    assert caught.value.exit_code == 143
    timer.join()


def test_it_can_be_cancelled_from_a_signal_handler() -> None:
    cancel = Cancel()
    before = signal.signal(signal.SIGALRM, lambda signum, frame: cancel.set(signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Cancelled) as caught:
            bash("sleep 300", cancel=cancel)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert caught.value.exit_code == 130


def test_an_exception_from_a_signal_handler_leaves_nothing_behind_whenever_it_comes() -> None:
    source = """
import os, signal
from bridoon.proc import children, table
from bridoon.proc.run import run
def interrupt(signum, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
for number in range(20):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0002 * (number + 1))
        run(["bash", "-c", "setsid sleep 300 & sleep 300"], env=dict(os.environ), timeout=5, grace=0.2)
    except KeyboardInterrupt:
        pass
children.reap_orphans()
print([table.command_line(pid) for pid in table.own_children()])
"""
    done = python(source)
    assert done.stdout == "[]\n", done.stderr


def test_one_wish_to_stop_ends_all_calls_that_run_beside_each_other() -> None:
    cancel, ended = Cancel(), []
    ready = threading.Barrier(4, cancel.set)

    def call() -> None:
        options = {"cancel": cancel, "on_output": lambda name, chunk: ready.wait()}
        with pytest.raises(Interrupted) as caught:
            bash("(setsid sleep 300 & echo $!); sleep 300", **options)
        ended.append(caught.value.completed)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(pids(done)) for done in ended] == [1, 1, 1, 1]
    assert not any(alive(pid) for done in ended for pid in pids(done))


def test_nothing_starts_once_it_is_cancelled(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled):
        bash(f"touch {tmp_path}/started", cancel=cancel)
    assert list(tmp_path.iterdir()) == []


def test_one_call_that_is_stopped_leaves_its_neighbours_alone(tmp_path: Path) -> None:
    other: list[Completed] = []
    script = f"(setsid bash -c 'until [ -e {tmp_path}/go ]; do sleep 0.01; done' & wait); echo fine"
    thread = threading.Thread(target=lambda: other.append(bash(script)))
    thread.start()
    cancelled("setsid sleep 300 & echo ready; sleep 300")
    (tmp_path / "go").touch()
    thread.join()
    assert [(done.code, done.stdout.text()) for done in other] == [(0, "fine\n")]


# ---- background


@pytest.fixture
def background() -> Iterator[None]:
    """Ends what the test left in the background."""
    yield
    children.end_all(grace=0.2)


@pytest.mark.usefixtures("background")
def test_a_background_process_that_holds_the_pipe_holds_up_nothing() -> None:
    done = bash("sleep 300 & echo $!", timeout=None, keep_background=True)
    assert (done.code, done.background) == (0, 1)
    assert done.seconds < 5
    assert alive(pids(done)[0])


@pytest.mark.usefixtures("background")
def test_a_background_process_lives_on_and_is_listed_until_it_ends() -> None:
    done = bash("setsid sleep 300 >/dev/null 2>&1 & echo $!", keep_background=True)
    (pid,) = pids(done)
    assert eventually(lambda: [(job.command, job.call) for job in children.jobs()] == [("sleep 300", done.call)])
    assert bash("true").background == 0
    cancelled("echo ready; sleep 300")
    assert alive(pid)
    assert children.end_all(grace=0.2)
    assert children.jobs() == []
    assert not alive(pid)


@pytest.mark.usefixtures("background")
def test_a_background_process_can_go_on_writing(tmp_path: Path) -> None:
    script = f"(for n in {{1..3000}}; do echo $n {'x' * 100}; done; touch {tmp_path}/written) & exit 0"
    bash(script, keep_background=True)
    assert eventually((tmp_path / "written").exists)


@pytest.mark.usefixtures("background")
def test_dead_orphans_are_buried() -> None:
    (pid,) = pids(bash("(setsid bash -c 'echo $$; sleep 0.1' &)", keep_background=True))
    assert eventually(lambda: not Path(f"/proc/{pid}").exists() or children.reap_orphans())
