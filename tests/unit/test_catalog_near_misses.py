"""What nearly works is named with its reason, and stops nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from catalogs import catalog, home, put, reasons
from project import Project

OTHER = 54321
"""A user id that is nobody's here."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_a_hook_directly_in_hooks_d_is_named(project: Project) -> None:
    project.drop("hooks.d/05-gate", "exit 1")
    assert reasons(catalog(project)) == {"05-gate": "a hook lies in hooks.d/<stage>/, not directly in hooks.d/"}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("tool-exec", "tool_exec"), ("toolexec", "tool_exec"), ("asemble", "assemble"), ("pre_tool", "pre-tool"),
     ("recieve", "receive"), ("Start", "start"), ("tool_done ", "tool_done")],
)  # fmt: skip
def test_a_stage_with_a_slip_in_its_name_is_named(project: Project, wrong: str, right: str) -> None:
    project.hook(f"{wrong}/10-x", "")
    assert reasons(catalog(project))[wrong].endswith(f"did you mean {right}/ ?")


@pytest.mark.parametrize("wrong", ["tool", "command", "hook", "hooks", "provider", "prompt", "skill", "plugin"])
def test_a_folder_in_the_singular_is_named(project: Project, wrong: str) -> None:
    project.drop(f"{wrong}/x", "")
    assert "did you mean" in reasons(catalog(project))[wrong]


def test_papers_beside_drop_ins_are_no_near_misses(project: Project) -> None:
    project.file(".harness/tools/README.md", "about the tools\n")
    project.file(".harness/tools/data.json", "{}")
    project.file(".harness/tools/script.md", "#!/bin/sh\n")
    assert list(reasons(catalog(project))) == ["script.md"]


def test_a_command_that_nobody_can_call_is_named(project: Project) -> None:
    project.command("My Command", "")
    found = catalog(project)
    assert found.entries("commands") == []
    assert "My Command" in reasons(found)


def test_two_packs_of_one_directory_that_claim_a_name_are_told_of_once(project: Project) -> None:
    project.drop("plugins/a/hooks.d/assemble/50-x", "")
    project.drop("plugins/b/hooks.d/assemble/50-x", "")
    home(project, "plugins/c/hooks.d/assemble/50-x")
    found = catalog(project)
    assert [hook.source.pack for hook in found.hooks("assemble")] == ["b"]
    clashes = [miss for miss in found.near_misses if "name clash" in miss.reason]
    assert [miss.path for miss in clashes] == [str(project.harness / "plugins/a/hooks.d/assemble/50-x")]
    assert sum("name clash" in text for text in found.told) == 1  # type: ignore[attr-defined]


def test_each_near_miss_is_told_once(project: Project) -> None:
    project.drop("tools/t", "", mode=0o644)
    found = catalog(project)
    found.refresh()
    project.tool("other", "")
    found.refresh()
    told = found.told  # type: ignore[attr-defined]
    assert told == [f"{project.harness}/tools/t: not executable (chmod +x)"]


def test_control_characters_of_a_path_do_not_reach_the_terminal(project: Project) -> None:
    project.drop("tools/\x1b[2J", "", mode=0o644)
    found = catalog(project)
    found.refresh()
    assert "\x1b" not in "".join(found.told)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "what", [".harness", ".harness/tools", ".harness/hooks.d", ".harness/hooks.d/send", ".harness/plugins"]
)
def test_a_directory_that_others_can_write_to_is_skipped_with_one_notice(project: Project, what: str) -> None:
    project.tool("t", "")
    project.hook("send/05-x", "")
    project.drop("plugins/p/tools/u", "")
    (project.dir / what).chmod(0o777)
    found = catalog(project)
    left = [each.name for kind in ("tools", "hooks.d/send") for each in found.entries(kind)]
    assert len(left) < 3
    told = [text for text in found.told if "others can write to it" in text]  # type: ignore[attr-defined]
    assert len(told) == 1
    assert str(project.dir / what) in told[0]
    (project.dir / what).chmod(0o755)
    assert found.refresh()
    assert len([each for kind in ("tools", "hooks.d/send") for each in found.entries(kind)]) == 3


def test_a_file_that_others_can_write_to_is_skipped(project: Project) -> None:
    project.tool("t", "").chmod(0o777)
    found = catalog(project)
    assert found.entries("tools") == []
    assert reasons(found)["t"].startswith("skipped: others can write to it")


def test_a_home_that_others_can_write_to_is_skipped_too(project: Project) -> None:
    home(project, "tools/t")
    (project.home / ".harness").chmod(0o777)
    assert catalog(project).find("tools", "t") is None


def test_a_parent_that_everybody_can_write_to_does_not_matter(project: Project) -> None:
    project.tool("t", "")
    project.dir.chmod(0o1777)
    assert catalog(project).find("tools", "t") is not None


@as_root
@pytest.mark.parametrize("what", [".harness", ".harness/tools", ".harness/tools/t"])
def test_what_belongs_to_another_user_is_skipped(project: Project, what: str) -> None:
    project.tool("t", "")
    os.chown(project.dir / what, OTHER, OTHER)
    found = catalog(project)
    assert found.find("tools", "t") is None
    assert f"belongs to another user (uid {OTHER})" in "".join(found.told)  # type: ignore[attr-defined]


@as_root
def test_a_harness_directory_that_is_another_users_link_is_skipped(project: Project) -> None:
    real = put(project.dir / "mine" / "tools" / "t").parent.parent
    project.harness.rmdir()
    project.harness.symlink_to(real)
    os.lchown(project.harness, OTHER, OTHER)
    found = catalog(project)
    assert found.find("tools", "t") is None
    assert "link that another user made" in "".join(found.told)  # type: ignore[attr-defined]


def test_a_pipe_among_the_files_blocks_nothing(project: Project) -> None:
    for path in (
        project.harness / "settings.conf",
        project.harness / "tools" / "pipe",
        project.dir / "AGENTS.md",
    ):
        path.parent.mkdir(exist_ok=True)
        os.mkfifo(path, 0o700)
    found = catalog(project)
    assert found.settings.values == {}
    assert found.prompts() == []
    assert found.entries("tools") == []


def test_one_bad_file_of_each_kind_leaves_the_good_ones(project: Project) -> None:
    project.tool("good", "")
    project.drop("tools/bad", "", mode=0o644)
    project.provider("bad.conf", "nonsense\n")
    project.provider("good.conf", "protocol=openai\n")
    project.file(".harness/skills/bad/SKILL.md", "no front matter\n")
    project.skill("good", "a good one")
    project.settings("what is this", key="value")
    (Path(project.harness) / "hooks.d").mkdir()
    found = catalog(project)
    assert found.find("tools", "good") is not None
    assert [conf.name for conf in found.confs()] == ["good"]
    assert list(found.skills()) == ["good"]
    assert found.settings.get("key") == "value"
    assert {Path(miss.path).name for miss in found.near_misses} == {
        "bad",
        "bad.conf:1",
        "SKILL.md",
        "settings.conf:1",
    }
