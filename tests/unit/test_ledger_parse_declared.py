"""What is declared about the ledger's commands holds together."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from bridoon.ledger.cmdline.declared import COMMANDS, GROUPS, names_below
from bridoon.ledger.cmdline.manifest import ORDER, entries
from bridoon.ledger.cmdline.usage import help_text
from bridoon.ledger.vocabulary import RESPONSIBILITIES

SEED = """\
init|Task state|Create the harness database.
migrate|Task state|Apply pending schema migrations.
import brownfield|Project memory|Seed durable records from markdown state.
intake|Task specification|Record a feature intake classification.|type summary lane
story add|Task state|Create a durable story record.|id title lane verify
story update|Task state|Update story status, proof flags, evidence, or verification command.|id status evidence unit
story verify|Verification|Run one story verify_command and record pass/fail.|id
story verify-all|Verification|Run all configured story verification commands and skip stories without one.
decision add|Project memory|Create a durable decision record.|id title doc verify
decision verify|Verification|Run one decision verification command.|id
backlog add|Entropy auditing|Record a harness improvement proposal.|title pain suggestion risk predicted
backlog close|Entropy auditing|Close a backlog item with outcome evidence.|id status outcome
tool register|Tool access|Register an external project tool.|name command description responsibility kind capability scan args force
tool check|Tool access|Scan registered tools and persist present/missing/unknown status.|name json
tool remove|Tool access|Remove a registered external tool.|name
intervention add|Intervention recording|Record a human, reviewer, CI, or agent intervention.|type description source trace story impact
trace|Observability|Record an agent execution trace and print trace quality.|summary
score-trace|Observability|Score trace detail against lane requirements.|id
score-context|Context selection|Score trace reads against compiled context rules.|trace-id
audit|Entropy auditing|Run drift checks and compute entropy score.
propose|Entropy auditing|Generate improvement proposals from friction, interventions, and audit findings.|commit
query matrix|Task state|Show durable story proof matrix.|numeric
query backlog|Entropy auditing|Show harness improvement backlog.|open closed
query decisions|Project memory|Show durable decision records.
query intakes|Task specification|Show recent intake records.
query traces|Observability|Show recent trace records.
query friction|Failure attribution|Show traces with harness friction.
query tools|Tool access|Show compiled and registered tool entries.|json summary responsibility capability status
query interventions|Intervention recording|Show intervention records.|trace story type
query stats|Task state|Show durable record counts.
query sql|Tool access|Run arbitrary SQL against harness.db.|query
db changeset apply|Task state|Apply one semantic changeset idempotently.|path
db rebuild|Task state|Rebuild a fresh harness.db from semantic changesets.|from
"""
"""The outbound manifest as it is documented: command, responsibility, purpose, arguments."""


def test_the_manifest_begins_with_the_documented_commands_in_their_order() -> None:
    rows = [line.split("|") for line in SEED.splitlines()]
    found = entries()[: len(rows)]
    assert len(rows) == 33
    assert [[each.name, each.responsibility, each.purpose] for each in found] == [row[:3] for row in rows]
    for entry, row in zip(found, rows, strict=True):
        assert set(row[3].split() if row[3:] else []) <= {each.name for each in entry.args}, entry.name


def test_every_command_is_in_the_manifest_once() -> None:
    assert sorted(each.name for each in entries()) == sorted(COMMANDS)
    assert len(ORDER) == 33


def test_the_manifest_names_what_is_required_first() -> None:
    for entry in entries():
        required = [each.required for each in entry.args]
        assert required == sorted(required, reverse=True), entry.name
    types = {each.name: (each.type, each.required) for each in _entry("intake").args}
    assert types["type"] == ("string", True)
    assert types["lane"] == ("enum", True)
    assert [each.name for each in _entry("intake").args][:3] == ["type", "summary", "lane"]
    assert [each.name for each in _entry("tool register").args][:2] == ["name", "command"]


def test_the_manifest_says_since_when_there_is_what() -> None:
    found = {each.name: each.since for each in entries()}
    assert found["init"] == found["query matrix"] == "0.1.0"
    assert found["story verify"] == found["decision verify"] == "0.1.6"
    assert found["score-trace"] == found["query friction"] == "0.1.4"
    assert found["story verify-all"] == found["tool register"] == found["audit"] == "0.1.8"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_body_and_serves_a_responsibility(name: str) -> None:
    command = COMMANDS[name]
    module, _, function = command.body.partition(":")
    assert callable(getattr(importlib.import_module(f"bridoon.ledger.verbs.{module}"), function))
    assert command.responsibility in RESPONSIBILITIES


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_programs(name: str) -> None:
    assert "--json" in {option.name for option in COMMANDS[name].options}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_declares_what_its_body_reads_and_reads_what_it_declares(name: str) -> None:
    command = COMMANDS[name]
    source = Path(importlib.import_module(f"bridoon.ledger.verbs.{command.body.partition(':')[0]}").__file__ or "")
    alike = {"query tools": ["--summary"]}  # which asks for what is done anyway
    text = source.read_text("utf-8") + (source.parent / "listing.py").read_text("utf-8")
    unread = [each.name for each in command.options if each.name != "--json" and f'"{each.name}"' not in text]
    unread = [each for each in unread if not re.search(rf'"{each.lstrip("-")}"', text)]
    assert unread == alike.get(name, [])


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_declared_twice_and_every_exclusion_is_about_options(name: str) -> None:
    names = [option.name for option in COMMANDS[name].options]
    assert sorted(set(names)) == sorted(names)
    assert all(each in names for group in COMMANDS[name].together for each in group)


def test_every_group_is_described_and_none_is_a_command() -> None:
    groups = {" ".join(name.split()[:depth]) for name in COMMANDS for depth in range(1, len(name.split()))}
    assert groups == set(GROUPS)
    assert not groups & set(COMMANDS)
    assert names_below("story") == [
        "add", "update", "verify", "verify-all", "complete", "dependency", "hierarchy", "backlog"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", *GROUPS, *COMMANDS])
def test_help_is_no_wider_than_a_hundred_columns(name: str) -> None:
    text = help_text(name)
    assert "usage: harness-cli" in text
    assert [line for line in text.splitlines() if len(line) > 100 and "|" not in line] == []


def test_help_shows_the_words_that_a_value_may_be() -> None:
    assert "--lane <tiny|normal|high-risk>" in help_text("story add")
    assert "--source <human|reviewer|ci|agent>" in help_text("intervention add")


def _entry(name: str):  # type: ignore[no-untyped-def]
    return next(each for each in entries() if each.name == name)
