"""A `.harness` that came with a checkout and holds nothing but data is no news, and nobody is asked about it."""

from __future__ import annotations

import shutil

import pytest
from catalogs import catalog, put
from project import Project
from test_catalog_trust import cloned, commit, git, tools

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def with_changesets(project: Project) -> None:
    """A clone of a team's repository: its `.harness` holds changesets of the ledger."""
    place = project.dir.parent / "origin"
    put(place / ".harness" / "changesets" / "anna-1.changeset.jsonl", "{}\n", 0o644)
    git(place, "init", "-q")
    commit(place)
    cloned(project, place)


def test_a_directory_of_data_is_neither_told_nor_asked_about(project: Project) -> None:
    with_changesets(project)
    asked: list[str] = []
    found = catalog(project, ask_trust=lambda directory, contents: asked.append(directory) or True)
    assert tools(found) == []
    assert found.told == []  # type: ignore[attr-defined]
    assert asked == []


def test_what_is_dropped_beside_the_data_is_told_and_asked_about(project: Project) -> None:
    with_changesets(project)
    put(project.harness / "tools" / "mine")
    asked: list[str] = []
    assert tools(catalog(project, ask_trust=lambda directory, contents: asked.append(directory) or True)) == ["mine"]
    assert asked == [str(project.harness)]
