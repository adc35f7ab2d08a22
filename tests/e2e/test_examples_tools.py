"""The tools, commands and scripts in `examples/`, run for real."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.site import Site, serving
from project import Project, call
from requirements import requirement

EXAMPLES = Path(__file__).parents[2] / "examples"

needs_jq = pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl")), reason="jq or curl is not installed")

PAGE = "<head><title>T</title><style>p{}</style></head><body><p>Hello,&nbsp;you</p><script>x</script>"


@pytest.fixture
def site() -> Iterator[Site]:
    with serving({"/plain": ("text/plain", "a plain page\n"), "/page": ("text/html", PAGE)}) as site:
        yield site


def copy(project: Project, *paths: str) -> None:
    for path in paths:
        source, target = EXAMPLES / path, project.harness / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)


@needs_jq
@requirement("tools:web-get")
def test_web_get_answers_with_the_body_of_a_page(project: Project, site: Site) -> None:
    copy(project, "tools/web_get")
    result = project.say(calls=[call("web_get", url=f"{site.url}/plain")])
    assert (result.results, result.failed) == (["a plain page"], [False])


@needs_jq
@requirement("tools:web-get", "tools:nonzero-is-error")
def test_web_get_of_a_missing_page_is_a_failed_result_that_says_why(project: Project, site: Site) -> None:
    copy(project, "tools/web_get")
    result = project.say(calls=[call("web_get", url=f"{site.url}/missing")])
    assert result.failed == [True]
    assert "404" in result.results[0]


@requirement("tools:any-language")
def test_web_fetch_in_python_answers_with_the_words_of_a_page(project: Project, site: Site) -> None:
    copy(project, "tools/web_fetch")
    result = project.say(calls=[call("web_fetch", url=f"{site.url}/page"), call("web_fetch", url=f"{site.url}/none")])
    assert result.results == ["T\nHello, you", "the server answered 404 Not Found"]
    assert result.failed == [False, True]


def test_review_hands_the_changes_of_the_working_tree_to_the_agent(project: Project) -> None:
    copy(project, "commands/review")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], cwd=project.dir, env=project.env, check=True)
    project.file("a.txt", "one\n")
    subprocess.run(["git", "add", "a.txt"], cwd=project.dir, env=project.env, check=True)
    script = project.script([{"expect": {"contains": "+one"}, "say": "no bugs"}])
    result = project.run("review", "-p", "scripted", env={"BRIDOON_SCRIPT": script})
    assert (result.stdout, result.code) == ("no bugs\n", 0)


def test_the_script_of_the_scripted_model_plays(project: Project) -> None:
    project.file("README.md", "hello")
    script = str(EXAMPLES / "scripted" / "list-files.yaml")
    result = project.run("--json", "-p", "scripted", "what is here?", env={"BRIDOON_SCRIPT": script})
    assert result.output == "There is a README.md here."


@requirement("skills:layout")
def test_the_example_skill_loads_with_its_resources(project: Project) -> None:
    copy(project, "skills/my-workflow")
    (text,) = project.say(calls=[call("skill", name="my-workflow")]).results
    assert "scripts/setup.sh" in text
    assert "references/details.md" in text


def test_hs_check_finds_nothing_wrong_with_any_example(project: Project) -> None:
    result = project.run("check", "--json", str(EXAMPLES))
    assert result.code == 0, result


def test_every_program_in_the_examples_is_executable_and_named_in_their_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    for path in EXAMPLES.rglob("*"):
        if path.is_file() and path.name != "README.md":
            name = str(path.relative_to(EXAMPLES))
            assert name in readme or str(path.parent.parent.relative_to(EXAMPLES)) in readme, name
            if path.read_bytes().startswith(b"#!"):
                assert path.stat().st_mode & 0o111 == 0o111, name
