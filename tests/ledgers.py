"""A throw-away repository with a ledger, on which a test runs the installed `harness-cli`."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bridoon.ledger import place
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store import schema

TIMEOUT = 30.0
"""Seconds that one command may take before the test fails."""

Words = str | Sequence[str | bytes]


class Ran(NamedTuple):
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it printed, line by line."""
        return self.out.splitlines()

    @property
    def value(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


class Place:
    """A repository in a directory of its own. Nothing of the machine's HARNESS_* variables reaches it."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "repo"
        self.home = directory / "home"
        for each in (self.root, self.home):
            each.mkdir(parents=True)
        self.database = self.root / "harness.db"
        self.changesets = self.root / ".harness" / "changesets"
        self.env: dict[str, str] = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "HARNESS_REPO_ROOT": str(self.root),
        }
        """The environment of what is run here; a test may change it."""
        self.prefix: list[str] = []
        """What stands before `harness-cli` on every command line."""

    # ---- running

    def run(
        self,
        words: Words,
        *more: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: bytes | None = None,
        timeout: float = TIMEOUT,
    ) -> Ran:
        """Run `harness-cli` to its end: `run("story add --id A --title 'a b' --lane tiny")`, or a list of words."""
        process = self.start(words, *more, env=env, cwd=cwd, stdin=subprocess.DEVNULL if stdin is None else -1)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"harness-cli {words} took more than {timeout} s\n{out!r}\n{err!r}") from None
        return Ran(process.returncode, out.decode("utf-8"), err.decode("utf-8", "replace"))

    def start(
        self,
        words: Words,
        *more: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start `harness-cli`, with pipes for its output."""
        split = shlex.split(words) if isinstance(words, str) else list(words)
        return subprocess.Popen(
            [*self.prefix, harness_cli(), *split, *more],
            cwd=cwd or self.root,
            env={**self.env, **(env or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def ok(self, words: Words, *more: str, env: Mapping[str, str] | None = None) -> str:
        """What a command prints that has to work."""
        ran = self.run(words, *more, env=env)
        assert ran.code == 0, ran
        return ran.out

    def json(self, words: Words, *more: str, env: Mapping[str, str] | None = None) -> Any:
        """The `result` of a command that has to work, asked for with `--json`."""
        split = shlex.split(words) if isinstance(words, str) else list(words)
        at = split.index("--") if "--" in split else len(split)
        ran = self.run([*split[:at], "--json", *split[at:], *more], env=env)
        assert ran.code == 0, ran
        value = ran.value
        return value["result"] if isinstance(value, dict) else value

    def error(self, words: Words, *more: str, env: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
        """Exit code and `error` of a command that must not work, asked for with `--json`."""
        split = shlex.split(words) if isinstance(words, str) else list(words)
        ran = self.run([*split, *more, "--json"], env=env)
        assert ran.code != 0, ran
        error = ran.value["error"]
        assert isinstance(error, dict)
        return ran.code, error

    # ---- the database and the files

    @property
    def ledger(self) -> Ledger:
        """The ledger as a library."""
        return Ledger(place.find(self.env, str(self.root)), self.env)

    @contextlib.contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A plain connection to the database, which is made when it is not there."""
        db = sqlite3.connect(self.database, isolation_level=None, timeout=TIMEOUT)
        try:
            yield db
        finally:
            db.close()

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement gives, past the program."""
        with self.open() as db:
            return db.execute(statement, values).fetchall()

    def value(self, statement: str, *values: Any) -> Any:
        """The first value of the only row that a statement gives."""
        ((value, *_),) = self.sql(statement, *values)
        return value

    def file(self, path: str, text: str, mode: int = 0o644) -> Path:
        """Write a file below the repository."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
        target.chmod(mode)
        return target

    def changeset(self, run_id: str) -> list[dict[str, Any]]:
        """The lines of a run's changeset, header first; none when there is no such file."""
        path = self.changesets / f"{run_id}.changeset.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def make(self, version: int) -> None:
        """Make the database of an older schema, with nothing in it that is only ours."""
        with self.open() as db:
            db.execute("PRAGMA journal_mode=WAL")
            for number, script in schema.migrations():
                if number <= version:
                    for statement in schema.statements(script):
                        db.execute(statement)


def bound_by_modes() -> list[str]:
    """What to put before a command to have the modes of files hold for it, for root as well. Skips the test where that
    cannot be had."""
    if os.geteuid() != 0:
        return []
    lost = "-dac_override,-dac_read_search"
    prefix = ["setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}"]
    if (
        not shutil.which("setpriv")
        or subprocess.run([*prefix, "true"], capture_output=True, timeout=TIMEOUT).returncode
    ):
        pytest.skip("root writes everywhere")
    return prefix


def harness_cli() -> str:
    """The installed `harness-cli` of the interpreter that runs the tests."""
    path = Path(sys.executable).parent / "harness-cli"
    assert path.exists(), f"{path} is missing: install the project first (pip install -e .)"
    return str(path)
