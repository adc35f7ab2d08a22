"""What a person and a model are shown of registered tools that others made, before and after a yes."""

from __future__ import annotations

import json
import shutil

import pytest
from fakes.terminal import AtTerminal
from ledger_runs import Book, git
from project import Project, Result, call, hs

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

TOOL = "tool theirs (cli): ./scripts/theirs.sh {word}"
SCRIPT = '#!/bin/sh\ntouch "$(dirname "$0")/RAN"\necho "theirs $*"\n'


@pytest.fixture
def book(project: Project) -> Book:
    project.file("scripts/theirs.sh", SCRIPT, 0o755)
    return Book(project)


def pull(project: Project, book: Book, name: str, command: str, run: str = "theirs") -> None:
    """Let a colleague register a tool, and apply their changeset here."""
    mine = {path: path.read_bytes() for path in project.dir.glob("harness.db*")}
    project.env["HARNESS_RUN_ID"] = run
    book.register(name, command, args="word:string:optional", capability="coverage")
    del project.env["HARNESS_RUN_ID"]
    for path in project.dir.glob("harness.db*"):
        path.unlink()
    for path, content in mine.items():
        path.write_bytes(content)
    book.cli("db", "changeset", "apply", f".harness/changesets/{run}.changeset.jsonl")


@pytest.fixture
def pulled(project: Project, book: Book) -> Book:
    book.register("mine", "sh {word}", args="word:string:optional", capability="coverage")
    book.cli("tool", "check")
    pull(project, book, "theirs", "./scripts/theirs.sh {word}")
    return book


def committed(project: Project, *paths: str) -> None:
    git(project.dir, "init", "-q")
    git(project.dir, "add", "-f", *paths)
    git(project.dir, "commit", "-qm", "x")


def notices(result: Result) -> list[str]:
    return [str(event["text"]) for event in result.events if event["type"] == "notice"]


# ---- before a yes


@pytest.mark.parametrize("words", [(), (".",)], ids=["here", "named"])
def test_hs_trust_lists_tools_of_colleagues_and_what_they_run(
    project: Project, pulled: Book, words: tuple[str, ...]
) -> None:
    shown = project.run("trust", "--dry-run", *words).stdout.splitlines()
    assert shown == [f"{project.harness} holds:", f"  {TOOL}"]
    [found] = json.loads(project.run("trust", "--dry-run", "--json", *words).stdout)["directories"]
    assert found == {"path": str(project.harness), "would_run": [TOOL]}
    assert project.run("trust", *words).stdout.splitlines()[-1] == f"trusted: {project.harness}"
    assert project.say(calls=[call("theirs", word="x")]).results == ["theirs x"]


def test_hs_trust_lists_all_tools_of_a_database_that_came_with_a_checkout(project: Project, pulled: Book) -> None:
    committed(project, ".")
    shown = project.run("trust", "--dry-run").stdout.splitlines()
    assert shown == [f"{project.harness} holds:", "  tool mine (cli): sh {word}", f"  {TOOL}"]


def test_hs_trust_lists_no_tools_that_it_would_not_release(project: Project, pulled: Book) -> None:
    pulled.path.chmod(0o666)
    assert project.run("trust", "--dry-run").stdout == "nothing here waits for trust\n"
    pulled.path.chmod(0o644)
    other = project.dir.parent / "other"
    (other / ".harness").mkdir(parents=True)
    assert "holds nothing that would run" in project.run("trust", "--dry-run", str(other)).stdout


def test_what_a_tool_says_is_one_clean_line_of_the_listing(project: Project, pulled: Book) -> None:
    pulled.sql("UPDATE tool SET command=? WHERE name='theirs'", "x\x1b[2J\n\u202e" + "y" * 100_000)
    shown = project.run("trust", "--dry-run").stdout
    assert len(shown.splitlines()) == 2
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert shown.rstrip().endswith("y…")
    assert len(shown) < 500


def test_a_terminal_is_asked_with_the_tools_in_the_list(project: Project, pulled: Book) -> None:
    committed(project, ".harness")
    script = project.script([{"calls": [call("theirs", word="x")]}, {"say": "done"}])
    words = [hs(), "-p", "scripted", "go"]
    with AtTerminal(words, {**project.env, "BRIDOON_SCRIPT": script}, project.dir) as terminal:
        terminal.wait_for("Answer")
        assert TOOL in terminal.shown
        terminal.type("1\n")
        assert terminal.wait() == 0
    assert (project.dir / "scripts" / "RAN").exists()
    assert not any("theirs" in text for text in notices(project.say())), "the question told of it"


def test_a_tool_that_is_not_trusted_counts_for_nothing_and_says_so(project: Project, pulled: Book) -> None:
    result = project.say(calls=[call("capability", name="coverage"), call("theirs"), call("mine", word="scripts/x")])
    assert "- coverage: full - mine (cli, present), theirs (cli, not trusted)" in result.requests[0]["system"]
    told, missing = result.results[:2]
    assert told.startswith("capability coverage: full - mine (cli, present), theirs (cli, not trusted)\n")
    assert "[./scripts/theirs.sh {word}; not trusted: it came in a changeset" in told
    assert missing.startswith("error: tool 'theirs' not found: not trusted: it came in a changeset")
    assert f"until a person says hs trust {project.dir}" in missing
    [notice] = [text for text in notices(result) if "came in a changeset" in text]
    assert f"a tool of {pulled.path} (theirs) came in a changeset" in notice
    assert not (project.dir / "scripts" / "RAN").exists()


def test_tools_of_others_alone_leave_a_capability_inactive(project: Project, book: Book) -> None:
    pull(project, book, "theirs", "./scripts/theirs.sh {word}")
    result = project.say(calls=[call("capability", name="coverage")])
    assert "- coverage: inactive - theirs (cli, not trusted)" in result.requests[0]["system"]
    assert result.results[0].endswith("\nnote: capability coverage: inactive")
    assert "capability coverage: inactive" in book.trace()["notes"]


def test_a_database_in_gits_index_is_told_with_its_tools_and_the_way_out(project: Project, pulled: Book) -> None:
    committed(project, "harness.db")
    result = project.say(calls=[call("mine", word="x")])
    assert "may have come with a checkout" in result.results[0]
    assert "hs trust" in result.results[0]
    [notice] = [text for text in notices(result) if "checkout" in text]
    assert notice.endswith("; they are: mine, theirs")


def test_hs_tools_lists_them_under_what_nearly_is_a_tool(project: Project, pulled: Book) -> None:
    shown = project.run("tools").stdout
    [line] = [line for line in shown.partition("nearly, but not found:")[2].splitlines() if line]
    assert line.startswith(f"  {pulled.path} (theirs): not trusted: it came in a changeset")
    project.run("trust")
    shown = project.run("tools").stdout
    assert "nearly" not in shown
    assert "  theirs " in shown


# ---- after it


def test_what_comes_after_a_yes_is_told_once_with_its_command(project: Project, pulled: Book) -> None:
    project.run("trust")
    told = "may be used since you trust what is here: "
    assert not any(told in text for text in notices(project.say())), "the person has just seen it"
    pull(project, pulled, "late", "echo late {word}", "later")
    (notice,) = (text for text in notices(project.say(calls=[call("late", word="x")])) if told in text)
    assert notice.endswith(told + "tool late (cli): echo late {word}")
    assert not any(told in text for text in notices(project.say()))
    pulled.sql("UPDATE tool SET command='echo other {word}' WHERE name='late'")
    (notice,) = (text for text in notices(project.say()) if told in text)
    assert notice.endswith(told + "tool late (cli): echo other {word}")


def test_a_yes_by_the_environment_tells_what_it_lets_run(project: Project, pulled: Book) -> None:
    result = project.say(calls=[call("theirs", word="x")], env={"HARNESS_TRUST": "1"})
    assert result.results == ["theirs x"]
    assert any(text.endswith(TOOL) for text in notices(result))


# ---- changesets alone


def test_a_directory_with_nothing_but_committed_changesets_waits_for_nothing(project: Project, book: Book) -> None:
    project.env["HARNESS_RUN_ID"] = "mine"
    book.register("mine", "sh {word}", args="word:string:optional")
    del project.env["HARNESS_RUN_ID"]
    project.run("tools")
    committed(project, ".harness")
    (project.home / ".harness" / "trusted").unlink()
    assert "nearly" not in project.run("tools").stdout
    doctor = project.run("doctor").stdout
    assert "not trusted" not in doctor
    assert "nothing waits for it" in doctor
    assert project.run("trust").stdout == "nothing here waits for trust\n"
    assert "asks" not in project.run("trust", "--list").stdout
    assert "not trusted" not in project.run("check").stdout


def test_a_trace_beside_changesets_that_is_in_none_of_them_is_told(project: Project, book: Book) -> None:
    told = "the trace of this run is in no changeset: HARNESS_RUN_ID is not set"
    assert told not in notices(project.say()), "nobody keeps changesets here"
    project.env["HARNESS_RUN_ID"] = "mine"
    assert told not in notices(project.say())
    del project.env["HARNESS_RUN_ID"]
    assert notices(project.say()).count(told) == 1
    script = project.script([{"say": "hi"}])
    quiet = project.run("-q", "-p", "scripted", "go", env={"BRIDOON_SCRIPT": script}).stderr
    assert f"harness: {told}" not in quiet, "as with other notices, -q leaves the log alone"
