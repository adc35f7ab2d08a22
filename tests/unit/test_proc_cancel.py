"""One wish to stop reaches everything that waits."""

from __future__ import annotations

import os
import select
import signal
import threading
from pathlib import Path

import pytest

from bridoon.errors import Cancelled
from bridoon.proc.cancel import Cancel


def test_it_is_readable_for_ever_once_set() -> None:
    cancel = Cancel()
    assert select.select([cancel], [], [], 0)[0] == []
    cancel.set()
    assert [select.select([cancel], [], [], 0)[0] for _ in range(2)] == [[cancel], [cancel]]


def test_the_first_signal_is_the_reason() -> None:
    cancel = Cancel()
    cancel.check()
    cancel.set(signal.SIGTERM)
    cancel.set(signal.SIGINT)
    with pytest.raises(Cancelled) as caught:
        cancel.check()
    assert (cancel.is_set, cancel.signum, caught.value.exit_code) == (True, 15, 143)


def test_waiting_ends_when_another_thread_sets_it() -> None:
    cancel = Cancel()
    assert cancel.wait(0) is False
    timer = threading.Timer(0.01, cancel.set)
    timer.start()
    assert cancel.wait(10) is True
    timer.join()


def test_waiting_ends_when_a_signal_handler_sets_it() -> None:
    cancel = Cancel()
    before = signal.signal(signal.SIGALRM, lambda signum, frame: cancel.set(signum))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert cancel.wait(10) is True
    finally:
        signal.signal(signal.SIGALRM, before)
    assert cancel.signum == signal.SIGALRM


def test_a_callback_is_called_once_by_whoever_sets_it() -> None:
    cancel, calls = Cancel(), []
    with cancel.on_set(lambda: calls.append(threading.current_thread().name)):
        setter = threading.Thread(target=cancel.set, name="setter")
        setter.start()
        setter.join()
        cancel.set()
    assert calls == ["setter"]


def test_a_callback_that_comes_late_is_called_at_once() -> None:
    cancel, calls = Cancel(), []
    cancel.set()
    with cancel.on_set(lambda: calls.append("late")):
        assert calls == ["late"]


def test_a_callback_is_forgotten_after_its_context() -> None:
    cancel, calls = Cancel(), []
    with cancel.on_set(lambda: calls.append("never")):
        pass
    cancel.set()
    assert calls == []


def test_a_callback_that_fails_does_not_stop_the_next() -> None:
    cancel, calls = Cancel(), []

    def fails() -> None:
        raise OSError("not connected")

    with cancel.on_set(fails), cancel.on_set(lambda: calls.append("next")):
        cancel.set()
    assert calls == ["next"]


def test_setting_it_any_number_of_times_never_blocks() -> None:
    cancel = Cancel()
    for _ in range(70_000):
        cancel.set()
    assert cancel.is_set


def test_it_takes_its_descriptors_with_it() -> None:
    cancel = Cancel()
    inode = os.readlink(f"/proc/self/fd/{cancel.fileno()}")
    del cancel
    links = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    assert inode not in links
