"""Every example in the documents runs: files are written as shown, commands print what is shown."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["README.md", "docs/PROTOCOLS.md", "docs/cli.md", "docs/providers.md", "docs/security.md", "docs/ledger.md"]
BLOCK = re.compile(r"^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=fence)$", re.M | re.S)
EXECUTABLE = {"PROTOCOLS.md"}
"""Documents that say once that every drop-in is an executable; the others show `chmod +x`."""
NEEDS = {"docs/security.md": "git"}
"""Programs besides bash that the examples of a document start."""


def play(document: Path, place: Path, env: dict[str, str]) -> int:
    """Write the files and run the commands of a document in order; how many commands were compared."""
    compared = 0
    for block in BLOCK.finditer(document.read_text("utf-8")):
        info, body = block["info"], block["body"]
        if "file=" in info:
            path = place / info.split("file=")[1].strip()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, "utf-8")
            path.chmod(0o755 if body.startswith("#!") and document.name in EXECUTABLE else 0o644)
        elif info.strip() == "console":
            for command, expected in sessions(body):
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=place,
                    env=env,
                    text=True,
                    timeout=50,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
                told = f"{document.name}: $ {command}\n{done.stdout}\nshown:\n{expected}"
                assert matches(expected, done.stdout), told
                compared += 1
    return compared


def sessions(body: str) -> list[tuple[str, str]]:
    """Commands after `$ ` and the output shown below each."""
    found: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


def matches(shown: str, printed: str) -> bool:
    """Whether the output is what is shown; `...` stands for anything, and blanks at the end of a line do not count."""
    pattern = ".*?".join(re.escape(part) for part in trimmed(shown).split("..."))
    return re.fullmatch(pattern, trimmed(printed), re.S) is not None


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if (ROOT / name).exists()])
def test_the_examples_of_a_document_run_as_shown(name: str, tmp_path: Path) -> None:
    for program in ("bash", NEEDS.get(name, "bash")):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    home, place = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    place.mkdir()
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
    }
    assert play(ROOT / name, place, env) > 0
