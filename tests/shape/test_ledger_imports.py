"""What `harness-cli` loads: a command that is called from scripts and hooks all day starts with what it needs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from ledgers import Place

NEVER = {
    *("asyncio", "argparse", "dataclasses", "http.client", "ssl", "urllib.request", "rich", "prompt_toolkit", "yaml"),
    *("bridoon.loop", "bridoon.session", "bridoon.providers", "bridoon.cli", "bridoon.evidence"),
}
"""What no command has a use for."""

COMMANDS = {
    "init": set(),
    "migrate": set(),
    "intake --type new-spec --summary s --lane tiny": set(),
    "story add --id A --title a --lane tiny --verify true": set(),
    "story update --id A --status in_progress": set(),
    "story verify A": {"bridoon.proc.run"},
    "decision add --id D --title d": set(),
    "backlog add --title b": set(),
    "tool register --name t --command sh --description 'Something that helps' --responsibility verification": set(),
    "tool check": set(),
    "trace --summary 'A piece of work' --outcome completed": set(),
    "score-trace": set(),
    "score-context 1": set(),
    "audit": set(),
    "propose": set(),
    "query matrix": set(),
    "query stats": set(),
    "query tools --capability coverage --posture": set(),
    "query traces --json": set(),
    "query sql 'SELECT 1'": set(),
    "query contract --json": set(),
    "--help": set(),
    "story add --help": set(),
}  # fmt: skip
"""In order, and which of the modules for other processes and for the network each may load."""

OUTSIDE = {"bridoon.proc.run", "socket", "subprocess"}

TRACE = """
import json, sys
from bridoon.ledger.main import main
code = main(json.loads(sys.argv[1]))
print("\\n" + json.dumps(sorted(sys.modules)))
"""


def modules_of(place: Place, line: str) -> set[str]:
    """The modules that are loaded when a command has ended."""
    done = subprocess.run(
        [sys.executable, "-c", TRACE, json.dumps(shlex.split(line))],
        cwd=place.root,
        env=place.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def bare_modules() -> set[str]:
    """What the interpreter itself loads; an editable installation brings a finder."""
    code = "import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    return set(json.loads(done.stdout))


def test_a_command_loads_what_it_needs_and_nothing_else(bare: Place, bare_modules: set[str]) -> None:
    for line, allowed in COMMANDS.items():
        loaded = modules_of(bare, line) - bare_modules
        assert loaded & NEVER == set(), line
        assert loaded & OUTSIDE <= allowed | ({"subprocess", "socket"} if allowed else set()), line


def test_a_query_does_not_load_what_only_changes_need(ledger: Place, bare_modules: set[str]) -> None:
    loaded = modules_of(ledger, "query stats") - bare_modules
    assert {"json", "hashlib", "difflib", "shlex", "threading", "subprocess"} & loaded == set()
    assert {name for name in loaded if name.startswith("bridoon.ledger.store.rows")} == set()
    assert "bridoon.ledger.store.write" not in loaded
