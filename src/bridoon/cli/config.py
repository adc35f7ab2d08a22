"""`hs config`: every setting, its value, and which file or variable that comes from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from bridoon.catalog.conf import Settings
from bridoon.catalog.files import decode, read_file
from bridoon.catalog.lookup import Catalog
from bridoon.cli import declared, known
from bridoon.cli.compose import catalog_here
from bridoon.cli.declare import read
from bridoon.cli.known import Setting
from bridoon.cli.options import VARIABLE
from bridoon.cli.show import clean, did_you_mean, mask, near, put, put_json, squeeze
from bridoon.errors import NotFound

_SECRET = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)", re.I)
_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_QUERY = re.compile(r"(?<=[?&])([\w-]*(?:key|token|secret)[\w-]*=)[^&#\s]+", re.I)


class Value(NamedTuple):
    """What a setting is, and why."""

    name: str
    value: str
    origin: str
    """`environment: NAME`, `command line`, `FILE:LINE` or `default`."""
    about: str


def config(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs config [KEY]`. Raises NotFound for a key that nobody knows."""
    given = read(declared.CONFIG, argv)
    if given is None:
        return 0
    catalog = catalog_here(env, os.getcwd())
    if given.words:
        return _one(given.words[0], catalog, env, given.has("--json"))
    values = all_values(catalog, env)
    if given.has("--json"):
        put_json(
            {
                "settings": [value._asdict() for value in values],
                "files": [layer.path for layer in catalog.settings.layers],
                "rules": [rule._asdict() for rule in catalog.settings.rules],
                "other": [value._asdict() for value in others(catalog.settings)],
            }
        )
        return 0
    _show(catalog, values)
    return 0


def _one(name: str, catalog: Catalog, env: Mapping[str, str], as_json: bool) -> int:
    """Print one value. Nothing and exit code 1 when it is not set and has no fixed default."""
    setting = known.find(name)
    if setting is not None:
        value = value_of(setting, catalog.settings, env)
    else:
        rest = {each.name: each for each in [*others(catalog.settings), *_keys_in_use(catalog)]}
        if name not in rest:
            names = [word for each in known.EVERYTHING for word in (each.key, each.variable) if word]
            raise NotFound(f"no setting is called {clean(name)!r}", did_you_mean(name, names, "hs config lists them"))
        value = rest[name]
    if as_json:
        put_json(value._asdict())
        return 0
    unset = value.origin == "default" and (not value.value or value.value.startswith("("))
    if not unset:
        put(clean(value.value))
    return 1 if unset else 0


def all_values(catalog: Catalog, env: Mapping[str, str]) -> list[Value]:
    """Every setting; variables of the system and of providers only when they are set."""
    settings = catalog.settings
    found = [value_of(setting, settings, env) for setting in known.SETTINGS]
    named = {setting.variable for setting in known.EVERYTHING}
    found += [value for value in _keys_in_use(catalog) if value.name not in named]
    variables = (*known.PROVIDER_VARIABLES, *known.OTHER_VARIABLES)
    return found + [value_of(each, settings, env) for each in variables if os.environ.get(each.variable)]


def _keys_in_use(catalog: Catalog) -> list[Value]:
    """The variables in which variants look for their keys, those that are set."""
    names = {conf.auth_env: conf.name for conf in catalog.confs() if os.environ.get(conf.auth_env or "")}
    return [
        Value(name, shown(name, os.environ[name], secret=True), f"environment: {name}", f"key for {names[name]}")
        for name in sorted(names)
    ]


def value_of(setting: Setting, settings: Settings, env: Mapping[str, str]) -> Value:
    """What a setting is now: the environment counts first, then the most local file, then the default."""
    variable, key = setting.variable, setting.key
    outside = os.environ.get(variable, "") if variable else ""
    inside = env.get(variable, "") if variable else ""
    if outside and (inside == outside or variable in ("HARNESS_HOME", "HARNESS_SESSIONS")):
        value, origin = inside or outside, f"environment: {variable}"
    elif variable in VARIABLE.values() and inside not in ("", setting.default):
        value, origin = inside, "command line"
    elif key == "permissions" and key in settings.values:
        value, origin = _permissions(settings)
    elif key and key in settings.values:
        value, origin = settings.values[key], _place(settings.origin(key), key)
    else:
        value = inside if inside and variable.startswith("HARNESS_") else setting.default
        origin = "default"
    return Value(setting.name, shown(setting.name, value, secret=setting.secret), origin, setting.about)


def _permissions(settings: Settings) -> tuple[str, str]:
    """The mode that counts: a project's file can only make it stricter."""
    from bridoon.toolkit.permissions import mode_of

    mode = mode_of(settings, {})
    said = [layer.path for layer in settings.layers if layer.values.get("permissions") == mode]
    return mode, _place(said[-1] if said else settings.origin("permissions"), "permissions")


def others(settings: Settings) -> list[Value]:
    """Keys in `settings.conf` files that are not ours: a plugin's, or misspelt."""
    found = []
    for key, value in settings.values.items():
        if key not in known.KEYS:
            guess = near(key, known.KEYS)
            about = f"unknown here; did you mean {guess}?" if guess else "not one of ours: a plugin's?"
            found.append(Value(key, shown(key, value), _place(settings.origin(key), key), about))
    return found


def shown(name: str, value: str, *, secret: bool = False) -> str:
    """A value without what must not be seen: keys are masked, and so are passwords in URLs."""
    if value and (secret or _SECRET.search(name)):
        return mask(value)
    return _QUERY.sub(r"\1****", _USER.sub("****", value))


def _place(path: str, key: str) -> str:
    """`FILE:LINE` of a key; the file alone when the line cannot be told."""
    try:
        lines = decode(read_file(path)).split("\n")
    except OSError:
        return path
    for number, line in enumerate(lines, 1):
        name, equals, _ = line.partition("=")
        if equals and name.strip() == key:
            return f"{path}:{number}"
    return path


def _show(catalog: Catalog, values: list[Value]) -> None:
    for value in values:
        put(_line(value))
    settings = catalog.settings
    rest = others(settings)
    if rest:
        put("\nother keys in settings.conf:")
        for value in rest:
            put(f"{_line(value)}  {value.about}")
    if settings.rules:
        put("\nrules, the later ones more local (hs permissions explains them):")
        for rule in settings.rules:
            put(f"  {rule.action:<5} {clean(rule.text)}  [{clean(rule.path)}:{rule.line}]")
    misses = [miss for miss in catalog.near_misses if miss.kind == "settings"]
    if misses:
        put("\nwhat cannot be used in settings.conf:")
        for miss in misses:
            put(f"  {clean(miss.path)}: {clean(miss.reason)}")


def _line(value: Value) -> str:
    text = squeeze(value.value, 200) if value.value else "(not set)"
    return f"  {clean(value.name):<26} {text:<28} [{clean(value.origin)}]"
