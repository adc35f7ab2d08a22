"""Where the ledger is looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridoon.ledger.errors import Invalid
from bridoon.ledger.place import check_run_id, find


def test_the_root_is_the_nearest_directory_upward_with_a_database(tmp_path: Path) -> None:
    (tmp_path / "harness.db").touch()
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir()
    assert find({"HOME": "/nowhere"}, str(tmp_path / "a" / "b")).root == str(tmp_path)


def test_without_a_database_a_repository_is_the_root_before_a_harness_directory(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / ".harness").mkdir(parents=True)
    assert find({"HOME": "/nowhere"}, str(tmp_path / "a")).root == str(tmp_path)


def test_a_harness_directory_is_the_root_when_there_is_nothing_better(tmp_path: Path) -> None:
    (tmp_path / ".harness").mkdir()
    (tmp_path / "a").mkdir()
    assert find({"HOME": "/nowhere"}, str(tmp_path / "a")).root == str(tmp_path)


def test_the_users_own_harness_directory_makes_no_root(tmp_path: Path) -> None:
    (tmp_path / ".harness").mkdir()
    (tmp_path / "a").mkdir()
    assert find({"HOME": str(tmp_path)}, str(tmp_path / "a")).root == str(tmp_path / "a")
    assert find({"HARNESS_HOME": str(tmp_path / ".harness")}, str(tmp_path / "a")).root == str(tmp_path / "a")


def test_variables_name_root_and_database(tmp_path: Path) -> None:
    (tmp_path / "harness.db").touch()
    there = find({"HARNESS_REPO_ROOT": "/else/where"}, str(tmp_path))
    assert (there.root, there.database) == ("/else/where", "/else/where/harness.db")
    there = find({"HARNESS_DB_PATH": "sub/x.db", "HARNESS_REPO_ROOT": "/else"}, str(tmp_path))
    assert (there.root, there.database) == ("/else", str(tmp_path / "sub" / "x.db"))
    there = find({"HARNESS_DB": "/old/name.db"}, str(tmp_path))
    assert there.database == "/old/name.db"


def test_empty_variables_count_as_unset(tmp_path: Path) -> None:
    empty = {"HARNESS_REPO_ROOT": "", "HARNESS_DB_PATH": "", "HARNESS_DB": "", "HARNESS_RUN_ID": "  ", "HOME": "/n"}
    (tmp_path / ".git").mkdir()
    there = find(empty, str(tmp_path))
    assert there == (str(tmp_path), str(tmp_path / "harness.db"), str(tmp_path), "")


@pytest.mark.parametrize("name", ["run-1", "a", "RUN.2_x", "x" * 128, "a..b"])
def test_a_plain_name_is_a_run_id(name: str) -> None:
    assert check_run_id(name) == name


@pytest.mark.parametrize("name", ["../../x", "a/b", ".hidden", "..", "x" * 129, "a b", "ü", "a\n", "a\0", "\udc80", ""])
def test_what_could_be_a_path_or_is_no_plain_name_is_no_run_id(name: str) -> None:
    with pytest.raises(Invalid) as wrong:
        check_run_id(name)
    assert str(wrong.value).isascii()
    assert "A-Z" in wrong.value.hint
