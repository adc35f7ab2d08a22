"""Every row of `requirements.py` is proved or explained, and every mark on a test names a row."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from requirements import REQUIREMENTS, requirement

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent


def _tests() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every test function, as `file.py::test_name`."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.relative_to(TESTS)}::{node.name}", node


def _marks(function: ast.FunctionDef) -> set[str]:
    found: set[str] = set()
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "requirement":
            found |= {str(ast.literal_eval(each)) for each in mark.args}
    return found


def test_every_requirement_has_tests_or_a_reason() -> None:
    assert [row.id for row in REQUIREMENTS if not row.tests and not row.reason] == []


def test_ids_are_unique() -> None:
    ids = [row.id for row in REQUIREMENTS]
    assert len(ids) == len(set(ids))


def test_every_test_that_a_requirement_lists_exists_and_carries_its_mark() -> None:
    marks = {name: _marks(function) for name, function in _tests()}
    wrong = [(row.id, test) for row in REQUIREMENTS for test in row.tests if test not in marks]
    assert wrong == []
    marked = [row for row in REQUIREMENTS if not row.source.startswith("issue/")]  # see promises.py
    unmarked = [(row.id, test) for row in marked for test in row.tests if row.id not in marks[test]]
    assert unmarked == []


def test_every_mark_names_a_requirement_that_lists_the_test() -> None:
    listed = {(row.id, test) for row in REQUIREMENTS for test in row.tests}
    marked = {(id, name) for name, function in _tests() for id in _marks(function)}
    assert marked - listed == set()


@requirement("extend:documents")
def test_the_documents_that_the_skill_points_to_exist() -> None:
    for name in ("docs/PROTOCOLS.md", "examples/tools/web_fetch", "AGENTS.md", "README.md"):
        assert (ROOT / name).exists(), name
    for name in ("core/hooks.d", "anthropic", "openai", "skills"):
        assert (ROOT / "src" / "bridoon" / "plugins" / name).is_dir(), name
