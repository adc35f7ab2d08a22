"""Skills: which of a name counts, what the model is told, what loading one gives."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from catalogs import bundled, catalog, put, reasons
from project import Project

from bridoon.catalog import skillhead
from bridoon.catalog.skills import catalog_text, load_skill_text

PLUGINS = Path(__file__).parents[2] / "src" / "bridoon" / "plugins"


def skill(folder: Path, name: str = "s", description: str = "d", body: str = "Do it.\n") -> Path:
    """Write a skill into a directory of skills."""
    return put(folder / name / "SKILL.md", f"---\nname: {name}\ndescription: {description}\n---\n{body}", 0o644)


def test_each_place_hides_those_below_it(project: Project) -> None:
    """From lowest to highest; the last one written counts."""
    bundled(project, "skills/skills/s/SKILL.md", "---\nname: s\ndescription: bundled\n---\n", 0o644)
    hidden = project.dir.parent / "elsewhere"
    outer, inner = project.dir, project.dir / "sub"
    places = {
        "home pack": hidden / "plugins" / "p" / "skills",
        "harness home": hidden / "skills",
        "user's harness": project.home / ".harness" / "skills",
        "user's agents": project.home / ".agents" / "skills",
        "project pack": outer / ".harness" / "plugins" / "p" / "skills",
        "inner pack": inner / ".harness" / "plugins" / "p" / "skills",
        "project": outer / ".harness" / "skills",
        "project agents": outer / ".agents" / "skills",
        "inner": inner / ".harness" / "skills",
        "inner agents": inner / ".agents" / "skills",
    }
    inner.mkdir()
    seen = []
    for about, folder in {"bundled": None, **places}.items():
        if folder is not None:
            skill(folder, "s", about)
        found = catalog(project, inner, env={"HARNESS_HOME": str(hidden)})
        seen.append(found.skills()["s"].description)
    assert seen == ["bundled", *places]


def test_below_the_users_home_the_home_is_still_lower_than_any_project(project: Project) -> None:
    work = project.home / "work"
    skill(work / ".harness" / "plugins" / "p" / "skills", "s", "pack of the project")
    skill(project.home / ".harness" / "skills", "s", "home")
    assert catalog(project, work).skills()["s"].description == "pack of the project"


def test_names_come_sorted_and_folders_may_be_called_anything(project: Project) -> None:
    skill(project.harness / "skills", "b")
    skill(project.harness / "skills", "a").parent.rename(project.harness / "skills" / "zzz")
    assert list(catalog(project).skills()) == ["a", "b"]


@pytest.mark.parametrize(
    ("front", "description"),
    [
        ('name: "s"\ndescription: \'it is "quoted"\'', 'it is "quoted"'),
        ("name: s\ndescription: >\n  folded\n  text", "folded text"),
        ("name: s\ndescription: |\n  two\n  lines", "two lines"),
        ("# comment\nname: s\ndescription: d # comment\nlicense: MIT", "d"),
        ("name: s\r\ndescription: with CR\r", "with CR"),
    ],
)
def test_front_matter_is_read_as_people_write_it(project: Project, front: str, description: str) -> None:
    put(project.harness / "skills" / "x" / "SKILL.md", f"\ufeff---\n{front}\n---\nbody\n", 0o644)
    assert catalog(project).skills()["s"].description == description


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("no front matter\n", "no name and no description"),
        ("---\nname: s\n---\n", "no description"),
        ("---\ndescription: d\n---\n", "no name"),
        ("---\nname: s\ndescription: [a, b]\n---\n", "no description"),
        ('---\nname: "s\ndescription: d\n---\n', "bad front matter"),
        ("---\nname: s\ndescription: d\n", "no name and no description"),
    ],
)
def test_a_skill_that_cannot_be_used_is_named(project: Project, content: str, reason: str) -> None:
    put(project.harness / "skills" / "x" / "SKILL.md", content, 0o644)
    skill(project.harness / "skills", "good")
    found = catalog(project)
    assert list(found.skills()) == ["good"]
    assert reason in reasons(found)["SKILL.md"]


def test_near_misses_of_skills_are_named(project: Project) -> None:
    folder = project.harness / "skills"
    put(folder / "loose.md", "---\nname: x\ndescription: x\n---\n", 0o644)
    put(folder / "lower" / "skill.md", "---\nname: x\ndescription: x\n---\n", 0o644)
    skill(folder, "open").chmod(0o666)
    skill(folder, "a", "first")
    skill(folder, "z").write_text("---\nname: a\ndescription: second\n---\n", "utf-8")
    found = catalog(project)
    assert found.skills()["a"].description == "first"
    names = {(Path(miss.path).parent.name, miss.reason.split(":")[0]) for miss in found.near_misses}
    assert names == {
        ("skills", "a skill is a folder"), ("skills", "there is no SKILL.md in it"),
        ("open", "skipped"), ("z", "name clash"),
    }  # fmt: skip


def test_a_directory_of_skills_that_others_can_write_to_is_skipped(project: Project) -> None:
    skill(project.dir / ".agents" / "skills", "s")
    (project.dir / ".agents").chmod(0o777)
    assert catalog(project).skills() == {}


def test_the_list_is_well_formed_whatever_the_texts_hold(project: Project) -> None:
    name, description = 'a"<b>&', "</available-skills> & <more> 'of \"it"
    front = f"---\nname: '{name}'\ndescription: |\n  {description}\n---\n"
    put(project.harness / "skills" / "x" / "SKILL.md", front, 0o644)
    text = catalog_text(catalog(project).skills())
    tree = ElementTree.fromstring(text[text.index("<available-skills>") :])
    (found,) = tree
    assert found.get("name") == name
    assert found.get("path") == str(project.harness / "skills" / "x" / "SKILL.md")
    assert (found.text or "").strip() == description


def test_no_skills_no_text() -> None:
    assert catalog_text({}) == ""


def test_loading_gives_the_body_the_directory_and_the_files_beside_it(project: Project) -> None:
    path = skill(project.harness / "skills", "s", "d", "\n# Title\n\n---\n\nrule above\n\n")
    for file in (
        "references/b.md",
        "references/a.md",
        "scripts/run.sh",
        "scripts/.hidden",
        "assets/sub/deep",
        "other/x",
    ):
        put(path.parent / file, "x")
    assert load_skill_text(catalog(project).skills()["s"]) == (
        f'<skill name="s">\n# Title\n\n---\n\nrule above\n\nSkill directory: {path.parent}\n'
        "Relative paths in this skill count from that directory.\n\n<skill-resources>\n"
        "  scripts/run.sh\n  references/a.md\n  references/b.md\n  assets/sub\n</skill-resources>\n</skill>"
    )


def test_a_skill_that_is_written_during_the_run_is_found(project: Project) -> None:
    found = catalog(project)
    assert found.skills() == {}
    skill(project.harness / "skills", "s")
    assert list(found.skills()) == ["s"]


def test_the_heads_of_bundled_skills_need_no_yaml() -> None:
    """They are read at every start, and the kind reading must agree with the strict one."""
    paths = list(PLUGINS.glob("*/skills/*/SKILL.md"))
    assert paths
    for path in paths:
        head, _ = skillhead.read(path.read_text("utf-8"))
        lines = path.read_text("utf-8").split("---\n")[1].splitlines()
        assert head == dict(line.split(": ", 1) for line in lines)


def test_the_bundled_skill_points_only_to_what_an_installation_holds(project: Project) -> None:
    text = (PLUGINS / "skills" / "skills" / "extend-harness" / "SKILL.md").read_text("utf-8")
    linked = {word.strip("`") for word in text.split() if word.strip("`").startswith("../")}
    linked = {link.removeprefix("../../../../") for link in linked}
    assert linked == {"docs/PROTOCOLS.md", "examples/", "AGENTS.md", "README.md", "plugins/"}
