"""The table of settings says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import bridoon
from bridoon.catalog import conf
from bridoon.cli import declared, known, options
from bridoon.providers import select

SOURCE = Path(bridoon.__file__).parent


def test_every_harness_variable_in_the_code_is_known() -> None:
    names = {setting.variable for setting in known.EVERYTHING} | known.INTERNAL
    found = set()
    for path in SOURCE.rglob("*"):
        if path.is_file() and path.suffix in ("", ".py", ".sh") and path.parent.name != "templates":
            text = path.read_text("utf-8", "replace")
            found |= set(re.findall(r"""["'$({](?:HARNESS|BRIDOON)_[A-Z_]*[A-Z]\b""", text))
    unknown = {name.lstrip("\"'$({") for name in found} - names
    # What only begins longer names is a prefix that code puts names together with.
    assert {name for name in unknown if not any(each.startswith(f"{name}_") for each in names)} == set()


def test_every_key_that_providers_read_from_settings_is_known() -> None:
    for key, variable in select.SETTINGS.items():
        assert known.KEYS[key].variable == variable


def test_every_key_that_the_code_reads_from_settings_is_known() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        found |= set(re.findall(r"""settings\.get\(["'](\w+)["']""", path.read_text("utf-8")))
    assert found - set(known.KEYS) == set()


def test_the_keys_and_words_that_are_accepted_are_those_that_people_are_told() -> None:
    assert set(conf.KNOWN) == set(known.KEYS)
    for key, setting in known.KEYS.items():
        assert conf.KNOWN[key][: len(setting.choices)] == setting.choices, key


def test_no_setting_is_declared_twice() -> None:
    names = [name for each in known.EVERYTHING for name in (each.key, each.variable) if name]
    assert sorted(names) == sorted(set(names))


def test_the_options_of_a_run_are_those_that_the_command_line_understands() -> None:
    spelt = {name for option in declared.RUN_OPTIONS for name in (option.name, option.short) if name}
    assert spelt == set(options.WITH_VALUE) | set(options.WITHOUT)
    with_value = {option.name for option in declared.RUN_OPTIONS if option.value}
    assert with_value == {name for name in options.WITH_VALUE if name.startswith("--")}
