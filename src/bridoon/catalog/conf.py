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

ANY, SECONDS, SHARE, COUNT = (), ("seconds",), ("share",), ("count",)

_FORM = {
    SECONDS: "a number of seconds above 0",
    SHARE: "a number above 0, at most 1",
    COUNT: "a whole number above 0",
}

MODES = ("auto", "ask", "read-only")
"""How tool calls are permitted, from the loosest to the strictest."""

KNOWN: dict[str, tuple[str, ...]] = {
    "provider": ANY,
    "model": ANY,
    "permissions": MODES,
    "thinking": ("off", "low", "medium", "high", "max"),
    "on_refuse": ("continue", "stop"),
    "gate_timeout": SECONDS,
    "idle_timeout": SECONDS,
    "stream": ("auto", "always", "never"),
    "cache": ("auto", "always", "never"),
    "openai_api": ("chat", "responses"),
    "context": COUNT,
    "compaction": ("on", "off", "yes", "no", "1", "0", "true", "false"),
    "compact_at": SHARE,
    "compact_keep": SHARE,
    "background": ("keep", "end"),
    "detect_local": ("on", "off"),
    "script": ANY,
    "local_model": ANY,
    "ledger": ("on", "off"),
}
"""The keys that we read, and the words or the form that their values have. `cli/known.py` tells people."""

_ANY_CASE = ("thinking", "cache")
"""Keys whose values may be written in capitals."""

_CLOSE = 0.75
"""How alike (difflib's ratio) a key is to one of ours that is taken for a misspelling of it."""


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
    merged: dict[str, str] = {}
    for shelf in shelves:
        if shelf.settings:
            layer = _layer(shelf.settings, shelf.source, report, merged.get("permissions", ""))
            if layer is not None:
                layers.append(layer)
                merged.update(layer.values)
    return Settings(merged, tuple(rule for layer in layers for rule in layer.rules), tuple(layers))


def _layer(path: str, source: Source, report: list[NearMiss], mode: str) -> Layer | None:
    """Read one file. `mode` is what the files before it say about permissions."""
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
    for key, value in list(values.items()):
        reason = _misspelt(key, value, values, mode) if key not in KNOWN else _unusable(key, value)
        if reason:
            report.append(NearMiss(f"{path}:{_line_of(key, plain)}", "settings", reason))
    return Layer(path, source, values, tuple(rules))


def _unusable(key: str, value: str) -> str:
    """Why the value of a key that we know cannot be used; empty when it can, or when it is not given."""
    form = KNOWN[key]
    word = value.lower() if key in _ANY_CASE else value
    if not value or form is ANY or (_fits(form, value) if form in _FORM else word in form):
        return ""
    text = f"{key}={value[:60]} cannot be used"
    if form in _FORM:
        return f"{text}: it takes {_FORM[form]}"
    counts = ", so ask counts" if key == "permissions" else ""
    guess = _near(value, form, 0.6)
    return f"{text}{counts}: " + (f"did you mean {guess}?" if guess else f"one of {', '.join(form)}")


def _fits(form: tuple[str, ...], value: str) -> bool:
    if form is COUNT:
        from bridoon.wire.digits import whole_number

        return whole_number(value) > 0
    try:
        number = float(value)
    except ValueError:
        return False
    return number > 0 and (form is SECONDS or number <= 1)


def _misspelt(key: str, value: str, values: dict[str, str], mode: str) -> str:
    """What is said of a key that is nearly one of ours; empty for others: plugins may have their own.

    One that is nearly `permissions` is added to the values as such when that makes the mode stricter: a
    misspelling must not open what somebody meant to close.
    """
    meant = _near(key.lower().removeprefix("harness_"), KNOWN, _CLOSE)
    if not meant:
        return ""
    text = f"nothing reads the key {key[:60]!r}: did you mean {meant}?"
    if meant != "permissions":
        return text
    mode = values.get(meant) or mode
    said = value if value in MODES else "ask" if _near(value, MODES, 0.6) else "auto"
    now = 0 if not mode else MODES.index(mode) if mode in MODES else MODES.index("ask")
    if MODES.index(said) <= now:
        return text
    values[meant] = said
    return f"{text} Until it is put right, {said} counts"


def _near(word: str, choices: Iterable[str], cutoff: float) -> str:
    """The choice that was probably meant, or empty."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.lower(), list(choices), 1, cutoff)), "")


def _line_of(key: str, lines: list[str]) -> int:
    return next(number for number, line in enumerate(lines, 1) if line.partition("=")[0].strip() == key)
