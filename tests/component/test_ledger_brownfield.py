"""`import brownfield` fills what is empty, overwrites only when told to, and writes everything or nothing."""

from __future__ import annotations

import os
from typing import Any

import pytest
from ledgers import Place

from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.cmdline.parse import parse
from bridoon.ledger.errors import Invalid, LedgerError, Missing
from bridoon.ledger.store.op import Op
from bridoon.ledger.verbs import brownfield

MATRIX = """# Matrix

| Story | Contract | Unit | Integration | E2E | Platform | Status | Evidence |
| --- | --- | --- | --- | --- | --- | --- | --- |
| US-1 | docs/one.md | yes | no | TBD | skipped | implemented | log \\| 7 |
| US-2 |  | no | no | no | no | planned |  |
"""
BACKLOG = """# Backlog
## Items
### Title
Drafts get lost
### Current Pain
Every time
### Risk
tiny
### Status
implemented
### Title
Slow start
"""


@pytest.fixture(params=["ledger", "ledger6"])
def place(request: pytest.FixtureRequest) -> Place:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Place)
    return found


def write(place: Place, matrix: str = MATRIX) -> None:
    place.file("docs/TEST_MATRIX.md", matrix)
    place.file("docs/decisions/0001-use-sqlite.md", "# Use SQLite\n\n## Status\n\nSuperseded by 0002\n")
    place.file("docs/decisions/README.md", "# Not one of them\n")
    place.file("docs/HARNESS_BACKLOG.md", BACKLOG)


def load(place: Place, *words: str) -> Answer:
    given = parse(["import", "brownfield", *words])
    assert isinstance(given, Given)
    return brownfield.load(place.ledger, given)


def stories(place: Place) -> list[Any]:
    columns = "id, title, risk_lane, contract_doc, status, unit_proof, e2e_proof, platform_proof, evidence"
    return place.sql(f"SELECT {columns} FROM story ORDER BY id")


def everything(place: Place) -> list[Any]:
    return [place.sql(f"SELECT * FROM {table}") for table in ("story", "decision", "backlog")]


def test_what_the_documents_say_becomes_rows(place: Place) -> None:
    write(place)

    answer = load(place)

    assert answer.text == (
        "Brownfield import complete.\n"
        "Stories imported or updated: 2\n"
        "Decisions imported or updated: 1\n"
        "Backlog items discovered: 2"
    )
    assert stories(place) == [
        ("US-1", "docs/one.md", "high_risk", "docs/one.md", "implemented", 1, 0, 0, "log | 7"),
        ("US-2", "US-2", "high_risk", None, "planned", 0, 0, 0, None),
    ]
    assert place.sql("SELECT id, title, status, doc_path FROM decision") == [
        ("0001-use-sqlite", "Use SQLite", "superseded", "docs/decisions/0001-use-sqlite.md")
    ]
    assert place.sql("SELECT title, current_pain, risk, status, implemented_at IS NULL FROM backlog ORDER BY id") == [
        ("Drafts get lost", "Every time", "tiny", "implemented", 0),
        ("Slow start", None, None, "proposed", 1),
    ]


def test_a_second_import_changes_nothing_and_is_no_operation(place: Place) -> None:
    write(place)
    place.env["HARNESS_RUN_ID"] = "run"
    load(place)
    before, lines = everything(place), place.changeset("run")

    for words in ([], ["--refresh"]):
        data = load(place, *words).data
        assert data["stories"] == {"seen": 2, "added": 0, "updated": 0, "unchanged": 2}
        assert data["decisions"] == {"seen": 1, "added": 0, "updated": 0, "unchanged": 1}
        assert data["backlog"] == {"seen": 2, "added": 0, "updated": 0, "unchanged": 2}

    assert everything(place) == before
    assert place.changeset("run") == lines
    assert [line["op"] for line in lines[1:]] == [
        "import.story", "import.story", "import.decision", "backlog.add", "backlog.close", "backlog.add",
    ]  # fmt: skip


def test_what_is_there_keeps_everything_and_only_what_is_empty_is_filled(place: Place) -> None:
    write(place)
    place.sql(
        "INSERT INTO story (id, title, risk_lane, status, e2e_proof, verify_command, evidence)"
        " VALUES ('US-1', 'Mine', 'tiny', 'changed', 1, 'true', '')"
    )
    place.sql("INSERT INTO decision (id, title, status) VALUES ('0001-use-sqlite', 'Mine', 'accepted')")

    data = load(place).data

    assert stories(place)[0] == ("US-1", "Mine", "tiny", "docs/one.md", "changed", 0, 1, 0, "log | 7")
    assert place.sql("SELECT title, status, doc_path, notes FROM decision") == [
        ("Mine", "accepted", "docs/decisions/0001-use-sqlite.md", None)
    ]
    assert data["stories"] == {"seen": 2, "added": 1, "updated": 1, "unchanged": 0}


def test_with_refresh_the_documents_win_but_for_lane_and_verification(place: Place) -> None:
    write(place)
    place.sql(
        "INSERT INTO story (id, title, risk_lane, status, e2e_proof, verify_command, last_verified_result, evidence)"
        " VALUES ('US-2', 'Mine', 'tiny', 'changed', 1, 'true', 'pass', 'mine')"
    )

    load(place, "--refresh")

    assert stories(place)[1] == ("US-2", "US-2", "tiny", None, "planned", 0, 0, 0, None)
    assert place.sql("SELECT verify_command, last_verified_result FROM story WHERE id='US-2'") == [("true", "pass")]


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("import.story", {"status": "done"}),
        ("import.story", {"risk_lane": "low"}),
        ("import.decision", {"status": "done"}),
    ],
)
def test_an_operation_with_words_that_do_not_exist_is_refused(place: Place, name: str, changed: dict[str, str]) -> None:
    status = "planned" if name == "import.story" else "accepted"
    payload = {"title": "t", "status": status, "risk_lane": "tiny", **changed}

    with pytest.raises(Invalid, match=r"an imported (story|decision) cannot"), place.ledger.writing() as write_:
        write_.do(Op(name, payload, id="X"))

    assert everything(place) == [[], [], []]


def test_a_refreshing_operation_leaves_alone_what_it_does_not_name(place: Place) -> None:
    place.sql("INSERT INTO story (id, title, risk_lane, unit_proof, evidence) VALUES ('A', 'a', 'tiny', 1, 'e')")

    with place.ledger.writing() as write_:
        write_.do(Op("import.story", {"title": "b", "status": "changed", "risk_lane": "normal", "refresh": 1}, id="A"))

    assert stories(place) == [("A", "b", "tiny", None, "changed", 1, 0, 0, None)]


def test_items_whose_titles_are_there_are_not_added_again(place: Place) -> None:
    write(place)
    place.sql("INSERT INTO backlog (title, status) VALUES ('Slow start', 'rejected')")

    assert load(place).data["backlog"] == {"seen": 2, "added": 1, "updated": 0, "unchanged": 1}
    assert place.sql("SELECT title, status FROM backlog ORDER BY id") == [
        ("Slow start", "rejected"),
        ("Drafts get lost", "implemented"),
    ]


def test_without_a_backlog_there_are_no_items(place: Place) -> None:
    write(place)
    os.remove(place.root / "docs/HARNESS_BACKLOG.md")

    assert load(place).data["backlog"]["seen"] == 0


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("docs/TEST_MATRIX.md", "there is no file docs/TEST_MATRIX.md"),
        ("docs/decisions", "there is no directory docs/decisions"),
    ],
)
def test_a_document_that_is_missing_is_named_and_nothing_is_written(place: Place, broken: str, says: str) -> None:
    write(place)
    os.rename(place.root / broken, place.root / "elsewhere")

    with pytest.raises(Missing, match=says):
        load(place)

    assert everything(place) == [[], [], []]


@pytest.mark.parametrize(
    ("path", "content", "says"),
    [
        ("docs/TEST_MATRIX.md", b"| a |\n| \xff |\n", "docs/TEST_MATRIX.md line 2 is not UTF-8"),
        ("docs/decisions/0002-b.md", b"# B\n\nx\n\xc3", "docs/decisions/0002-b.md line 4 is not UTF-8"),
        ("docs/HARNESS_BACKLOG.md", b"## Items\r\n### Title\r\na\0b\r\n", "docs/HARNESS_BACKLOG.md line 3 holds a NUL"),
        ("docs/TEST_MATRIX.md", "| a |".encode("utf-16"), "docs/TEST_MATRIX.md line 1 is not UTF-8"),
    ],
)
def test_what_is_no_text_is_named_with_its_line_and_nothing_is_written(
    place: Place, path: str, content: bytes, says: str
) -> None:
    write(place)
    (place.root / path).write_bytes(content)

    with pytest.raises(Invalid, match=says):
        load(place)

    assert everything(place) == [[], [], []]


def test_what_is_no_file_is_not_waited_for(ledger: Place) -> None:
    write(ledger)
    os.remove(ledger.root / "docs/HARNESS_BACKLOG.md")
    os.mkfifo(ledger.root / "docs/HARNESS_BACKLOG.md")

    with pytest.raises(LedgerError, match=r"docs/HARNESS_BACKLOG.md is no regular file"):
        load(ledger)


def test_a_failure_in_the_middle_leaves_nothing(ledger: Place) -> None:
    write(ledger)
    ledger.sql("CREATE TRIGGER no BEFORE INSERT ON backlog BEGIN SELECT RAISE(ABORT, 'not today'); END")

    with pytest.raises(LedgerError):
        load(ledger)

    assert everything(ledger) == [[], [], []]


@pytest.mark.timeout(60)
def test_ten_thousand_rows_are_imported_and_left_alone_the_next_time(ledger: Place) -> None:
    row = "| US-{} | c | yes | no | no | no | planned | evidence of {} |\n"
    write(ledger, MATRIX + "".join(row.format(number, number) for number in range(10, 10_010)))

    assert load(ledger).data["stories"] == {"seen": 10_002, "added": 10_002, "updated": 0, "unchanged": 0}
    assert load(ledger, "--refresh").data["stories"]["unchanged"] == 10_002


def test_a_long_cell_and_characters_of_a_terminal_are_kept_as_they_are(place: Place) -> None:
    long = "x" * 1_000_000
    write(place, MATRIX + f"| US-3 | \x1b[31m | no | no | no | no | planned | {long} |\r\n")

    load(place)

    assert place.sql("SELECT title, evidence FROM story WHERE id = 'US-3'") == [("\x1b[31m", long)]
