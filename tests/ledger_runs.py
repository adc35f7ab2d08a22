"""A ledger in the project of a test: what runs of `hs` find there, and what they leave in it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ledgers import harness_cli
from project import Project

LISTS = ("actions_taken", "files_read", "files_changed", "errors")


class Book:
    """The `harness.db` of a project, made by `harness-cli init`."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.path = project.dir / "harness.db"
        self.cli("init")

    def cli(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Run `harness-cli` in the project; what it printed."""
        done = subprocess.run(
            [harness_cli(), *words],
            cwd=self.project.dir,
            env={**self.project.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, (words, done)
        return done.stdout

    def register(self, name: str, command: str, *, args: str = "", capability: str = "", kind: str = "cli") -> None:
        """Register a tool, whether or not it is there."""
        more = [*(["--args", args] if args else []), *(["--capability", capability] if capability else [])]
        about = ("--description", "a tool of a test", "--responsibility", "Verification", "--force")
        self.cli("tool", "register", "--name", name, "--command", command, "--kind", kind, *about, *more)

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A plain connection."""
        db = sqlite3.connect(self.path, isolation_level=None, timeout=10)
        try:
            yield db
        finally:
            db.close()

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement gives, past our programs."""
        with self.open() as db:
            return db.execute(statement, values).fetchall()

    def traces(self) -> list[dict[str, Any]]:
        """All traces, oldest first, their lists as lists."""
        with self.open() as db:
            db.row_factory = sqlite3.Row
            rows = [dict(row) for row in db.execute("SELECT * FROM trace ORDER BY id")]
        return [{**row, **{name: json.loads(row[name] or "null") for name in LISTS}} for row in rows]

    def trace(self) -> dict[str, Any]:
        """The only trace."""
        (found,) = self.traces()
        return found

    @property
    def left(self) -> list[str]:
        """The names of the files that runs have left beside the ledger."""
        folder = self.project.home / ".harness" / ".ledger"
        return sorted(path.name for path in folder.rglob("*") if path.is_file())

    def git(self) -> None:
        """Make the project a repository that holds everything in it but the ledger."""
        self.project.file(".gitignore", "harness.db*\n.harness/\n")
        git(self.project.dir, "init", "-q")
        git(self.project.dir, "add", ".")
        git(self.project.dir, "commit", "-qm", "first")


def git(cwd: Path, *words: str) -> None:
    """Run git as nobody in particular."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *who, *words], cwd=cwd, env=env, check=True, timeout=30)
