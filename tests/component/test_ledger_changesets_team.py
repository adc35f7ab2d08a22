"""Three people who keep one ledger in git: their changesets go from clone to clone, and everybody has the same rows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from ledgers import Place, Ran

DOCUMENT = Path(__file__).parents[2] / "docs" / "ledger.md"
PULL = "db changeset apply --grown .harness/changesets"
ENDING = ".changeset.jsonl"


class Person(NamedTuple):
    """Somebody with a clone."""

    name: str
    place: Place

    @property
    def run(self) -> dict[str, str]:
        return {"HARNESS_RUN_ID": f"main-{self.name}"}

    def does(self, words: str) -> Ran:
        ran = self.place.run(words, env=self.run)
        assert ran.code == 0, ran
        return ran

    def gets(self, *others: Person) -> None:
        """`git pull`: the files of others."""
        self.place.changesets.mkdir(parents=True, exist_ok=True)
        for other in others:
            name = f"main-{other.name}{ENDING}"
            shutil.copy(other.place.changesets / name, self.place.changesets / name)

    def rows(self) -> list[tuple[object, ...]]:
        return self.place.sql("SELECT id, title, status, evidence, revision FROM story ORDER BY id")


Team = tuple[Person, Person, Person]


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Anna, Ben and Cleo with an empty ledger each."""
    anna, ben, cleo = (Person(name, Place(tmp_path / name)) for name in ("anna", "ben", "cleo"))
    for each in (anna, ben, cleo):
        each.place.ok("init")
    return anna, ben, cleo


def build_on_each_other(anna: Person, ben: Person) -> None:
    """Ben adds a story, Anna changes it: hers is the first file, and the second change."""
    ben.does("story add --id S-9 --title t --lane tiny")
    anna.gets(ben)
    anna.place.ok(PULL)
    anna.does("story update --id S-9 --status in_progress")


def test_a_directory_is_applied_in_the_order_of_time_not_of_names(team: Team) -> None:
    anna, ben, cleo = team
    build_on_each_other(anna, ben)
    cleo.gets(anna, ben)
    assert cleo.place.run(PULL) == Ran(
        0, "Changeset main-anna applied (1 operation(s)).\nChangeset main-ben applied (1 operation(s)).\n", ""
    )
    assert cleo.rows() == anna.rows() == [("S-9", "t", "in_progress", None, 1)]
    assert cleo.place.ok(PULL) == (
        "Changeset main-anna already applied; skipped.\nChangeset main-ben already applied; skipped.\n"
    )


def test_only_what_has_grown_is_carried_out_and_ones_own_is_left_out(team: Team) -> None:
    anna, ben, _ = team
    build_on_each_other(anna, ben)
    ben.does("story add --id S-10 --title u --lane tiny")
    anna.does("story update --id S-9 --evidence e")
    ben.gets(anna)
    anna.gets(ben)
    found = anna.place.json(PULL)
    assert [(each["id"], each["result"], each["operation_count"], each["carried_out"]) for each in found["changesets"]]\
        == [("main-anna", "already-applied", 2, 0), ("main-ben", "applied", 2, 1)]  # fmt: skip
    assert found["total"] == 2
    ben.place.ok(PULL)
    assert anna.rows() == ben.rows()


def test_without_grown_a_directory_with_a_changeset_that_has_grown_is_refused(team: Team) -> None:
    anna, ben, _ = team
    build_on_each_other(anna, ben)
    ben.does("story add --id S-10 --title u --lane tiny")
    anna.gets(ben)
    code, error = anna.place.error("db changeset apply .harness/changesets")
    assert (code, error["code"], error["details"]["changeset_id"]) == (3, "CONFLICT", "main-ben")
    assert [row[0] for row in anna.rows()] == ["S-9"]


def test_a_directory_is_applied_as_a_whole_or_not_at_all(team: Team) -> None:
    anna, ben, cleo = team
    for each in (anna, ben):
        each.does(f"story add --id {each.name} --title t --lane tiny")
        each.does("story add --id S-1 --title t --lane tiny")
    cleo.gets(anna, ben)
    ran = cleo.place.run(PULL)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: .harness/changesets/main-ben.changeset.jsonl:3: there is a story 'S-1' already\n"
        "  edit or drop that line in its changeset; whoever applied it before makes the database anew\n"
    )
    assert cleo.rows() == []
    assert cleo.place.value("SELECT count(*) FROM changeset_applied") == 0
    theirs = cleo.place.changesets / f"main-ben{ENDING}"
    theirs.write_text("".join(theirs.read_text().splitlines(keepends=True)[:2]))
    cleo.place.ok(PULL)
    assert [row[0] for row in cleo.rows()] == ["S-1", "anna", "ben"]


def test_a_directory_without_changesets_is_no_error(ledger: Place) -> None:
    ledger.changesets.mkdir(parents=True)
    assert ledger.ok(PULL) == "No changesets in .harness/changesets.\n"
    assert ledger.json(PULL) == {"changesets": [], "total": 0}


def test_a_directory_is_applied_without_the_times_of_another_program_as_it_is_rebuilt(team: Team) -> None:
    anna, _, cleo = team
    anna.does("story add --id S-1 --title t --lane tiny")
    cleo.gets(anna)
    cleo.place.file(
        f".harness/changesets/z{ENDING}",
        '{"base_schema_version":6,"op":"changeset.header","run_id":"z","version":1}\n'
        '{"id":"S-1","op":"story.add","payload":{"risk_lane":"tiny","title":"u"},"version":1}\n',
    )
    told = cleo.place.run(PULL).err.splitlines()[0]
    assert told.startswith(f"error: .harness/changesets/main-anna{ENDING}:2: ")
    rebuilt = cleo.place.run("db rebuild --from .harness/changesets", env={"HARNESS_DB_PATH": "other.db"})
    assert rebuilt.err.splitlines()[0] == told


def test_a_change_that_comes_late_is_told_of_and_a_rebuild_gives_everybody_the_same(team: Team) -> None:
    anna, ben, cleo = team
    build_on_each_other(anna, ben)
    cleo.gets(anna, ben)
    cleo.place.ok(PULL)
    cleo.does("story add --id S-8 --title t --lane tiny")
    ben.does("story update --id S-9 --evidence old")  # Ben has not got what Anna did, and hers is older
    anna.does("story update --id S-9 --evidence new")
    cleo.gets(anna)
    assert cleo.place.run(PULL).err == ""
    cleo.gets(ben)
    late = cleo.place.run(PULL).err
    assert late.startswith("warning: changeset main-ben holds changes that are older than the newest one known here")
    assert "story S-9;" in late
    assert "db rebuild" in late
    assert late.count("\n") == 1
    anna.gets(ben, cleo)
    assert "changeset main-ben" in anna.place.run(PULL).err
    ben.gets(anna, cleo)
    assert ben.place.run(PULL).err.count("warning") == 1  # when Anna began on S-9 is before what Ben did
    for each in team:
        for path in each.place.root.glob("harness.db*"):
            path.unlink()
        ran = each.place.run("db rebuild --from .harness/changesets")
        assert (ran.code, ran.err) == (0, "")
        assert each.rows()[-1] == ("S-9", "t", "in_progress", "new", 3)


def test_what_was_done_to_different_rows_is_never_late(team: Team) -> None:
    anna, ben, cleo = team
    for person in (anna, ben):
        person.does(f"story add --id {person.name} --title t --lane tiny")
        person.does(f"trace --summary s --story {person.name} --outcome completed")
        person.does("intake --type maintenance --summary s --lane tiny")
        person.does("backlog add --title b")
        person.does("backlog close --id 1 --outcome o")
        person.does(f"story update --id {person.name} --status in_progress")
    ben.gets(anna)
    assert ben.place.run(PULL).err == ""
    cleo.gets(ben)
    assert cleo.place.run(PULL).err == ""
    cleo.gets(anna)
    assert cleo.place.run(PULL).err == ""


def test_a_ledger_that_was_made_without_the_newest_of_our_tables_gets_it(ledger: Place) -> None:
    ledger.sql("DROP TABLE bridoon_touched")
    ledger.ok("story add --id US-1 --title t --lane tiny", env={"HARNESS_RUN_ID": "a"})
    assert ledger.sql("SELECT kind, name FROM bridoon_touched") == [("story", "US-1")]


def test_an_operation_that_lacks_its_row_says_what_can_be_done_in_a_changeset(team: Team) -> None:
    anna, ben, _ = team
    anna.place.ok("story add --id S-1 --title t --lane tiny")  # HARNESS_RUN_ID is forgotten
    anna.does("story update --id S-1 --status in_progress")
    ben.gets(anna)
    for words in (PULL, f"db changeset apply .harness/changesets/main-anna{ENDING}"):
        ran = ben.place.run(words)
        assert ran.err == (
            "error: .harness/changesets/main-anna.changeset.jsonl:2: no story is called 'S-1'\n"
            "  what it needs is in no changeset before it, perhaps because it was recorded without HARNESS_RUN_ID; a "
            "line that adds it can be put in front\n"
        )


def test_a_revision_that_is_another_one_says_how_the_change_is_recorded_again(team: Team) -> None:
    anna, ben, _ = team
    build_on_each_other(anna, ben)
    ran = ben.place.run("story update --id S-9 --evidence e", env={**ben.run, "HARNESS_CHANGESET_REVISIONS": "1"})
    assert ran.code == 0
    anna.gets(ben)
    ran = anna.place.run(PULL)
    assert (ran.code, ran.err.splitlines()[0]) == (
        1, "error: .harness/changesets/main-ben.changeset.jsonl:3: story S-9 is at revision 1, not 0",
    )  # fmt: skip
    assert "take that line out of its changeset, rebuild the database, and record the change again" in ran.err


def test_a_tool_check_is_no_change_that_a_changeset_lacks(team: Team) -> None:
    anna, _, _ = team
    anna.does("tool register --name ls --command ls --description 'Lists files' --responsibility verification")
    note = "note: this change is in no changeset: HARNESS_RUN_ID is not set\n"
    assert anna.place.run("tool check").err == ""
    assert anna.place.run("story add --id S-1 --title t --lane tiny").err == note


def test_whoever_goes_on_with_a_run_whose_file_is_not_there_is_warned_once(team: Team) -> None:
    anna, _, _ = team
    anna.does("story add --id S-1 --title t --lane tiny")
    own = anna.place.changesets / f"main-anna{ENDING}"
    kept = own.read_bytes()
    own.unlink()  # another branch is checked out
    ran = anna.does("story update --id S-1 --status in_progress")
    assert ran.err.startswith("warning: earlier operations of run main-anna are in a file that is not in this checkout")
    assert anna.does("story update --id S-1 --status changed").err == ""
    own.write_bytes(kept)
    assert "warning" in anna.does("story update --id S-1 --status planned").err


RECIPE = re.search(r"^ *recorded\(\) \{\n.*?^ *\}\n", DOCUMENT.read_text("utf-8"), re.M | re.S)


@pytest.mark.parametrize("shell", ["bash", "sh", "zsh"])
@pytest.mark.parametrize(("branch", "user", "run_id"), [
    ("main", "anna", "main-anna"),
    ("feature/login", "ben", "feature-login-ben"),
    ("fix#12", "j\u00fcrgen", "fix-12-j--rgen"),
    ("", "anna", "-anna"),
])  # fmt: skip
def test_the_recipe_of_the_document_names_the_run_of_this_branch(
    ledger: Place, shell: str, branch: str, user: str, run_id: str
) -> None:
    for program in (shell, "git"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    assert RECIPE is not None
    identity = "git -c user.name=a -c user.email=a@example.org"
    switch = f"git switch -q -c '{branch}'" if branch else "git switch -q --detach"
    script = (
        f"set -e\n{RECIPE[0]}\ngit init -q -b first\n{identity} commit -q --allow-empty -m m\n{switch}\n"
        "recorded harness-cli story add --id 'US 1' --title 'two words' --lane tiny\n"
        "git switch -q -c second\nrecorded harness-cli story update --id 'US 1' --status in_progress\n"
    )
    done = subprocess.run(
        [shell, "-c", script], cwd=ledger.root, env={**ledger.env, "USER": user}, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    second = "second-" + run_id[-len(user.encode()):]  # fmt: skip
    assert sorted(os.listdir(ledger.changesets)) == sorted(f"{each}{ENDING}" for each in (run_id, second))


def test_a_database_that_is_moved_away_stays_out_of_git(ledger: Place) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    entry = re.search(r"echo '(.*?)' >> .gitignore", DOCUMENT.read_text("utf-8"))
    assert entry is not None
    ledger.file(".gitignore", entry[1] + "\n")
    ledger.file("old/harness.db-wal", "")
    shutil.copy(ledger.database, ledger.root / "old" / "harness.db")
    subprocess.run(["git", "init", "-q"], cwd=ledger.root, env=ledger.env, check=True, timeout=30)
    status = ["git", "status", "--short", "--untracked-files=all"]
    done = subprocess.run(status, cwd=ledger.root, env=ledger.env, capture_output=True, timeout=30)
    assert done.stdout == b"?? .gitignore\n"
    assert ledger.run("init").err == ""


def test_an_older_state_of_a_changeset_is_left_alone_and_holds_up_nobody(ledger: Place, tmp_path: Path) -> None:
    for number in range(3):
        ledger.ok(f"story add --id US-{number} --title t --lane tiny", env={"HARNESS_RUN_ID": "anna"})
    other = Place(tmp_path / "other")
    other.ok("init")
    other.ok("story add --id X --title t --lane tiny", env={"HARNESS_RUN_ID": "bert"})
    shutil.copy(other.changesets / "bert.changeset.jsonl", ledger.changesets)
    own = ledger.changesets / "anna.changeset.jsonl"
    whole = own.read_text()
    own.write_text("".join(whole.splitlines(keepends=True)[:2]))
    ran = ledger.run("db changeset apply --grown .harness/changesets")
    assert (ran.code, ran.lines) == (
        0,
        ["Changeset anna already applied; skipped.", "Changeset bert applied (1 operation(s))."],
    )
    assert "older state" in ran.err
    assert "older state" in ledger.ok(["db", "changeset", "status", str(own)])
    assert ledger.run(["db", "changeset", "apply", str(own)]).code == 1
    own.write_text(whole)
    assert ledger.run("db changeset apply --grown .harness/changesets").err == ""
