"""Rules of `settings.conf` about tools, `allow|ask|deny TOOL(pattern)`, and whether one applies to a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from bridoon.catalog.conf import Rule

FILE_TOOLS = frozenset({"read_file", "write_file", "edit_file"})
"""Tools whose patterns are about the file that their `path` names."""

_RULE = re.compile(r"([^\s()]+)\s*(?:\((.*)\))?", re.DOTALL)


class ToolRule(NamedTuple):
    """One rule. Its tool is a glob over names."""

    action: str
    """`allow`, `ask` or `deny`."""
    tool: str
    pattern: str | None
    """None: every call of the tool."""
    where: str = ""
    """`file:line`; empty for what a person said in this session."""

    @classmethod
    def of(cls, rule: Rule) -> ToolRule | None:
        """Read a rule; None when its text is no rule."""
        found = _RULE.fullmatch(rule.text.strip())
        if found is None:
            return None
        pattern = None if found[2] is None else found[2].strip()
        return cls(rule.action, found[1], pattern, f"{rule.path}:{rule.line}")

    def __str__(self) -> str:
        return f"{self.action} {self.target}"

    @property
    def target(self) -> str:
        """The rule without its action: `bash(git status*)`."""
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"


class Call(NamedTuple):
    """A tool call, as far as rules look at it."""

    names: tuple[str, ...]
    """What the tool is called: by the model first, then by its schema and its file."""
    input: Mapping[str, Any]
    cwd: str
    home: str

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def command(self) -> str | None:
        """The command line of a call of `bash`."""
        command = self.input.get("command")
        return command if "bash" in self.names and isinstance(command, str) else None

    @property
    def path(self) -> str | None:
        """The path that a call of a file tool is about, as it was given."""
        path = self.input.get("path")
        return path if not FILE_TOOLS.isdisjoint(self.names) and isinstance(path, str) else None


def touched(rule: ToolRule, call: Call) -> str:
    """For `deny` and `ask`: the part of the call that the rule may be about; empty when it is not."""
    if not _names_tool(rule, call):
        return ""
    if rule.pattern is None:
        return call.name
    if call.command is not None:
        from bridoon.toolkit import shellrules

        return shellrules.touches(shellrules.Pattern.parse(rule.pattern), call.command)
    if call.path is not None and "\0" not in call.path:
        from bridoon.toolkit import pathrules

        return call.path if pathrules.touches(rule.pattern, call.path, call.cwd, call.home) else ""
    return next((text for text in _strings(call.input) if fnmatchcase(text, rule.pattern)), "")


def allowed(rules: Iterable[ToolRule], call: Call) -> bool:
    """Whether `allow` rules certainly cover the whole call.

    A command line is covered when each of its simple commands is, perhaps by different rules. A pattern for a
    tool that is neither `bash` nor about files covers a call whose only argument is a string that it matches.
    """
    ours = [rule for rule in rules if _names_tool(rule, call)]
    if any(rule.pattern is None for rule in ours):
        return True
    patterns = [rule.pattern for rule in ours if rule.pattern is not None]
    if not patterns:
        return False
    if call.command is not None:
        from bridoon.toolkit import shellrules

        return shellrules.allows([shellrules.Pattern.parse(pattern) for pattern in patterns], call.command)
    if call.path is not None and "\0" not in call.path:
        from bridoon.toolkit import pathrules

        path = call.path
        return any(pathrules.allows(pattern, path, call.cwd, call.home) for pattern in patterns)
    match list(call.input.values()):
        case [str(only)]:
            return any(fnmatchcase(only, pattern) for pattern in patterns)
    return False


def _names_tool(rule: ToolRule, call: Call) -> bool:
    return any(fnmatchcase(name, rule.tool) for name in call.names)


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from _strings(each)
        case list():
            for each in value:
                yield from _strings(each)
