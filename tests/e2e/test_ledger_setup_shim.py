"""`init --shim`: the launcher that makes `scripts/bin/harness-cli` work in any repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ledgers import Place

SHELLS = [shell for shell in ("sh", "bash", "dash", "busybox sh") if any(
    os.access(f"{place}/{shell.split()[0]}", os.X_OK) for place in ("/bin", "/usr/bin"))]  # fmt: skip


def launch(program: str | Path, *words: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a launcher without HARNESS_REPO_ROOT."""
    env = {name: value for name, value in env.items() if name != "HARNESS_REPO_ROOT"}
    return subprocess.run([str(program), *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=30)


@pytest.fixture
def shim(bare: Place) -> Path:
    bare.ok("init --shim")
    return bare.root / "scripts" / "bin" / "harness-cli"


def test_the_launcher_works_on_its_own_repository_from_anywhere(bare: Place, shim: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    ran = launch(
        shim, "intake", "--type", "new-spec", "--summary", "a  b", "--lane", "tiny", cwd=elsewhere, env=bare.env
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Intake #1 recorded.\n", "")
    assert bare.value("SELECT summary FROM intake") == "a  b"
    ran = launch("scripts/bin/harness-cli", "query", "frob", cwd=bare.root, env=bare.env)
    assert ran.returncode == 2


def test_the_launcher_holds_no_path_of_this_machine(bare: Place, shim: Path) -> None:
    text = shim.read_text("utf-8")
    assert text.startswith("#!/bin/sh\n")
    assert str(bare.root.parent) not in text
    assert "python" not in text


def test_a_root_that_is_named_wins(bare: Place, shim: Path, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    other.ok("init")
    ran = subprocess.run([shim, "init"], env=other.env, capture_output=True, text=True, timeout=30)
    assert str(other.database) in ran.stdout


def test_the_launcher_does_not_find_itself_or_its_like(bare: Place, shim: Path, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    other.ok("init --shim")
    theirs = other.root / "scripts" / "bin"
    env = {**bare.env, "PATH": f":{shim.parent}:{theirs}:/usr/bin:/bin"}
    ran = launch(shim, "query", "stats", cwd=bare.root, env=env)
    assert (ran.returncode, ran.stdout) == (127, "")
    assert ran.stderr.startswith("error: harness-cli is not installed")
    env["PATH"] = f"{shim.parent}:{theirs}:{bare.env['PATH']}"
    assert launch("harness-cli", "query", "stats", cwd=bare.root, env=env).returncode == 0


def test_the_launcher_may_be_called_through_a_link(bare: Place, shim: Path, tmp_path: Path) -> None:
    link = tmp_path / "bin"
    link.mkdir()
    (link / "one").symlink_to(shim)
    (link / "two").symlink_to("one")
    ran = launch(link / "two", "init", cwd=tmp_path, env=bare.env)
    assert str(bare.database) in ran.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_launcher_runs_in_every_shell(bare: Place, shim: Path, shell: str) -> None:
    env = {name: value for name, value in bare.env.items() if name != "HARNESS_REPO_ROOT"}
    words = [*shell.split(), str(shim), "query", "sql", "SELECT 'a  b'", "--csv"]
    ran = subprocess.run(words, cwd="/", env=env, capture_output=True, text=True, timeout=30)
    assert (ran.returncode, ran.stdout.splitlines()[-1], ran.stderr) == (0, "a  b", "")


def test_a_file_of_somebody_else_is_not_overwritten_and_nothing_is_made(bare: Place) -> None:
    path = bare.file("scripts/bin/harness-cli", "#!/bin/sh\necho mine\n", 0o755)
    ran = bare.run("init --shim")
    assert (ran.code, ran.out) == (1, "")
    assert str(path) in ran.err
    assert path.read_text() == "#!/bin/sh\necho mine\n"
    assert not bare.database.exists()


def test_an_older_launcher_is_replaced(bare: Place, shim: Path) -> None:
    whole = shim.read_text("utf-8")
    shim.write_text("\n".join(whole.splitlines()[:2]) + "\nold\n", "utf-8")
    shim.chmod(0o644)
    assert "written" in bare.ok("init --shim")
    assert shim.read_text("utf-8") == whole
    assert os.access(shim, os.X_OK)
    assert "already" in bare.ok("init --shim")
    assert [each.name for each in shim.parent.iterdir()] == ["harness-cli"]


def test_a_link_in_its_place_is_not_followed(bare: Place) -> None:
    (bare.root / "scripts" / "bin").mkdir(parents=True)
    (bare.root / "scripts" / "bin" / "harness-cli").symlink_to(bare.home / "victim")
    assert bare.run("init --shim").code == 1
    assert not (bare.home / "victim").exists()


def test_a_launcher_is_not_written_through_a_link_out_of_the_repository(bare: Place) -> None:
    outside = bare.home / "bin"
    outside.mkdir()
    (bare.root / "scripts").mkdir()
    (bare.root / "scripts" / "bin").symlink_to(outside)

    ran = bare.run("init --shim")

    assert ran.code == 1
    assert "leads out of the repository" in ran.err
    assert list(outside.iterdir()) == []
    assert not bare.database.exists()
