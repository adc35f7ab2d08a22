"""The links of Markdown documents, and whether they lead anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1$", re.M | re.S)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
SPELLED = re.compile(r"`(?P<path>(?:\.\./)+[^`\s]*|(?:tests|docs|examples|bench|src)/[^`\s:]+)`")
"""Paths that stand in a text as code."""


def targets(page: Path) -> Iterator[str]:
    """Where the links of a page lead that stay in the project: `path`, `path#heading` or `#heading`."""
    for link in LINK.finditer(FENCED.sub("", page.read_text("utf-8"))):
        if not re.match(r"[a-z]+:", link["target"]):
            yield link["target"]


def spelled(page: Path) -> Iterator[str]:
    """Paths that a page names without linking to them. A `*` may stand in them."""
    for found in SPELLED.finditer(FENCED.sub("", page.read_text("utf-8"))):
        if "<" not in found["path"]:
            yield found["path"]


def headings(page: Path) -> set[str]:
    """The names by which the headings of a page are linked to."""
    text = FENCED.sub("", page.read_text("utf-8"))
    found = re.findall(r"^#+ +(.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong = []
    for target in targets(page):
        path, _, heading = target.partition("#")
        place = page.parent / path if path else page
        if not place.exists() or (heading and heading not in headings(place)):
            wrong.append(target)
    return wrong
