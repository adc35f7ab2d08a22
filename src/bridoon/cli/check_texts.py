"""Reads what is no program: skills, provider variants, settings, prompts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from bridoon.catalog.conf import Rule
from bridoon.catalog.files import decode, entries, read_file
from bridoon.catalog.lookup import Catalog
from bridoon.catalog.shelf import Shelf, Variant
from bridoon.catalog.sources import NearMiss, Source
from bridoon.cli.check_bench import Finding
from bridoon.cli.show import did_you_mean

CONF_KEYS = (
    "protocol", "description", "model", "url", "auth_env", "max_tokens", "context", "temperature", "top_p",
    "top_k", "stream",
)  # fmt: skip

DESCRIPTION = 1024
"""Characters of a skill's description above which it is more than that: all are in every request."""

LINK = re.compile(r"\]\(((?:references|scripts|assets)/[^)\s]+)\)|`((?:references|scripts|assets)/[^`\s]+)`")


def check_skill(directory: str) -> Iterator[Finding]:
    """Findings about a folder with a SKILL.md."""
    from bridoon.catalog import skillhead
    from bridoon.catalog.skills import FILE

    path = os.path.join(directory, FILE)
    try:
        text = decode(read_file(path))
        head, body = skillhead.read(text)
    except OSError as wrong:
        yield Finding(path, "error", f"cannot be read: {wrong.strerror or wrong}")
        return
    except ValueError as wrong:
        yield Finding(path, "error", f"bad front matter: {wrong}")
        return
    words = {key: str(head.get(key, "")).strip() for key in ("name", "description")}
    for key, value in words.items():
        if not value:
            yield Finding(
                path,
                "error",
                f"no {key} in the front matter: it cannot be loaded",
                f"a line `{key}: ...` between two --- lines at the top",
            )
    name, about = words["name"], " ".join(words["description"].split())
    if name and name != os.path.basename(directory):
        yield Finding(path, "note", f"its name is {name!r}, its folder {os.path.basename(directory)!r}")
    if len(about) > DESCRIPTION:
        yield Finding(
            path,
            "warning",
            f"the description has {len(about)} characters, and all are in every request",
            "say when to load it; the rest belongs below",
        )
    if not body.strip():
        yield Finding(path, "warning", "there is nothing below the front matter")
    yield from _resources(directory, path, body)
    yield Finding(path, "ok", f"{len(about)} characters in every request, {len(body)} when it is loaded")


def _resources(directory: str, path: str, body: str) -> Iterator[Finding]:
    for found in dict.fromkeys(one or two for one, two in LINK.findall(body)):
        if not os.path.exists(os.path.join(directory, found)):
            yield Finding(path, "warning", f"names {found}, which is not there")
    scripts = os.path.join(directory, "scripts")
    for entry in sorted(os.listdir(scripts)) if os.path.isdir(scripts) else []:
        script = os.path.join(scripts, entry)
        if os.path.isfile(script) and not os.access(script, os.X_OK) and read_file(script, 2) == b"#!":
            yield Finding(
                script,
                "note",
                "begins with #! and is not executable",
                "chmod +x, or call it by its interpreter",
            )


def check_variant(path: str, source: Source, catalog: Catalog) -> Iterator[Finding]:
    """Findings about a `providers/<name>.conf`."""
    from bridoon.catalog.variants import read_variant

    name = os.path.basename(path).removesuffix(".conf")
    conf = read_variant(Variant(name, path, (0, 0, 0), source))
    if isinstance(conf, NearMiss):
        yield Finding(conf.path, "error", conf.reason)
        return
    for key in conf.values:
        if key not in CONF_KEYS:
            yield Finding(path, "warning", f"nothing reads the key {key!r}", did_you_mean(key, CONF_KEYS, ""))
    known = {each.name for each in catalog.entries("providers", unscoped=True)}
    if conf.protocol not in known:
        yield Finding(path, "error", f"no provider is called {conf.protocol!r}", f"one of {', '.join(sorted(known))}")
    if conf.url and not re.match(r"https?://[^/]", conf.url):
        yield Finding(path, "error", f"url is no http or https address: {conf.url[:80]!r}")
    if not conf.model:
        yield Finding(path, "note", "no model: one must be given with -m")
    verdict = catalog.key_allowed(conf, conf.auth_env)
    if not verdict:
        yield Finding(path, "error", verdict.message, "a project's file never sends a user's key to another host")
    elif conf.auth_env and not catalog.env.get(conf.auth_env):
        yield Finding(path, "note", f"{conf.auth_env} is not set", f"set it, or: hs auth set {name}")
    if conf.auth_env and conf.url.startswith("http://") and not re.match(r"http://(localhost|127\.|\[::1\])", conf.url):
        yield Finding(path, "warning", "the key would travel without encryption", "use https")
    if any(each.name == name for each in catalog.entries("providers", unscoped=True)):
        yield Finding(
            path,
            "warning",
            f"an executable provider is called {name!r} too, and counts",
            "rename one of them",
        )
    yield Finding(path, "ok", f"speaks {conf.protocol}")


def check_settings(path: str, source: Source, catalog: Catalog) -> Iterator[Finding]:
    """Findings about a `settings.conf`."""
    from bridoon.catalog.conf import read_settings

    misses: list[NearMiss] = []
    settings = read_settings([Shelf(source, {}, (), path, ())], misses)
    for miss in misses:
        shape = "key=value, or: allow|ask|deny TOOL(pattern)" if "rule" in miss.reason else ""
        yield Finding(miss.path, "error", miss.reason, shape)
    for rule, text in idle_rules(settings.rules, tool_names(path, settings.rules, catalog)):
        yield Finding(f"{rule.path}:{rule.line}", "warning", text)
    yield Finding(path, "ok", f"{len(settings.values)} settings, {len(settings.rules)} rules")


def tool_names(path: str, rules: Iterable[Rule], catalog: Catalog) -> set[str]:
    """What tools are called here and beside a settings file; their schemas are asked when a rule names none
    of the files."""
    beside = entries(os.path.join(os.path.dirname(os.path.abspath(path)), "tools"))
    names = {each.name for each in catalog.entries("tools", unscoped=True)} | {each.name for each in beside}
    if any(idle_rules(rules, names)):
        from bridoon.cli.listing import tool_index

        names |= {str(spec["name"]) for spec in tool_index(catalog, catalog.env).specs}
    return names


def idle_rules(rules: Iterable[Rule], names: set[str]) -> list[tuple[Rule, str]]:
    """The rules whose tool is none of the names, each with what to say about it."""
    found = []
    for rule in rules:
        tool = rule.text.partition("(")[0].strip()
        if not any(fnmatchcase(name, tool) for name in names):
            guess = did_you_mean(tool, sorted(names), "it may come later")
            text = f"no tool is called {tool!r} here: `{rule.action} {rule.text}` does nothing; {guess}"
            found.append((rule, text))
    return found


def check_prompt(path: str) -> Iterator[Finding]:
    """Findings about a prompt fragment."""
    try:
        content = read_file(path, 4 << 20)
    except OSError as wrong:
        yield Finding(path, "error", f"cannot be read: {wrong.strerror or wrong}")
        return
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as wrong:
        yield Finding(path, "warning", f"not UTF-8 at byte {wrong.start}: what cannot be read is replaced")
        text = decode(content)
    if not text.strip():
        yield Finding(path, "note", "it is empty: a bundled fragment of the same name is left out")
    yield Finding(path, "ok", f"{len(text)} characters in every request")
