"""The `key=value` files, and what the `settings.conf` of all sources say together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from bridoon.catalog.files import decode, read_file
from bridoon.catalog.shelf import Shelf
from bridoon.catalog.sources import NearMiss, Source

RULE = r"(allow|ask|deny)\s+([A-Za-z0-9_*?.:-]+(?:\(.*?\))?)(?:\s+#.*)?"
KEY = r"[A-Za-z_][A-Za-z0-9_.-]*"
BROKEN = r"(ask|deny)\s+([A-Za-z0-9_*?.:-]+)"
COMMENT = r"\s#\s.*"


class Rule(NamedTuple):
    """A line such as `deny bash(rm *)`."""

    action: str
    """`allow`, `ask` or `deny`."""
    text: str
    """What it applies to, as written: `TOOL` or `TOOL(pattern)`."""
    path: str
    line: int


class Layer(NamedTuple):
    """One `settings.conf`."""

    path: str
    source: Source
    values: dict[str, str]
    rules: tuple[Rule, ...]


class Settings(NamedTuple):
    """All `settings.conf` files together: the most local value of each key, and every rule."""

    values: dict[str, str]
    rules: tuple[Rule, ...]
    """Lowest priority first, in the order of their lines."""
    layers: tuple[Layer, ...]
    """The files, lowest priority first. For what a project may only tighten, look here who says what."""

    def get(self, key: str, default: str = "") -> str:
        """The value of a key."""
        return self.values.get(key, default)

    def origin(self, key: str) -> str:
        """The file that a key's value comes from; empty when no file sets it."""
        return next((layer.path for layer in reversed(self.layers) if key in layer.values), "")


def parse(text: str) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """The values of `key=value` lines, the first of each key, and the lines that are nothing, with their
    numbers.

    Carriage returns and blanks around keys and values are dropped. `#` begins a comment at the start of a
    line, and after a blank when a blank follows it.
    """
    values: dict[str, str] = {}
    rest: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if equals and re.fullmatch(KEY, key):
            values.setdefault(key, re.sub(COMMENT, "", f" {value}").strip())
        else:
            rest.append((number, line))
    return values, rest


def read_settings(shelves: Iterable[Shelf], report: list[NearMiss]) -> Settings:
    """Merge the `settings.conf` of all sources. What cannot be used is added to `report`."""
    layers = []
    for shelf in shelves:
        if shelf.settings:
            layer = _layer(shelf.settings, shelf.source, report)
            if layer is not None:
                layers.append(layer)
    merged: dict[str, str] = {}
    for layer in layers:
        merged.update(layer.values)
    return Settings(merged, tuple(rule for layer in layers for rule in layer.rules), tuple(layers))


def _layer(path: str, source: Source, report: list[NearMiss]) -> Layer | None:
    try:
        text = decode(read_file(path))
    except OSError as wrong:
        report.append(NearMiss(path, "settings", f"cannot be read: {wrong.strerror or wrong}"))
        return None
    rules = []
    plain = []
    for number, line in enumerate(text.split("\n"), 1):
        rule = re.fullmatch(RULE, line.strip())
        broken = None if rule else re.match(BROKEN, line.strip())
        if broken:  # a limit that cannot be read is taken for the widest that it may have meant
            reason = f"not a rule: {line.strip()[:60]!r}; taken as `{broken[1]} {broken[2]}`, every call of it"
            report.append(NearMiss(f"{path}:{number}", "settings", reason))
        rule = rule or broken
        if rule:
            rules.append(Rule(rule[1], rule[2], path, number))
        plain.append("" if rule else line)
    values, rest = parse("\n".join(plain))
    for number, line in rest:
        reason = f"neither key=value nor a rule: {line[:60]!r}"
        report.append(NearMiss(f"{path}:{number}", "settings", reason))
    return Layer(path, source, values, tuple(rules))
