"""Several processes at one session: they take turns, they are killed, and nothing is half written or lost."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bridoon.errors import Cancelled, NotFound, SessionBusy
from bridoon.model.message import Message, Text
from bridoon.session import history, store

WRITER = """
import os, sys
from bridoon.model.message import Image, Message, Text, ToolCall, ToolResult
from bridoon.session import store

session = store.open_session(sys.argv[1], repair=False)
print("ready", flush=True)
sys.stdin.readline()
for turn in range(int(sys.argv[2])):
    text = f"{os.getpid()}.{turn} " + "x" * (turn * 97 % 9000)
    session.append(Message("user", (Text(text), Text("two"), Image("image/png", text.encode()))))
    print(turn, flush=True)
"""

HOLDER = """
import subprocess, sys
from bridoon.session import store

with store.open_session(sys.argv[1]).lock():
    null = subprocess.DEVNULL
    child = subprocess.Popen(["sleep", "30"], stdin=null, stdout=null, close_fds=False)
    print(child.pid, flush=True)
    sys.stdin.readline()
"""

CUT = """
# Kills itself with SIGKILL at the n-th change of the disk.
import os, signal, sys
from bridoon.model.message import Image, Message, Text, ToolCall, ToolResult
from bridoon.session import store

left = int(os.environ["CUT_AT"])

def cut(event, args):
    global left
    changes = event in ("os.link", "os.rename", "os.mkdir", "os.remove", "os.utime") or (
        event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT
    )
    if changes:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(cut)
session = store.create(sys.argv[1], cwd="/")
session.append(Message("user", (Text("hi"),)))
session.append(Message("assistant", (Text("one"), Text("exact"), ToolCall("c", "t", {})), stop="tool_calls"))
session.append(Message("tool_result", (ToolResult("c", "t", "ok", images=(Image("image/png", b"P"),)),)))
session.update(model="other")
print("finished", flush=True)
"""


def start(script: str, *args: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 20)[0]
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate("\n", timeout=30)
    return out


@pytest.fixture
def session(tmp_path: Path) -> store.Session:
    return store.create(str(tmp_path), cwd="/")


def test_processes_that_write_at_once_lose_nothing(session: store.Session) -> None:
    writers = [start(WRITER, session.dir, "40") for _ in range(3)]
    for writer in writers:
        assert line_of(writer) == "ready"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for number in range(40):
        session.append(Message("user", (Text(f"{os.getpid()}.{number} "),)))
    for writer in writers:
        end(writer)
    messages = session.messages()
    assert [message.seq for message in messages] == list(range(1, 161))
    for pid in [os.getpid(), *(writer.pid for writer in writers)]:
        own = [message.parts[0].text for message in messages if message.text.startswith(f"{pid}.")]  # type: ignore[union-attr]
        assert [int(text.split()[0].split(".")[1]) for text in own] == list(range(40))
    assert store.open_session(session.dir, repair=False).messages() == messages


def test_a_writer_that_is_killed_leaves_whole_messages_only(session: store.Session) -> None:
    seen = 0
    for round in range(8):
        writer = start(WRITER, session.dir, "1000")
        assert line_of(writer) == "ready"
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
        for _ in range(1 + round * 3):
            line_of(writer)
        writer.send_signal(signal.SIGKILL)
        printed = 1 + round * 3 + len(end_of_killed(writer))
        messages = store.open_session(session.dir).messages()
        assert len(messages) - seen >= printed
        for number, message in enumerate(messages, 1):
            first, second, picture = message.parts
            assert (message.seq, second) == (number, Text("two"))
            assert picture.data.decode() == first.text  # type: ignore[union-attr]
        seen = len(messages)
    assert not [name for name in os.listdir(session.dir) if name.startswith(".tmp-")]


def end_of_killed(process: subprocess.Popen[str]) -> list[str]:
    out = process.communicate(timeout=30)[0]
    return [line for line in out.splitlines(keepends=True) if line.endswith("\n")]


def outcome_of_cut(root: Path, cut: int) -> tuple[bool, list[store.Session]]:
    """Run the script up to its `cut`-th change; whether it finished, and the sessions that there are then."""
    process = start(CUT, str(root), CUT_AT=str(cut))
    finished = "finished" in process.communicate(timeout=30)[0]
    assert process.returncode == (0 if finished else -signal.SIGKILL)
    return finished, [store.open_session(entry.dir) for entry in history.list_sessions(str(root))]


def test_a_kill_at_any_change_of_the_disk_leaves_a_session_that_goes_on(tmp_path: Path) -> None:
    counts: list[int] = []
    finished = False
    while not finished:
        finished, sessions = outcome_of_cut(tmp_path / str(len(counts)), len(counts))
        for session in sessions:
            messages = session.messages()
            assert [message.role for message in messages] == ["user", "assistant", "tool_result"][: len(messages)]
            assert [part for message in messages[1:2] for part in message.parts[:2]] in (
                [],
                [Text("one"), Text("exact")],
            )
            assert not [name for name in os.listdir(session.dir) if name.startswith(".tmp-")]
            session.append(Message("user", (Text("goes on"),)))
            assert len(store.open_session(session.dir, repair=False).messages()) == len(messages) + 1
        counts.append(max((len(session.messages()) for session in sessions), default=0))
    assert counts == sorted(counts)
    assert counts[-1] == 4
    assert len(counts) > 15


class Line:
    """Something that waits as a run's wish to stop does."""

    def __init__(self) -> None:
        self.set = threading.Event()

    def wait(self, seconds: float) -> bool:
        return self.set.wait(seconds)

    def check(self) -> None:
        if self.set.is_set():
            raise Cancelled


def test_a_session_at_work_is_busy_and_names_the_process(session: store.Session) -> None:
    holder = start(HOLDER, session.dir)
    line_of(holder)
    with (
        pytest.raises(SessionBusy, match=rf"session {session.id} is busy \(pid {holder.pid}\)"),
        session.lock(wait=0.1),
    ):
        pass
    os.kill(int(pid_of_child(holder)), signal.SIGKILL)
    end(holder)
    with session.lock():
        pass


def pid_of_child(process: subprocess.Popen[str]) -> str:
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()[0]


def test_a_lock_dies_with_its_process_though_a_child_lives_on(session: store.Session) -> None:
    holder = start(HOLDER, session.dir)
    child = int(line_of(holder))
    holder.kill()
    holder.communicate(timeout=30)
    try:
        with session.lock(wait=0):
            assert os.path.exists(f"/proc/{child}")
    finally:
        os.kill(child, signal.SIGKILL)


def test_waiting_for_a_session_ends_when_it_is_free(session: store.Session) -> None:
    holder = start(HOLDER, session.dir)
    child = int(line_of(holder))
    os.kill(child, signal.SIGKILL)
    release = threading.Timer(0.2, end, [holder])
    release.start()
    with session.lock(wait=20):
        pass
    release.join()


def test_waiting_for_a_session_can_be_cancelled(session: store.Session) -> None:
    cancel = Line()
    with session.lock():
        threading.Timer(0.1, cancel.set.set).start()
        started = time.monotonic()
        with pytest.raises(Cancelled), store.Session(session.dir, {}).lock(wait=30, cancel=cancel):
            pass
        assert time.monotonic() - started < 20


def test_the_holder_of_a_lock_may_take_it_again(session: store.Session) -> None:
    other = store.Session(session.dir, {})
    with session.lock():
        with session.lock(wait=0):
            pass
        with pytest.raises(SessionBusy), other.lock(wait=0):
            pass
    with other.lock(wait=0):
        pass


def test_a_session_that_is_removed_while_somebody_waits_is_not_found(session: store.Session) -> None:
    other = store.open_session(session.dir)
    history.remove(session)
    with pytest.raises(NotFound), other.lock():
        pass


def test_events_of_a_killed_run_are_saved_once_by_whoever_comes_next(session: store.Session) -> None:
    session.append(Message("user", (Text("hi"),)))
    Path(session.dir, ".stream").write_text(json.dumps({"type": "text", "text": "Hel"}) + "\n", "utf-8")
    opener = "import sys; from bridoon.session import store; store.open_session(sys.argv[1])"
    openers = [start(opener, session.dir) for _ in range(4)]
    for each in openers:
        end(each)
    assert [message.text for message in session.messages()] == ["hi", "Hel"]


COUNT = """
import sys, threading
from bridoon.model.message import Message, Text, ToolCall, ToolResult
from bridoon.session import store

events = []
session = store.create(sys.argv[1], cwd="/")
turns = threading.get_ident()  # the thread that flushes to the disk comes when it comes
sys.addaudithook(lambda event, args: threading.get_ident() == turns and events.append(event))
for turn in range(300):
    if turn in (10, 299):
        events.clear()
    session.append(Message("assistant", (ToolCall(f"c{turn}", "t", {}),), stop="tool_calls"))
    session.append(Message("tool_result", (ToolResult(f"c{turn}", "t", "ok"),)))
    assert len(session.messages()) == len(session.view()) - 1 == 2 * turn + 2
    if turn in (10, 299):
        print(sum(event in ("open", "os.listdir", "os.scandir", "os.link") for event in events))
"""


def test_a_late_turn_touches_as_few_files_as_an_early_one(tmp_path: Path) -> None:
    early, late = end(start(COUNT, str(tmp_path))).split()
    assert early == late
    assert int(late) < 10
