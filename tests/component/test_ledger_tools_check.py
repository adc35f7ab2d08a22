"""`tool check`: the database is not held while tools are probed, and only what was probed is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import pytest
from ledgers import Place
from listeners import answering, silent

from bridoon.ledger.errors import Conflict, Invalid, Missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.registry import Tool, registered
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target
from bridoon.ledger.verbs.tool import check_presence

FIELDS = {
    "command": "sh",
    "description": "a tool of the tests",
    "responsibility": "Verification",
    "kind": "cli",
    "capability": "coverage",
}


def add(ledger: Ledger, name: str, **fields: str) -> None:
    with ledger.writing() as write:
        write.do(Op("tool.register", {**FIELDS, **fields}, id=name))


def remove(ledger: Ledger, name: str) -> None:
    with ledger.writing() as write:
        write.do(Op("tool.remove", {}, id=name))


def rows(ledger: Ledger) -> dict[str, Tool]:
    with ledger.reading() as read:
        return {tool.name: tool for tool in registered(read)}


class Meanwhile(Mapping[str, str]):
    """An environment that does something when it is asked for PATH, which is while a command is probed."""

    def __init__(self, values: Mapping[str, str], event: Callable[[], None]) -> None:
        self.values_, self.events = values, [event]

    def __getitem__(self, name: str) -> str:
        if name == "PATH" and self.events:
            self.events.pop()()
        return self.values_[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


def meanwhile(place: Place, event: Callable[[], None]) -> Ledger:
    ledger = place.ledger
    ledger.env = Meanwhile(place.env, event)
    return ledger


def test_verdicts_are_recorded_with_their_time(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "there")
    add(bare.ledger, "gone", command="./absent")
    checked = check_presence(bare.ledger)
    assert [(tool.name, verdict.status) for tool, verdict in checked.found] == [
        ("gone", "missing"),
        ("there", "present"),
    ]
    now = rows(bare.ledger)
    assert (now["there"].status, now["gone"].status) == ("present", "missing")
    assert all(tool.checked_at is not None for tool in now.values())


def test_one_tool_can_be_checked_alone(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "a")
    add(bare.ledger, "b")
    check_presence(bare.ledger, "b")
    assert [tool.checked_at is None for tool in rows(bare.ledger).values()] == [True, False]


def test_a_tool_that_is_removed_meanwhile_is_not_reported_as_checked(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "gone")
    add(bare.ledger, "stays", kind="skill", scan_target=".")
    checked = check_presence(meanwhile(bare, lambda: remove(bare.ledger, "gone")))
    assert [tool.name for tool, _ in checked.found] == ["stays"]
    assert checked.changed == ["gone"]


def test_a_tool_that_is_registered_anew_meanwhile_keeps_its_status(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "other")

    def again() -> None:
        remove(bare.ledger, "other")
        add(bare.ledger, "other", command="./elsewhere")

    checked = check_presence(meanwhile(bare, again))
    assert (checked.found, checked.changed) == ([], ["other"])
    assert rows(bare.ledger)["other"].status == "unknown"


def test_the_database_can_be_written_while_tools_are_probed(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "slow")
    quick = bare.ledger
    quick.wait = 0.1
    check_presence(meanwhile(bare, lambda: add(quick, "new")))
    assert {name: tool.status for name, tool in rows(quick).items()} == {"new": "unknown", "slow": "present"}


def test_only_checks_are_logged_one_line_for_each_tool(bare: Place) -> None:
    bare.make(14)
    with answering() as (_, port), silent() as quiet:
        add(bare.ledger, "a", kind="http", scan_target=f"http://127.0.0.1:{port}")
        add(bare.ledger, "b", kind="http", scan_target=f"http://127.0.0.1:{quiet}")
        bare.env["HARNESS_RUN_ID"] = "run"
        start = time.monotonic()
        check_presence(bare.ledger)
        assert time.monotonic() - start < 3
    header, first, second = bare.changeset("run")
    assert header["op"] == "changeset.header"
    assert (first["op"], first["id"], first["payload"]["status"]) == ("tool.check", "a", "present")
    assert (second["op"], second["id"], second["payload"]["status"]) == ("tool.check", "b", "missing")
    assert second["payload"]["detail"].endswith("(no answer within 2 s)")


def test_checking_nothing_writes_nothing(bare: Place) -> None:
    bare.make(14)
    bare.env["HARNESS_RUN_ID"] = "run"
    assert check_presence(bare.ledger, "nobody") == ([], [])
    assert bare.changeset("run") == []


@pytest.mark.parametrize("version", [6, 8, 9, 14])
def test_every_schema_that_can_be_used_works(bare: Place, version: int) -> None:
    bare.make(version)
    add(bare.ledger, "a")
    check_presence(bare.ledger)
    assert rows(bare.ledger)["a"].status == "present"
    remove(bare.ledger, "a")
    assert rows(bare.ledger) == {}


def test_a_name_is_taken_once(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "a")
    with pytest.raises(Conflict, match="its command is 'sh'"):
        add(bare.ledger, "a")


def test_the_same_registration_from_elsewhere_is_replayed_as_nothing(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "a")
    check_presence(bare.ledger)
    payload = {**dict.fromkeys(("args", "scan_target")), **FIELDS}
    with bare.open() as db:
        target = Target(db, 14, "2026-01-01 00:00:00", replaying=True)
        target.apply(Op("tool.register", payload, id="a", version=2))
        with pytest.raises(Conflict):
            target.apply(Op("tool.register", {**payload, "command": "bash"}, id="a", version=2))
    assert rows(bare.ledger)["a"].status == "present"


def test_operations_on_tools_that_are_not_there_are_refused(bare: Place) -> None:
    bare.make(14)
    for op in (Op("tool.check", {"status": "present"}, id="a"), Op("tool.remove", {}, id="a")):
        with pytest.raises(Missing), bare.ledger.writing() as write:
            write.do(op)
    add(bare.ledger, "a")
    with pytest.raises(Invalid), bare.ledger.writing() as write:
        write.do(Op("tool.check", {"status": "there"}, id="a"))


HOSTILE = [
    ("cli", "sh\0x", None, None),
    ("sorcery\x1b[2J", "x", "y", None),
    (b"\xff\xfe", b"\x00\x01", b"\xff", b"["),
    ("cli", "x" * 1_000_000, "y", "[" * 10_000),
    ("http", "x", "http://" + "h" * 1_000_000, '[{"name":"a\tb"}]'),
    ("http", "x", "http://h:99999999999999999999", "{}"),
    ("skill", "x", "../" * 100_000, "null"),
    ("mcp", "x", "\x1b]0;title\x07", "3"),
    (7, 8, 9, 10),
    (1.5, "x", "y", "z"),
]


def test_rows_of_nonsense_are_checked_and_never_present(bare: Place) -> None:
    bare.make(14)
    for number, (kind, command, target, args) in enumerate(HOSTILE):
        bare.sql(
            "INSERT INTO tool (name, kind, command, scan_target, args, description, responsibility, capability, status) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            f"n{number}", kind, command, target, args, "d", "Verification", "\x00", "perhaps",
        )  # fmt: skip
    for name in ("\x1b[31m", "a\0b", "x" * 1_000_000, "", "new\nline"):
        bare.sql("INSERT INTO tool (name, command, description, responsibility) VALUES (?, './x', 'd', 'v')", name)
    checked = check_presence(bare.ledger)
    assert len(checked.found) == len(HOSTILE) + 5
    assert {verdict.status for _, verdict in checked.found} <= {"missing", "unknown"}
    assert max(len(verdict.detail) for _, verdict in checked.found) < 600


def test_names_that_are_no_text_keep_no_other_tool_from_being_checked(bare: Place) -> None:
    bare.make(14)
    add(bare.ledger, "good")
    for name in ("CAST(x'ff41' AS TEXT)", "NULL", "x'00ff'"):
        bare.sql(f"INSERT INTO tool (name, command, description, responsibility) VALUES ({name}, 'sh', 'd', 'v')")
    checked = check_presence(bare.ledger)
    assert [tool.name for tool, _ in checked.found] == ["good"]
    assert len(checked.changed) == 3
