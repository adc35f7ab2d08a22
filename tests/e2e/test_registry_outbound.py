"""The outbound manifest: every command of the registry's page is there, with its purpose and its arguments."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from ledgers import Place
from requirements import requirement


class Row(NamedTuple):
    name: str
    responsibility: str
    purpose: str
    arguments: tuple[str, ...] = ()


ROWS = [
    Row("init", "Task state", "Create the harness database."),
    Row("migrate", "Task state", "Apply pending schema migrations."),
    Row("import brownfield", "Project memory", "Seed durable records from markdown state."),
    Row("intake", "Task specification", "Record a feature intake classification.", ("type", "summary", "lane")),
    Row("story add", "Task state", "Create a durable story record.", ("id", "title", "lane", "verify")),
    Row(
        "story update",
        "Task state",
        "Update story status, proof flags, evidence, or verification command.",
        ("id", "status", "unit", "integration", "e2e", "platform", "evidence", "verify"),
    ),
    Row("story verify", "Verification", "Run one story verify_command and record pass/fail.", ("id",)),
    Row(
        "story verify-all",
        "Verification",
        "Run all configured story verification commands and skip stories without one.",
    ),
    Row("decision add", "Project memory", "Create a durable decision record.", ("id", "title", "doc", "verify")),
    Row("decision verify", "Verification", "Run one decision verification command.", ("id",)),
    Row(
        "backlog add",
        "Entropy auditing",
        "Record a harness improvement proposal.",
        ("title", "pain", "suggestion", "risk", "predicted"),
    ),
    Row(
        "backlog close",
        "Entropy auditing",
        "Close a backlog item with outcome evidence.",
        ("id", "status", "outcome"),
    ),
    Row(
        "tool register",
        "Tool access",
        "Register an external project tool.",
        ("name", "command", "description", "responsibility", "kind", "capability", "scan", "args", "force"),
    ),
    Row(
        "tool check",
        "Tool access",
        "Scan registered tools and persist present/missing/unknown status.",
        ("name", "json"),
    ),
    Row("tool remove", "Tool access", "Remove a registered external tool.", ("name",)),
    Row(
        "intervention add",
        "Intervention recording",
        "Record a human, reviewer, CI, or agent intervention.",
        ("type", "description", "source", "trace", "story", "impact"),
    ),
    Row("trace", "Observability", "Record an agent execution trace and print trace quality.", ("summary",)),
    Row("score-trace", "Observability", "Score trace detail against lane requirements.", ("id",)),
    Row("score-context", "Context selection", "Score trace reads against compiled context rules.", ("trace-id",)),
    Row("audit", "Entropy auditing", "Run drift checks and compute entropy score."),
    Row(
        "propose",
        "Entropy auditing",
        "Generate improvement proposals from friction, interventions, and audit findings.",
        ("commit",),
    ),
    Row("query matrix", "Task state", "Show durable story proof matrix.", ("numeric",)),
    Row("query backlog", "Entropy auditing", "Show harness improvement backlog.", ("open", "closed")),
    Row("query decisions", "Project memory", "Show durable decision records."),
    Row("query intakes", "Task specification", "Show recent intake records."),
    Row("query traces", "Observability", "Show recent trace records."),
    Row("query friction", "Failure attribution", "Show traces with harness friction."),
    Row(
        "query tools",
        "Tool access",
        "Show compiled and registered tool entries.",
        ("json", "summary", "responsibility", "capability", "status"),
    ),
    Row(
        "query interventions", "Intervention recording", "Show intervention records.", ("trace", "story", "type")
    ),
    Row("query stats", "Task state", "Show durable record counts."),
    Row("query sql", "Tool access", "Run arbitrary SQL against harness.db.", ("query",)),
    Row("db changeset apply", "Task state", "Apply one semantic changeset idempotently.", ("path",)),
    Row("db rebuild", "Task state", "Rebuild a fresh harness.db from semantic changesets.", ("from",)),
]  # fmt: skip


@pytest.fixture
def manifest(ledger: Place) -> dict[str, dict[str, object]]:
    return {each["name"]: each for each in json.loads(ledger.run("query tools --json").out)}


@requirement("manifest:commands", "manifest:two-kinds")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_a_command_of_the_page_is_in_the_manifest_and_on_the_command_line(
    row: Row, ledger: Place, manifest: dict[str, dict[str, object]]
) -> None:
    found = manifest[row.name]
    assert (found["responsibility"], found["description"]) == (row.responsibility, row.purpose)
    assert (found["source"], found["status"], found["kind"]) == ("compiled", "present", "builtin")
    arguments = found["args"]
    assert isinstance(arguments, list)
    assert set(row.arguments) <= {str(each["name"]) for each in arguments}
    told = ledger.run([*row.name.split(), "--help"])
    assert (told.code, told.err) == (0, "")
    assert row.purpose in told.out


@requirement("manifest:commands")
def test_the_commands_of_the_page_come_first_and_in_its_order(manifest: dict[str, dict[str, object]]) -> None:
    page = [row.name for row in ROWS]
    assert list(manifest)[: len(page)] == page
    assert len(page) == 33


@requirement("manifest:two-kinds")
def test_compiled_and_registered_tools_are_told_apart(ledger: Place) -> None:
    ledger.run(
        "tool register --name init --command sh --description 'Named like a command' --responsibility Verification"
    )
    found = [each for each in json.loads(ledger.run("query tools --json").out) if each["name"] == "init"]
    assert [each["source"] for each in found] == ["compiled", "registered"]
    assert all(each["source"] == "registered" for each in _with_capability(ledger))


def _with_capability(ledger: Place) -> list[dict[str, object]]:
    ledger.run(
        "tool register --name x --command sh --description 'Something that helps' --responsibility Verification "
        "--capability coverage"
    )
    found: list[dict[str, object]] = json.loads(ledger.run("query tools --json --capability coverage").out)
    assert found
    return found
