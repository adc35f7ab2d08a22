"""The tools that the model can call, by the names in their schemas."""

from __future__ import annotations

from typing import Any

import pytest
from catalogs import bundled, catalog, home, reasons
from project import Project

from bridoon.catalog.lookup import Catalog
from bridoon.catalog.schemas import ToolIndex
from bridoon.catalog.sources import Executable
from bridoon.errors import BridoonError


class Tools:
    """Answers for `--schema`, by file name; counts who was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(self, tool: Executable) -> dict[str, Any]:
        self.asked.append(tool.name)
        answer = self.answers.get(tool.name, {"name": tool.name, "description": f"about {tool.name}"})
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer
        return found


def names(index: ToolIndex) -> list[str]:
    return [spec["name"] for spec in index.specs]


def index_of(found: Catalog, **answers: Any) -> ToolIndex:
    return ToolIndex.of(found, Tools(**answers))


def test_bundled_tools_come_first_then_by_name(project: Project) -> None:
    for name in ("write", "bash"):
        bundled(project, f"core/tools/{name}")
    bundled(project, "subagents/tools/agent")
    for name in ("z", "a"):
        project.tool(name, "")
    home(project, "tools/m")
    assert names(index_of(catalog(project))) == ["agent", "bash", "write", "a", "m", "z"]


def test_a_tool_is_called_by_its_schemas_name_and_its_file_name_is_an_alias(project: Project) -> None:
    project.tool("web_fetch", "")
    index = index_of(catalog(project), web_fetch={"name": "fetch", "description": "d"})
    assert names(index) == ["fetch"]
    for name in ("fetch", "web_fetch"):
        tool = index.by_name(name)
        assert tool is not None
        assert tool.name == "web_fetch"
    assert index.spec("web_fetch") == index.specs[0]


def test_an_alias_never_hides_a_schemas_name(project: Project) -> None:
    project.tool("a", "")
    project.tool("b", "")
    index = index_of(catalog(project), a={"name": "b"}, b={"name": "c"})
    found = index.by_name("b")
    assert found is not None
    assert found.name == "a"


@pytest.mark.parametrize("name", ["", "nothing", "../tools/t", "t/../t", "/bin/sh", ".harness/tools/t", "t\n", "T"])
def test_names_are_never_paths(project: Project, name: str) -> None:
    project.tool("t", "")
    assert index_of(catalog(project)).by_name(name) is None


def test_on_a_clash_the_more_local_file_counts_and_the_other_is_named(project: Project) -> None:
    bundled(project, "core/tools/bash")
    project.tool("mybash", "")
    found = catalog(project)
    index = index_of(found, mybash={"name": "bash"})
    tool = index.by_name("bash")
    assert tool is not None
    assert tool.name == "mybash"
    ((path, reason),) = index.problems
    assert path.endswith("core/tools/bash")
    assert reason.startswith("name clash")
    assert reasons(found)["bash"] == reason


def test_on_a_clash_in_one_place_the_first_in_order_counts(project: Project) -> None:
    project.tool("b", "")
    project.tool("a", "")
    index = index_of(catalog(project), a={"name": "same"}, b={"name": "same"})
    tool = index.by_name("same")
    assert tool is not None
    assert tool.name == "a"


@pytest.mark.parametrize(
    ("given", "mapped"), [("my tool", "my_tool"), ("a.b/c", "a_b_c"), ("ü", "_"), ("x" * 80, "x" * 64)]
)
def test_names_are_made_such_that_every_api_accepts_them(project: Project, given: str, mapped: str) -> None:
    project.tool("t", "")
    assert names(index_of(catalog(project), t={"name": given})) == [mapped]


def test_what_a_schema_leaves_out_is_filled_in(project: Project) -> None:
    project.tool("t", "")
    project.tool("u", "")
    index = index_of(
        catalog(project), t={"name": "t"}, u={"name": "u", "input_schema": {"properties": {"a": {}}, "x": 1}}
    )
    assert index.specs == [
        {"name": "t", "description": "", "input_schema": {"type": "object", "properties": {}}},
        {"name": "u", "description": "", "input_schema": {"type": "object", "properties": {"a": {}}, "x": 1}},
    ]


def test_annotations_are_kept(project: Project) -> None:
    project.tool("t", "")
    index = index_of(catalog(project), t={"name": "t", "annotations": {"readOnlyHint": True}})
    assert index.specs[0]["annotations"] == {"readOnlyHint": True}


@pytest.mark.parametrize(
    "answer",
    [
        BridoonError("--schema printed no JSON"), RecursionError("deep"),
        [], "text", {}, {"name": ""}, {"name": 3},
        {"name": "t", "description": 1}, {"name": "t", "input_schema": []},
        {"name": "t", "input_schema": {"type": "array"}},
        {"name": "t", "input_schema": {"properties": []}}, {"name": "t", "input_schema": {"required": "a"}},
        {"name": "t", "input_schema": {"properties": {"a": "string"}}},
    ],
    ids=repr,
)  # fmt: skip
def test_a_tool_without_a_usable_schema_is_left_out_and_named(project: Project, answer: Any) -> None:
    path = project.tool("bad", "")
    project.tool("good", "")
    found = catalog(project)
    index = index_of(found, bad=answer)
    assert names(index) == ["good"]
    assert [problem[0] for problem in index.problems] == [str(path)]
    assert reasons(found) == {"bad": index.problems[0][1]}


def test_a_tool_is_asked_again_only_when_its_file_changed(project: Project) -> None:
    project.tool("a", "echo 1")
    project.tool("b", "echo 1")
    found = catalog(project)
    tools = Tools(b=BridoonError("broken"))
    for _ in range(3):
        found.refresh()
        ToolIndex.of(found, tools)
    assert tools.asked == ["a", "b"]
    project.tool("b", "echo repaired")
    found.refresh()
    del tools.answers["b"]
    assert names(ToolIndex.of(found, tools)) == ["a", "b"]
    assert tools.asked == ["a", "b", "b"]
    assert found.near_misses == []


def test_a_near_name_is_offered(project: Project) -> None:
    project.tool("web_fetch", "")
    index = index_of(catalog(project))
    assert index.near("web-fetch") == "web_fetch"
    assert index.near("entirely else") == ""


def test_a_tool_of_an_inactive_provider_is_not_offered(project: Project) -> None:
    bundled(project, "openai/providers/openai")
    bundled(project, "openai/tools/only_openai")
    found = catalog(project)
    assert names(index_of(found)) == ["only_openai"]
    found.choose("anthropic")
    assert names(index_of(found)) == []
