"""The changeset of a run is complete, whenever the process before died and whatever happened to the file since."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ledgers import Place, bound_by_modes

from bridoon.ledger.store.outbox import compare, header

RUN = {"HARNESS_RUN_ID": "mine"}
OWN = "mine.changeset.jsonl"


def crashed(ledger: Place, *, base: int) -> tuple[bytes, bytes]:
    """Bring the ledger into the state between commit and append: two lines wait that the file has not got.

    `base` operations have been appended before. Returns the file as it was, and as it has to become.
    """
    for number in range(base):
        ledger.ok(f"story add --id OLD-{number} --title t --lane tiny", env=RUN)
    own = ledger.changesets / OWN
    before = own.read_bytes() if base else b""
    rows = ledger.sql("SELECT run_id, size FROM bridoon_run")
    for story in ("A", "B"):
        ledger.ok(f"story add --id {story} --title t --lane tiny", env=RUN)
    whole = own.read_bytes()
    lines = whole.decode().splitlines()[1 + base :]
    with ledger.open() as db:
        for ordinal, line in enumerate(lines, base + 1):
            db.execute("INSERT INTO bridoon_outbox (run_id, ordinal, line) VALUES ('mine', ?, ?)", (ordinal, line))
        db.execute("UPDATE bridoon_run SET size=?", (rows[0][1] if rows else -1,))
    return before, whole


@pytest.mark.parametrize("base", [0, 3])
def test_a_process_may_die_after_any_byte_that_it_appended(ledger: Place, base: int) -> None:
    before, whole = crashed(ledger, base=base)
    lines = [line.encode() for _, line in ledger.sql("SELECT seq, line FROM bridoon_outbox ORDER BY seq")]
    known = len(before) if base else -1
    for end in range(len(before), len(whole) + 1):
        start, text = compare(whole[:end], lines, header("mine", 14).encode(), known)
        assert whole[:start] + text == whole


@pytest.mark.parametrize("base", [0, 2])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_the_next_command_completes_the_file(ledger: Place, base: int, part: float) -> None:
    before, whole = crashed(ledger, base=base)
    own = ledger.changesets / OWN
    own.write_bytes(whole[: len(before) + int(part * (len(whole) - len(before)))])
    ledger.ok("query stats")
    assert own.read_bytes() == whole
    assert ledger.value("SELECT count(*) FROM bridoon_outbox") == 0
    ledger.ok("query stats")
    assert own.read_bytes() == whole
    assert "already applied" in ledger.ok(["db", "changeset", "apply", str(own)])


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_a_file_that_is_gone_is_begun_anew(ledger: Place, part: float) -> None:
    before, whole = crashed(ledger, base=2)
    own = ledger.changesets / OWN
    head = whole[: whole.index(b"\n") + 1]
    anew = head + whole[len(before) :]
    own.unlink()
    if part:
        own.write_bytes(anew[: int(part * len(anew))])
    ledger.ok("query stats")
    assert own.read_bytes() == anew


@pytest.mark.parametrize("ours", ["absent", "half", "whole"])
@pytest.mark.parametrize("ended", [True, False])
def test_lines_that_somebody_appended_stay_and_ours_are_there_once(ledger: Place, ours: str, ended: bool) -> None:
    before, whole = crashed(ledger, base=2)
    own = ledger.changesets / OWN
    foreign = b'{"op":"tool.remove","id":"theirs","version":1,"payload":{}}' + (b"\n" if ended else b"")
    first = whole[len(before) :].index(b"\n") + 1
    there = {"absent": b"", "half": whole[len(before) : len(before) + first], "whole": whole[len(before) :]}[ours]
    own.write_bytes(before + there + foreign)
    ledger.ok("query stats")
    ledger.ok("query stats")
    lines = own.read_bytes().splitlines()
    assert lines.count(foreign.strip()) == 1
    assert all(lines.count(line) == 1 for line in whole.splitlines())
    assert len(lines) == len(whole.splitlines()) + 1


def test_a_line_is_not_repeated_in_a_file_that_was_merged(ledger: Place) -> None:
    _, whole = crashed(ledger, base=2)
    own = ledger.changesets / OWN
    shuffled = whole.splitlines(keepends=True)
    own.write_bytes(b"".join([shuffled[0], *reversed(shuffled[1:])]))
    ledger.ok("query stats")
    assert sorted(own.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_equal_operations_of_version_1_are_all_kept(ledger6: Place) -> None:
    ledger6.ok("story add --id A --title t --lane tiny --verify true", env=RUN)
    for _ in range(3):
        ledger6.ok("story verify A", env=RUN)
    lines = ledger6.changeset("mine")
    assert lines[2] == lines[3] == lines[4]
    assert len(lines) == 5
    assert lines[0]["base_schema_version"] == 6


def test_a_read_only_directory_keeps_the_row_and_the_next_command_writes_the_line(ledger: Place) -> None:
    ledger.prefix = bound_by_modes()
    ledger.changesets.mkdir(parents=True)
    ledger.changesets.chmod(0o500)
    ran = ledger.run("story add --id A --title t --lane tiny", env=RUN)
    assert (ran.code, ran.out) == (0, "Story A added.\n")
    assert ran.err.startswith("warning: ")
    assert ledger.value("SELECT count(*) FROM story") == 1
    ledger.changesets.chmod(0o700)
    assert ledger.run("query stats").err == ""
    assert [line["op"] for line in ledger.changeset("mine")] == ["changeset.header", "story.add"]


@pytest.mark.parametrize("run_id", ["../../../x", "a/b", "x" * 200, ".hidden", "a b", "a\nb", b"\xff\xfe"])
def test_a_run_id_never_becomes_a_path_outside_its_folder(ledger: Place, run_id: str | bytes) -> None:
    ran = ledger.run("story add --id A --title t --lane tiny", env={"HARNESS_RUN_ID": os.fsdecode(run_id)})
    assert (ran.code, ran.out) == (1, "")
    assert "HARNESS_RUN_ID" in ran.err
    assert "Traceback" not in ran.err
    assert ledger.value("SELECT count(*) FROM story") == 0
    assert not (ledger.root / ".harness").exists()
    assert not list(ledger.root.parent.glob("**/x*.jsonl"))
    assert ledger.run("query stats", env={"HARNESS_RUN_ID": os.fsdecode(run_id)}).code == 0


def test_a_changeset_that_is_a_link_is_not_followed(ledger: Place, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    ledger.changesets.mkdir(parents=True)
    (ledger.changesets / OWN).symlink_to(victim)
    assert "warning" in ledger.run("story add --id A --title t --lane tiny", env=RUN).err
    assert victim.read_text() == "keep"
    (ledger.changesets / OWN).unlink()
    ledger.ok("query stats")
    assert len(ledger.changeset("mine")) == 2


def test_a_failed_write_leaves_neither_row_nor_file(ledger: Place) -> None:
    ledger.ok("story add --id A --title t --lane tiny")
    assert ledger.run("story add --id A --title t --lane tiny", env=RUN).code == 1
    assert not ledger.changesets.exists()
    assert ledger.value("SELECT count(*) FROM bridoon_run") == 0


def test_lines_are_compact_json_with_sorted_keys(ledger: Place) -> None:
    ledger.ok(["story", "add", "--id", "Ä 1", "--title", 'a\t"b"', "--lane", "tiny"], env=RUN)
    line = (ledger.changesets / OWN).read_text("utf-8").splitlines()[1]
    assert line == json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert "Ä 1" in line
