"""One program from start to end: what it is fed, what it says, and why it could not start."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
from processes import ENV, bash, python

from bridoon.proc.run import WHOLE, CannotStart, command_for, run


def program(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


def test_output_errors_and_exit_code_come_back_apart() -> None:
    done = bash("echo out; echo err >&2; exit 7")
    assert (done.code, done.stdout.text(), done.stderr.text()) == (7, "out\n", "err\n")
    assert (done.timed_out, done.background) == (False, 0)


def test_merged_streams_keep_their_order() -> None:
    done = bash("for n in 1 2 3; do echo out$n; echo err$n >&2; done", merge=True)
    assert done.stdout.text() == "out1\nerr1\nout2\nerr2\nout3\nerr3\n"
    assert done.stderr.total == 0


def test_a_program_that_is_killed_has_a_negative_code() -> None:
    assert bash("kill -9 $$").code == -9


def test_it_runs_in_its_directory_with_its_environment_and_no_other(tmp_path: Path) -> None:
    done = bash("pwd; echo $ONLY; echo ${HOME-none}", cwd=str(tmp_path), env={"ONLY": "this", "PATH": ENV["PATH"]})
    assert done.stdout.text() == f"{tmp_path}\nthis\nnone\n"


def test_without_input_standard_input_is_empty() -> None:
    assert run(["/bin/cat"], env=ENV).stdout.text() == ""


def test_input_of_any_size_arrives_while_output_of_any_size_leaves() -> None:
    data = os.urandom(3 << 20)
    assert run(["/bin/cat"], env=ENV, stdin=data, out_limit=WHOLE).stdout.data == data


@pytest.mark.parametrize("script", ["true", "exec <&-; echo done", "head -c 1 >/dev/null"])
def test_input_that_nobody_reads_does_no_harm(script: str) -> None:
    assert bash(script, stdin=b"x" * (4 << 20)).code == 0


def test_a_program_that_closes_its_output_is_waited_for() -> None:
    done = bash("exec >&- 2>&-; head -c 200000 >/dev/null; exit 3", stdin=b"x" * 200_000)
    assert done.code == 3


def test_every_chunk_is_seen_with_the_name_of_its_stream() -> None:
    seen: dict[str, bytes] = {}
    bash(
        "echo one; echo two >&2",
        on_output=lambda name, chunk: seen.update({name: seen.get(name, b"") + chunk}),
    )
    assert seen == {"stdout": b"one\n", "stderr": b"two\n"}


def test_ticks_come_while_a_silent_program_runs(tmp_path: Path) -> None:
    ticks = []

    def tick() -> None:
        ticks.append(1)
        if len(ticks) == 3:
            (tmp_path / "go").touch()

    assert bash(f"until [ -e {tmp_path}/go ]; do sleep 0.01; done", tick=tick).code == 0
    assert len(ticks) >= 3


def test_a_callback_that_raises_ends_the_program(tmp_path: Path) -> None:
    def tick() -> None:
        if (tmp_path / "pid").exists():
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        bash(f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 300", tick=tick)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text(encoding='utf-8').strip()}").exists()


def test_large_output_is_cut_in_the_middle_and_whole_on_disk(tmp_path: Path) -> None:
    spill = tmp_path / ".outputs" / "0001.txt"
    done = bash("seq 1 200000", spill=str(spill), out_limit=10_000)
    text = done.stdout.text()
    assert text.startswith("1\n2\n")
    assert text.endswith("199999\n200000\n")
    assert f"characters cut; the full text is in {spill}" in text
    assert spill.stat().st_size == done.stdout.total == 1_288_895


def test_programs_run_beside_each_other_without_mixing_up_their_ends() -> None:
    codes: dict[int, int] = {}
    threads = [
        threading.Thread(target=lambda n=n: codes.update({n: bash(f"echo {n}; sleep 0.0{n}; exit {n}").code}))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == {n: n for n in range(8)}


def test_a_file_without_interpreter_line_is_a_bash_script(tmp_path: Path) -> None:
    path = program(tmp_path / "plain", 'echo "${BASH_VERSION:+bash} $1"\ncat')
    done = run([path, "a b"], env=ENV, stdin=b"input")
    assert done.stdout.text() == "bash a b\ninput"


def test_without_bash_such_a_file_is_run_by_sh(tmp_path: Path) -> None:
    path = program(tmp_path / "plain", "echo ${BASH_VERSION:-other}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    assert run([path], env={"PATH": str(tmp_path / "bin")}).stdout.text().strip()


def test_an_exit_status_counts_even_where_child_signals_are_ignored() -> None:
    source = (
        "import signal, os; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from bridoon.proc.run import run\n"
        "print(run(['/bin/false'], env={}).code, run(['/bin/true'], env={}).code)"
    )
    assert python(source).stdout == "1 0\n"


def test_in_a_thread_where_that_cannot_be_mended_nothing_counts_as_success() -> None:
    source = (
        "import signal, threading; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from bridoon.proc.run import run\n"
        "t = threading.Thread(target=lambda: print(run(['/bin/true'], env={}).code)); t.start(); t.join()"
    )
    assert python(source).stdout == "255\n"


def test_it_works_with_all_standard_streams_closed(tmp_path: Path) -> None:
    source = (
        "import os, sys\nfor fd in range(3): os.close(fd)\n"
        "from bridoon.proc.run import run\n"
        "done = run(['/bin/bash', '-c', 'cat; echo err >&2'], env={}, stdin=b'in')\n"
        "open(sys.argv[1], 'w').write(done.stdout.text() + done.stderr.text())"
    )
    python(source, str(tmp_path / "said"))
    assert (tmp_path / "said").read_text(encoding="utf-8") == "inerr\n"


def test_descriptors_are_all_closed_again() -> None:
    bash("true")
    before = set(os.listdir("/proc/self/fd"))
    bash("cat; exit 1", stdin=b"x" * 100_000)
    with pytest.raises(CannotStart):
        run(["/nowhere/at/all"], env=ENV, stdin=b"x" * 100_000)
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        ("#!/bin/bash\r\necho hi\r\n", 0o755, "its first line ends in a carriage return"),
        ("#!/no/such/interpreter\n", 0o755, "its interpreter is missing: /no/such/interpreter"),
        ("#!/bin/sh\n", 0o644, "it is not executable"),
    ],
)
def test_a_file_that_cannot_start_says_why(tmp_path: Path, text: str, mode: int, reason: str) -> None:
    path = program(tmp_path / "tool", text, mode)
    with pytest.raises(CannotStart) as caught:
        run([path], env=ENV)
    assert caught.value.message == f"cannot start {path}: {reason}"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    gone, folder = str(tmp_path / "gone"), str(tmp_path)
    expected = {
        (gone, None): f"cannot start {gone}: no such file",
        ("no-such-program-anywhere", None): "cannot start no-such-program-anywhere: no such program in PATH",
        (folder, None): f"cannot start {folder}: it is a directory",
        ("/bin/true", gone): f"cannot start /bin/true: its working directory {gone} does not exist",
    }
    for (path, cwd), message in expected.items():
        with pytest.raises(CannotStart) as caught:
            run([path], env=ENV, cwd=cwd)
        assert caught.value.message == message


def test_too_large_a_variable_is_named_with_its_size() -> None:
    with pytest.raises(CannotStart, match="variable BIG has 200005 bytes, the system takes 131072") as caught:
        run(["/bin/true"], env={**ENV, "BIG": "x" * 200_000})
    assert caught.value.hint == "pass large data on standard input or in a file"
    with pytest.raises(CannotStart, match="argument 1 has 200001 bytes"):
        run(["/bin/true", "x" * 200_000], env=ENV)


def test_a_nul_in_an_argument_is_refused() -> None:
    with pytest.raises(CannotStart, match="embedded null byte"):
        run(["/bin/echo", "a\0b"], env=ENV)


def test_a_marked_file_is_started_by_this_interpreter_and_takes_no_module_from_where_it_runs(
    tmp_path: Path,
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')", encoding="utf-8")
    lines = [
        "from bridoon.sdk.script import hook",
        "@hook",
        "def same(payload, context):",
        "    return payload",
    ]
    path = program(tmp_path / "10-same", "\n".join(["#!/usr/bin/env -S hs py", *lines]))
    command = command_for(path, marked=True)
    done = run(command, env=ENV, cwd=str(tmp_path), stdin=b'{"a":1}\n')
    assert (command[0], done.code, done.stdout.text()) == (sys.executable, 0, '{"a":1}\n')
    assert command_for(path, marked=False) == [path]
