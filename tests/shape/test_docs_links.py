"""Links in the documents lead somewhere, paths that they name exist, and their prose is wrapped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from links import FENCED, broken, spelled

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
WIDTH = 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_paths_that_a_page_names_exist(page: Path) -> None:
    named = [path for path in spelled(page) if not path.startswith("../")]
    assert [path for path in named if not any(ROOT.glob(path))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped(page: Path) -> None:
    lines = FENCED.sub("", page.read_text("utf-8")).splitlines()
    assert [line for line in lines if len(line) > WIDTH and not line.startswith(("|", "    ", "!["))] == []


def test_pictures_load_nothing_from_elsewhere() -> None:
    for picture in (ROOT / "docs").glob("*.svg"):
        text = picture.read_text("utf-8")
        assert "@import" not in text, picture
        assert "url(http" not in text.replace("'", "").replace('"', ""), picture
        assert not re.search(r"/(root|home|work)/", text), picture
