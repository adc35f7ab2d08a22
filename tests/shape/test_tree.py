"""The shape of the source: sizes, first lines, bundled files, what the wheel holds."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bridoon"
MODULES = sorted(SOURCE.rglob("*.py"))
BUNDLED = sorted(
    path
    for pack in (SOURCE / "plugins").iterdir()
    for folder in ("commands", "tools", "providers", "hooks.d")
    for path in (pack / folder).rglob("*")
    if path.is_file() and path.suffix not in (".conf", ".pyc")
)


def test_files_are_short() -> None:
    long = {
        str(path.relative_to(ROOT)): count for path in MODULES if (count := len(path.read_text().splitlines())) > 400
    }
    assert not long


def test_functions_fit_a_screen() -> None:
    long = []
    for path in MODULES:
        functions = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
        long += [f"{path.name}:{each.name}" for each in functions if (each.end_lineno or 0) - each.lineno > 65]
    assert not long


def test_every_module_says_in_its_first_line_what_it_is() -> None:
    silent = [str(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert not silent


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: "/".join(path.parts[-3:]))
def test_a_bundled_drop_in_is_executable_marked_and_describes_itself(path: Path) -> None:
    assert os.access(path, os.X_OK)
    assert path.read_bytes().split(b"\n", 1)[0] == b"#!/usr/bin/env -S hs py"
    ast.parse(path.read_text("utf-8"))


def test_bundled_drop_ins_describe_themselves_in_one_line() -> None:
    code = (
        "import sys; from bridoon.proc import inline\n"
        "for path in sys.argv[1:]:\n    d = inline.load(path).describe\n    assert d and '\\n' not in d, path"
    )
    subprocess.run([sys.executable, "-c", code, *map(str, BUNDLED)], check=True, timeout=30)


def test_the_project_speaks_of_itself_alone() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    words = re.compile(rb"/(?:root|work)/[a-z.]|https?://[\w.]*(?:pypi|npmjs|pythonhosted)")
    found = []
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file() and path != Path(__file__) and words.search(path.read_bytes()):
            found.append(name)
    assert not found


def test_every_environment_variable_of_ours_is_documented() -> None:
    told = "".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md"))
    used = set()
    for path in [*MODULES, *BUNDLED]:
        used |= set(re.findall(r'"(HARNESS_[A-Z_]+|BRIDOON_[A-Z_]+)"', path.read_text("utf-8")))
    assert not {name for name in used if name not in told}
