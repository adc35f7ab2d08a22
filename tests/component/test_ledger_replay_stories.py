"""Operations on stories and what hangs on them, carried out again: by another copy, a second time, or written by others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from ledgers import Place

from bridoon.ledger.errors import Conflict, Invalid, LedgerError, Missing
from bridoon.ledger.store import schema
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target

NOW, THEN = "2026-02-02 00:00:00", "2026-01-01 00:00:00"


@pytest.fixture(params=[14, 6])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """An empty ledger in memory, of the newest schema and of the oldest that we work with."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("PRAGMA foreign_keys=ON")
    schema.fill(db, request.param)
    yield Target(db, request.param, NOW, replaying=True)
    db.close()


@pytest.fixture
def newest() -> Iterator[Target]:
    """An empty ledger of the newest schema, in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.execute("PRAGMA foreign_keys=ON")
    schema.fill(db)
    yield Target(db, schema.NEWEST, NOW, replaying=True)
    db.close()


def story(target: Target, name: str = "S", **fields: Any) -> None:
    target.apply(Op("story.add", {"title": "t", "risk_lane": "tiny", **fields}, id=name))


def item(target: Target, uid: str = "blg_1", **fields: Any) -> int | None:
    return target.apply(Op("backlog.add", {"title": "b", **fields}, uid=uid))


def test_what_is_added_gets_the_recorded_time_or_else_the_present(target: Target) -> None:
    story(target, "A", created_at=THEN)
    story(target, "B")
    target.apply(Op("decision.add", {"title": "d", "status": "accepted", "created_at": THEN}, id="D"))
    target.apply(Op("backlog.add", {"title": "b"}, id=1))
    target.apply(Op("story.verify", {"result": "pass", "verified_at": THEN}, id="A"))
    target.apply(Op("story.verify", {"result": "fail"}, id="B"))
    assert target.all("SELECT created_at, last_verified_at FROM story ORDER BY id") == [(THEN, THEN), (NOW, NOW)]
    assert target.all("SELECT created_at FROM decision UNION ALL SELECT created_at FROM backlog") == [(THEN,), (NOW,)]


@pytest.mark.parametrize(
    ("op", "error"),
    [
        (Op("story.add", {"title": "t", "risk_lane": "tiny"}, id="S"), Conflict),
        (Op("story.add", {"title": "t", "risk_lane": "small"}, id="T"), Invalid),
        (Op("story.update", {"status": "done"}, id="S"), Invalid),
        (Op("story.update", {"unit_proof": 2}, id="S"), Invalid),
        (Op("story.update", {"status": "planned"}, id="T"), Missing),
        (Op("story.verify", {"result": "maybe"}, id="S"), Invalid),
        (Op("story.verify", {"result": "pass"}, id="T"), Missing),
        (Op("story.complete", {"result": "pass"}, id="S"), Conflict),
        (Op("story.complete", {"result": "pass"}, id="T"), Missing),
        (Op("decision.add", {"title": "t", "status": "accepted"}, id="D"), Conflict),
        (Op("decision.add", {"title": "t", "status": "done"}, id="E"), Invalid),
        (Op("decision.verify", {"result": "pass"}, id="E"), Missing),
        (Op("backlog.add", {"title": "t", "risk": "small"}, id=2), Invalid),
        (Op("backlog.close", {"status": "implemented"}, id=2), Missing),
        (Op("backlog.close", {"status": "done"}, id=1), Invalid),
        (Op("intervention.add", {"type": "x", "description": "d", "source": "ci"}, id=1), Invalid),
        (Op("intervention.add", {"type": "override", "description": "d", "source": "x"}, id=1), Invalid),
        (
            Op("intervention.add", {"type": "override", "description": "d", "source": "ci", "trace_id": 5}, id=1),
            Missing,
        ),
    ],
)
def test_what_the_rows_do_not_allow_is_refused_in_plain_words(target: Target, op: Op, error: type[LedgerError]) -> None:
    story(target)
    target.apply(Op("decision.add", {"title": "d", "status": "accepted"}, id="D"))
    target.apply(Op("backlog.add", {"title": "b"}, id=1))
    before = list(target.db.iterdump())
    with pytest.raises(error) as caught:
        target.apply(op)
    assert "constraint" not in str(caught.value).lower()
    assert list(target.db.iterdump()) == before


def test_numbers_of_another_copy_become_numbers_of_this_one(target: Target) -> None:
    target.db.execute("INSERT INTO backlog (id, title) VALUES (1, 'ours')")
    target.apply(Op("backlog.add", {"title": "theirs"}, id=1))
    target.apply(Op("backlog.close", {"status": "rejected"}, id=1))
    assert target.all("SELECT title, status FROM backlog") == [("ours", "proposed"), ("theirs", "rejected")]


def test_an_intervention_follows_its_trace_by_number_or_identity(newest: Target) -> None:
    newest.db.execute("INSERT INTO trace (id, task_summary, uid) VALUES (7, 't', 'trc_7')")
    newest.remember("trace", 1, 7)
    fields = {"type": "override", "description": "d", "source": "ci"}
    newest.apply(Op("intervention.add", {**fields, "trace_id": 1}, id=1))
    newest.apply(Op("intervention.add", {**fields, "trace_uid": "trc_7"}, uid="int_2"))
    assert newest.all("SELECT trace_id FROM intervention") == [(7,), (7,)]
    with pytest.raises(Missing):
        newest.apply(Op("intervention.add", {**fields, "trace_uid": "trc_8"}, uid="int_3"))


def test_what_has_an_identity_is_added_once(newest: Target) -> None:
    fields = {"type": "override", "description": "d", "source": "ci"}
    for _ in range(2):
        assert item(newest) == 1
        assert newest.apply(Op("intervention.add", fields, uid="int_1")) == 1
    assert newest.one("SELECT count(*) FROM backlog") == newest.one("SELECT count(*) FROM intervention") == (1,)


def test_a_proposal_is_open_once(newest: Target) -> None:
    item(newest, proposal_key="k")
    with pytest.raises(Conflict, match="#1"):
        item(newest, "blg_2", proposal_key="k")
    newest.apply(Op("backlog.close", {"status": "rejected"}, uid="blg_1"))
    item(newest, "blg_2", proposal_key="k")
    with pytest.raises(Conflict):
        newest.apply(Op("backlog.close", {"status": "proposed"}, uid="blg_1"))


def test_edges_and_links_that_are_there_change_nothing(newest: Target) -> None:
    story(newest, "A")
    story(newest, "B", verify_command="true")
    item(newest)
    newest.apply(Op("backlog.close", {"status": "accepted"}, uid="blg_1"))
    once = [
        Op("story.dependency.add", {"blocked": "B", "created_at": THEN}, id="A"),
        Op("story.hierarchy.add", {"child": "B", "created_at": THEN}, id="A"),
        Op("story.backlog.link", {"backlog_uid": "blg_1", "relationship": "resolves", "linked_at": THEN}, id="B"),
    ]
    for op in once:
        newest.apply(op)
    newest.apply(Op("story.verify", {"result": "pass"}, id="B"))
    before = list(newest.db.iterdump())
    for op in once:
        newest.apply(op._replace(payload={**op.payload, "created_at": NOW, "linked_at": NOW}))
    newest.apply(Op("story.dependency.remove", {"blocked": "A"}, id="B"))
    newest.apply(Op("story.backlog.unlink", {"backlog_uid": "blg_1"}, id="A"))
    assert list(newest.db.iterdump()) == before


def test_only_its_resolver_completes_an_item_and_only_once(newest: Target) -> None:
    story(newest)
    story(newest, "T")
    item(newest)
    done = Op("backlog.complete", {"story_id": "S", "resolution_evidence": '{"story_id":"S"}'}, uid="blg_1")
    with pytest.raises(Conflict):
        newest.apply(done)
    newest.apply(Op("backlog.close", {"status": "accepted"}, uid="blg_1"))
    newest.apply(Op("story.backlog.link", {"backlog_uid": "blg_1", "relationship": "resolves"}, id="S"))
    with pytest.raises(Conflict):
        newest.apply(done._replace(payload={**done.payload, "story_id": "T"}))
    newest.apply(done)
    before = list(newest.db.iterdump())
    newest.apply(done)
    assert list(newest.db.iterdump()) == before
    assert newest.one("SELECT status, closed_at, implemented_at FROM backlog") == ("implemented", NOW, NOW)


TABLES = (
    "story",
    "decision",
    "story_dependency",
    "story_hierarchy",
    "story_backlog_link",
    "backlog",
    "intervention",
)


def test_a_changeset_rebuilds_the_same_rows(ledger: Place) -> None:
    for words in (
        "story add --id A --title a --lane tiny --verify true --notes n",
        "story add --id B --title b --lane normal --contract c.md",
        "story update --id A --status in_progress --unit 1 --evidence e --contract d.md",
        "story update --id B --verify true",
        "story verify-all",
        "story dependency add --blocker A --blocked B",
        "story hierarchy add --parent B --child A",
        "story hierarchy remove --parent B --child A",
        "story hierarchy add --parent A --child B",
        "decision add --id D --title d --verify false --predicted p",
        "decision verify D",
        "backlog add --title one --risk tiny",
        "backlog add --title two",
        "backlog add --title three",
        "backlog close --id 1 --status accepted",
        "backlog close --id 2 --outcome o",
        "backlog close --id 3 --status rejected",
        "backlog close --id 3 --status proposed",
        "story backlog link --story A --backlog 1 --relationship references",
        "story backlog link --story A --backlog 1 --relationship resolves",
        "story backlog link --story B --backlog 2 --relationship references",
        "story backlog link --story B --backlog 3 --relationship references",
        "story backlog unlink --story B --backlog 3",
        "intake --type harness-improvement --summary s --lane tiny --story A",
        "trace --summary 'all is done' --intake 1 --story A --outcome completed --actions a --changed f",
        "intervention add --type override --description d --source ci --trace 1",
        "story complete A",
    ):
        ledger.run(words, env={"HARNESS_RUN_ID": "run"})
    before = {table: ledger.sql(f"SELECT * FROM {table}") for table in TABLES}
    assert all(before.values())
    assert ledger.value("SELECT status FROM story WHERE id='A'") == "implemented"
    ledger.database.unlink()
    ledger.ok("db rebuild --from .harness/changesets")
    assert {table: ledger.sql(f"SELECT * FROM {table}") for table in TABLES} == before
