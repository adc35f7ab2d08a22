"""A model that follows the bundled skill gives itself a tool, meets its mistakes, and proves that it works."""

from __future__ import annotations

import re
from pathlib import Path

from project import Project, bash, call

SKILL = Path(__file__).parents[2] / "src/bridoon/plugins/skills/skills/extend-harness/SKILL.md"


def example(first_line: str) -> str:
    """The code block of the skill that begins with this text after its `#!` line."""
    blocks = re.findall(r"^```(?:bash|python)\n(.*?)^```$", SKILL.read_text("utf-8"), re.M | re.S)
    return next(block for block in blocks if first_line in block)


def test_a_scripted_model_that_follows_the_skill_gets_there(project: Project) -> None:
    project.file("poem.txt", "one two three four\n")
    tool = example('"name": "count_words"')
    broken = tool.replace('"required": ["path"]}}', '"required": ["path"]}')
    steps = [
        {"calls": [call("skill", name="extend-harness")]},
        {
            "expect": {"contains": "chmod +x"},
            "calls": [call("write_file", path=".harness/tools/count_words", content=broken)],
        },
        {
            "expect": {"contains": "not executable yet"},
            "calls": [bash("chmod +x .harness/tools/count_words")],
        },
        {"calls": [call("count_words", path="poem.txt")]},
        {
            "expect": {"contains": "not found"},
            "calls": [call("write_file", path=".harness/tools/count_words", content=tool)],
        },
        {"calls": [call("count_words", path="poem.txt")]},
        {"expect": {"contains": "4"}, "say": "count_words works: 4 words"},
    ]
    result = project.say("give yourself a word counter", steps=steps)
    assert result.code == 0, result
    assert result.output == "count_words works: 4 words"
    assert result.failed == [False, False, False, True, False, False]
    told = [request["system"] for request in result.requests if "tools that failed to load" in request["system"]]
    assert "count_words" in told[0]
    assert "count_words" in [tool["name"] for tool in result.requests[-1]["tools"]]


def test_a_hook_from_the_skill_works_as_soon_as_it_is_dropped(project: Project) -> None:
    gate = example("05-no-force-push")
    steps = [
        {"calls": [call("write_file", path=".harness/hooks.d/tool_exec/05-no-force-push", content=gate)]},
        {"calls": [bash("chmod +x .harness/hooks.d/tool_exec/05-no-force-push")]},
        {"calls": [bash("git push --force origin main"), bash("echo harmless")]},
        {"expect": {"contains": "harmless"}, "say": "the gate holds"},
    ]
    result = project.say(steps=steps)
    assert result.output == "the gate holds"
    assert result.failed == [False, False, True, False]
    assert "forced pushes are not wanted here" in result.results[2]


def test_every_file_that_the_skill_points_to_is_there() -> None:
    links = re.findall(r"`(\.\./[^`]+)`|\]\((\.\./[^)]+)\)", SKILL.read_text("utf-8"))
    assert links
    root = SKILL.parents[4]
    for link in {a or b for a, b in links}:
        inside = (SKILL.parent / link).resolve()
        shipped = root.parents[1] / inside.relative_to(root)  # docs, examples and the pages lie there in a checkout
        assert inside.exists() or shipped.exists(), link
