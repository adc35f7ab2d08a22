"""The ledger's command line as a process: streams, exit codes, and what people are told."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest
from ledgers import Place, bound_by_modes, harness_cli

NO_HELP_ASKED = ["", "story", "query", "story dependency"]


def test_the_version_has_the_name_of_the_program(bare: Place) -> None:
    from bridoon import __version__

    assert bare.ok("--version") == bare.ok("-V") == f"harness-cli {__version__}\n"


@pytest.mark.parametrize("line", NO_HELP_ASKED)
def test_an_incomplete_command_line_gets_help_on_standard_error(bare: Place, line: str) -> None:
    ran = bare.run(line)
    assert (ran.code, ran.out) == (2, "")
    assert "usage: harness-cli" in ran.err
    assert bare.ok(f"{line} --help") == ran.err


def test_help_needs_no_repository(bare: Place) -> None:
    assert "usage: harness-cli story add" in bare.ok("help story add")
    assert bare.run("help nothing").code == 2


@pytest.mark.parametrize(
    "line", ["story frob", "query stats --frob", "query backlog --open --closed", "intake --type x", "audit now"]
)
def test_a_wrong_command_line_is_exit_code_2(bare: Place, line: str) -> None:
    ran = bare.run(line)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: harness-cli")


def test_a_wrong_value_is_exit_code_1_for_people_and_2_for_programs(ledger: Place) -> None:
    line = "intake --type new-spec --summary s --lane low"
    ran = ledger.run(line)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[0].startswith("error: ")
    assert ledger.error(line)[0] == 2


def test_a_command_without_a_ledger_says_how_to_make_one(bare: Place) -> None:
    ran = bare.run("query stats")
    assert (ran.code, ran.out) == (1, "")
    assert str(bare.database) in ran.err
    assert "harness-cli init" in ran.err
    code, error = bare.error("query stats")
    assert (code, error["code"]) == (2, "COMPATIBILITY_ERROR")
    assert not bare.database.exists()


def test_arguments_that_are_no_utf_8_are_refused(ledger: Place) -> None:
    ran = ledger.run(["intake", "--type", "new-spec", "--lane", "tiny", "--summary", b"\xff\xfe"])
    assert ran.code == 2
    assert "not valid UTF-8" in ran.err


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1", "C.UTF-8"])
def test_output_is_utf_8_whatever_the_locale(ledger: Place, locale: str) -> None:
    env = {"LC_ALL": locale, "PYTHONIOENCODING": "ascii"}
    words = ["intake", "--type", "new-spec", "--lane", "tiny", "--summary", "日本 ü"]
    assert ledger.run(words, env=env).code == 0
    assert "日本 ü" in ledger.ok("query intakes", env=env)
    assert "日本 ü" in ledger.ok("query intakes --json", env=env)


def test_a_closed_pipe_ends_the_command_quietly(ledger: Place) -> None:
    with ledger.open() as db:
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO story (id, title, risk_lane) VALUES (?, ?, 'tiny')",
            [(f"S-{number}", "t" * 200) for number in range(5000)],
        )
        db.execute("COMMIT")
    reading, writing = os.pipe()
    process = ledger.start("query matrix", stdout=writing)
    os.close(writing)
    assert os.read(reading, 10)
    os.close(reading)
    assert process.communicate(timeout=30)[1] == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_standard_output_is_told(ledger: Place) -> None:
    with open("/dev/full", "wb") as full:
        process = ledger.start("query stats", stdout=full.fileno())
        assert b"error: standard output cannot be written: No space left" in process.communicate(timeout=30)[1]
    assert process.returncode == 1


def test_streams_that_are_closed_do_not_become_the_database(ledger: Place) -> None:
    for closed in ("<&- >&- 2>&-", ">&-", "2>&-", "<&-"):
        line = f'"$0" intake --type new-spec --summary s --lane tiny {closed}'
        ran = subprocess.run(["sh", "-c", line, harness_cli()], env=ledger.env, cwd=ledger.root, timeout=30)
        assert ran.returncode == 0
    assert ledger.value("SELECT count(*) FROM intake") == 4
    assert ledger.value("PRAGMA integrity_check") == "ok"


def test_a_working_directory_that_was_deleted_is_told(ledger: Place) -> None:
    line = 'mkdir gone && cd gone && rmdir ../gone && "$0" query stats'
    ran = subprocess.run(
        ["sh", "-c", line, harness_cli()], env=ledger.env, cwd=ledger.root, timeout=30, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert "error: the working directory does not exist any more" in ran.stderr


def test_control_characters_reach_no_terminal(ledger: Place) -> None:
    bad = "a\x1b[31m\u202eb\r\nc\x00".replace("\x00", "\x07")
    assert ledger.run(["intake", "--type", "new-spec", "--lane", "tiny", "--summary", bad]).code == 0
    ledger.run(["story", "add", "--id", bad, "--title", bad, "--lane", "tiny"])
    for words in (["query", "intakes"], ["query", "matrix"], ["story", "verify", bad], ["story", "verify", "x" + bad],
                  ["frob" + bad], ["query", "stats", "--x" + bad], ["help", bad]):  # fmt: skip
        ran = ledger.run(words)
        assert not {"\x1b", "\u202e", "\r", "\x07"} & set(ran.out + ran.err), words
    assert "\\x1b[31m\\u202eb\\r\\nc\\x07" in ledger.ok("query intakes")
    assert ledger.json("query intakes")["intakes"][0]["summary"] == bad


def test_ctrl_c_ends_a_command_with_130(ledger: Place) -> None:
    ready = ledger.root / "ready"
    ledger.ok(["story", "add", "--id", "A", "--title", "t", "--lane", "tiny", "--verify", f"touch {ready}; sleep 60"])
    process = ledger.start("story verify A")
    while not ready.exists():
        assert process.poll() is None
    process.send_signal(2)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in out + err


def test_it_runs_as_a_module(ledger: Place) -> None:
    python = str(Path(harness_cli()).with_name("python"))
    ran = subprocess.run(
        [python, "-m", "bridoon.ledger", "query", "stats"], env=ledger.env, cwd=ledger.root, capture_output=True,
        text=True, timeout=30,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == ledger.ok("query stats")


def test_a_command_that_is_run_by_the_harness_finds_the_ledger_beside_it(ledger: Place) -> None:
    import bridoon

    program = Path(bridoon.__file__).parent / "bin" / "harness-cli"
    env = {**ledger.env, "HARNESS_PYTHON": str(Path(harness_cli()).with_name("python"))}
    ran = subprocess.run([program, "--version"], env=env, capture_output=True, text=True, timeout=30)
    assert ran.stdout == ledger.ok("--version")


def test_it_works_on_a_terminal(ledger: Place) -> None:
    mine, theirs = pty.openpty()
    process = ledger.start("query stats", stdout=theirs)
    os.close(theirs)
    assert process.wait(timeout=30) == 0
    assert b"=== Harness Stats ===" in os.read(mine, 10_000)
    os.close(mine)
    assert process.communicate()[1] == b""


def test_what_an_earlier_command_could_not_write_is_written_by_the_next_even_one_that_reads(ledger: Place) -> None:
    env = {"HARNESS_RUN_ID": "run"}
    ledger.file(".harness/changesets", "in the way")
    ran = ledger.run("intake --type new-spec --summary s --lane tiny", env=env)
    assert ran.code == 0
    assert "warning: recorded, but" in ran.err
    (ledger.root / ".harness" / "changesets").unlink()
    assert ledger.run("query stats").err == ""
    assert [line["op"] for line in ledger.changeset("run")] == ["changeset.header", "intake.add"]


def test_somebody_who_may_only_read_gets_answers_without_a_warning(ledger: Place) -> None:
    ledger.prefix = bound_by_modes()
    ledger.database.chmod(0o444)
    ledger.root.chmod(0o555)
    ran = ledger.run("query stats")
    written = ledger.run("story add --id A --title a --lane tiny")
    ledger.root.chmod(0o755)
    assert (ran.code, ran.err) == (0, "")
    assert (written.code, written.out) == (1, "")
    assert "nothing was changed" in written.err


def test_a_change_that_is_in_no_changeset_is_told_where_changesets_are_kept(ledger: Place) -> None:
    ledger.ok("story add --id A --title a --lane tiny")
    assert ledger.run("story update --id A --unit 1").err == ""
    assert ledger.run("story update --id A --unit 1", env={"HARNESS_RUN_ID": "x"}).err == ""
    assert "HARNESS_RUN_ID is not set" in ledger.run("story update --id A --unit 0").err
    assert ledger.run("query stats").err == ""
