"""The `sources` stage: provider scoping, hooks that change the list, and our own hooks run both ways."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from catalogs import bundled, catalog, home, put
from project import Project

from bridoon.catalog.sources import ROOT, Executable
from bridoon.errors import BridoonError
from bridoon.proc import inline
from bridoon.sdk.script import Context, Result

PLUGINS = Path(ROOT) / "plugins"
GUIDE = PLUGINS / "skills" / "skills" / "extend-harness" / "SKILL.md"


def names(found: Any) -> list[str]:
    """The sources by the last part of their path, the project's and the home's own left out."""
    return [Path(source.path).name for source in found.sources if source.pack]


@pytest.fixture
def providers(project: Project) -> Project:
    """A project with the bundled packs of three providers and their variants."""
    bundled(project, "core/tools/bash")
    for name in ("anthropic", "openai", "local"):
        bundled(project, f"{name}/providers/{name}")
        bundled(project, f"{name}/hooks.d/receive/10-save")
    bundled(project, "anthropic/providers/claude")
    bundled(project, "openai/providers/groq.conf", "protocol=openai\n", 0o644)
    return project


@pytest.mark.parametrize(
    ("provider", "kept"),
    [
        ("", ["core", "anthropic", "local", "openai"]),
        ("openai", ["core", "openai"]),
        ("claude", ["core", "anthropic"]),
        ("groq", ["core", "openai"]),
        ("nothing", ["core"]),
    ],
)
def test_only_the_active_providers_packs_take_part(providers: Project, provider: str, kept: list[str]) -> None:
    assert names(catalog(providers, provider=provider)) == kept


def test_a_variant_brings_the_pack_that_speaks_its_protocol(providers: Project) -> None:
    providers.provider("mine.conf", "protocol=openai\n")
    providers.provider("viaclaude.conf", "protocol=claude\n")
    assert names(catalog(providers, provider="mine")) == ["core", "openai"]
    assert names(catalog(providers, provider="viaclaude")) == ["core", "anthropic"]


def test_a_pack_that_is_named_like_its_variant_belongs_to_a_provider(providers: Project) -> None:
    put(providers.harness / "plugins/mistral/providers/mistral.conf", "protocol=openai\n", 0o644)
    put(providers.harness / "plugins/tools-only/tools/t")
    assert names(catalog(providers, provider="openai")) == ["core", "openai", "tools-only"]
    assert names(catalog(providers, provider="mistral")) == ["core", "openai", "mistral", "tools-only"]


def test_a_provider_dropped_beside_other_things_keeps_its_directory(providers: Project) -> None:
    providers.provider("own", "")
    found = catalog(providers, provider="own")
    assert names(found) == ["core"]
    assert found.find("providers", "own") is not None
    assert names(catalog(providers, provider="")) == ["core", "anthropic", "local", "openai"]
    found.choose("own", "openai")
    assert names(found) == ["core", "openai"]


def test_choosing_a_provider_hides_the_others_but_not_their_variants(providers: Project) -> None:
    found = catalog(providers)
    assert len(found.hooks("receive")) == 1
    found.choose("anthropic")
    assert found.hooks("receive")[0].source.pack == "anthropic"
    assert found.conf("groq") is not None
    assert len(found.unscoped_sources) == 5


# ---- hooks that change the list


def listing_hook(*paths: Path, before: str = "true") -> str:
    """A hook that prints these sources after what it was given."""
    more = [str(path) for path in paths]
    given = "json.load(sys.stdin).get('sources', [])"
    code = f"import json, sys; print(json.dumps({{'sources': {given} + {more}}}))"
    return f"#!/bin/sh\n{before}\nexec python3 -c {shlex.quote(code)}\n"


def test_a_hook_of_the_home_adds_a_source(project: Project) -> None:
    shared = put(project.dir.parent / "shared" / "tools" / "t").parent.parent
    home(project, "hooks.d/sources/50-more", listing_hook(shared))
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    found = catalog(project)
    assert found.find("tools", "t") is not None
    assert found.sources[-1].path == str(shared)


def test_hooks_of_projects_and_of_packs_run_in_a_second_and_third_pass_once_each(project: Project) -> None:
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    ran = project.dir.parent / "ran"
    log = f"echo x >> {ran}"
    first, second = project.dir.parent / "first", project.dir.parent / "second"
    project.drop("plugins/a/hooks.d/sources/60-a", listing_hook(first, before=log))
    put(first / "hooks.d" / "sources" / "70-b", listing_hook(second, before=log))
    put(second / "hooks.d" / "sources" / "80-never", f"#!/bin/sh\n{log}\ncat\n")
    found = catalog(project)
    found.refresh()
    assert [Path(source.path).name for source in found.sources][-2:] == ["first", "second"]
    assert ran.read_text("utf-8").count("x") == 2


def test_a_hook_can_take_sources_away(project: Project) -> None:
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    put(project.dir.parent / ".harness" / "tools" / "far")
    home(project, "hooks.d/sources/51-gate", "#!/bin/sh\necho '{\"sources\": []}'\n")
    assert catalog(project).sources == []


def test_the_scope_of_the_provider_holds_after_hooks_of_later_passes(providers: Project) -> None:
    for name in ("30-walk-dirs", "40-scope-providers"):
        bundled(providers, f"core/hooks.d/sources/{name}")
    packs = [providers.dir.parent / "root" / "plugins" / name for name in ("local", "openai")]
    providers.hook("sources/60-all", listing_hook(*packs))
    assert names(catalog(providers, provider="openai")) == ["core", "openai"]


def test_the_bundled_scope_can_be_replaced(providers: Project) -> None:
    for name in ("30-walk-dirs", "40-scope-providers"):
        bundled(providers, f"core/hooks.d/sources/{name}")
    home(providers, "hooks.d/sources/40-scope-providers", "#!/bin/sh\ncat\n")
    assert names(catalog(providers, provider="openai")) == ["core", "anthropic", "local", "openai"]


@pytest.mark.parametrize(
    "body",
    ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho garbage\n", "#!/bin/sh\necho '[]'\n",
     "#!/bin/sh\necho '{\"sources\": 3}'\n",
     "#!/no/such/interpreter\n", "#!/bin/sh\necho '{\"sources\": [1]}'\n"],
)  # fmt: skip
def test_a_hook_that_fails_leaves_the_standard_walk_and_is_named(project: Project, body: str) -> None:
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    path = home(project, "hooks.d/sources/50-bad", body)
    project.tool("t", "")
    found = catalog(project)
    assert found.find("tools", "t") is not None
    told = [text for text in found.told if str(path) in text]  # type: ignore[attr-defined]
    assert len(told) == 1
    assert "the standard directories are used" in told[0]


def test_directories_that_a_hook_names_wrongly_are_left_out_and_named(project: Project) -> None:
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    open_to_all = put(project.dir.parent / "open" / "tools" / "t").parent.parent
    open_to_all.chmod(0o777)
    home(project, "hooks.d/sources/50-more", listing_hook(Path("relative"), project.dir / "gone", open_to_all))
    found = catalog(project)
    for _ in range(3):
        found.refresh()
    assert found.find("tools", "t") is None
    reasons = [miss.reason for miss in found.near_misses]
    assert len(reasons) == 2
    assert "no directory" in reasons[0]
    assert "others can write" in reasons[1]


def test_a_hook_sees_the_list_the_stage_and_the_provider(project: Project) -> None:
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    seen = project.dir.parent / "seen"
    body = f'echo "$HARNESS_STAGE $HARNESS_PROVIDER $HARNESS_SOURCES" > {seen}'
    home(project, "hooks.d/sources/50-x", f"#!/bin/sh\n{body}\ncat\n")
    catalog(project, provider="p").refresh()
    stage, provider, sources = seen.read_text("utf-8").split()
    assert (stage, provider) == ("sources", "p")
    assert sources.endswith(f":{project.home}/.harness:{project.harness}")


def test_its_answer_counts_anew_at_every_refresh(project: Project) -> None:
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    answer = project.dir.parent / "answer"
    answer.write_text(json.dumps({"sources": [str(project.harness)]}), "utf-8")
    home(project, "hooks.d/sources/90-told", f"#!/bin/sh\ncat {answer}\n")
    project.tool("t", "")
    found = catalog(project)
    assert found.find("tools", "t") is not None
    answer.write_text('{"sources": []}', "utf-8")
    assert found.refresh()
    assert found.find("tools", "t") is None
    assert not found.refresh()


def test_a_caller_may_run_the_hooks_itself(project: Project) -> None:
    bundled(project, "core/hooks.d/sources/30-walk-dirs")
    home(project, "hooks.d/sources/50-x")
    seen: list[str] = []

    def run(hook: Executable, payload: dict[str, Any]) -> dict[str, Any]:
        seen.append(hook.name)
        raise BridoonError(f"{hook.name} said no")

    found = catalog(project, run_hook=run)
    assert [source.path for source in found.sources] == [source.path for source in found.walk()]
    assert seen == ["50-x"]
    assert "50-x said no; the standard directories are used" in found.told  # type: ignore[attr-defined]


def test_a_copy_of_our_own_hook_in_the_home_does_not_start_itself_for_ever(project: Project) -> None:
    source = PLUGINS / "core" / "hooks.d" / "sources" / "30-walk-dirs"
    home(project, "hooks.d/sources/30-walk-dirs", source.read_text("utf-8"))
    project.tool("t", "")
    found = catalog(project, root=ROOT)
    assert found.find("tools", "t") is not None
    assert found.told == []  # type: ignore[attr-defined]


# ---- our own drop-ins, inline and as programs

Both = Callable[[str, dict[str, Any]], tuple[Any, Any]]


@pytest.fixture
def both(project: Project) -> Both:
    """Runs a bundled drop-in in this interpreter and as a process, in the project's directory."""
    env = {**project.env, "HARNESS_CWD": str(project.dir)}

    def run(path: str, payload: dict[str, Any]) -> tuple[Any, Any]:
        here = inline.load(str(PLUGINS / path)).run(json.loads(json.dumps(payload)), Context(env))
        flags = ["--exec"] if "/tools/" in path else []
        done = subprocess.run(
            [str(PLUGINS / path), *flags], input=json.dumps(payload), env=env, cwd=project.dir,
            capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
        if flags:
            content = here if isinstance(here, str) else here.content
            assert done.returncode == int(isinstance(here, Result) and here.failed)
            return content, done.stdout
        assert done.returncode == 0, done.stderr
        return here, json.loads(done.stdout)

    return run


def test_walk_dirs_lists_the_standard_sources(project: Project, both: Both) -> None:
    home(project, "plugins/p/tools/t")
    here, process = both("core/hooks.d/sources/30-walk-dirs", {"sources": ["/ignored"], "kept": 1})
    assert here == process
    assert here["kept"] == 1
    ours = [path for path in here["sources"] if not path.startswith(str(PLUGINS))]
    assert [os.path.relpath(path, project.dir.parent) for path in ours] == [
        "home/.harness/plugins/p", "home/.harness", "project/.harness"
    ]  # fmt: skip
    assert here["sources"][0] == str(PLUGINS / "core")


def test_scope_providers_filters_what_it_is_given(project: Project, both: Both) -> None:
    project.env["HARNESS_PROVIDER"] = "mine"
    project.provider("mine.conf", "protocol=mine2\n")
    for name in ("mine2", "other"):
        put(project.harness / "plugins" / name / "providers" / name)
    given = [str(project.harness / "plugins" / name) for name in ("other", "mine2")] + [str(project.harness)]
    here, process = both("core/hooks.d/sources/40-scope-providers", {"sources": given})
    assert here == process


@pytest.mark.parametrize("system", ["before", "", None])
def test_the_skills_hook_adds_to_the_system_prompt(project: Project, both: Both, system: str | None) -> None:
    project.skill("mine", "when to use it")
    payload = {"system": system, "next_state": "send"}
    here, process = both("skills/hooks.d/assemble/35-skills", payload)
    assert here == process
    assert here["next_state"] == "send"
    assert here["system"].startswith("before\n\nSkills are" if system else "Skills are")
    assert '<skill name="mine"' in here["system"]


def test_the_skill_tool_loads_what_the_list_names(project: Project, both: Both) -> None:
    project.skill("mine", "d", "Step one.")
    here, process = both("skills/tools/skill", {"name": "mine"})
    assert here == process
    assert here.startswith('<skill name="mine">\nStep one.')


@pytest.mark.parametrize("given", [{"name": "nothing"}, {}, {"name": 3}, {"name": "../mine"}])
def test_the_skill_tool_fails_for_what_is_no_skill(project: Project, both: Both, given: dict[str, Any]) -> None:
    project.skill("mine", "d")
    here, process = both("skills/tools/skill", given)
    assert here == process
    assert here.startswith("error: skill")


def test_the_examples_of_the_bundled_skill_work_as_printed(project: Project) -> None:
    """The tool in bash and the one in Python, taken out of the guide, answer alike."""
    text = GUIDE.read_text("utf-8")
    blocks = [block.split("\n", 1)[1] for block in text.split("```")[1::2]]
    tools = [block for block in blocks if "count_words" in block]
    put(project.dir / "file.txt", "one two three\n")
    env = {**project.env, "PATH": f"{project.env['PATH']}:{Path(shutil.which('python3') or '').parent}"}
    assert len(tools) == 2
    for number, body in enumerate(tools):
        path = put(project.harness / "tools" / f"count{number}", body)
        schema = subprocess.run([path, "--schema"], env=env, capture_output=True, text=True, timeout=20, check=True)
        assert json.loads(schema.stdout)["name"] == "count_words"
        done = subprocess.run(
            [path, "--exec"], input='{"path": "file.txt"}\n', cwd=project.dir, env=env,
            capture_output=True, text=True, timeout=20, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == "3"


def test_the_gate_of_the_bundled_skill_refuses_what_it_says(project: Project) -> None:
    text = GUIDE.read_text("utf-8")
    (body,) = [block.split("\n", 1)[1] for block in text.split("```")[1::2] if "05-no-force-push" in block]
    gate = put(project.harness / "hooks.d" / "tool_exec" / "05-no-force-push", body)
    codes = []
    for command in ("git push --force", "git push"):
        payload = json.dumps({"name": "bash", "input": {"command": command}}) + "\n"
        done = subprocess.run(
            [gate], input=payload, env=project.env, capture_output=True, text=True, timeout=20, check=False
        )
        codes.append((done.returncode, done.stdout == payload))
    assert codes == [(1, False), (0, True)]
