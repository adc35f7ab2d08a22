"""What a newcomer is told: notes, ways out of errors, single records, and where to begin."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from ledgers import Place

ENTRY = "harness.db*"


@pytest.fixture
def recorded(ledger: Place) -> Place:
    """A ledger with a record of each sort."""
    ledger.ok("intake --type new-spec --summary s --lane tiny --flags 'weak proof,auth'")
    ledger.ok("story add --id US-1 --title 'A title' --lane tiny --verify true")
    ledger.ok("decision add --id 0001 --title d")
    notes = ["--notes", "one\nid: 2\x1b[31m"]
    ledger.ok("trace --summary 'The whole of it' --actions read,edited --read [] --intake 1", *notes)
    ledger.ok("intervention add --type correction --source human --description 'no' --trace 1")
    return ledger


# ---- one record


def test_a_trace_is_shown_with_every_field_lists_and_lines_below(recorded: Place) -> None:
    lines = recorded.run("query traces --id 1").lines
    assert lines[0] == "id: 1"
    assert "task_summary: The whole of it" in lines
    assert "agent: -" in lines
    at = lines.index("actions_taken:")
    assert lines[at : at + 4] == ["actions_taken:", "  - read", "  - edited", "files_read: []"]
    at = lines.index("notes:")
    assert lines[at : at + 3] == ["notes:", "  one", "  id: 2\\x1b[31m"]


@pytest.mark.parametrize(
    ("query", "name", "key", "table"),
    [
        ("traces", "1", "trace", "trace"), ("intakes", "1", "intake", "intake"), ("stories", "US-1", "story", "story"),
        ("decisions", "0001", "decision", "decision"), ("interventions", "1", "intervention", "intervention"),
    ],
)  # fmt: skip
def test_a_record_has_every_column_of_its_table(recorded: Place, query: str, name: str, key: str, table: str) -> None:
    row = recorded.json(f"query {query} --id {name}")
    assert list(row) == [key]
    columns = {column for _, column, *_ in recorded.sql(f"PRAGMA table_info({table})")}
    assert set(row[key]) == columns
    text = recorded.ok(f"query {query} --id", name)
    assert [line.partition(":")[0] for line in text.splitlines() if line[:1] != " "] == list(row[key])


def test_lists_of_a_record_are_lists_for_programs_too(recorded: Place) -> None:
    trace = recorded.json("query traces --id 1")["trace"]
    assert (trace["actions_taken"], trace["files_read"], trace["errors"]) == (["read", "edited"], [], None)
    assert recorded.json("query intakes --id 1")["intake"]["risk_flags"] == ["weak proof", "auth"]


@pytest.mark.parametrize("query", ["traces", "intakes", "stories", "decisions", "interventions"])
def test_a_record_that_is_not_there_is_missing(recorded: Place, query: str) -> None:
    code, error = recorded.error(f"query {query} --id 99")
    assert (code, error["code"]) == (3, "NOT_FOUND")
    ran = recorded.run(f"query {query} --id 99 --limit 3")
    assert (ran.code, "not both" in ran.err) == (2, True)


@pytest.mark.parametrize("query", ["traces", "intakes", "interventions"])
def test_a_number_that_is_none_is_refused_with_an_example(recorded: Place, query: str) -> None:
    ran = recorded.run(f"query {query} --id abc")
    assert ran.err == (
        f"error: query {query}: --id must be an integer, not 'abc'\n  give a whole number, such as --id 1\n"
    )


def test_at_schema_6_a_record_has_the_same_fields(ledger6: Place) -> None:
    ledger6.ok("intake --type new-spec --summary s --lane tiny")
    intake = ledger6.json("query intakes --id 1")["intake"]
    assert (intake["uid"], intake["summary"]) == (None, "s")


def test_a_backlog_item_tells_programs_everything_and_people_one_row(ledger: Place) -> None:
    ledger.ok("backlog add --title b")
    (item,) = ledger.json("query backlog --id 1")["backlog"]
    columns = {column for _, column, *_ in ledger.sql("PRAGMA table_info(backlog)")}
    assert set(item) == columns | {"resolver", "reference_stories"}
    assert len(ledger.run("query backlog --id 1").lines) == 3


# ---- errors with a way out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("backlog close --id abc", "such as --id 1"),
        ("query matrix --limit x", "such as --limit 1"),
        ("query matrix --limit=-1", "for example --limit 20"),
        ("score-context x", "such as 1"),
        ("query sql 'SELECT * FROM tool_registry'", "query sql \"SELECT name FROM sqlite_master WHERE type='table'\""),
        ("query sql 'SELECT lane FROM story'", 'query sql "PRAGMA table_info(story)"'),
        ("query sql 'SELECT f(1)'", 'query sql "PRAGMA function_list"'),
        ("query sql 'SELEC 1'", 'query sql "SELECT id, title FROM story"'),
        ("propose --accept 12345678", "--outcome-manual"),
        ("propose --accept 12345678 --outcome-manual", "8 or more of its hash"),
    ],
)
def test_an_error_says_how_to_go_on(ledger: Place, words: str, hint: str) -> None:
    ran = ledger.run(words)
    assert ran.code in (1, 2)
    assert hint in ran.err.splitlines()[1]


@pytest.mark.parametrize(
    "statement",
    ["SELECT name FROM sqlite_master WHERE type='table'", "PRAGMA table_info(story)", "PRAGMA function_list"],
)
def test_the_statements_that_are_recommended_work(ledger: Place, statement: str) -> None:
    assert ledger.run(["query", "sql", statement]).code == 0


def test_a_check_of_a_tool_that_is_not_there_says_so(ledger: Place) -> None:
    ran = ledger.run("tool check --name nope")
    assert (ran.code, ran.err) == (0, "note: no tool is called 'nope'; harness-cli query tools lists them\n")


# ---- notes


def register(place: Place, command: str, kind: str, *more: str) -> str:
    words = ["tool", "register", "--name", "t", "--command", command, "--kind", kind, *more]
    ran = place.run([*words, "--description", "Does something", "--responsibility", "Verification"])
    assert (ran.code, ran.out) == (0, "Tool t registered.\n")
    return ran.err


@pytest.mark.parametrize("kind", ["cli", "binary"])
def test_a_command_that_is_not_executable_is_registered_with_a_note(ledger: Place, kind: str) -> None:
    path = ledger.file("check.sh", "#!/bin/sh\n")
    note = register(ledger, "./check.sh --all", kind)
    assert "is not executable" in note
    assert note.endswith(f": chmod +x {path}\n")
    assert ledger.json("tool check")[0]["status"] == "missing"


@pytest.mark.parametrize(
    ("kind", "command"),
    [("http", "http://localhost:1/x"), ("mcp", "./server"), ("skill", "~/skills/x"), ("http", "the service")],
)
def test_a_tool_that_no_check_will_find_is_registered_with_a_note(ledger: Place, kind: str, command: str) -> None:
    note = register(ledger, command, kind)
    assert "without --scan its presence stays unknown" in note
    assert f"--scan {'URL' if ' ' in command else command} " in note


@pytest.mark.parametrize(
    ("kind", "words"),
    [("mcp", ("mcp:x",)), ("skill", ("skill:x",)), ("mcp", ("npx -y @a/b",)), ("http", ("http://h/", "--scan", "http://h/")),
     ("cli", ("ls",)), ("cli", ("no-such-program", "--force"))],
)  # fmt: skip
def test_other_tools_are_registered_without_a_note(ledger: Place, kind: str, words: tuple[str, ...]) -> None:
    assert register(ledger, words[0], kind, *words[1:]) == ""


def test_a_story_that_does_not_exist_is_recorded_with_a_note(ledger: Place) -> None:
    note = "note: there is no story 'X'; it is recorded all the same\n"
    ran = ledger.run("intake --type new-spec --summary s --lane tiny --story X")
    assert (ran.code, ran.out, ran.err) == (0, "Intake #1 recorded.\n", note)
    ran = ledger.run("intervention add --type approval --source human --description d --story X")
    assert (ran.code, ran.err) == (0, note)
    ledger.ok("story add --id X --title x --lane tiny")
    assert ledger.run("intake --type new-spec --summary s --lane tiny --story X").err == ""
    assert ledger.value("SELECT group_concat(story_id) FROM intake") == "X,X"


# ---- proposals by the beginning of their hash


def proposal(place: Place) -> dict[str, Any]:
    for _ in range(2):
        place.ok("trace --summary 'something was done' --friction 'Tests are slow'")
    (found,) = place.json("propose")["proposals"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("form", ["{hash:.8}", "{hash:.20}", "improvement.proposal:v1:{hash:.8}", "{hash}"])
def test_a_proposal_is_decided_by_the_beginning_of_its_hash(ledger: Place, form: str) -> None:
    key = proposal(ledger)["key"]
    given = form.format(hash=key.rpartition(":")[2])
    assert ledger.json(["propose", "--accept", given, "--outcome-manual"])["key"] == key
    assert ledger.json(["propose", "--accept", given, "--outcome-manual"])["changed"] is False


@pytest.mark.parametrize("most", [0, 1, 7])
def test_fewer_than_eight_characters_name_no_proposal(ledger: Place, most: int) -> None:
    begin = proposal(ledger)["key"].rpartition(":")[2][:most]
    for given in (begin, f"improvement.proposal:v1:{begin}"):
        code, error = ledger.error(["propose", f"--reject={given}", "--reason", "no"])
        assert (code, error["code"]) == (3, "NOT_FOUND")


def test_a_beginning_that_several_keys_have_decides_none(ledger: Place) -> None:
    for row, end in enumerate("ab"):
        key = f"improvement.proposal:v1:12345678{end}"
        ledger.sql(
            "INSERT INTO backlog (title, uid, proposal_key, status) VALUES ('t', ?, ?, 'proposed')", f"u{row}", key
        )
    code, error = ledger.error("propose --reject 12345678 --reason no")
    assert (code, error["code"]) == (3, "CONFLICT")
    assert ledger.json("propose --reject 12345678a --reason no")["item"] == 1


# ---- where to begin


def test_help_ends_with_where_to_begin(bare: Place) -> None:
    *_, last = bare.ok("--help").split("\n\n")
    assert last.startswith("where to begin:\n")
    assert "harness-cli init" in last
    assert "bridoon/docs/ledger.md" in last


def git(place: Place, *words: str) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    subprocess.run(["git", *words], cwd=place.root, env=place.env, check=True, capture_output=True, timeout=30)


def test_in_a_git_repository_init_says_how_the_database_stays_out_of_it(bare: Place) -> None:
    git(bare, "init")
    ran = bare.run("init")
    assert ran.lines == [f"Creating harness database at {bare.database}", "Schema applied."]
    assert ran.err == f"note: keep harness.db out of git: add {ENTRY} to .gitignore\n"
    bare.file(".gitignore", f"{ENTRY}\n")
    assert bare.run("init").err == ""
    done = subprocess.run(
        ["git", "status", "--short", "--untracked-files=all"],
        cwd=bare.root,
        env=bare.env,
        capture_output=True,
        timeout=30,
    )
    assert done.stdout == b"?? .gitignore\n"


@pytest.mark.parametrize("line", ["*.db", "harness.db", "/harness.db*", "harness*", "!harness.db"])
def test_whoever_has_thought_of_the_database_in_gitignore_is_not_told(bare: Place, line: str) -> None:
    git(bare, "init")
    bare.file(".gitignore", f"# mine\n\n{line}\n")
    assert bare.run("init").err == ""


@pytest.mark.parametrize("line", ["# harness.db", "*.log", "/", ""])
def test_other_lines_of_gitignore_are_not_about_the_database(bare: Place, line: str) -> None:
    git(bare, "init")
    bare.file(".gitignore", f"{line}\n")
    assert ENTRY in bare.run("init").err


def test_a_database_deeper_in_the_repository_stays_out_of_it_wherever_it_is_moved(bare: Place) -> None:
    git(bare, "init")
    (bare.root / "state").mkdir()
    assert "add harness.db* to .gitignore" in bare.run("init", env={"HARNESS_DB_PATH": "state/harness.db"}).err


def test_outside_of_git_nothing_is_said(bare: Place) -> None:
    assert bare.run("init").err == ""


@pytest.fixture
def cloned(bare: Place) -> Place:
    """A repository that holds the changesets of a ledger, and no database."""
    bare.ok("init")
    bare.ok("story add --id US-1 --title t --lane tiny", env={"HARNESS_RUN_ID": "a"})
    for path in bare.root.glob("harness.db*"):
        path.unlink()
    return bare


def test_where_changesets_are_the_missing_ledger_is_rebuilt_not_made(cloned: Place) -> None:
    ran = cloned.run("query stats")
    assert ran.err == (
        f"error: there is no ledger at {cloned.database}\n"
        "  harness-cli db rebuild --from .harness/changesets makes it from its changesets\n"
    )
    cloned.ok("db rebuild --from .harness/changesets")
    assert cloned.value("SELECT count(*) FROM story") == 1


def test_init_tells_of_changesets_that_are_there(cloned: Place) -> None:
    ran = cloned.run("init")
    assert ran.lines[-1] == "Schema applied."
    assert "harness-cli db rebuild --from .harness/changesets makes it from them" in ran.err
    assert cloned.run("init").err == ""


def test_from_a_directory_below_the_changesets_are_named_so_that_the_command_works(cloned: Place) -> None:
    below = cloned.root / "src"
    below.mkdir()
    assert "--from ../.harness/changesets " in cloned.run("query stats", cwd=below).err
    assert cloned.run("db rebuild --from ../.harness/changesets", cwd=below).code == 0


def test_without_changesets_init_is_what_makes_a_ledger(bare: Place) -> None:
    (bare.root / ".harness" / "changesets").mkdir(parents=True)
    assert bare.run("query stats").err.endswith("  harness-cli init makes one\n")


def test_the_launcher_recommends_no_package_that_cannot_be_had(bare: Place) -> None:
    bare.ok("init --shim")
    launcher = bare.root / "scripts" / "bin" / "harness-cli"
    assert "pip install" not in launcher.read_text("utf-8")
    done = subprocess.run([launcher, "query", "stats"], env={"PATH": "/usr/bin:/bin"}, capture_output=True, timeout=30)
    assert done.returncode == 127
    assert b"the package bridoon is not installed" in done.stderr
