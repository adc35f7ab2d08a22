"""`story`: what is to be built, how far it is, and whether its verify command passes."""

from __future__ import annotations

from typing import Any

from bridoon.errors import BridoonError, UsageError
from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import Conflict, Invalid, missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.show.cell import plain
from bridoon.ledger.show.text import clean
from bridoon.ledger.store.cells import word
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.workgraph import blockers, runnable_sql
from bridoon.ledger.store.write import Write

TEXTS = {"status": "--status", "evidence": "--evidence", "verify_command": "--verify", "contract_doc": "--contract"}
PROOFS = {
    "unit_proof": "--unit",
    "integration_proof": "--integration",
    "e2e_proof": "--e2e",
    "platform_proof": "--platform",
}
EXPECTED, RUNNABLE = "--expected-status", "--require-runnable"
ALL_OUTPUT = 2_000_000
"""Characters of output that `story verify-all` shows of all commands together."""
EACH_OUTPUT = 64_000
"""Characters that it shows of one."""


def add(ledger: Ledger, given: Given) -> Answer:
    """Record a story."""
    name = given.text("--id")
    if not name.strip():
        raise Invalid("story add: --id is empty", "give it a name, such as US-001")
    payload = {
        "title": given.text("--title"),
        "risk_lane": vocabulary.lane(given.text("--lane"), "story add: --lane"),
        "contract_doc": given.get("--contract"),
        "verify_command": given.get("--verify"),
        "notes": given.get("--notes"),
    }
    with ledger.writing() as write:
        write.do(Op("story.add", payload, id=name))
    return Answer(f"Story {clean(name)} added.", {"id": name, "status": "planned"})


def update(ledger: Ledger, given: Given) -> Answer:
    """Change what is given of a story; with --expected-status, only if it is still where it was thought to be."""
    _check_options(given)
    name = given.text("--id")
    changes: dict[str, Any] = {field: given.get(option) for field, option in TEXTS.items()}
    changes |= {
        field: vocabulary.proof(given.get(option), f"story update: {option}") for field, option in PROOFS.items()
    }
    if all(value is None for value in changes.values()):
        raise Invalid("story update: there is nothing to update", "give one of " + ", ".join(_options()))
    for option in ("--status", EXPECTED):
        if given.has(option):
            vocabulary.one_of(given.text(option), vocabulary.STORY_STATUSES, f"story update: {option} cannot be")
    with ledger.writing() as write:
        before, runnable = _standing(write, name)
        if given.has(EXPECTED):
            _compare(write, given, before, runnable)
        # The contract is a field of the second version of this operation, which needs no newer table.
        write.do(Op("story.update", changes, id=name, version=0 if changes["contract_doc"] is None else 2))
        after = changes["status"] or before
        warning = _unproven(write, name) if changes["status"] == "implemented" else ""
    data = {"id": name, "before_status": before, "after_status": after, "runnable_before": runnable}
    return Answer(f"Story {clean(name)} updated.", data, warning=warning)


def verify(ledger: Ledger, given: Given) -> Answer:
    """Run the verify command of a story and record its verdict."""
    from bridoon.ledger import verify as commands

    name = given.text("id")
    timeout = commands.time_limit(ledger, given.get("--timeout"), "story verify: --timeout")
    command, verdict = commands.verify(ledger, "story", name, timeout)
    text = f"Running: {command}\n{verdict.text}Story {clean(name)} verification: {verdict.result}"
    return Answer(text, {"id": name, "verify_command": command, **verdict.data}, int(not verdict.passed))


def verify_all(ledger: Ledger, given: Given) -> Answer:
    """Run the verify commands of all stories, one after the other, and record each verdict at once."""
    from bridoon.ledger import verify as commands

    timeout = commands.time_limit(ledger, given.get("--timeout"), "story verify-all: --timeout")
    with ledger.reading() as read:
        stories = read.all("SELECT id, verify_command FROM story ORDER BY id")
    counts = {"pass": 0, "fail": 0, "skipped": 0}
    parts, data, room = [], [], ALL_OUTPUT
    for own, command in stories:
        name = word(own)
        if commands.is_blank(command):
            counts["skipped"] += 1
            parts.append(f"Story {clean(name)}: skipped (no verify_command)\n")
            data.append({"id": name, "verify_command": plain(command), "result": "skipped"})
            continue
        try:
            verdict = commands.run(ledger, command, timeout, min(room, EACH_OUTPUT))
        except BridoonError as wrong:
            verdict = commands.Verdict(False).unrecorded(f"Nothing was recorded: {wrong}.")
        else:
            verdict = commands.record(ledger, "story", name, command, verdict)
        room -= min(room, len(verdict.output))
        counts[verdict.result] += 1
        parts.append(f"Story {clean(name)}: {verdict.result}\n{verdict.text}")
        data.append({"id": name, "verify_command": command, **verdict.data})
    passed, failed, skipped = counts.values()
    last = f"{len(stories)} stories verified: {passed} passed, {failed} failed, {skipped} skipped (no verify_command)"
    sums = {"total": len(stories), "passed": passed, "failed": failed, "skipped": skipped}
    return Answer("".join(parts) + last, {"stories": data, **sums}, int(failed > 0))


def _options() -> list[str]:
    return [*TEXTS.values(), *PROOFS.values()]


def _check_options(given: Given) -> None:
    """The options that belong together. Raises UsageError."""
    if not (given.has(EXPECTED) or given.has(RUNNABLE)):
        return
    if not given.json:
        raise UsageError(f"{EXPECTED} and {RUNNABLE} are for programs: they need --json", "add --json")
    if not (given.has("--status") and given.has(EXPECTED)):
        raise UsageError(f"a status is compared and set with both --status and {EXPECTED}", "give both")
    others = [option for option in _options() if option != "--status" and given.has(option)]
    if others:
        raise UsageError(f"with {EXPECTED} nothing but the status can change, not {', '.join(others)}")


def _compare(write: Write, given: Given, status: str, runnable: bool) -> None:
    """Raise Conflict unless the story is as the caller thinks, and may be set to what he wants."""
    name, expected = given.text("--id"), given.text(EXPECTED)
    if status != expected:
        raise Conflict(
            f"story {name[:80]!r} is {status}, not {expected}",
            "look at it again before you change it",
            expected_status=expected,
            actual_status=status,
        )
    if given.has(RUNNABLE) and not runnable:
        waits = blockers(write, name)
        why = f"it waits for {', '.join(waits[:10])}" if waits else "it is not planned, or has no verify command"
        raise Conflict(f"story {name[:80]!r} is not runnable: {why}", blockers=waits)
    if given.text("--status") == "implemented":
        raise Conflict(
            f"story {name[:80]!r} becomes implemented by its completion here", "harness-cli story complete ID --json"
        )


def _standing(write: Write, name: str) -> tuple[str, bool]:
    """The status of a story, and whether it is runnable. Raises Missing."""
    runnable, values = runnable_sql(write)
    row = write.one(f"SELECT status, {runnable} FROM story WHERE id=?", *values, name)
    if row is None:
        raise missing("story", name)
    return str(row[0]), bool(row[1])


def _unproven(write: Write, name: str) -> str:
    """What to tell when a story counts as implemented and its verify command has not passed."""
    command, result = write.one("SELECT verify_command, last_verified_result FROM story WHERE id=?", name)
    if not word(command).strip() or result == "pass":
        return ""
    from shlex import quote

    return (
        f"story {clean(name)} counts as implemented, but its verify command has not passed; "
        f"to run it: harness-cli story verify {quote(clean(name))}"
    )
