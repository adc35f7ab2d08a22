"""Which file a command means, and whether it can be run: nothing is run to find out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridoon.ledger.judge.command import find, first_word, place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, mode in (
        ("run.sh", 0o755),
        ("plain.txt", 0o644),
        ("my tool", 0o755),
        ("bin/here", 0o755),
        ("bin/no-x", 0o644),
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\necho ran > ran\n")
        file.chmod(mode)
    (tmp_path / "bin" / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "command", ["./run.sh", "./run.sh --flag", "bin/../run.sh", "'./my tool' x", "./my\\ tool", '"./my tool"']
)
def test_a_path_below_the_root_is_found(root: Path, command: str) -> None:
    assert find(command, str(root), {}).path
    assert find(command, str(root), {}).executable
    assert not (root / "ran").exists()


def test_a_file_without_execute_permission_exists_and_is_not_runnable(root: Path) -> None:
    assert find("./plain.txt", str(root), {}).path
    assert not find("./plain.txt", str(root), {}).executable
    assert find("./plain.txt", str(root), {}).reason == "not executable"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("./bin", "a directory"),
        ("/dev/null", "no regular file"),
        ("./absent", "there is no such path"),
        ("./run.sh/below", "there is no such path"),
        ("absent", "not on PATH"),
        ("run.sh", "not on PATH"),
        ("'./run.sh", "a quote or a backslash is left open"),
        ("./run.sh 'it", "a quote or a backslash is left open"),
        ("./run.sh \\", "a quote or a backslash is left open"),
        ("", "it names no program"),
        ("  \n", "it names no program"),
        ("FOO=1", "it names no program"),
        ("'' x", "its first word is empty"),
        ("./a\0b", "it holds a NUL character"),
        ("x" * 5000, "its first word is longer than a path can be"),
        ("x " * 500_000, "longer than a command can be (131072 characters)"),
        ("./" + "x" * 300, "file name too long"),
    ],
)
def test_what_cannot_be_found_has_a_reason(root: Path, command: str, reason: str) -> None:
    found = find(command, str(root), {"PATH": str(root / "bin")})
    assert (found.path, found.reason, found.executable) == ("", reason, False)


def test_a_program_on_path_must_be_executable(root: Path) -> None:
    env = {"PATH": f"{root}/bin"}
    assert find("here --now", str(root), env).executable
    assert not find("no-x", str(root), env).path
    assert not find("folder", str(root), env).path


def test_assignments_in_front_are_passed_over(root: Path) -> None:
    env = {"PATH": f"{root}/bin"}
    assert first_word("A=1 _b='x y' here -v") == "here"
    assert find("A=1 _b='x y' here -v", str(root), env).executable
    assert first_word("1A=1") == "1A=1"


def test_empty_elements_of_path_mean_nothing_and_relative_ones_begin_at_the_root(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    assert not find("run.sh", str(root), {"PATH": "::"}).path
    assert not find("run.sh", str(root), {"PATH": ""}).path
    monkeypatch.chdir("/")
    assert find("here", str(root), {"PATH": ":bin:"}).executable


def test_the_tilde_is_the_home_of_the_environment(root: Path) -> None:
    env = {"HOME": str(root)}
    assert place("~", "/elsewhere", env) == str(root)
    assert find("~/run.sh", "/elsewhere", env).executable
    assert place("~x/y", "/elsewhere", env) == "/elsewhere/~x/y"
    assert os.path.isabs(place("~", "/elsewhere", {}))


def test_a_hostile_quotation_takes_no_time() -> None:
    for command in ('"' + "a\\" * 60_000, "'a'" * 40_000 + "'", "a" * 131_000 + '"', "\\" * 131_071):
        assert find(command, "/", {}).reason == "a quote or a backslash is left open"
