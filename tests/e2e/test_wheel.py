"""The wheel, installed in an environment of its own: `hs` works, and what documents link to is there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from links import broken, spelled

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(240)


def _pip(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, cwd=ROOT, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout; skipped where the build back end cannot be had."""
    place = tmp_path_factory.mktemp("wheel")
    built = _pip("wheel", "-q", "--no-deps", "-w", str(place), ".")
    if built.returncode and "hatchling" in built.stderr:
        pytest.skip("hatchling cannot be had here")
    assert built.returncode == 0, built.stderr
    (found,) = place.glob("bridoon-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel; its dependencies are taken from the one that runs the tests."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place)
    done = _pip("--python", str(place), "install", "-q", "--no-deps", "--no-index", str(wheel))
    assert done.returncode == 0, done.stderr
    library = next((place / "lib").glob("python*/site-packages"))
    (library / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return place


@pytest.fixture(scope="module")
def package(installed: Path) -> Path:
    """The installed package directory."""
    return next((installed / "lib").glob("python*/site-packages")) / "bridoon"


def _hs(installed: Path, home: Path, *words: str) -> str:
    env = {"PATH": f"{installed / 'bin'}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [installed / "bin" / "hs", *words], env=env, cwd=home, text=True, timeout=60, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_it_holds_nothing_that_was_made_by_running(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []
    assert not [name for name in names if name.split("/")[0] not in ("bridoon", names[-1].split("/")[0])]


def test_the_links_of_its_documents_lead_somewhere(package: Path) -> None:
    pages = [*package.glob("*.md"), *(package / "docs").rglob("*.md"), *(package / "examples").rglob("*.md")]
    assert {page.name for page in pages} >= {
        "README.md",
        "AGENTS.md",
        "PROTOCOLS.md",
        "cli.md",
        "security.md",
    }
    assert {str(page.relative_to(package)): wrong for page in pages if (wrong := broken(page))} == {}


def test_everything_that_a_bundled_skill_points_to_is_there(package: Path) -> None:
    skills = list(package.glob("plugins/*/skills/*/SKILL.md"))
    assert skills
    for skill in skills:
        paths = [path for path in spelled(skill) if path.startswith("../")]
        assert paths
        assert [path for path in paths if not (skill.parent / path).exists()] == []
        assert broken(skill) == []


def test_its_programs_kept_the_x_bit(package: Path) -> None:
    programs = [path for path in package.glob("bin/*") if path.is_file()]
    programs += [path for path in package.glob("plugins/*/tools/*") if path.is_file()]
    programs += [path for path in package.glob("plugins/*/hooks.d/*/*") if path.is_file()]
    programs += [path for path in package.glob("examples/tools/*") if path.is_file()]
    assert len(programs) > 20
    assert [str(path) for path in programs if not os.access(path, os.X_OK)] == []


def test_the_demo_and_an_example_work_in_it(installed: Path, package: Path, tmp_path: Path) -> None:
    shown = _hs(installed, tmp_path, "demo")
    assert "3 lines with TODO in notes.py" in shown
    assert "refused by hook 05-no-recursive-delete" in shown
    tools = tmp_path / "work" / ".harness" / "tools"
    tools.mkdir(parents=True)
    (tools / "web_fetch").write_bytes((package / "examples" / "tools" / "web_fetch").read_bytes())
    (tools / "web_fetch").chmod(0o755)
    assert "web_fetch" in _hs(installed, tmp_path, "--cwd", "work", "tools")
