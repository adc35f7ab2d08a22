"""The degrade ladder: what the providers of a capability amount to for a runtime."""

from __future__ import annotations

import pytest
from ledgers import Place

from bridoon.ledger.errors import Invalid
from bridoon.ledger.judge.posture import Posture, kinds, note, posture, postures
from bridoon.ledger.registry import registered


def add(place: Place, name: str, status: str, kind: str = "cli", capability: str | None = "impact-analysis") -> None:
    place.sql(
        "INSERT INTO tool (name, command, description, responsibility, kind, capability, status) "
        "VALUES (?, 'x', 'a tool of the tests', 'Verification', ?, ?, ?)",
        name, kind, capability, status,
    )  # fmt: skip


def judged(place: Place, capability: str = "impact-analysis", **options: object) -> Posture:
    with place.ledger.reading() as read:
        return posture(registered(read), capability, **options)  # type: ignore[arg-type]


def names(found: Posture) -> list[list[str]]:
    return [[tool.name for tool in tools] for tools in (found.present, found.missing, found.unknown, found.unusable)]


@pytest.fixture
def place(bare: Place) -> Place:
    bare.make(6)
    return bare


def test_nobody_registered_is_inactive_and_noted_as_such(place: Place) -> None:
    found = judged(place, "Impact Analysis")
    assert found.posture == "inactive"
    assert note(found) == "capability impact-analysis: inactive"


def test_all_present_is_full_and_needs_no_note(place: Place) -> None:
    add(place, "a", "present")
    add(place, "b", "present", "skill")
    found = judged(place)
    assert (found.posture, names(found), note(found)) == ("full", [["a", "b"], [], [], []], "")


def test_some_present_is_degraded_and_the_note_names_who_is_missing(place: Place) -> None:
    add(place, "gitnexus", "present", "mcp")
    add(place, "c3", "missing", "skill")
    found = judged(place)
    assert (found.posture, found.providers) == ("degraded", 2)
    assert note(found) == "Weak proof: impact-analysis (1 of 2 present; missing c3)"


def test_none_present_is_degraded_not_inactive(place: Place) -> None:
    add(place, "c3", "missing")
    assert judged(place).posture == "degraded"


def test_unknown_is_not_present_but_unconfirmed(place: Place) -> None:
    add(place, "a", "present")
    add(place, "b", "unknown")
    add(place, "c", "perhaps")
    found = judged(place)
    assert (found.posture, names(found)) == ("degraded", [["a"], [], ["b", "c"], []])
    assert note(found) == "Weak proof: impact-analysis (1 of 3 present; unconfirmed b, c)"


def test_only_kinds_that_can_be_used_count(place: Place) -> None:
    add(place, "a", "present", "cli")
    add(place, "b", "missing", "skill")
    add(place, "c", "present", "sorcery")
    found = judged(place, can=("cli", "http"))
    assert (found.posture, names(found)) == ("full", [["a"], [], [], ["b", "c"]])
    assert judged(place, can=("http",)).posture == "inactive"


def test_a_present_tool_that_failed_counts_as_missing_for_that_run(place: Place) -> None:
    add(place, "a", "present")
    add(place, "b", "unknown")
    found = judged(place, failed={"a", "b"})
    assert (found.posture, names(found)) == ("degraded", [[], ["a"], ["b"], []])
    assert names(judged(place))[0] == ["a"]


def test_capabilities_are_compared_however_they_are_spelt(place: Place) -> None:
    add(place, "a", "present", capability="Impact Analysis")
    add(place, "b", "present", capability="impact_analysis")
    add(place, "c", "present", capability=None)
    assert names(judged(place))[0] == ["a", "b"]
    with pytest.raises(Invalid):
        judged(place, "impact--analysis!")


def test_all_capabilities_are_judged_by_name(place: Place) -> None:
    add(place, "a", "present", capability="security-scan")
    add(place, "b", "missing", capability="coverage")
    add(place, "c", "present", capability="Coverage")
    add(place, "d", "present", capability="\x00 !")
    with place.ledger.reading() as read:
        found = [(each.capability, each.posture) for each in postures(registered(read))]
    assert found == [("coverage", "degraded"), ("security-scan", "full")]


def test_a_note_is_one_line_whatever_the_names_are(place: Place) -> None:
    add(place, "a\n\x1b[31m" + "x" * 5000, "missing")
    assert note(judged(place)).isprintable()
    assert len(note(judged(place))) < 200


def test_kinds_are_listed_with_commas() -> None:
    assert kinds(None) == ("cli", "binary", "mcp", "skill", "http")
    assert kinds(" CLI, http ,cli") == ("cli", "http")
    for wrong in ("", ",", "cli,sorcery"):
        with pytest.raises(Invalid):
            kinds(wrong)
