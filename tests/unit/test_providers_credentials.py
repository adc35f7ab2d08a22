"""Stored keys: which file counts, what broken files do, how they are written."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from providing import Watched

from bridoon.errors import ConfigError, NotFound, UsageError
from bridoon.providers import credentials


def put(folder: Path, value: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".auth.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def key(value: str) -> dict[str, str]:
    return {"type": "api_key", "key": value}


def test_the_most_local_list_of_a_provider_counts(tmp_path: Path) -> None:
    put(tmp_path / "home", {"a": [key("home-a")], "b": [key("home-b")]})
    put(tmp_path / "project", {"a": [key("project-a")], "b": []})
    found = credentials.load([str(tmp_path / "home"), str(tmp_path / "none"), str(tmp_path / "project")])
    assert {name: entries[0].key for name, entries in found.items()} == {"a": "project-a", "b": "home-b"}


@pytest.mark.parametrize("broken", ['{"a": ', "[]", '{"a": ["text"]}', "\x00\xff", "7", "[" * 50_000])
def test_a_broken_file_is_left_out_and_named_without_its_content(tmp_path: Path, broken: str) -> None:
    put(tmp_path / "home", {"a": [key("home-a")]})
    path = put(tmp_path / "project", broken)
    told: list[str] = []
    found = credentials.load([str(tmp_path / "home"), str(tmp_path / "project")], told.append)
    assert found["a"][0].key == "home-a"
    assert len(told) == 1
    assert str(path) in told[0]
    assert "text" not in told[0]


@pytest.mark.parametrize(
    ("values", "secret"),
    [
        ({"type": "api_key", "key": "k"}, "k"),
        ({"token": "t"}, "t"),
        ({"type": "oauth", "access_token": "x", "expires_at": "0"}, "x"),
        ({"type": "oauth", "access_token": "x", "expires_at": "99999999999"}, "x"),
        ({"type": "oauth", "access_token": "x", "expires_at": "1000000000"}, ""),
        ({"type": "oauth", "access_token": "x", "expires_at": "soon"}, "x"),
        ({}, ""),
    ],
)
def test_a_secret_is_found_under_its_names_until_it_expires(values: dict[str, str], secret: str) -> None:
    assert credentials.Credential("p", 0, values, "/f").key == secret


def test_a_set_variable_beats_what_is_stored_even_when_it_is_empty(tmp_path: Path) -> None:
    put(tmp_path, {"openai": [key("stored")]})
    sources = {"HARNESS_SOURCES": str(tmp_path)}
    for env, expected in (
        (sources, "stored"),
        ({**sources, "OPENAI_API_KEY": " given "}, "given"),
        ({**sources, "OPENAI_API_KEY": ""}, ""),
    ):
        assert credentials.own_key(Watched(env), "openai", "OPENAI_API_KEY") == expected


def test_a_file_is_written_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    path = put(tmp_path, {"a": [key("1"), key("2")], "b": [key("3")]})
    path.chmod(0o644)
    credentials.store(str(path), "a", key("new"))
    assert json.loads(path.read_text("utf-8")) == {"a": [key("new")], "b": [key("3")]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [".auth.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = put(tmp_path / "real", {})
    (tmp_path / ".auth.json").symlink_to(real)
    credentials.store(str(tmp_path / ".auth.json"), "a", key("new"))
    assert (tmp_path / ".auth.json").is_symlink()
    assert json.loads(real.read_text("utf-8"))["a"] == [key("new")]


def test_a_broken_file_is_never_written_over(tmp_path: Path) -> None:
    path = put(tmp_path, '{"a": ')
    with pytest.raises(ConfigError, match="not valid JSON"):
        credentials.store(str(path), "a", key("new"))
    assert path.read_text("utf-8") == '{"a": '


def test_one_of_several_is_removed(tmp_path: Path) -> None:
    path = put(tmp_path, {"a": [key("1"), key("2")]})
    credentials.remove(str(path), "a", 0)
    assert credentials.read(str(path)) == {"a": [key("2")]}
    credentials.remove(str(path), "a", 0)
    assert credentials.read(str(path)) == {}
    with pytest.raises(NotFound):
        credentials.remove(str(path), "a", 0)


def test_local_is_the_nearest_harness_that_is_not_the_home(tmp_path: Path) -> None:
    home, deep = tmp_path / ".harness", tmp_path / "project" / "src"
    deep.mkdir(parents=True)
    home.mkdir()
    assert credentials.place(str(home), str(deep), False) == str(home / ".auth.json")
    with pytest.raises(NotFound):
        credentials.place(str(home), str(deep), True)
    (tmp_path / "project" / ".harness").mkdir()
    assert credentials.place(str(home), str(deep), True) == str(tmp_path / "project" / ".harness" / ".auth.json")


def test_the_cache_for_older_providers_follows_the_home_and_is_private(tmp_path: Path) -> None:
    credentials.refresh_cache(str(tmp_path))
    assert os.listdir(tmp_path) == []
    put(tmp_path, {"a": [key("1")]})
    credentials.refresh_cache(str(tmp_path))
    cache = tmp_path / ".auth-cache.json"
    assert json.loads(cache.read_text("utf-8")) == {"a": [key("1")]}
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".hidden", "-x", "a\nb"])
def test_a_provider_is_a_name(name: str) -> None:
    with pytest.raises(UsageError):
        credentials.check_name(name)
