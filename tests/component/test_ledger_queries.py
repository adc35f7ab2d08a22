"""The listings: columns, order, filters and pages, on a ledger of our own and on one of the oldest schema."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest
from ledgers import Place

from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.cmdline.parse import parse
from bridoon.ledger.errors import Incompatible, Invalid, Missing


@pytest.fixture(params=["ledger", "ledger6"])
def place(request: pytest.FixtureRequest) -> Place:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Place)
    return found


def ask(place: Place, *words: str) -> Answer:
    given = parse(["query", *words])
    assert isinstance(given, Given)
    module, _, function = given.command.body.partition(":")
    answer: Answer = getattr(importlib.import_module(f"bridoon.ledger.verbs.{module}"), function)(place.ledger, given)
    return answer


def table(place: Place, *words: str) -> list[tuple[Any, ...]]:
    text = ask(place, *words).text
    assert isinstance(text, Table)
    return [tuple(text.columns), *map(tuple, text.rows)]


def add_story(place: Place, name: str, **values: Any) -> None:
    columns = {"id": name, "title": name.lower(), "risk_lane": "normal", **values}
    place.sql(f"INSERT INTO story ({','.join(columns)}) VALUES ({','.join('?' * len(columns))})", *columns.values())


def test_empty_tables_have_headings_only(place: Place) -> None:
    assert table(place, "matrix") == [("id", "title", "status", "unit", "integ", "e2e", "plat", "evidence")]
    assert table(place, "backlog") == [("id", "title", "status", "risk", "predicted_impact", "actual_outcome")]
    assert table(place, "decisions") == [("id", "title", "status", "last_verified_at", "last_verified_result")]
    assert table(place, "intakes") == [("id", "created_at", "input_type", "risk_lane", "summary")]
    assert table(place, "traces") == [("id", "created_at", "outcome", "task_summary", "harness_friction")]
    assert table(place, "friction") == [
        ("id", "created_at", "risk_lane", "input_type", "task_summary", "harness_friction")
    ]
    assert table(place, "interventions") == [
        ("id", "created_at", "trace", "story", "type", "source", "description", "impact")
    ]
    assert ask(place, "matrix").data == {"stories": [], "total": 0, "limit": None, "offset": 0}


def test_the_matrix_shows_proofs_by_id(place: Place) -> None:
    add_story(place, "B", unit_proof=1, e2e_proof=7, evidence="log")
    add_story(place, "A", status="implemented")

    assert table(place, "matrix")[1:] == [
        ("A", "a", "implemented", "no", "no", "no", "no", None),
        ("B", "b", "planned", "yes", "no", "no", "no", "log"),
    ]
    assert table(place, "matrix", "--numeric")[2] == ("B", "b", "planned", 1, 0, 7, 0, "log")


def test_the_matrix_can_be_narrowed(place: Place) -> None:
    add_story(place, "A", verify_command="true")
    add_story(place, "B", verify_command=" \t\u2003\n")
    add_story(place, "C", status="retired", verify_command="true")
    add_story(place, "D", status="changed")

    assert [row[0] for row in table(place, "matrix", "--active")[1:]] == ["A", "B", "D"]
    assert [row[0] for row in table(place, "matrix", "--runnable")[1:]] == ["A"]
    assert [row[0] for row in table(place, "matrix", "--story", "C")[1:]] == ["C"]
    assert table(place, "matrix", "--story", "C", "--active")[1:] == []
    assert table(place, "matrix", "--summary", "--story", "A") == [
        ("id", "title", "lane", "status", "runnable", "unit", "integ", "e2e", "plat"),
        ("A", "a", "normal", "planned", "yes", "no", "no", "no", "no"),
    ]


def test_a_story_waits_until_everything_that_blocks_it_is_implemented(ledger: Place) -> None:
    for name, status in (("A", "implemented"), ("B", "planned"), ("C", "planned"), ("D", "planned")):
        add_story(ledger, name, status=status, verify_command="true")
    for blocker, blocked in (("A", "C"), ("B", "C"), ("A", "D")):
        ledger.sql("INSERT INTO story_dependency (story_id, blocks_story_id) VALUES (?, ?)", blocker, blocked)

    assert [row[0] for row in table(ledger, "matrix", "--runnable")[1:]] == ["B", "D"]
    assert [row[-1] for row in table(ledger, "stories")[1:]] == ["no", "yes", "no", "yes"]
    assert ask(ledger, "stories").data["stories"] == ask(ledger, "work-graph").data["stories"]


def test_the_backlog_is_in_order_of_status(place: Place) -> None:
    for title, status in (("a", "rejected"), ("b", "accepted"), ("c", "proposed"), ("d", "accepted")):
        place.sql("INSERT INTO backlog (title, status) VALUES (?, ?)", title, status)

    assert [row[:3] for row in table(place, "backlog")[1:]] == [
        (2, "b", "accepted"), (4, "d", "accepted"), (3, "c", "proposed"), (1, "a", "rejected"),
    ]  # fmt: skip
    assert [row[0] for row in table(place, "backlog", "--open")[1:]] == [2, 4, 3]
    assert [row[0] for row in table(place, "backlog", "--closed")[1:]] == [1]


def test_one_backlog_item_is_shown_with_everything(place: Place) -> None:
    place.sql("INSERT INTO backlog (title, risk, current_pain) VALUES ('a', 'tiny', 'slow')")

    columns, row = table(place, "backlog", "--id", "1")

    assert columns == (
        "id", "uid", "title", "status", "risk", "proposal_key", "predecessor_uid", "resolution_evidence", "resolver",
        "reference_stories",
    )  # fmt: skip
    assert row == (1, None, "a", "proposed", "tiny", None, None, None, None, None)
    assert ask(place, "backlog", "--id", "1").data["backlog"][0]["current_pain"] == "slow"
    with pytest.raises(Missing, match="#7"):
        ask(place, "backlog", "--id", "7")
    with pytest.raises(Invalid, match="query backlog: --id must be an integer"):
        ask(place, "backlog", "--id", "x")


def test_a_backlog_item_names_the_stories_that_resolve_and_mention_it(ledger: Place) -> None:
    ledger.sql("INSERT INTO backlog (title, uid) VALUES ('a', 'blg_1')")
    for name, relationship in (("A", "references"), ("B", "resolves"), ("C", "references")):
        add_story(ledger, name)
        ledger.sql(
            "INSERT INTO story_backlog_link (story_id, backlog_uid, relationship) VALUES (?, 'blg_1', ?)",
            name,
            relationship,
        )

    assert table(ledger, "backlog", "--id", "1")[1][-2:] == ("B", "A, C")
    assert ask(ledger, "backlog", "--id", "1").data["backlog"][0]["reference_stories"] == ["A", "C"]


@pytest.mark.parametrize(
    ("words", "statement"),
    [
        ("intakes", "INSERT INTO intake (input_type, summary, risk_lane) VALUES ('new_spec', ?, 'tiny')"),
        ("traces", "INSERT INTO trace (task_summary) VALUES (?)"),
    ],
)
def test_the_latest_twenty_are_shown_unless_more_are_asked_for(place: Place, words: str, statement: str) -> None:
    with place.open() as db:
        db.executemany(statement, [(f"number {number}",) for number in range(1, 46)])

    answer = ask(place, words)

    assert [row["id"] for row in answer.data[words]] == list(range(45, 25, -1))
    assert answer.data["total"] == 45
    assert answer.note == "showing 1 to 20 of 45; --limit and --offset show others"
    assert [row[0] for row in table(place, words, "--limit", "3", "--offset", "20")[1:]] == [25, 24, 23]
    assert len(table(place, words, "--limit", "100")[1:]) == 45
    assert ask(place, words, "--limit", "100").note == ""
    assert ask(place, words, "--offset", "99").note.startswith("showing none of 45")


def test_pages_have_to_be_numbers_from_nothing_up(place: Place) -> None:
    add_story(place, "A")

    assert ask(place, "matrix", "--limit", "0").data == {"stories": [], "total": 1, "limit": 0, "offset": 0}
    with pytest.raises(Invalid, match="query matrix: --limit must be an integer"):
        ask(place, "matrix", "--limit", "many")
    with pytest.raises(Invalid, match="query traces: --offset must not be less than 0"):
        ask(place, "traces", "--offset=-1")


def test_friction_shows_the_lane_of_the_intake(place: Place) -> None:
    place.sql("INSERT INTO intake (input_type, summary, risk_lane) VALUES ('maintenance', 's', 'tiny')")
    for friction, intake in (("slow", 1), ("none", None), (None, 1)):
        place.sql(
            "INSERT INTO trace (created_at, task_summary, harness_friction, intake_id) VALUES ('t', 'work', ?, ?)",
            friction,
            intake,
        )

    assert table(place, "friction")[1:] == [
        (2, "t", "-", "-", "work", "none"),
        (1, "t", "tiny", "maintenance", "work", "slow"),
    ]
    assert ask(place, "friction").data["friction"][0]["risk_lane"] is None


def test_interventions_are_narrowed_by_everything_that_is_given(place: Place) -> None:
    place.sql("INSERT INTO trace (task_summary) VALUES ('work')")
    for kind, story, trace in (("approval", "A", 1), ("approval", "B", None), ("override", "A", None)):
        place.sql(
            "INSERT INTO intervention (created_at, type, description, source, story_id, trace_id)"
            " VALUES ('t', ?, 'd', 'human', ?, ?)",
            kind,
            story,
            trace,
        )

    assert [row[0] for row in table(place, "interventions")[1:]] == [3, 2, 1]
    assert [row[0] for row in table(place, "interventions", "--type", "approval")[1:]] == [2, 1]
    assert table(place, "interventions", "--type", "approval", "--story", "A", "--trace", "+1")[1:] == [
        (1, "t", 1, "A", "approval", "human", "d", None)
    ]
    assert table(place, "interventions", "--type", "Approval")[1:] == []


def test_stats_counts_the_rows(place: Place) -> None:
    add_story(place, "A")

    assert ask(place, "stats").text == (
        "=== Harness Stats ===\n"
        "intakes  stories  decisions  backlog_items  traces\n"
        "-------  -------  ---------  -------------  ------\n"
        "0        1        0          0              0     "
    )
    assert ask(place, "stats").data == {"intakes": 0, "stories": 1, "decisions": 0, "backlog_items": 0, "traces": 0}


def test_rows_that_another_program_filled_with_anything_are_shown(place: Place) -> None:
    place.sql("INSERT INTO story (id, title, risk_lane, evidence, unit_proof) VALUES ('A', ?, 'tiny', ?, ?)", b"\x00\xff",
              1.5, 9e999)  # fmt: skip
    place.sql("INSERT INTO story (id, title, risk_lane) VALUES ('B', CAST(x'61FF62' AS TEXT), 'tiny')")

    first, second = ask(place, "matrix").data["stories"]

    assert first["title"] == {"blob": "AP8="}
    assert first["unit_proof"] == {"real": "inf"}
    assert second["title"] == "a\ufffdb"


def test_edges_are_in_order_and_found_from_both_ends(ledger: Place) -> None:
    for name in "ABC":
        add_story(ledger, name)
    for first, second in (("B", "C"), ("A", "C"), ("A", "B")):
        ledger.sql("INSERT INTO story_dependency (story_id, blocks_story_id) VALUES (?, ?)", first, second)
        ledger.sql("INSERT INTO story_hierarchy (parent_story_id, child_story_id) VALUES (?, ?)", first, second)

    assert table(ledger, "dependencies") == [("blocker", "blocked"), ("A", "B"), ("A", "C"), ("B", "C")]
    assert table(ledger, "dependencies", "--story", "B")[1:] == [("A", "B"), ("B", "C")]
    assert ask(ledger, "hierarchy").text == "A -> B\nA -> C\nB -> C"
    assert ask(ledger, "hierarchy", "--story", "B").data["hierarchy"] == [
        {"parent": "A", "child": "B"},
        {"parent": "B", "child": "C"},
    ]


def test_edges_need_a_schema_that_has_them(ledger6: Place) -> None:
    for words in ("dependencies", "hierarchy"):
        with pytest.raises(Incompatible, match="needs schema 14; this database has schema 6"):
            ask(ledger6, words)


def test_an_id_cannot_act_on_the_terminal(ledger: Place) -> None:
    for name in ("A\n\x1b[31m", "B"):
        add_story(ledger, name)
    ledger.sql("INSERT INTO story_hierarchy (parent_story_id, child_story_id) VALUES (?, 'B')", "A\n\x1b[31m")

    assert ask(ledger, "hierarchy").text == "A\\n\\x1b[31m -> B"


@pytest.mark.parametrize("version", ["ledger", "ledger6"])
def test_ten_thousand_rows_are_listed_at_once(request: pytest.FixtureRequest, version: str) -> None:
    place = request.getfixturevalue(version)
    with place.open() as db:
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO story (id, title, risk_lane, verify_command) VALUES (?, 'a title', 'normal', 'true')",
            [(f"US-{number:05}",) for number in range(10_000)],
        )
        db.executemany(
            "INSERT INTO trace (task_summary, story_id, harness_friction) VALUES ('work', ?, 'slow')",
            [(f"US-{number:05}",) for number in range(10_000)],
        )
        if version == "ledger":
            db.executemany(
                "INSERT INTO story_dependency (story_id, blocks_story_id) VALUES (?, ?)",
                [(f"US-{number // 3:05}", f"US-{number:05}") for number in range(1, 10_000)],
            )
        db.execute("COMMIT")
    begun = time.process_time()

    assert ask(place, "matrix", "--runnable", "--summary").data["total"] in (1, 10_000)
    assert len(ask(place, "matrix").data["stories"]) == 10_000
    assert len(ask(place, "friction").data["friction"]) == 10_000
    assert len(ask(place, "stories").data["stories"]) == 10_000
    assert time.process_time() - begun < 2.0  # four listings, on any machine
