"""Words, lists and numbers that mean nothing are told apart from those that do, the same way by every command."""

from __future__ import annotations

import pytest
from ledgers import Place

BLANKS = (" ", "\t", " \n\t", "\u2003")
TOOL = "tool register --name t --command ls --description 'Lists files' --responsibility verification"


@pytest.mark.parametrize("blank", BLANKS)
def test_a_blank_verify_command_is_none_for_the_audit_as_it_is_for_verify(ledger: Place, blank: str) -> None:
    ledger.ok("story add --id S --title s --lane tiny --verify", blank)
    ledger.ok("decision add --id D --title d --verify", blank)
    assert "1 skipped" in ledger.ok("story verify-all")
    assert ledger.run("decision verify D").code == 1
    counts = {each["name"]: each["count"] for each in ledger.json("audit")["categories"]}
    assert (counts["unverified_stories"], counts["unverified_decisions"]) == (0, 0)
    assert [each["title"] for each in ledger.json("propose")["proposals"]] == [
        "Clean up orphaned planned or in-progress stories"
    ]


@pytest.mark.parametrize("blank", ["", *BLANKS])
def test_a_blank_list_is_no_list(ledger: Place, blank: str) -> None:
    ledger.ok("intake --type new-spec --summary s --lane tiny", "--flags", blank, "--docs", blank)
    lists = ("--actions", "--read", "--changed", "--decisions", "--errors")
    ledger.ok("trace --summary s", *(word for option in lists for word in (option, blank)))
    assert ledger.sql("SELECT risk_flags, affected_docs FROM intake") == [(None, None)]
    columns = "actions_taken, files_read, files_changed, decisions_made, errors"
    assert ledger.sql(f"SELECT {columns} FROM trace") == [(None,) * 5]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("decision add --id D --title d --status", "decision add: --status"),
        ("backlog close --id 1 --status", "backlog close: --status"),
        ("backlog outcome record --id 1 --outcome o --status", "backlog outcome record: --status"),
        ("story update --id S --status", "story update: --status"),
        ("trace --summary s --outcome", "trace: --outcome"),
        ("intervention add --description d --source ci --type", "intervention add: --type"),
        ("intervention add --description d --type override --source", "intervention add: --source"),
        ("story backlog link --story S --backlog 1 --relationship", "story backlog link: --relationship"),
        ("backlog reconcile --dry-run --action", "backlog reconcile: --action"),
        (f"{TOOL} --kind", "tool register: --kind"),
    ],
)
@pytest.mark.parametrize("word", ["", "frob"])
def test_a_word_that_is_none_of_those_that_are_possible_is_refused_even_an_empty_one(
    ledger: Place, words: str, option: str, word: str
) -> None:
    ledger.ok("backlog add --title b")
    ledger.ok("story add --id S --title s --lane tiny")
    ran = ledger.run(words, word)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: {option} cannot be '{word}'\n  one of: ")
    assert ledger.value("SELECT status FROM backlog") == "proposed"
    assert [ledger.value(f"SELECT count(*) FROM {each}") for each in ("decision", "trace", "intervention", "tool")] == [
        0, 0, 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("trace --summary s --intake 7", "intake"),
        ("score-trace --id 7", "trace"),
        ("score-context 7", "trace"),
        ("intervention add --type override --description d --source ci --trace 7", "trace"),
        ("backlog close --id 7", "backlog item"),
        ("backlog outcome record --id 7 --status confirmed --outcome o", "backlog item"),
        ("story backlog link --story S --backlog 7 --relationship references", "backlog item"),
        ("story backlog unlink --story S --backlog 7", "backlog item"),
        ("query backlog --id 7", "backlog item"),
    ],
)
def test_a_row_that_is_not_there_is_named_by_its_number(ledger: Place, words: str, what: str) -> None:
    ledger.ok("story add --id S --title s --lane tiny")
    ledger.ok("trace --summary 'the only one'")
    ran = ledger.run(words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"error: there is no {what} #7\n  harness-cli query ")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("init --version", "harness-cli init --help says how it is called"),
        ("intake --summ x", "did you mean '--summary'?"),
        ("query stats --jsn", "did you mean '--json'?"),
    ],
)
def test_an_option_that_shares_no_more_than_its_dashes_is_no_guess(ledger: Place, words: str, hint: str) -> None:
    ran = ledger.run(words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[1] == f"  {hint}"
