"""The front matter of a SKILL.md: YAML, read more kindly than YAML asks for.

Many skills in the world say `description: Use when: somebody asks`, which YAML forbids. A top-level `key: value` whose
value is plain text, on one line or going on in indented ones, is therefore taken as it stands; PyYAML reads everything
else, and is loaded only when there is anything else.
"""

from __future__ import annotations

import re
from typing import Any

from bridoon.wire.frontmatter import split

_PLAIN = re.compile(r"([A-Za-z_][\w.-]*):[ \t]+([^\s'\"|>\[{&*!%@`#?-].*?|[?-]\S.*?)[ \t]*(?:[ \t]#.*)?")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ASIDE = re.compile(r"\s*(#.*)?")


class FrontMatterError(ValueError):
    """The front matter cannot be read. `message` says why, `line` where in the file (from 1)."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def read(text: str) -> tuple[dict[str, Any], str]:
    """The head and the body of a file; {} without front matter. Scalars stay text. Raises FrontMatterError."""
    front, body = split(text)
    return ({} if front is None else parse(front)), body


def parse(front: str) -> dict[str, Any]:
    """The values of front matter, without its `---` lines. Raises FrontMatterError."""
    plain: dict[str, Any] = {}
    quoted: list[str] = []
    rest = False
    lines = front.split("\n")
    while lines:
        line = lines.pop(0)
        found = _PLAIN.fullmatch(line)
        if found is None:
            quoted.append(line)
            rest = rest or not _ASIDE.fullmatch(line)
            continue
        value, below = found[2], 0
        while below < len(lines) and lines[below].startswith((" ", "\t")):
            value += " " + _COMMENT.sub("", lines[below]).strip()
            below += 1
        plain[found[1]] = value.rstrip()
        quoted += [f"{found[1]}: '" + plain[found[1]].replace("'", "''") + "'", *[""] * below]
        del lines[:below]
    return _yaml("\n".join(quoted)) if rest else plain


def _yaml(front: str) -> dict[str, Any]:
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        value = yaml.load(front, loader)  # the base loader makes text, lists and tables only
    except yaml.MarkedYAMLError as wrong:
        mark = wrong.problem_mark or wrong.context_mark
        why = ", ".join(part for part in (wrong.context, wrong.problem) if part)
        raise FrontMatterError(why or str(wrong), (mark.line if mark else 0) + 2) from None
    except (yaml.YAMLError, RecursionError) as wrong:
        raise FrontMatterError(str(wrong).split("\n", 1)[0] or "nested too deeply", 2) from None
    if not isinstance(value, dict):
        raise FrontMatterError("expected `key: value` lines", 2)
    return {str(key): each for key, each in value.items()}
