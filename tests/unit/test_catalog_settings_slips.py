"""Slips in `settings.conf`: misspelt keys and values that cannot be used are told, and open nothing."""

from __future__ import annotations

import pytest
from catalogs import catalog, home
from project import Project

from bridoon.toolkit.permissions import mode_of


def _told(project: Project, text: str) -> list[str]:
    path = project.file(".harness/settings.conf", text)
    found = [miss for miss in catalog(project).near_misses if miss.kind == "settings"]
    return [f"{miss.path.removeprefix(str(path))} {miss.reason}" for miss in found]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("compact_at=lots", "a number above 0, at most 1"),
        ("compact_keep=2", "a number above 0, at most 1"),
        ("stream=maybe", "one of auto, always, never"),
        ("stream=alwys", "did you mean always?"),
        ("idle_timeout=abc", "a number of seconds above 0"),
        ("gate_timeout=-3", "a number of seconds above 0"),
        ("gate_timeout=nan", "a number of seconds above 0"),
        ("thinking=hard", "one of off, low"),
        ("context=200k", "a whole number above 0"),
        ("permissions=readonly", "so ask counts: did you mean read-only?"),
        ("permision=read-only", "did you mean permissions?"),
        ("providr=groq", "did you mean provider?"),
    ],
)
def test_a_slip_is_named_with_its_line(project: Project, line: str, why: str) -> None:
    (told,) = _told(project, f"# mine\n\n  {line} # so\n")
    assert told.startswith(":3 ")
    assert why in told


@pytest.mark.parametrize(
    "line",
    [
        *("thinking=High", "cache=NEVER", "stream=", "compaction=no", "compact_at=1", "idle_timeout=0.5"),
        *("context=32000", "permissions=read-only", "model=any thing", "my_plugin=x", "a=1", "background=keep"),
    ],
)
def test_what_can_be_used_and_what_a_plugin_may_have_is_not_mentioned(project: Project, line: str) -> None:
    assert _told(project, f"{line}\n") == []


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("permision=read-only", "read-only"),
        ("permission_mode=ask", "ask"),
        ("HARNESS_PERMISSIONS=read-only", "read-only"),
        ("Permissions=read-only", "read-only"),
        ("permision=readonly", "ask"),
        ("permision=auto", "auto"),
        ("permission_log=/tmp/x", "auto"),
        ("permissions=ask\npermision=auto", "ask"),
        ("permissions=auto\npermision=read-only", "read-only"),
        ("permissions=yolo\npermision=ask", "ask"),
    ],
)
def test_a_misspelt_permissions_key_can_only_close(project: Project, text: str, mode: str) -> None:
    project.file(".harness/settings.conf", text)
    assert mode_of(catalog(project).settings, {}) == mode


def test_a_misspelt_permissions_key_does_not_loosen_what_another_file_says(project: Project) -> None:
    home(project, "settings.conf", "permissions=read-only\n", 0o644)
    project.file(".harness/plugins/p/settings.conf", "permision=ask\n")
    assert mode_of(catalog(project).settings, {}) == "read-only"
    project.file(".harness/plugins/p/settings.conf", "permision=auto\n")
    assert mode_of(catalog(project).settings, {}, "ask") == "read-only"


def test_the_default_of_a_place_that_asks_stays(project: Project) -> None:
    project.file(".harness/settings.conf", "permision=auto\n")
    assert mode_of(catalog(project).settings, {}, "ask") == "ask"
