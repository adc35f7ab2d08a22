"""What may be imported before the first request: a start is made of imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import Project

HEAVY = {
    "argparse",
    "asyncio",
    "base64",
    "concurrent.futures",
    "dataclasses",
    "email",
    "enum",
    "html",
    "http.client",
    "importlib.metadata",
    "inspect",
    "logging",
    "msgspec",
    "pathlib",
    "prompt_toolkit",
    "random",
    "rich",
    "shutil",
    "ssl",
    "tempfile",
    "unittest",
    "urllib.request",
    "uuid",
    "yaml",
}
"""Modules that no run needs before it has something to do with them."""

ALLOWED = {"enum"}
"""`re` imports it."""

TRACE = """
import json, sys
from bridoon.cli.main import main
code = 0
try:
    code = main(json.loads(sys.argv[1]))
except SystemExit as stop:
    code = stop.code
print("\\n" + json.dumps(sorted(sys.modules)))
"""


def modules_of(project: Project, *words: str) -> set[str]:
    """The modules that are loaded when a command has ended."""
    done = subprocess.run(
        [sys.executable, "-c", TRACE, json.dumps(words)],
        cwd=project.dir,
        env=project.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def baseline() -> set[str]:
    """What the interpreter itself loads (editable installs bring finders of their own)."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys, json; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "words", [("version",), ("-q", "-p", "scripted", "hello"), ("tools",), ("session", "list")], ids=str
)
def test_a_command_imports_nothing_heavy(project: Project, words: tuple[str, ...]) -> None:
    script = project.script([{"say": "hi"}])
    project.env["BRIDOON_SCRIPT"] = script
    heavy = (HEAVY - ALLOWED - baseline()) & modules_of(project, *words)
    assert not heavy


def test_the_sdk_needs_only_itself_and_the_standard_library(tmp_path: Path) -> None:
    root = Path(__file__).parents[2] / "src" / "bridoon"
    place = tmp_path / "bridoon"
    place.mkdir()
    (place / "__init__.py").touch()
    os.symlink(root / "sdk", place / "sdk")
    os.symlink(root / "wire", place / "wire")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import bridoon.sdk.script"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, timeout=20)
