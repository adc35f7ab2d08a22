"""Verify commands that behave, and ones that do not: `story verify`, `story verify-all`, `decision verify`."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from ledgers import Place
from processes import alive, eventually


@pytest.fixture(params=["ledger", "ledger6"])
def either(request: pytest.FixtureRequest) -> Place:
    """A ledger of the newest schema, and one of the oldest that we work with."""
    place = request.getfixturevalue(request.param)
    assert isinstance(place, Place)
    return place


def story(place: Place, command: str, name: str = "US-1") -> None:
    place.ok(["story", "add", "--id", name, "--title", "a story", "--lane", "normal", f"--verify={command}"])


def verdict(place: Place, name: str = "US-1") -> tuple[Any, bool]:
    """What is recorded of a story: its result, and whether there is a time."""
    ((result, at),) = place.sql("SELECT last_verified_result, last_verified_at FROM story WHERE id=?", name)
    return result, at is not None


def test_a_passing_command_is_shown_and_recorded(either: Place) -> None:
    story(either, "echo out; echo err >&2; pwd")
    ran = either.run("story verify US-1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines == [
        "Running: echo out; echo err >&2; pwd",
        "out",
        "err",
        str(either.root),
        "Story US-1 verification: pass",
    ]
    assert verdict(either) == ("pass", True)


def test_a_failing_command_is_a_verdict_and_no_error(either: Place) -> None:
    story(either, "printf 'no line end'; exit 3")
    ran = either.run("story verify US-1")
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines == ["Running: printf 'no line end'; exit 3", "no line end", "Story US-1 verification: fail"]
    assert verdict(either) == ("fail", True)


def test_a_program_learns_everything_about_a_verification(ledger: Place) -> None:
    story(ledger, "echo seen; exit 3")
    ran = ledger.run("story verify US-1 --json")
    result = ran.value["result"]
    assert (ran.code, result.pop("seconds") >= 0) == (1, True)
    assert result == {
        "id": "US-1",
        "verify_command": "echo seen; exit 3",
        "result": "fail",
        "recorded": True,
        "exit_code": 3,
        "timed_out": False,
        "reasons": [],
        "output": "seen\n",
    }


def test_a_decision_is_verified_like_a_story(either: Place) -> None:
    either.ok("decision add --id D-1 --title 'one way' --verify 'cat; echo shown; echo too >&2; false'")
    ran = either.run("decision verify D-1")
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines == [
        "Running: cat; echo shown; echo too >&2; false",
        "shown",
        "too",
        "Decision D-1 verification: fail",
    ]
    assert either.sql("SELECT last_verified_result FROM decision") == [("fail",)]


def test_a_command_that_hangs_is_stopped_and_has_failed(either: Place) -> None:
    story(either, "echo $$; sleep 100")
    ran = either.run("story verify US-1 --timeout 0.5", timeout=15)
    assert ran.code == 1
    assert ran.lines[2:] == [
        "The command was stopped: it took longer than 0.5 seconds.",
        "Story US-1 verification: fail",
    ]
    assert not alive(int(ran.lines[1]))
    assert verdict(either) == ("fail", True)


def test_a_command_that_ignores_the_signal_to_stop_is_killed(ledger: Place) -> None:
    story(ledger, "trap '' TERM; echo $$; while :; do sleep 1; done")
    ran = ledger.run("story verify US-1 --timeout 0.3", timeout=15)
    assert (ran.code, ran.lines[-1]) == (1, "Story US-1 verification: fail")
    assert not alive(int(ran.lines[1]))


def test_a_background_process_that_holds_the_output_open_neither_delays_nor_survives(ledger: Place) -> None:
    story(ledger, "sleep 100 & echo $!")
    began = time.monotonic()
    ran = ledger.run("story verify US-1")
    assert (ran.code, ran.lines[-1]) == (0, "Story US-1 verification: pass")
    assert time.monotonic() - began < 10
    assert eventually(lambda: not alive(int(ran.lines[1])))


def test_endless_output_is_cut_in_the_middle_and_says_so(ledger: Place) -> None:
    story(ledger, "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last")
    ran = ledger.run("story verify US-1")
    assert ran.code == 0
    assert len(ran.out) < 1_000_000
    assert ran.lines[1] == "first"
    assert ran.lines[-2:] == ["last", "Story US-1 verification: pass"]
    (mark,) = [line for line in ran.lines if line.startswith("[... ")]
    assert mark.endswith(" characters cut ...]")


def test_output_that_is_no_text_is_shown_as_well_as_it_can_be(ledger: Place) -> None:
    story(ledger, "printf 'a\\377b\\n'")
    assert ledger.run("story verify US-1").lines[1] == "a\ufffdb"
    assert ledger.json("story verify US-1")["output"] == "a\ufffdb\n"


def test_a_command_that_is_killed_has_failed_and_the_signal_is_told(ledger: Place) -> None:
    story(ledger, "kill -9 $$")
    ran = ledger.run("story verify US-1")
    assert ran.code == 1
    assert ran.lines[1:] == ["The command was ended by signal 9 (SIGKILL).", "Story US-1 verification: fail"]


def test_a_command_that_replaces_itself_proves_nothing(either: Place) -> None:
    story(either, "harness-cli story update --id US-1 --verify true")
    ran = either.run("story verify US-1")
    assert ran.code == 1
    assert ran.lines[1:] == [
        "Story US-1 updated.",
        "Its verify command was changed while it ran: nothing was recorded.",
        "Story US-1 verification: fail",
    ]
    assert verdict(either) == (None, False)
    assert either.run("story verify US-1").code == 0


def test_a_harness_cli_inside_a_command_is_no_part_of_the_changeset(either: Place) -> None:
    story(either, "env | grep ^HARNESS_R; harness-cli intake --type maintenance --summary inner --lane tiny")
    env = {"HARNESS_RUN_ID": "outer", "HARNESS_RUN_MODE": "x", "HARNESS_DB_PATH": str(either.database)}
    ran = either.run("story verify US-1", env=env)
    assert (ran.code, ran.lines[1]) == (0, "Intake #1 recorded.")
    assert [line["op"] for line in either.changeset("outer")] == ["changeset.header", "story.verify"]


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_who_stops_the_verification_stops_the_command_and_records_nothing(
    ledger: Place, signum: int, code: int
) -> None:
    story(ledger, "echo $$ > pid.new; mv pid.new pid; sleep 100")
    process = ledger.start("story verify US-1")
    pid = ledger.root / "pid"
    assert eventually(pid.exists)
    os.kill(process.pid, signum)
    process.communicate(timeout=15)
    assert process.returncode == code
    assert not alive(int(pid.read_text("ascii")))
    assert verdict(ledger) == (None, False)


def test_others_can_write_while_a_command_runs(ledger: Place) -> None:
    go = ledger.root / "go"
    os.mkfifo(go)
    story(ledger, 'echo ready > ready; read word < go; test "$word" = done')
    process = ledger.start("story verify US-1")
    assert eventually((ledger.root / "ready").exists)
    ledger.ok("story update --id US-1 --status in_progress")
    go.write_text("done\n", "ascii")
    process.communicate(timeout=15)
    assert process.returncode == 0
    assert ledger.sql("SELECT status, last_verified_result FROM story") == [("in_progress", "pass")]


def test_a_new_command_has_no_verdict_and_the_same_one_keeps_it(either: Place) -> None:
    story(either, "true")
    either.ok("story verify US-1")
    either.ok("story update --id US-1 --verify true --evidence seen")
    assert verdict(either) == ("pass", True)
    either.ok("story update --id US-1 --verify 'true '")
    assert verdict(either) == (None, False)


@pytest.mark.parametrize("command", ["", "   ", "\n\t"])
def test_a_blank_command_is_never_run(either: Place, command: str) -> None:
    story(either, command)
    ran = either.run("story verify US-1")
    assert (ran.code, ran.out) == (1, "")
    assert "has no verify command" in ran.err
    assert "story update" in ran.err
    assert either.ok("story verify-all").splitlines() == [
        "Story US-1: skipped (no verify_command)",
        "1 stories verified: 0 passed, 0 failed, 1 skipped (no verify_command)",
    ]
    assert verdict(either) == (None, False)


def test_an_unknown_story_or_decision_is_told_to_be_unknown(ledger: Place) -> None:
    for noun in ("story", "decision"):
        code, error = ledger.error(f"{noun} verify nobody")
        assert (code, error["code"], "'nobody'" in error["message"]) == (3, "NOT_FOUND", True)


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "1e3", "nan", "99999999999"])
def test_a_time_limit_is_a_number_of_seconds(ledger: Place, seconds: str) -> None:
    story(ledger, "true")
    ran = ledger.run(["story", "verify", "US-1", f"--timeout={seconds}"])
    assert (ran.code, "--timeout" in ran.err) == (1, True)
    assert verdict(ledger) == (None, False)


def test_all_stories_are_verified_in_order_and_counted(either: Place) -> None:
    story(either, "echo b; false", "B")
    story(either, "echo a", "A")
    either.ok("story add --id C --title c --lane tiny")
    ran = either.run("story verify-all")
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines == [
        "Story A: pass",
        "a",
        "Story B: fail",
        "b",
        "Story C: skipped (no verify_command)",
        "3 stories verified: 1 passed, 1 failed, 1 skipped (no verify_command)",
    ]
    assert [verdict(either, name)[0] for name in "ABC"] == ["pass", "fail", None]


def test_without_stories_there_is_nothing_to_fail(either: Place) -> None:
    assert either.ok("story verify-all") == "0 stories verified: 0 passed, 0 failed, 0 skipped (no verify_command)\n"


def test_commands_that_cannot_even_start_do_not_cost_the_verdicts_of_the_others(ledger: Place) -> None:
    for name in "ABCD":
        story(ledger, "true", name)
    ledger.sql("UPDATE story SET verify_command=? WHERE id='B'", "true " + "x" * 200_000)
    ledger.sql("UPDATE story SET verify_command=? WHERE id='C'", "true\0false")
    ran = ledger.run("story verify-all")
    assert ran.code == 1
    assert ran.lines[-1] == "4 stories verified: 2 passed, 2 failed, 0 skipped (no verify_command)"
    assert [line for line in ran.lines if line.startswith("Nothing was recorded: ")]
    assert [verdict(ledger, name)[0] for name in "ABCD"] == ["pass", None, None, "pass"]
    alone = ledger.run("story verify B")
    assert (alone.code, alone.out) == (1, "")
    assert alone.err.startswith("error: ")


def test_the_output_of_many_commands_is_cut_to_what_one_can_read(ledger: Place) -> None:
    for number in range(40):
        story(ledger, "head -c 1000000 /dev/zero | tr '\\0' x", f"US-{number:02}")
    stories = ledger.json("story verify-all")["stories"]
    assert [each["result"] for each in stories] == ["pass"] * 40
    assert sum(len(each["output"]) for each in stories) < 2_100_000
    assert all("characters cut" in each["output"] for each in stories)


def test_each_verdict_is_one_operation_of_the_changeset(ledger: Place) -> None:
    story(ledger, "true", "A")
    story(ledger, "false", "B")
    ledger.run("story verify-all", env={"HARNESS_RUN_ID": "run"})
    ops = [(line["op"], line.get("id"), line["payload"].get("result")) for line in ledger.changeset("run")[1:]]
    assert ops == [("story.verify", "A", "pass"), ("story.verify", "B", "fail")]


def test_a_command_finds_path_and_home_as_they_are(ledger: Place, tmp_path: Path) -> None:
    story(ledger, 'echo "$HOME"; echo "$PATH"; echo "$OTHER"')
    lines = ledger.run("story verify US-1", env={"OTHER": "kept"}).lines
    assert lines[1:4] == [ledger.env["HOME"], ledger.env["PATH"], "kept"]


def test_a_verdict_that_cannot_be_recorded_does_not_take_the_output_with_it(ledger: Place) -> None:
    story(ledger, "echo precious")
    ledger.sql("CREATE TRIGGER broken BEFORE UPDATE ON story BEGIN SELECT raise(ABORT, 'broken'); END")
    ran = ledger.run("story verify US-1")
    assert (ran.code, ran.err) == (1, "")
    assert ran.lines[1:] == [
        "precious",
        f"Nothing was recorded: {ledger.database} does not take it: broken.",
        "Story US-1 verification: fail",
    ]
    assert ledger.run("story verify-all").lines[:2] == ["Story US-1: fail", "precious"]


@pytest.mark.parametrize("words", ["story verify US-1", "story verify-all", "story complete US-1"])
def test_a_bad_run_id_is_told_before_the_command_runs(ledger: Place, words: str) -> None:
    story(ledger, "touch ran")
    ledger.ok("story update --id US-1 --status in_progress")
    ran = ledger.run(words, env={"HARNESS_RUN_ID": "../x"})
    assert (ran.code, ran.out, "HARNESS_RUN_ID" in ran.err) == (1, "", True)
    assert not (ledger.root / "ran").exists()
