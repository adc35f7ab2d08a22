"""The parts of the system prompt that lie on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from catalogs import bundled, catalog, home, put, reasons
from project import Project


def text(path: Path, content: str) -> Path:
    return put(path, content, 0o644)


def test_the_order_is_bundled_then_home_then_project_and_packs_before_their_directory(
    project: Project,
) -> None:
    bundled(project, "core/prompts/002-b.md", "core 2\n", 0o644)
    bundled(project, "core/prompts/001-a.md", "core 1\n\n", 0o644)
    home(project, "plugins/p/prompts/x.md", "home pack", 0o644)
    home(project, "prompts/x.md", "home", 0o644)
    text(project.home / "AGENTS.md", "home agents")
    text(project.harness / "plugins/p/prompts/x.md", "project pack")
    text(project.dir / "AGENTS.md", "project agents\n")
    project.prompt("x", "project")
    assert catalog(project).prompts() == [
        "core 1", "core 2", "home pack", "home agents", "home", "project pack", "project agents", "project"
    ]  # fmt: skip


def test_agents_md_is_read_at_the_parent_of_each_harness_directory_once_each(project: Project) -> None:
    for pack in ("a", "b"):
        project.drop(f"plugins/{pack}/tools/x", "")
    text(project.harness / "plugins" / "AGENTS.md", "of packs: never")
    text(project.harness / "AGENTS.md", "inside: never")
    text(project.dir / "AGENTS.md", "outer")
    (project.dir / "sub" / ".harness").mkdir(parents=True)
    text(project.dir / "sub" / "AGENTS.md", "inner")
    assert catalog(project, project.dir / "sub").prompts() == ["outer", "inner"]


def test_one_agents_file_under_two_names_is_read_once(project: Project) -> None:
    text(project.dir / "AGENTS.md", "once")
    (project.dir / "sub" / ".harness").mkdir(parents=True)
    (project.dir / "sub" / "AGENTS.md").symlink_to("../AGENTS.md")
    assert catalog(project, project.dir / "sub").prompts() == ["once"]


def test_the_nearest_agents_md_counts_up_to_the_root_of_the_repository(project: Project) -> None:
    project.harness.rmdir()
    repository = project.dir / "repo"
    (repository / ".git").mkdir(parents=True)
    (repository / "a" / "b").mkdir(parents=True)
    text(project.dir / "AGENTS.md", "outside of the repository")
    found = catalog(project, repository / "a" / "b")
    assert found.prompts() == []
    text(repository / "AGENTS.md", "root")
    assert found.prompts() == ["root"]
    text(repository / "a" / "AGENTS.md", "nearer")
    assert found.prompts() == ["nearer"]


def test_without_a_repository_only_the_working_directorys_own_agents_md_counts(project: Project) -> None:
    project.harness.rmdir()
    (project.dir / "sub").mkdir()
    text(project.dir / "AGENTS.md", "here")
    assert catalog(project).prompts() == ["here"]
    assert catalog(project, project.dir / "sub").prompts() == []


def test_the_nearest_agents_md_stands_where_its_directory_belongs(project: Project) -> None:
    (project.dir / ".git").mkdir()
    deep = project.dir / "a" / "b"
    (deep / ".harness" / "prompts").mkdir(parents=True)
    text(deep / ".harness" / "prompts" / "x.md", "deepest")
    text(project.dir / "a" / "AGENTS.md", "nearest")
    project.prompt("x", "outer")
    assert catalog(project, deep).prompts() == ["outer", "nearest", "deepest"]


def test_equal_names_are_all_loaded_unless_a_local_one_is_empty(project: Project) -> None:
    bundled(project, "core/prompts/001-system.md", "bundled", 0o644)
    fragment = project.prompt("001-system", "local")
    found = catalog(project)
    assert found.prompts() == ["bundled", "local"]
    fragment.write_text("", "utf-8")
    assert found.prompts() == []
    fragment.write_text("\n", "utf-8")
    assert found.prompts() == ["bundled"]


def test_fragments_are_read_again_when_they_change_and_only_then(project: Project) -> None:
    fragment = project.prompt("x", "one")
    found = catalog(project)
    assert found.prompts() == ["one"]
    fragment.write_text("two", "utf-8")
    assert found.prompts() == ["two"]
    os.utime(fragment, (1, 1))  # an old file, so that nothing looks like having changed a moment ago
    for path in (project.harness, project.harness / "prompts", project.dir):
        os.utime(path, (1, 1))
    assert found.fragments() == found.fragments()


@pytest.mark.parametrize("name", ["my prompt", "ünïcode", "two\nlines", "-n"])
def test_odd_names_of_fragments_are_fine(project: Project, name: str) -> None:
    project.prompt(name, "text")
    assert catalog(project).prompts() == ["text"]


def test_broken_text_is_shown_as_far_as_it_goes(project: Project) -> None:
    (project.harness / "prompts").mkdir()
    (project.harness / "prompts" / "x.md").write_bytes(b"\xef\xbb\xbfcaf\xe9\r\n")
    (project.harness / "prompts" / "dir.md").mkdir()
    (project.harness / "prompts" / "gone.md").symlink_to("nowhere")
    (project.harness / "prompts" / ".hidden.md").write_text("no", "utf-8")
    (project.harness / "prompts" / "x.txt").write_text("no", "utf-8")
    assert catalog(project).prompts() == ["caf\ufffd"]


def test_a_fragment_that_others_can_write_is_skipped_and_named(project: Project) -> None:
    project.prompt("bad", "x").chmod(0o666)
    text(project.dir / "AGENTS.md", "x").chmod(0o666)
    found = catalog(project)
    assert found.prompts() == []
    assert set(reasons(found)) == {"bad.md", "AGENTS.md"}


def test_a_provider_packs_prompts_follow_the_active_provider(project: Project) -> None:
    bundled(project, "openai/providers/openai")
    bundled(project, "openai/prompts/x.md", "for openai", 0o644)
    bundled(project, "anthropic/providers/anthropic")
    bundled(project, "anthropic/prompts/x.md", "for anthropic", 0o644)
    assert catalog(project, provider="openai").prompts() == ["for openai"]


def test_a_fragment_of_megabytes_is_cut_and_named(project: Project) -> None:
    project.prompt("big", "x" * (3 << 20))
    found = catalog(project)
    assert [len(part) for part in found.prompts()] == [1 << 20]
    assert "only its first" in reasons(found)["big.md"]
