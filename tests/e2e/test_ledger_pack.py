"""Loop and ledger together, as a person sees them: from a project without one to a trace that tells what was weak."""

from __future__ import annotations

from ledger_runs import Book
from project import Project, bash, call
from requirements import requirement


@requirement("registry:never-blocks")
def test_without_a_ledger_nothing_is_said_and_nothing_is_written(project: Project) -> None:
    before = sorted(path.name for path in project.dir.rglob("*"))
    result = project.say("hello there", calls=[bash("true")])
    assert (result.code, result.stderr) == (0, "")
    assert not any(event["type"] == "notice" for event in result.events)
    assert "capability" not in result.requests[0]["system"]
    assert sorted(path.name for path in project.dir.rglob("*")) == before
    assert not (project.home / ".harness" / ".ledger").exists()


@requirement("registry:check-at-start")
def test_a_run_refreshes_the_presence_of_tools(project: Project) -> None:
    book = Book(project)
    book.register("here", "ls", capability="coverage")
    book.register("gone", "no-such-program-anywhere", capability="coverage")
    book.register("c3", "skill:c3", capability="impact-analysis", kind="skill")
    assert {status for (status,) in book.sql("SELECT status FROM tool")} == {"unknown"}
    assert project.say().code == 0
    assert book.sql("SELECT name, status FROM tool ORDER BY name") == [
        ("c3", "unknown"),
        ("gone", "missing"),
        ("here", "present"),
    ]
    assert "coverage: degraded - here (cli, present), gone (cli, missing)" in project.say().requests[-1]["system"]


@requirement("registry:agent-policy")
def test_the_trace_tells_of_capabilities_that_were_not_whole(project: Project) -> None:
    book = Book(project)
    book.register("gitnexus", "ls", capability="impact-analysis")
    book.register("c3", "no-such-program-anywhere", capability="impact-analysis")
    book.register("whole", "ls", capability="coverage")
    book.cli("tool", "check")
    names = ("impact-analysis", "coverage", "security-scan")
    assert project.say("look around", calls=[call("capability", name=name) for name in names]).code == 0
    notes = book.trace()["notes"].splitlines()
    assert notes[:2] == [
        "Weak proof: impact-analysis (1 of 2 present; missing c3)",
        "capability security-scan: inactive",
    ]
    assert not any("coverage" in line for line in notes)
    assert "look around" in book.cli("query", "traces")
