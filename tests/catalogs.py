"""A catalog over a test's own directories, with bundled packs that the test writes itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from project import Project

from bridoon.catalog.lookup import Catalog


def root_of(project: Project) -> Path:
    """The directory that stands for the installation in this test."""
    return project.dir.parent / "root"


def put(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    """Write a file and the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    path.chmod(mode)
    return path


def bundled(project: Project, path: str, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    """Write a file of a bundled pack: `core/tools/bash`. Only before the first catalog of the test."""
    return put(root_of(project) / "plugins" / path, text, mode)


def home(project: Project, path: str, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    """Write a file below `$HARNESS_HOME`."""
    return put(project.home / ".harness" / path, text, mode)


def catalog(project: Project, cwd: Path | None = None, provider: str = "", **options: Any) -> Catalog:
    """The catalog of the project's directory. `told` on it lists what a person was told."""
    told: list[str] = []
    env = {**project.env, **options.pop("env", {})}
    root = options.pop("root", root_of(project))
    place = env.get("HARNESS_HOME", str(project.home / ".harness"))
    found = Catalog(env, str(cwd or project.dir), place, str(root), provider, notice=told.append, **options)
    found.told = told  # type: ignore[attr-defined]
    return found


def reasons(found: Catalog) -> dict[str, str]:
    """The near misses: file name to reason."""
    return {Path(miss.path).name: miss.reason for miss in found.near_misses}
