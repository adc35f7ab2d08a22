"""Whether the database of a repository is kept out of git, as far as `.gitignore` tells. Git itself is not asked."""

from __future__ import annotations

import os


def advice(database: str) -> str:
    """What to say when a database in a git repository is mentioned by no `.gitignore`; empty when all is well."""
    top = directory = os.path.dirname(database)
    while not os.path.lexists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            return ""
        top = os.path.dirname(top)
    files = [os.path.join(top, ".git", "info", "exclude")]
    while True:
        files.append(os.path.join(directory, ".gitignore"))
        if directory == top:
            break
        directory = os.path.dirname(directory)
    if any(_mentions(path, os.path.basename(database)) for path in files):
        return ""
    name = os.path.basename(database)  # without its directory: whoever moves it away has it in git else
    return f"keep {name} out of git: add {name}* to {os.path.relpath(files[-1])}"


def _mentions(path: str, name: str) -> bool:
    """Whether a line of a `.gitignore` is about a file of this name, be it to ignore it or not to."""
    from fnmatch import fnmatchcase

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            patterns = [line.strip() for line in file if not line.startswith("#")]
    except OSError:
        return False
    return any(name in each or fnmatchcase(name, each.rpartition("/")[2]) for each in patterns if each.strip("/"))
