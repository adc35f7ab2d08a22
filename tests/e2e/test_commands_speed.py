"""What the quick commands must not import: imports decide how fast they answer."""

from __future__ import annotations

import subprocess
import sys

import pytest
from project import Project

HEAVY = {
    *("argparse", "asyncio", "dataclasses", "email", "http.client", "inspect", "logging", "multiprocessing"),
    *("pathlib", "prompt_toolkit", "rich", "ssl", "subprocess", "tempfile", "urllib.request", "uuid", "yaml"),
}

PROGRAM = """
import os, sys
from bridoon.cli.main import main
kept = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
main(sys.argv[1:])
sys.stdout.flush()
os.write(kept, "\\n".join(sys.modules).encode())
"""


@pytest.mark.parametrize(
    "words",
    [
        ["help"],
        ["tools"],
        ["hooks"],
        ["skills"],
        ["config"],
        ["permissions"],
        ["session", "list"],
        ["trust", "--list"],
        ["completion", "bash"],
        ["__complete", ""],
        ["__complete", "-p", ""],
    ],
    ids=" ".join,
)
def test_a_quick_command_imports_nothing_heavy(project: Project, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=project.dir,
        env=project.env,
        capture_output=True,
        check=True,
    )
    modules = set(done.stdout.decode().split("\n"))
    assert "bridoon.cli.main" in modules
    assert modules & HEAVY == set()
