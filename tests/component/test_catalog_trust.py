"""Code that came with a checkout asks first; what people drop works at once. With real repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from catalogs import catalog, put
from project import Project

from bridoon.catalog.lookup import Catalog
from bridoon.catalog.trust import listing

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(where: Path, *words: str) -> None:
    """Run git as a person would, without anybody's configuration."""
    env = {
        "PATH": os.environ["PATH"], "HOME": str(where.parent), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
    }  # fmt: skip
    subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=where,
        env=env,
        check=True,
        capture_output=True,
        timeout=20,
    )


def commit(where: Path, *paths: str) -> None:
    git(where, "add", "-f", *(paths or ("-A",)))
    git(where, "commit", "-qm", "x")


def origin(project: Project, name: str = "origin") -> Path:
    """A repository whose author ships a `.harness`."""
    place = project.dir.parent / name
    for path in ("tools/theirs", "hooks.d/tool_exec/05-x", "plugins/p/commands/c"):
        put(place / ".harness" / path)
    put(place / ".harness" / "settings.conf", "provider=evil\n", 0o644)
    put(place / ".harness" / "providers" / "evil.conf", "protocol=openai\n", 0o644)
    put(place / ".harness" / "prompts" / "x.md", "their prompt", 0o644)
    put(place / ".harness" / "skills" / "s" / "SKILL.md", "---\nname: s\ndescription: d\n---\n", 0o644)
    put(place / ".agents" / "skills" / "t" / "SKILL.md", "---\nname: t\ndescription: d\n---\n", 0o644)
    put(place / "AGENTS.md", "their agents", 0o644)
    git(place, "init", "-q")
    commit(place)
    return place


def cloned(project: Project, source: Path, *options: str) -> Path:
    """A clone of it, which takes the place of the project directory."""
    shutil.rmtree(project.dir, ignore_errors=True)
    git(project.dir.parent, "clone", "-q", *options, str(source), str(project.dir))
    return project.dir


def tools(found: Catalog) -> list[str]:
    return [each.name for each in found.entries("tools")]


def records(project: Project) -> list[dict[str, Any]]:
    path = project.home / ".harness" / "trusted"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def test_nothing_of_a_clone_takes_part_but_text(project: Project) -> None:
    cloned(project, origin(project))
    found = catalog(project)
    assert tools(found) == []
    assert found.hooks("tool_exec") == []
    assert found.entries("commands") == []
    assert found.settings.values == {}
    assert found.confs() == []
    assert list(found.skills()) == ["t"]
    assert found.prompts() == ["their agents", "their prompt"]
    assert str(project.harness) not in found.sources_variable
    assert [source.path for source in found.untrusted] == [str(project.harness)]
    assert any(miss.path == str(project.harness) and "hs trust" in miss.reason for miss in found.near_misses)
    assert len(found.told) == 2  # type: ignore[attr-defined]
    assert records(project) == []


def test_what_a_user_drops_into_a_repository_works_at_once_and_stays_trusted_when_it_is_committed(
    project: Project,
) -> None:
    git(project.dir, "init", "-q")
    project.tool("mine", "")
    assert tools(catalog(project)) == ["mine"]
    ((record),) = records(project)
    assert (record["path"], record["how"]) == (str(project.harness), "own")
    assert (project.home / ".harness" / "trusted").stat().st_mode & 0o777 == 0o600
    commit(project.dir)
    assert tools(catalog(project)) == ["mine"]
    assert len(records(project)) == 1


def test_without_a_repository_it_is_the_users_own_and_git_is_not_started(project: Project) -> None:
    project.tool("mine", "")
    assert tools(catalog(project, env={"PATH": ""})) == ["mine"]
    assert [record["how"] for record in records(project)] == ["own"]


def test_another_repository_cloned_to_the_same_place_later_is_not_trusted(project: Project) -> None:
    project.tool("mine", "")
    assert tools(catalog(project)) == ["mine"]
    elsewhere = project.dir.parent / "moved"
    project.dir.rename(elsewhere)  # so that the inode stays in use
    cloned(project, origin(project))
    assert tools(catalog(project)) == []


def test_a_yes_is_asked_for_once_and_recorded(project: Project) -> None:
    cloned(project, origin(project))
    asked: list[tuple[str, list[str]]] = []

    def yes(directory: str, contents: list[str]) -> bool:
        asked.append((directory, contents))
        return True

    found = catalog(project, ask_trust=yes)
    assert tools(found) == ["theirs"]
    assert asked == [(str(project.harness), listing(str(project.harness)))]
    assert [record["how"] for record in records(project)] == ["granted"]
    assert tools(catalog(project, ask_trust=yes)) == ["theirs"]
    assert len(asked) == 1


@pytest.mark.parametrize("answer", [False, None])
def test_a_no_and_nobody_to_ask_are_asked_once_in_a_run_and_not_recorded(project: Project, answer: bool | None) -> None:
    cloned(project, origin(project))
    asked = []
    found = catalog(project, ask_trust=lambda directory, contents: asked.append(directory) or answer)
    assert tools(found) == []
    put(project.harness / "tools" / "another")
    found.refresh()
    assert tools(found) == []
    assert len(asked) == 1
    assert records(project) == []


def test_the_listing_names_what_would_run(project: Project) -> None:
    put(project.harness / "tools" / "a\x1b[2Jb")
    put(project.harness / "plugins" / "p" / "hooks.d" / "send" / "10-x")
    project.settings(a="b")
    assert listing(str(project.harness)) == [
        "tools/a\\x1b[2Jb",
        "settings.conf",
        "plugins/p/hooks.d/send/10-x",
    ]


def test_the_environment_can_say_yes_without_a_record(project: Project) -> None:
    cloned(project, origin(project))
    assert tools(catalog(project, env={"HARNESS_TRUST": "1"})) == ["theirs"]
    assert records(project) == []
    assert tools(catalog(project, env={"HARNESS_TRUST": "0"})) == []


def test_what_was_trusted_can_be_taken_back(project: Project) -> None:
    project.tool("mine", "")
    found = catalog(project)
    assert tools(found) == ["mine"]
    found.trust.revoke(str(project.harness))
    again = catalog(project)
    assert tools(again) == []
    again.trust.grant(str(project.harness))
    assert tools(catalog(project)) == ["mine"]
    assert [record.how for record in again.trust.records()] == ["granted"]


def test_the_home_never_asks_even_as_a_clone(project: Project) -> None:
    place = project.home / ".harness"
    git(project.dir.parent, "clone", "-q", str(origin(project)), str(project.dir.parent / "dotfiles"))
    (project.dir.parent / "dotfiles" / ".harness").rename(place)
    git(place, "init", "-q")
    commit(place)
    assert tools(catalog(project)) == ["theirs"]


@pytest.mark.parametrize("attributes", ["* ident\n", "* text eol=lf\n", "* text eol=crlf\n", "* -text filter=x\n"])
def test_attributes_of_a_repository_change_nothing(project: Project, attributes: str) -> None:
    source = origin(project)
    put(source / ".harness" / "tools" / "theirs", "#!/bin/sh\n# $Id$\n")
    put(source / ".gitattributes", attributes, 0o644)
    commit(source)
    cloned(project, source)
    assert tools(catalog(project)) == []


def test_a_link_in_the_repository_counts_as_its_target(project: Project) -> None:
    source = origin(project)
    (source / ".harness").rename(source / "hidden")
    (source / ".harness").symlink_to("hidden")
    commit(source)
    cloned(project, source)
    assert tools(catalog(project)) == []


def test_a_link_of_the_repository_to_a_place_outside_is_not_trusted(project: Project) -> None:
    own = put(project.dir.parent / "own" / "tools" / "mine").parent.parent
    source = origin(project)
    shutil.rmtree(source / ".harness")
    (source / ".harness").symlink_to(own)
    commit(source)
    cloned(project, source)
    assert tools(catalog(project)) == []


def test_a_users_link_into_another_clone_is_not_trusted(project: Project) -> None:
    other = project.dir.parent / "other"
    git(project.dir.parent, "clone", "-q", str(origin(project)), str(other))
    project.harness.rmdir()
    project.harness.symlink_to(other / ".harness")
    assert tools(catalog(project)) == []


@pytest.mark.parametrize(
    "setting", ["core.fsmonitor", "core.hooksPath", "core.pager", "core.sshCommand", "core.askPass"]
)
def test_nothing_that_the_repository_configures_runs(project: Project, setting: str) -> None:
    cloned(project, origin(project))
    trap = put(project.dir.parent / "trap" / "post-index-change", f"#!/bin/sh\ntouch {project.dir.parent}/sprung\n")
    git(project.dir, "config", setting, str(trap.parent if setting == "core.hooksPath" else trap))
    assert tools(catalog(project)) == []
    assert not (project.dir.parent / "sprung").exists()


def test_a_git_that_lies_in_the_repository_is_not_run(project: Project) -> None:
    cloned(project, origin(project))
    put(project.dir / "bin" / "git", f"#!/bin/sh\ntouch {project.dir.parent}/sprung\n")
    put(project.dir / "git", f"#!/bin/sh\ntouch {project.dir.parent}/sprung\n")
    for path in (
        f"{project.dir}/bin:{os.environ['PATH']}",
        f".:{os.environ['PATH']}",
        f":{os.environ['PATH']}",
        "bin",
    ):
        assert tools(catalog(project, env={"PATH": path})) == []
    assert not (project.dir.parent / "sprung").exists()


def test_without_git_a_repository_is_not_trusted_whoever_dropped_the_file(project: Project) -> None:
    git(project.dir, "init", "-q")
    project.tool("mine", "")
    assert tools(catalog(project, env={"PATH": str(project.dir.parent)})) == []


def test_a_git_that_fails_or_hangs_is_no_yes(project: Project) -> None:
    git(project.dir, "init", "-q")
    project.tool("mine", "")
    put(project.dir.parent / "bin" / "git", "#!/bin/sh\nexit 3\n")
    assert tools(catalog(project, env={"PATH": str(project.dir.parent / "bin")})) == []


def test_a_broken_repository_is_not_trusted(project: Project) -> None:
    (project.dir / ".git").mkdir()
    project.tool("mine", "")
    assert tools(catalog(project)) == []


def test_variables_of_git_do_not_mislead(project: Project) -> None:
    cloned(project, origin(project))
    empty = project.dir.parent / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    mislead = {
        "GIT_DIR": str(empty / ".git"), "GIT_WORK_TREE": str(project.dir),
        "GIT_INDEX_FILE": str(empty / "no-index"),
        "GIT_CEILING_DIRECTORIES": str(project.dir.parent), "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.worktree", "GIT_CONFIG_VALUE_0": str(empty), "GIT_LITERAL_PATHSPECS": "1",
    }  # fmt: skip
    assert tools(catalog(project, env=mislead)) == []


def test_a_harness_below_the_root_of_the_repository_is_found_in_its_index(project: Project) -> None:
    source = origin(project)
    (source / "deep" / "er").mkdir(parents=True)
    (source / ".harness").rename(source / "deep" / "er" / ".harness")
    commit(source)
    cloned(project, source)
    assert tools(catalog(project, project.dir / "deep" / "er")) == []


def test_a_name_that_means_something_to_git_is_taken_literally(project: Project) -> None:
    source = origin(project)
    (source / ":(exclude)[a]*").mkdir()
    (source / ".harness").rename(source / ":(exclude)[a]*" / ".harness")
    commit(source)
    cloned(project, source)
    assert tools(catalog(project, project.dir / ":(exclude)[a]*")) == []


def test_an_index_that_spells_the_name_in_capitals_holds_it_too(project: Project) -> None:
    """On a file system that ignores case such a checkout answers to the small name."""
    source = origin(project)
    (source / ".harness").rename(source / ".HARNESS")
    commit(source)
    cloned(project, source)
    (project.dir / ".HARNESS").rename(project.harness)
    assert tools(catalog(project)) == []


def test_a_submodule_ships_code_as_any_checkout_does(project: Project) -> None:
    inner = origin(project, "inner")
    outer = project.dir.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(inner), "sub")
    git(outer, "submodule", "add", "-q", str(inner / ".git"), ".harness")
    commit(outer)
    cloned(project, outer, "--recurse-submodules")
    assert (project.harness / ".harness" / "tools" / "theirs").exists()
    put(project.harness / "tools" / "inside")
    assert tools(catalog(project)) == []
    assert tools(catalog(project, project.dir / "sub")) == []


def test_what_a_user_drops_into_a_submodule_works(project: Project) -> None:
    inner = project.dir.parent / "inner"
    put(inner / "file")
    git(inner, "init", "-q")
    commit(inner)
    outer = project.dir.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(inner), "sub")
    commit(outer)
    cloned(project, outer, "--recurse-submodules")
    put(project.dir / "sub" / ".harness" / "tools" / "mine")
    assert tools(catalog(project, project.dir / "sub")) == ["mine"]


def test_a_repository_inside_another_is_asked_as_well_as_the_outer_one(project: Project) -> None:
    """Files that the outer repository tracks do not become the user's own by `git init` below them."""
    source = origin(project)
    (source / "sub").mkdir()
    (source / ".harness").rename(source / "sub" / ".harness")
    commit(source)
    cloned(project, source)
    git(project.dir / "sub", "init", "-q")
    assert tools(catalog(project, project.dir / "sub")) == []


def test_a_clone_into_the_harness_directory_itself_asks(project: Project) -> None:
    source = origin(project)
    project.harness.rmdir()
    git(project.dir, "clone", "-q", str(source), ".harness")
    put(project.harness / "tools" / "x")
    assert tools(catalog(project)) == []


def test_the_agent_can_extend_itself_in_the_middle_of_a_run(project: Project) -> None:
    project.harness.rmdir()
    git(project.dir, "init", "-q")
    put(project.dir / "file")
    commit(project.dir)
    found = catalog(project)
    found.refresh()
    project.tool("made", "")
    found.refresh()
    assert tools(found) == ["made"]


def test_records_that_others_could_have_written_and_torn_lines_count_for_nothing(project: Project) -> None:
    cloned(project, origin(project))
    catalog(project).trust.grant(str(project.harness))
    path = project.home / ".harness" / "trusted"
    good = path.read_text("utf-8")
    path.write_text('{"path": "/torn\n[]\n' + good + "not json", "utf-8")
    assert tools(catalog(project)) == ["theirs"]
    catalog(project).trust.revoke(str(project.harness))
    assert tools(catalog(project)) == []
    path.write_text(good, "utf-8")
    assert tools(catalog(project)) == ["theirs"]
    path.chmod(0o666)
    assert tools(catalog(project)) == []


def test_a_home_that_cannot_be_written_stops_nothing(project: Project) -> None:
    project.tool("mine", "")
    (project.home / ".harness").symlink_to("/proc/self/nowhere")
    assert tools(catalog(project)) == ["mine"]
