"""The generated parts of the documents are those that the source declares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"run python docs/generate.py\n{done.stdout}{done.stderr}"


def test_every_setting_and_exit_code_is_on_the_page_of_the_command_line() -> None:
    from bridoon.cli import declared, known

    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    names = [name for each in known.EVERYTHING for name in (each.key, each.variable) if name]
    names += [option.name for option in declared.RUN_OPTIONS]
    assert [name for name in names if f"`{name}`" not in page and f"{name} " not in page] == []
    assert [code for code, _ in declared.EXIT_CODES if f"| {code} |" not in page] == []
