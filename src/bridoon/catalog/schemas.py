"""The tools that a model can call: their schemas, by the names that the model uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from bridoon.catalog.files import Stamp
from bridoon.catalog.lookup import Catalog
from bridoon.catalog.sources import Executable, NearMiss
from bridoon.errors import BridoonError

NAME_LIMIT = 64
"""Characters that every API accepts in a tool's name."""

Spec = dict[str, Any]
"""`name`, `description`, `input_schema` and, when the tool gives some, `annotations`."""

SchemaOf = Callable[[Executable], dict[str, Any]]
"""What a tool answers to `--schema`. Raises BridoonError with the reason when it answers nothing usable."""


class ToolIndex:
    """The tools of a catalog at one moment. Get it with `of`, which keeps it while nothing changes.

    A tool whose schema cannot be used is left out and named in `problems`; the rest is not disturbed.
    """

    def __init__(self, catalog: Catalog, schema_of: SchemaOf, answers: Answers) -> None:
        self.answers = answers
        self.problems: list[tuple[str, str]] = []
        """Path and reason of each tool that was left out."""
        self._tools: dict[str, tuple[Spec, Executable]] = {}
        self._aliases: dict[str, str] = {}
        order = {source.path: number for number, source in enumerate(catalog.sources)}
        files = {each.name: each for each in catalog.entries("tools")}
        # The most local first; of two that claim one name in one place, the first in bytewise order.
        tools = sorted(files.values(), key=lambda each: (-order[each.source.path], each.name))
        tools += catalog.lent
        for tool in tools:
            self._add(tool, schema_of)
        answers.forget_others(tools)
        catalog.report([NearMiss(path, "tools", reason) for path, reason in self.problems], "schemas")
        ordered = sorted(self._tools, key=lambda name: (not self._tools[name][1].bundled, name))
        self.specs: list[Spec] = [self._tools[name][0] for name in ordered]
        """Bundled tools first, then by name: the same order in every turn, so that prompt caches hold."""

    @classmethod
    def of(cls, catalog: Catalog, schema_of: SchemaOf) -> ToolIndex:
        """The index for what the catalog holds now. A tool is asked again only when its file changed."""

        def make(old: ToolIndex | None) -> ToolIndex:
            return cls(catalog, schema_of, old.answers if old else Answers())

        return catalog.kept("tools", make)

    def by_name(self, name: str) -> Executable | None:
        """The tool that a model means: by its schema's name, else by its file name. A path is no name."""
        found = self._entry(name)
        return found[1] if found else None

    def spec(self, name: str) -> Spec | None:
        """What the model was told about a tool."""
        found = self._entry(name)
        return found[0] if found else None

    def near(self, name: str) -> str:
        """The name of a tool that was probably meant; empty when none is close."""
        import difflib

        return next(iter(difflib.get_close_matches(name, self._tools, 1, 0.7)), "")

    def _entry(self, name: str) -> tuple[Spec, Executable] | None:
        return self._tools.get(name) or self._tools.get(self._aliases.get(name, ""))

    def _add(self, tool: Executable, schema_of: SchemaOf) -> None:
        answer = self.answers.ask(tool, schema_of)
        if isinstance(answer, str):
            self.problems.append((tool.path, answer))
            return
        name = answer["name"]
        other = self._tools.get(name)
        if other is not None:
            self.problems.append((tool.path, f"name clash: {other[1].path} is called {name!r} too, and counts"))
            return
        self._tools[name] = (answer, tool)
        self._aliases.setdefault(tool.name, name)


class Answers:
    """What each tool answered, good or bad, as long as its file stays as it is."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Stamp, Spec | str]] = {}

    def ask(self, tool: Executable, schema_of: SchemaOf) -> Spec | str:
        """The checked schema of a tool, or why it has none."""
        known = self._known.get(tool.path)
        if known is None or known[0] != tool.stamp:
            known = self._known[tool.path] = (tool.stamp, _ask(tool, schema_of))
        return known[1]

    def forget_others(self, tools: Iterable[Executable]) -> None:
        """Keep only what these tools answered."""
        paths = {tool.path for tool in tools}
        self._known = {path: known for path, known in self._known.items() if path in paths}


def _ask(tool: Executable, schema_of: SchemaOf) -> Spec | str:
    try:
        return checked(schema_of(tool))
    except BridoonError as wrong:
        return wrong.message
    except Exception as crash:  # one bad tool must not take the others away
        return f"its schema cannot be read: {type(crash).__name__}: {crash}"


def checked(answer: object) -> Spec:
    """A schema with all its parts, under a name that every API accepts. Raises BridoonError with what is
    wrong."""
    if not isinstance(answer, dict):
        raise BridoonError(f"its schema is a {type(answer).__name__}, not an object")
    name = answer.get("name")
    if not isinstance(name, str) or not name.strip():
        raise BridoonError("its schema has no name")
    description = answer.get("description", "")
    if not isinstance(description, str):
        raise BridoonError("the description in its schema is no string")
    spec: Spec = {
        "name": re.sub(r"[^A-Za-z0-9_-]", "_", name.strip())[:NAME_LIMIT],
        "description": description,
        "input_schema": _checked_input(answer.get("input_schema")),
    }
    annotations = answer.get("annotations")
    if isinstance(annotations, dict):
        spec["annotations"] = annotations
    return spec


def _checked_input(schema: object) -> dict[str, Any]:
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise BridoonError("its input_schema is not an object")
    kind = schema.get("type", "object")
    if kind != "object":
        raise BridoonError(f"its input_schema has the type {kind!r}; a call's input is always an object")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(each, (dict, bool)) for each in properties.values()):
        raise BridoonError("the properties of its input_schema are not objects by name")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        raise BridoonError("required in its input_schema is not a list of names")
    return {**schema, "type": "object", "properties": properties}
