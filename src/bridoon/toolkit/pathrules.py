"""Whether a path pattern such as `src/**` or `~/.ssh/*` means a file, whatever links lead to it.

`*` and `?` stay within one name, `**` goes through any number of directories, `~/` at the start is the home
directory, a `/` at the end means everything below. Other patterns count from the session's directory.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

_GLOB = re.compile(r"[*?\[]")
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^]/]*\]")


def allows(pattern: str, path: str, cwd: str, home: str) -> bool:
    """Whether the pattern certainly means the file at `path`, once links and `..` are resolved."""
    resolved = os.path.realpath(os.path.join(cwd, path))
    return _matches(_anchored(pattern, cwd, home, resolve=True), [resolved])


def touches(pattern: str, path: str, cwd: str, home: str) -> bool:
    """Whether the pattern may mean the file: as it is spelled or resolved, itself or a directory above it.

    A pattern without `/` means every file and directory of that name, wherever it lies.
    """
    spelled = [os.path.join(cwd, path)]
    if path.startswith("~/"):
        spelled.append(os.path.join(home, path[2:]))
    paths = [each for place in spelled for each in (os.path.normpath(place), os.path.realpath(place))]
    above = [*paths, *(parent for each in paths for parent in _parents(each))]
    if "/" not in pattern.rstrip("/"):
        name = pattern.rstrip("/")
        return any(fnmatchcase(part, name) for each in paths for part in each.split("/"))
    return any(_matches(_anchored(pattern, cwd, home, resolve=resolve), above) for resolve in (False, True))


def _parents(path: str) -> Iterable[str]:
    while path != (above := os.path.dirname(path)):
        yield above
        path = above


def _matches(pattern: str, paths: list[str]) -> bool:
    expression = re.compile(_expression(pattern), re.DOTALL)
    return any(expression.fullmatch(path) for path in paths)


def _anchored(pattern: str, cwd: str, home: str, *, resolve: bool) -> str:
    """The pattern as an absolute one; `resolve` follows links in the part before its first glob."""
    if pattern.endswith("/"):
        pattern += "**"
    if pattern == "~" or pattern.startswith("~/"):
        pattern = home + pattern[1:]
    parts = os.path.join(cwd, pattern).split("/")
    fixed = next((index for index, part in enumerate(parts) if _GLOB.search(part)), len(parts))
    start = "/".join(parts[:fixed]) or "/"
    start = os.path.realpath(start) if resolve else os.path.normpath(start)
    return "/".join([start.rstrip("/"), *parts[fixed:]])


def _expression(pattern: str) -> str:
    done: list[str] = []
    at = 0
    for token in _TOKEN.finditer(pattern):
        done.append(re.escape(pattern[at : token.start()]))
        match token[0]:
            case "**/":
                done.append("(?:[^/]+/)*")
            case "**":
                done.append(".*")
            case "*":
                done.append("[^/]*")
            case "?":
                done.append("[^/]")
            case one_of:
                done.append(_one_of(one_of))
        at = token.end()
    return "".join([*done, re.escape(pattern[at:])])


def _one_of(token: str) -> str:
    """`[a-c]` or `[!a-c]` as a regular expression; one that makes no sense stands for itself."""
    body = token[1:-1]
    negated = body.startswith("!")
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", body[1:] if negated else body)
    expression = f"(?!/)[{'^' if negated else ''}{escaped}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(token)
    return expression
