"""Which directories take part, in which order, and which drop-in of a name counts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from catalogs import bundled, catalog, home, put, reasons
from project import Project

from bridoon.catalog.lookup import Catalog


def places(found: Catalog, project: Project) -> list[str]:
    return [os.path.relpath(source.path, project.dir.parent) for source in found.sources]


def test_bundled_packs_come_first_then_the_home_then_the_project_each_after_its_packs(
    project: Project,
) -> None:
    bundled(project, "auth/commands/auth")
    bundled(project, "core/tools/bash")
    home(project, "plugins/b/tools/x")
    home(project, "plugins/a/tools/x")
    project.drop("plugins/p/tools/x", "")
    assert places(catalog(project), project) == [
        "root/plugins/core", "root/plugins/auth",
        "home/.harness/plugins/a", "home/.harness/plugins/b", "home/.harness",
        "project/.harness/plugins/p", "project/.harness",
    ]  # fmt: skip


def test_a_deeper_harness_directory_has_the_higher_place(project: Project) -> None:
    deep = put(project.dir / "a" / "b" / ".harness" / "tools" / "t").parent.parent
    project.tool("t", "echo outer")
    found = catalog(project, project.dir / "a" / "b" / "c")
    tool = found.find("tools", "t")
    assert tool is not None
    assert tool.source.path == str(deep)
    assert [each.source.scope for each in found.entries("tools")] == ["project", "project"]


def test_scopes_say_where_a_source_belongs(project: Project) -> None:
    home(project, "tools/x")
    bundled(project, "core/tools/bash")
    put(project.home / "work" / ".harness" / "tools" / "x")
    put(project.dir.parent / ".harness" / "tools" / "x")
    found = catalog(project, project.home / "work")
    assert [source.scope for source in found.sources] == ["bundled", "global", "home", "project"]


def test_the_home_keeps_its_place_on_the_walk_when_the_walk_meets_it(project: Project) -> None:
    home(project, "tools/x")
    put(project.dir.parent / ".harness" / "tools" / "x")
    below = project.home / "work"
    below.mkdir()
    assert places(catalog(project, below), project) == [".harness", "home/.harness"]


def test_one_directory_under_two_names_takes_part_once_in_its_highest_place(project: Project) -> None:
    home(project, "tools/x")
    (project.dir / ".harness").rmdir()
    (project.dir / ".harness").symlink_to(project.home / ".harness")
    found = catalog(project)
    assert places(found, project) == ["project/.harness"]
    assert found.sources[0].scope == "home"


def test_a_trailing_slash_or_dots_in_the_home_do_not_double_it(project: Project) -> None:
    home(project, "tools/x")
    found = catalog(project, env={"HARNESS_HOME": f"{project.home}/./.harness/"})
    assert places(found, project) == ["home/.harness", "project/.harness"]


def test_a_symlinked_harness_directory_keeps_the_name_it_was_met_under(project: Project) -> None:
    real = put(project.dir / "elsewhere" / "tools" / "t").parent.parent
    project.harness.rmdir()
    project.harness.symlink_to(real)
    tool = catalog(project).find("tools", "t")
    assert tool is not None
    assert tool.path == str(project.harness / "tools" / "t")


def test_the_most_local_hook_of_a_name_counts_and_hooks_run_in_bytewise_order(project: Project) -> None:
    for name in ("10-a", "20-B", "20-a", "100-b"):
        bundled(project, f"core/hooks.d/assemble/{name}")
    project.hook("assemble/20-a", "")
    found = catalog(project)
    assert [hook.name for hook in found.hooks("assemble")] == ["10-a", "100-b", "20-B", "20-a"]
    assert [hook.bundled for hook in found.hooks("assemble")] == [True, True, True, False]
    assert [hook.name for hook in found.entries("hooks.d/assemble")].count("20-a") == 2


def test_any_stage_name_is_a_stage(project: Project) -> None:
    project.hook("my-own-state/10-x", "")
    found = catalog(project)
    assert found.stages() == ["my-own-state"]
    assert found.near_misses == []


@pytest.mark.parametrize("name", ["ä ü", "two\nlines", 'quo"te', "semi;colon", "caf\udce9"])
def test_odd_names_are_names(project: Project, name: str) -> None:
    project.hook(f"assemble/{name}", "")
    assert [hook.name for hook in catalog(project).hooks("assemble")] == [name]


@pytest.mark.parametrize("name", ["with blank", "with:colon", "with\nline", "ünïcode"])
def test_odd_project_paths_are_found_and_exported_as_one_element(project: Project, name: str) -> None:
    place = project.dir / name
    put(place / ".harness" / "tools" / "t")
    found = catalog(project, place)
    assert found.find("tools", "t") is not None
    *_, last = found.sources_variable.split(":")
    assert os.path.samefile(last, place / ".harness")


def test_directories_dotfiles_and_leftovers_are_no_drop_ins(project: Project) -> None:
    for name in ("t", ".hidden", "t.bak", "t~", "t.swp", "t.tmp", "t.orig", "t.rej", "t.pyc"):
        project.drop(f"tools/{name}", "")
    project.drop("tools/lib/helper", "")
    project.drop("hooks.d/assemble/__pycache__/x", "")
    found = catalog(project)
    assert [each.name for each in found.entries("tools")] == ["t"]
    assert found.hooks("assemble") == []
    assert reasons(found)["t.bak"] == "ignored: its name ends in .bak"


def test_every_bundled_file_counts_whatever_its_mode(project: Project) -> None:
    bundled(project, "core/tools/bash", mode=0o644)
    assert catalog(project).find("tools", "bash") is not None


def test_what_is_dropped_changed_or_taken_away_shows_at_the_next_refresh(project: Project) -> None:
    found = catalog(project)
    found.refresh()
    tool = project.tool("t", "echo 1")
    assert found.refresh()
    first = found.find("tools", "t")
    assert first is not None
    tool.write_text(tool.read_text("utf-8") + "# longer\n", "utf-8")
    assert found.refresh()
    second = found.find("tools", "t")
    assert second is not None
    assert second.stamp != first.stamp
    tool.unlink()
    assert found.refresh()
    assert found.find("tools", "t") is None


def test_chmod_alone_is_noticed_both_ways(project: Project) -> None:
    tool = project.drop("tools/t", "", mode=0o644)
    found = catalog(project)
    assert found.find("tools", "t") is None
    assert reasons(found)["t"] == "not executable (chmod +x)"
    tool.chmod(0o755)
    assert found.refresh()
    assert found.find("tools", "t") is not None
    assert found.near_misses == []
    tool.chmod(0o644)
    assert found.refresh()
    assert found.find("tools", "t") is None


def test_a_harness_directory_that_appears_later_takes_part(project: Project) -> None:
    below = project.dir / "sub"
    below.mkdir()
    found = catalog(project, below)
    found.refresh()
    put(below / ".harness" / "tools" / "t")
    found.refresh()
    assert found.find("tools", "t") is not None


def test_an_unchanged_world_refreshes_to_false(project: Project) -> None:
    project.tool("t", "")
    catalog(project).refresh()  # the first one of all records in the home that the project is the user's own
    found = catalog(project)
    assert found.refresh()
    assert not found.refresh()
    assert found.generation == 1


def test_a_dangling_link_is_a_near_miss_until_its_target_is_there(project: Project) -> None:
    folder = project.harness / "tools"
    folder.mkdir()
    target = project.dir / "target"
    (folder / "t").symlink_to(target)
    found = catalog(project)
    assert reasons(found)["t"] == "a link that leads nowhere"
    put(target)
    found.refresh()
    assert found.find("tools", "t") is not None


def test_kind_of_tells_whether_a_file_would_be_a_drop_in(project: Project) -> None:
    found = catalog(project)
    assert found.kind_of(str(project.harness / "tools" / "new")) == "tools"
    assert found.kind_of(str(project.harness / "hooks.d" / "send" / "05-x")) == "hooks.d/send"
    assert found.kind_of(str(project.harness / "hooks.d" / "05-x")) == ""
    assert found.kind_of(str(project.dir / "tools" / "x")) == ""


def test_a_marked_file_is_known_by_its_first_line(project: Project) -> None:
    bundled(project, "core/tools/a", '#!/usr/bin/env -S hs py\n"""x"""\n')
    bundled(project, "core/tools/b", "#!/usr/bin/env -S hs python\n")
    bundled(project, "core/tools/c", "#!/bin/sh\n")
    found = catalog(project)
    assert [each.marked for each in found.entries("tools")] == [True, False, False]


def test_a_missing_home_and_a_missing_working_directory_are_fine(project: Project, tmp_path: Path) -> None:
    found = catalog(project, tmp_path / "gone" / "deep", env={"HARNESS_HOME": str(tmp_path / "nowhere")})
    assert found.sources == []


def test_an_unchanged_refresh_lists_no_directory_and_opens_no_file(project: Project) -> None:
    bundled(project, "core/tools/bash")
    project.tool("t", "")
    project.settings(a="b")
    catalog(project).refresh()
    found = catalog(project)
    found.refresh()
    seen: list[str] = []
    watching = [True]

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event in ("open", "os.scandir", "os.listdir"):
            seen.append(f"{event} {arguments[0]!r}")

    sys.addaudithook(note)
    found._survey.watch.young = False  # type: ignore[union-attr]  # as if a moment had passed
    found.refresh()
    found.hooks("send")
    found.find("tools", "t")
    watching.clear()
    assert seen == []


def test_looking_around_imports_nothing_that_takes_time() -> None:
    code = "import sys, bridoon.catalog.lookup; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    late = ("trust", "skills", "variants", "conf", "prompts", "schemas")
    unwanted = {
        "json",
        "subprocess",
        "hashlib",
        "pathlib",
        "inspect",
        "tempfile",
        "difflib",
        "bridoon.proc.run",
    }
    unwanted |= {f"bridoon.catalog.{name}" for name in late}
    assert not unwanted & set(done.stdout.split())
