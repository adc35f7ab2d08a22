"""`hs tools`, `hs hooks`, `hs skills`: what was found, what it hides, and what nearly was found.

With `--json` all three print an object of the same shape:

    {"kind": "tools",
     "entries": [{"name", "path", "about", "scope", "pack", "provider", "active", "note"}],
     "problems": [{"path", "reason"}],
     "near_misses": [{"path", "kind", "reason"}]}

An entry that is not active is overridden or cannot be used; its `note` says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bridoon.catalog.files import Watch, decode, read_file
from bridoon.catalog.lookup import Catalog, Executable, NearMiss
from bridoon.catalog.shelf import STAGES
from bridoon.catalog.skills import Skill, Skills
from bridoon.cli import declared
from bridoon.cli.compose import catalog_here
from bridoon.cli.declare import read
from bridoon.cli.describe import comment, describe, first_sentence
from bridoon.cli.describe import declared as declared_in
from bridoon.cli.show import clean, did_you_mean, put, put_json
from bridoon.cli.stopping import stop_at_once
from bridoon.errors import NotFound


class Entry(NamedTuple):
    """One line of a listing."""

    name: str
    path: str
    about: str
    scope: str
    pack: str
    provider: str = ""
    active: bool = True
    note: str = ""


class Listing(NamedTuple):
    """What a listing command prints."""

    kind: str
    entries: list[Entry]
    problems: list[tuple[str, str]] = []  # noqa: RUF012 - never mutated
    """Drop-ins that were found and cannot be used: path and reason."""
    misses: list[NearMiss] = []  # noqa: RUF012 - never mutated
    width: int = 20
    empty: str = ""
    """What to say when there is nothing."""


def tools(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs tools`."""
    given = read(declared.TOOLS, argv)
    if given is None:
        return 0
    stop_at_once()
    catalog = _catalog(env)
    _lend(catalog, env)
    index = tool_index(catalog, env)
    problems = [(str(path), str(reason)) for path, reason in index.problems]
    everything = [*catalog.entries("tools"), *catalog.lent]
    about = describe(everything, env)
    called = {index.by_name(str(spec["name"])).path: spec for spec in index.specs}
    reasons = dict(problems)
    entries = []
    for each in everything:
        spec = called.get(each.path)
        winner = catalog.find("tools", each.name)
        note = ""
        if winner is not None and winner.path != each.path:
            note = f"overridden by {winner.path}"
        elif spec is None:
            note = "left out: see below" if each.path in reasons else "left out"
        name = str(spec["name"]) if spec else each.name
        said = about[each.path] or first_sentence(str((spec or {}).get("description", "")))
        entries.append(_entry(each, name, said, spec is not None, note))
    misses = [miss for miss in _misses(catalog, {"tools"}) if miss.path not in reasons]
    listing = Listing("tools", _ordered(entries), problems, misses, empty="(no tools)")
    return show(listing, given.has("--json"))


def _lend(catalog: Catalog, env: Mapping[str, str]) -> None:
    """Let the tools of the project's ledger take part, if it has one."""
    from bridoon.evidence import detect

    if detect.wanted(env, catalog.settings.get("ledger", "")) and detect.database(env, catalog.cwd):
        from bridoon.evidence.offer import lend_in

        lend_in(catalog, env)


def _catalog(env: Mapping[str, str]) -> Catalog:
    """The catalog here, without the sources of providers other than the one that is configured, if one is."""
    catalog = catalog_here(env, os.getcwd())
    provider = env.get("HARNESS_PROVIDER") or catalog.settings.get("provider")
    if provider:
        catalog.choose(provider)
    return catalog


def tool_index(catalog: Catalog, env: Mapping[str, str]) -> Any:
    """The tools as the model would be told of them: each one's `--schema` is asked."""
    from bridoon.loop import executor
    from bridoon.loop.run import Run
    from bridoon.proc.cancel import Cancel

    run = Run(None, catalog, env, cancel=Cancel())
    try:
        return executor.index(run)
    finally:
        run.close()


def hooks(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs hooks [STAGE]`. Raises NotFound for a stage that nobody knows."""
    given = read(declared.HOOKS, argv)
    if given is None:
        return 0
    catalog = _catalog(env)
    found = [*STAGES, *(stage for stage in catalog.stages() if stage not in STAGES)]
    kinds: set[str] = set()
    if given.words:
        stage = given.words[0]
        kinds = {f"hooks.d/{stage}", "hooks.d"}
        if stage not in found and not any(miss.kind == f"hooks.d/{stage}" for miss in catalog.near_misses):
            raise NotFound(f"unknown stage '{clean(stage)}'", did_you_mean(stage, found))
        found = [stage]
    entries = [entry for stage in found for entry in _stage(catalog, stage)]
    listing = Listing(
        "hooks",
        entries,
        [],
        _misses(catalog, kinds, "hooks.d"),
        28,
        f"(no hooks in {clean(given.words[0])})" if given.words else "(no hooks)",
    )
    return show(listing, given.has("--json"))


def _stage(catalog: Catalog, stage: str) -> list[Entry]:
    """The hooks of a stage in the order in which they run, each followed by those that it hides."""
    everything = catalog.entries(f"hooks.d/{stage}")
    entries = []
    for name in sorted({each.name for each in everything}, key=os.fsencode):
        group = [each for each in everything if each.name == name]
        for place in reversed(range(len(group))):
            each = group[place]
            over = _overriding(each, group[place + 1 :])
            note = f"overridden by {over.path}" if over else _condition(each, group[place + 1 :], catalog)
            entries.append(_entry(each, f"{stage}/{name}", _about_hook(each, stage), over is None, note))
    return entries


def _condition(each: Executable, higher: list[Executable], catalog: Catalog) -> str:
    """With which providers a hook takes part, while none is chosen; empty when that does not depend on it."""
    if catalog.provider:
        return ""
    if each.source.provider:
        return f"with provider {each.source.provider}"
    others = sorted({other.source.provider for other in higher if other.source.provider})
    return f"not with provider {', '.join(others)}" if others else ""


def _overriding(each: Executable, higher: Iterable[Executable]) -> Executable | None:
    """The hook that hides another. Those of two providers never meet: only one of them is active."""
    rivals = [other for other in higher if other.source.provider in ("", each.source.provider)]
    return rivals[-1] if rivals else None


def _about_hook(hook: Executable, stage: str) -> str:
    """What a hook says about itself, without running it; in `tool_exec` also the part that it plays."""
    try:
        text = decode(read_file(hook.path))
    except OSError:
        return ""
    about = declared_in(text) if hook.marked else comment(text)
    if stage not in ("tool_exec", "pre-tool"):
        return about
    from bridoon.loop.gate import EXECUTOR

    if hook.name == EXECUTOR and stage == "tool_exec":
        part = "executor"
    else:
        before = stage == "pre-tool" or os.fsencode(hook.name) < os.fsencode(EXECUTOR)
        part = "gate" if before else "observer"
    return f"{part}: {about}" if about else part


def skills(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs skills`."""
    given = read(declared.SKILLS, argv)
    if given is None:
        return 0
    catalog = catalog_here(env, os.getcwd())
    chosen = catalog.skills()
    entries = []
    for each in _EverySkill(catalog, Watch()).everything():
        winner = chosen.get(each.name)
        active = winner is None or winner.path == each.path
        note = "" if winner is None or active else f"overridden by {winner.path}"
        about = " ".join(each.description.split())
        scope, pack = _origin(catalog, each.path)
        entries.append(Entry(each.name, each.path, about, scope, pack, active=active, note=note))
    listing = Listing("skills", _ordered(entries), [], _misses(catalog, {"skills"}), empty="(no skills)")
    return show(listing, given.has("--json"))


class _EverySkill(Skills):
    """Skills with those that others hide."""

    def everything(self) -> list[Skill]:
        """All skills, lowest place first."""
        return [skill for folder, bundled in self._folders() for skill in self._read_folder(folder, bundled)]


def _origin(catalog: Catalog, path: str) -> tuple[str, str]:
    """Scope and pack of the source that a file lies in; `.agents` directories belong to no source."""
    inside = [source for source in catalog.unscoped_sources if path.startswith(source.path + "/")]
    best = max(inside, key=lambda source: len(source.path), default=None)
    return (best.scope, best.pack) if best else ("agents", "")


def show(listing: Listing, as_json: bool) -> int:
    """Print a listing: its entries, then under headings what does not work."""
    if as_json:
        put_json(
            {
                "kind": listing.kind,
                "entries": [entry._asdict() for entry in listing.entries],
                "problems": [{"path": path, "reason": reason} for path, reason in listing.problems],
                "near_misses": [miss._asdict() for miss in listing.misses],
            }
        )
        return 0
    for entry in listing.entries:
        put(line(entry, listing.width))
    if not listing.entries and listing.empty:
        put(listing.empty)
    _section(f"{listing.kind} that cannot be used:", listing.problems)
    _section("nearly, but not found:", [(miss.path, miss.reason) for miss in listing.misses])
    return 0


def line(entry: Entry, width: int = 20) -> str:
    """`  name                 what it does  [path]`, with a note in brackets."""
    about = clean(entry.about) or "(no description)"
    if entry.note:
        about = f"({clean(entry.note)})" if not entry.active else f"{about} ({clean(entry.note)})"
    return f"  {clean(entry.name):<{width}} {about}  [{clean(entry.path)}]"


def _section(title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        put(f"\n{title}")
        for path, reason in rows:
            put(f"  {clean(path)}: {clean(reason)}")


def _entry(each: Executable, name: str, about: str, active: bool, note: str) -> Entry:
    source = each.source
    return Entry(name, each.path, about, source.scope, source.pack, source.provider, active, note)


def _ordered(entries: list[Entry]) -> list[Entry]:
    """By name; the one that counts first, then those that it hides, the most local first."""
    ranked = sorted(enumerate(entries), key=lambda item: (os.fsencode(item[1].name), not item[1].active, -item[0]))
    return [entry for _, entry in ranked]


def _misses(catalog: Catalog, kinds: set[str], prefix: str = "") -> list[NearMiss]:
    """Near misses of these kinds (without any: of kinds that begin with `prefix`), and of whole sources."""
    found = []
    for miss in catalog.near_misses:
        wanted = miss.kind in kinds if kinds else bool(prefix) and miss.kind.startswith(prefix)
        if wanted or miss.kind == "source":
            found.append(miss)
    return found
