"""Applying changesets: each as a whole, once, inside one transaction, and what is said when it cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ledgers import Place

HEAD = {"base_schema_version": 6, "op": "changeset.header", "run_id": "theirs", "version": 1}
ADD = {"op": "story.add", "version": 1, "id": "US-1", "payload": {"title": "t", "risk_lane": "tiny"}}
START = {"op": "story.update", "version": 1, "id": "US-1", "payload": {"status": "in_progress"}}
RUN = {"HARNESS_RUN_ID": "mine"}


def write(ledger: Place, *lines: Any, name: str = "theirs") -> str:
    """A changeset outside the place of our own ones."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return str(ledger.file(f"in/{name}.changeset.jsonl", text))


def test_a_changeset_is_applied_once(ledger: Place) -> None:
    path = write(ledger, HEAD, ADD, START)
    assert ledger.ok(["db", "changeset", "apply", path]) == "Changeset theirs applied (2 operation(s)).\n"
    assert ledger.ok(["db", "changeset", "apply", path]) == "Changeset theirs already applied; skipped.\n"
    assert ledger.sql("SELECT id, status FROM story") == [("US-1", "in_progress")]
    assert ledger.sql("SELECT id, path FROM changeset_applied") == [("theirs", path)]


def test_the_state_of_a_changeset_can_be_asked_for(ledger: Place) -> None:
    path = write(ledger, HEAD, ADD)
    before = ledger.json(["db", "changeset", "status", path])
    assert (before["id"], before["applied"], before["operation_count"]) == ("theirs", False, 1)
    assert ledger.json(["db", "changeset", "apply", path])["result"] == "applied"
    assert ledger.json(["db", "changeset", "apply", path])["result"] == "already-applied"
    after = ledger.json(["db", "changeset", "status", path])
    assert after == {**before, "applied": True}
    assert ledger.value("SELECT content_sha256 FROM changeset_applied") == after["content_sha256"]


def test_a_run_id_that_stands_for_other_bytes_is_a_conflict(ledger: Place) -> None:
    ledger.ok(["db", "changeset", "apply", write(ledger, HEAD, ADD)])
    other = write(ledger, HEAD, {**ADD, "id": "US-2"}, START)
    for command in (["apply"], ["apply", "--grown"], ["status"]):
        code, error = ledger.error(["db", "changeset", *command, other])
        assert (code, error["code"], error["details"]["changeset_id"]) == (3, "CONFLICT", "theirs")
    assert ledger.value("SELECT status FROM story") == "planned"


def test_a_changeset_that_has_grown_goes_on_when_that_is_asked_for(ledger: Place) -> None:
    ledger.ok(["db", "changeset", "apply", write(ledger, HEAD, ADD)])
    grown = write(ledger, HEAD, ADD, START)
    ran = ledger.run(["db", "changeset", "apply", grown])
    assert (ran.code, ran.out) == (1, "")
    assert "--grown" in ran.err
    assert "1 of them applied" in ledger.ok(["db", "changeset", "status", grown])
    assert ledger.ok(["db", "changeset", "apply", "--grown", grown]) == "Changeset theirs applied (1 operation(s)).\n"
    assert ledger.value("SELECT status FROM story") == "in_progress"
    for more in ([], ["--grown"]):
        assert ledger.ok(["db", "changeset", "apply", *more, grown]) == "Changeset theirs already applied; skipped.\n"
    assert ledger.json(["db", "changeset", "status", grown])["applied"] is True


def test_a_changeset_that_has_grown_and_names_rows_by_their_numbers_is_refused(ledger: Place) -> None:
    intake = {"op": "intake.add", "version": 1, "id": 1, "payload": {
        "input_type": "new_spec", "summary": "s", "risk_lane": "tiny"}}  # fmt: skip
    ledger.ok(["db", "changeset", "apply", write(ledger, HEAD, intake)])
    ran = ledger.run(["db", "changeset", "apply", "--grown", write(ledger, HEAD, intake, {**intake, "id": 2})])
    assert ran.code == 1
    assert "rebuild" in ran.err
    assert ledger.value("SELECT count(*) FROM intake") == 1


def test_two_people_take_over_each_others_changesets_as_they_grow(ledger: Place, tmp_path: Path) -> None:
    anna, bert = ledger, Place(tmp_path / "bert")
    bert.ok("init")
    for turn in range(3):
        for one, other, name in ((anna, bert, "anna"), (bert, anna, "bert")):
            run = {"HARNESS_RUN_ID": name}
            one.ok(f"story add --id {name}-{turn} --title t --lane tiny", env=run)
            one.ok(f"intake --type maintenance --summary {turn} --lane tiny", env=run)
            if turn:
                one.ok(f"story update --id {name}-{turn - 1} --status in_progress", env=run)
            pulled = other.changesets / f"{name}.changeset.jsonl"
            pulled.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(one.changesets / pulled.name, pulled)
            for path in sorted(other.changesets.iterdir()):
                other.ok(["db", "changeset", "apply", "--grown", str(path)])
    rows = "SELECT id, status, created_at FROM story ORDER BY id"
    assert anna.sql(rows) == bert.sql(rows)
    assert anna.value("SELECT count(*) FROM story") == 6
    uids = "SELECT uid FROM intake ORDER BY uid"
    assert anna.sql(uids) == bert.sql(uids)


def test_the_changeset_that_was_written_here_is_skipped(ledger: Place) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny", env=RUN)
    ledger.ok("story update --id US-1 --status in_progress", env=RUN)
    own = ".harness/changesets/mine.changeset.jsonl"
    assert ledger.ok(["db", "changeset", "apply", own]) == "Changeset mine already applied; skipped.\n"
    assert ledger.json(["db", "changeset", "status", own])["applied"] is True


def test_our_own_run_with_other_operations_is_a_conflict(ledger: Place) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny", env=RUN)
    own = ledger.changesets / "mine.changeset.jsonl"
    own.write_text(own.read_text().replace('"t"', '"T"'))
    code, error = ledger.error(["db", "changeset", "apply", str(own)])
    assert (code, error["code"]) == (3, "CONFLICT")


@pytest.mark.parametrize(
    "bad",
    [
        {**START, "id": "US-2"},
        {"op": "story.verify", "version": 1, "id": "US-2", "payload": {"result": "pass"}},
        {"op": "decision.verify", "version": 1, "id": "D", "payload": {"result": "pass"}},
        {"op": "backlog.close", "version": 1, "id": 7, "payload": {"status": "rejected"}},
        {"op": "tool.check", "version": 1, "id": "x", "payload": {"status": "present"}},
        {"op": "tool.remove", "version": 1, "id": "x", "payload": {}},
        {"op": "trace.add", "version": 1, "id": 1, "payload": {"task_summary": "s", "intake_id": 9}},
        {"op": "trace.add", "version": 1, "id": 1, "payload": {"task_summary": "s", "story_id": "US-2"}},
        {"op": "intake.add", "version": 1, "id": 1,
         "payload": {"input_type": "nonsense", "summary": "s", "risk_lane": "tiny"}},
        {"op": "tool.register", "version": 1, "id": "\ud800",
         "payload": {"command": "x", "description": "d" * 20, "responsibility": "Verification", "kind": "cli"}},
        {**ADD, "payload": {"title": 1, "risk_lane": "tiny"}},
        ADD,
    ],
)  # fmt: skip
def test_a_bad_line_changes_nothing_and_is_named(ledger: Place, bad: dict[str, Any]) -> None:
    path = write(ledger, HEAD, ADD, bad, START)
    ran = ledger.run(["db", "changeset", "apply", path])
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: {path}:3: ")
    assert "Traceback" not in ran.err
    assert ledger.value("SELECT count(*) FROM story") == 0
    assert ledger.value("SELECT count(*) FROM changeset_applied") == 0
    assert ledger.value("SELECT count(*) FROM bridoon_run") == 0
    assert ledger.error(["db", "changeset", "apply", path])[1]["details"]["line"] == 3


def test_the_file_is_read_before_the_database_is_looked_for(bare: Place) -> None:
    assert "no changeset at gone" in bare.run("db changeset apply gone").err
    path = write(bare, HEAD, "no object")
    assert f"{path}:2: " in bare.run(["db", "changeset", "apply", path]).err
    assert "no ledger" in bare.run(["db", "changeset", "apply", write(bare, HEAD)]).err
    assert not bare.database.exists()


def test_local_ids_of_independent_runs_do_not_meet(ledger: Place) -> None:
    for run, summary in (("a", "first"), ("b", "second")):
        lines = [
            {**HEAD, "run_id": run},
            {"op": "intake.add", "version": 1, "id": 1,
             "payload": {"input_type": "maintenance", "summary": summary, "risk_lane": "tiny"}},
            {"op": "trace.add", "version": 1, "id": 1, "payload": {"task_summary": summary, "intake_id": 1}},
            {"op": "intervention.add", "version": 1, "id": 1,
             "payload": {"trace_id": 1, "type": "override", "description": summary, "source": "ci"}},
            {"op": "backlog.add", "version": 1, "id": 1, "payload": {"title": summary}},
            {"op": "backlog.close", "version": 1, "id": 1, "payload": {"status": "rejected", "actual_outcome": run}},
        ]  # fmt: skip
        ledger.ok(["db", "changeset", "apply", write(ledger, *lines, name=run)])
    joined = ledger.sql(
        "SELECT intake.summary, trace.task_summary, intervention.description FROM trace "
        "JOIN intake ON intake.id = trace.intake_id JOIN intervention ON intervention.trace_id = trace.id ORDER BY 1"
    )
    assert joined == [("first",) * 3, ("second",) * 3]
    assert ledger.sql("SELECT title, actual_outcome FROM backlog ORDER BY id") == [("first", "a"), ("second", "b")]


def test_an_old_database_takes_operations_of_version_1_alone(ledger6: Place) -> None:
    ledger6.ok(["db", "changeset", "apply", write(ledger6, HEAD, ADD)])
    assert "already applied" in ledger6.ok(["db", "changeset", "apply", write(ledger6, HEAD, ADD)])
    assert ledger6.error(["db", "changeset", "apply", write(ledger6, HEAD, ADD, START)])[1]["code"] == "CONFLICT"
    newer = {**START, "version": 2}
    ran = ledger6.run(["db", "changeset", "apply", write(ledger6, {**HEAD, "run_id": "b"}, newer, name="b")])
    assert "b.changeset.jsonl:2: story.update of version 2 needs schema 14" in ran.err
    assert "migrate" in ran.err
    edge = {"op": "story.dependency.add", "version": 1, "id": "US-1", "payload": {"blocked": "US-1"}}
    ran = ledger6.run(["db", "changeset", "apply", write(ledger6, {**HEAD, "run_id": "c"}, edge, name="c")])
    assert (ran.code, ran.out) == (1, "")
    assert "c.changeset.jsonl:2: " in ran.err


def test_a_row_that_was_changed_in_between_is_a_conflict_with_its_revisions(ledger: Place) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny")
    ledger.ok("story update --id US-1 --status in_progress")
    expecting = {**START, "version": 3, "expected_revision": 0}
    code, error = ledger.error(["db", "changeset", "apply", write(ledger, HEAD, expecting)])
    details = error["details"]
    assert (code, error["code"]) == (3, "CONFLICT")
    assert {name: details[name] for name in ("changeset_id", "entity_kind", "entity_id")} == {
        "changeset_id": "theirs", "entity_kind": "story", "entity_id": "US-1",
    }  # fmt: skip
    assert (details["expected_revision"], details["actual_revision"]) == (0, 1)
    ledger.ok(["db", "changeset", "apply", write(ledger, HEAD, {**expecting, "expected_revision": 1})])
    assert ledger.value("SELECT revision FROM story") == 2


def test_changesets_say_which_revision_they_change_when_that_is_wanted(ledger: Place, tmp_path: Path) -> None:
    env = {**RUN, "HARNESS_CHANGESET_REVISIONS": "1"}
    ledger.ok("story add --id US-1 --title t --lane tiny", env=env)
    ledger.ok("story update --id US-1 --status in_progress", env=env)
    ledger.ok("backlog add --title b", env=env)
    ledger.ok("backlog close --id 1 --outcome o", env=env)
    ledger.ok("story update --id US-1 --unit 1", env=env)
    ledger.ok("story update --id US-1 --unit 0", env=RUN)
    said = [(line["version"], line.get("expected_revision")) for line in ledger.changeset("mine")[1:]]
    assert said == [(2, None), (3, 0), (2, None), (3, 0), (3, 1), (2, None)]
    copy = Place(tmp_path / "copy")
    copy.ok("init")
    copy.ok(["db", "changeset", "apply", str(ledger.changesets / "mine.changeset.jsonl")])
    assert copy.value("SELECT revision FROM story") == 3


def test_nothing_is_appended_to_a_changeset_while_one_is_applied(ledger: Place) -> None:
    ledger.ok(["db", "changeset", "apply", write(ledger, HEAD, ADD, START)], env=RUN)
    assert not ledger.changesets.exists()


def test_a_run_that_was_applied_from_its_own_file_goes_on_in_it(ledger: Place, tmp_path: Path) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny", env=RUN)
    copy = Place(tmp_path / "copy")
    copy.ok("init")
    shutil.copytree(ledger.changesets, copy.changesets)
    own = ".harness/changesets/mine.changeset.jsonl"
    copy.ok(["db", "changeset", "apply", own])
    copy.ok("story update --id US-1 --status in_progress", env=RUN)
    assert [line["op"] for line in copy.changeset("mine")] == ["changeset.header", "story.add", "story.update"]
    assert "already applied" in copy.ok(["db", "changeset", "apply", own])
    code, error = copy.error(["db", "changeset", "apply", str(ledger.root / own)])
    assert (code, error["code"]) == (3, "CONFLICT")


def test_a_changeset_of_a_program_that_keeps_no_hash_is_skipped_by_its_id(ledger6: Place) -> None:
    ledger6.sql("INSERT INTO changeset_applied (id, path) VALUES ('theirs', 'x')")
    assert "already applied" in ledger6.ok(["db", "changeset", "apply", write(ledger6, HEAD, ADD)])


def test_of_several_processes_that_apply_one_file_one_applies_it(ledger: Place) -> None:
    path = write(ledger, HEAD, ADD, START)
    running = [ledger.start(["db", "changeset", "apply", path]) for _ in range(8)]
    told = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0] * 8
    assert sorted(told) == sorted(
        [b"Changeset theirs applied (2 operation(s)).\n"] + [b"Changeset theirs already applied; skipped.\n"] * 7
    )
