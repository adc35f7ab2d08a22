"""`hs check [PATH...]`: tries drop-ins out by their protocols, says what would go wrong and what it costs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bridoon.catalog.files import Watch, entries
from bridoon.catalog.lookup import Catalog
from bridoon.catalog.shelf import FOLDERS, Reader
from bridoon.catalog.sources import Executable, Source
from bridoon.catalog.survey import IN_INDEX
from bridoon.catalog.trust import listing
from bridoon.cli.check_bench import Bench, Finding, bench
from bridoon.cli.declare import JSON, Command, Given, Option, read
from bridoon.cli.show import clean, put, put_json
from bridoon.errors import UsageError

KINDS = ("tool", "hook", "command", "provider", "conf", "skill", "settings", "prompt")

FOLDER = {"tool": "tools", "command": "commands", "provider": "providers"}

CHECK = Command(
    "check", "try drop-ins out and say what would go wrong, and what they cost", "[PATH...]", 0, None,
    (
        Option("--kind", "what PATH is, when its place does not say it", "KIND", KINDS, short="-k"),
        Option("--stage", "the stage of a hook, when its place does not say it", "STAGE", completes="stage"),
        Option("--exec", "run the tool too, with the input that --input gives, and with bad input"),
        Option("--input", "what the tool is run with", "JSON"),
        Option("--global", "what lies in $HARNESS_HOME too", short="-g"),
        JSON,
    ),
    "PATH is a drop-in, a pack or a .harness directory; without one, the project's own are checked. Hooks "
    "are run with made-up payloads, in a scratch session and directory; tools only with --exec; commands and "
    "providers only say what they are. Exits 1 when something would not work.",
    completes="file",
)  # fmt: skip


class Target(NamedTuple):
    """Something to check. `kind` is one of KINDS; `file` is set for programs."""

    kind: str
    path: str
    file: Executable | None = None


def main(words: list[str], env: Mapping[str, str]) -> int:
    """Check what the words name; 1 when something would not work. Raises UsageError."""
    given = read(CHECK, words)
    if given is None:
        return 0
    if given.has("--exec") != given.has("--input"):
        raise UsageError("--exec and --input belong together", """hs check PATH --exec --input '{"key": "value"}'""")
    from bridoon.loop.place import catalog_of

    catalog = catalog_of(env, os.getcwd(), warn=False)
    found: list[Finding] = []
    targets = list(_targets(given, catalog, found))
    if not targets and not found:
        raise UsageError("there is nothing to check here", "hs check PATH, or hs new tool NAME")
    if given.has("--exec") and [target.kind for target in targets] != ["tool"]:
        raise UsageError("--exec is for one tool", "hs check .harness/tools/NAME --exec --input JSON")
    for finding in found:
        _show(finding, given)
    with bench(env) as place:
        _announce(targets, place, given)
        tools: dict[str, str] = {}
        for target in targets:
            for finding in _check(target, place, catalog, given, tools):
                _show(finding, given)
                found.append(finding)
    failed = any(finding.level == "error" for finding in found)
    if given.has("--json"):
        put_json({"ok": not failed, "findings": [finding._asdict() for finding in found]})
    return 1 if failed else 0


def _show(finding: Finding, given: Given) -> None:
    if not given.has("--json"):
        remedy = f" ({finding.remedy})" if finding.remedy else ""
        put(f"{clean(finding.path)}: {finding.level}: {clean(finding.text + remedy)}")


def _announce(targets: Iterable[Target], place: Bench, given: Given) -> None:
    """Say, before it happens, which hooks and tools are run for real: they may have effects."""
    run = [
        target.path for target in targets if target.kind == "hook" or (target.kind == "tool" and given.has("--exec"))
    ]
    if run and sys.stderr is not None:
        print(f"hs check runs, in {place.work}: {clean(', '.join(run))}", file=sys.stderr)


# ---- what to check


def _targets(given: Given, catalog: Catalog, found: list[Finding]) -> Iterator[Target]:
    kind, stage = given.value("--kind"), given.value("--stage")
    if stage and kind not in ("", "hook"):
        raise UsageError("--stage is for hooks")
    if not given.words:
        yield from _own(given, catalog, found)
    for word in given.words:
        path = os.path.abspath(word)
        if not os.path.lexists(path):
            raise UsageError(f"there is no {word}")
        if os.path.isdir(path) and not kind and not os.path.exists(os.path.join(path, "SKILL.md")):
            yield from _directory(path, _source_of(path, catalog), found)
        else:
            yield _target(path, "hook" if stage else kind, stage, catalog)


def _own(given: Given, catalog: Catalog, found: list[Finding]) -> Iterator[Target]:
    """The drop-ins of the project, and of the home when it is asked for."""
    scopes = ("project", "home", "global") if given.has("--global") else ("project",)
    closed = f"not trusted: it {IN_INDEX}, and nothing of it runs"
    found += [Finding(each.path, "error", closed, "hs trust") for each in catalog.untrusted if listing(each.path)]
    for source in catalog.unscoped_sources:
        if source.scope in scopes:
            yield from _contents(source, found)


def _directory(path: str, source: Source, found: list[Finding]) -> Iterator[Target]:
    """Everything in a harness directory or pack."""
    known = {*FOLDERS, "hooks.d", "skills", "prompts", "plugins", "settings.conf"}
    here = {entry.name for entry in entries(path)}
    if not here & known:
        nested = os.path.join(path, ".harness")
        if not os.path.isdir(nested):
            raise UsageError(f"{path} holds no drop-ins", f"it has none of: {', '.join(sorted(known))}")
        path, source = nested, Source(nested, "project")
    yield from _contents(source._replace(path=path), found)
    for pack in entries(os.path.join(path, "plugins")):
        if pack.is_dir() and not pack.name.startswith("."):
            yield from _contents(Source(pack.path, source.scope, pack.name), found)


def _contents(source: Source, found: list[Finding]) -> Iterator[Target]:
    shelf = Reader(source, Watch()).read()
    found += [Finding(miss.path, "error", miss.reason) for miss in shelf.misses]
    for kind, group in shelf.executables.items():
        for file in group:
            yield Target(_kind_word(kind), file.path, file)
    for variant in shelf.variants:
        yield Target("conf", variant.path)
    if shelf.settings:
        yield Target("settings", shelf.settings)
    for entry in entries(os.path.join(source.path, "skills")):
        if entry.is_dir() and not entry.name.startswith("."):
            yield Target("skill", entry.path)
    for entry in entries(os.path.join(source.path, "prompts")):
        if entry.name.endswith(".md") and not entry.name.startswith("."):
            yield Target("prompt", entry.path)


def _kind_word(kind: str) -> str:
    return {"tools": "tool", "commands": "command", "providers": "provider"}.get(kind, "hook")


def _target(path: str, kind: str, stage: str, catalog: Catalog) -> Target:
    """One file or skill; its place says what it is unless `kind` does."""
    folder, name = os.path.split(path)
    parent, grandparent = os.path.basename(folder), os.path.basename(os.path.dirname(folder))
    if not kind:
        kind = _kind_by_place(path, name, parent, grandparent)
    if not kind:
        raise UsageError(f"what is {path}? Its place does not say", f"--kind {'|'.join(KINDS)}")
    if kind == "skill":
        return Target(kind, path if os.path.isdir(path) else folder)
    if kind in ("conf", "settings", "prompt"):
        return Target(kind, path)
    if kind == "hook" and not stage:
        if grandparent != "hooks.d":
            raise UsageError(f"which stage is {path} for?", "--stage STAGE")
        stage = parent
    where = FOLDER.get(kind) or f"hooks.d/{stage}"
    stamp = (os.stat(path).st_mtime_ns, os.stat(path).st_size, 0) if os.path.exists(path) else (0, 0, 0)
    return Target(kind, path, Executable(path, name, where, _source_of(path, catalog), False, stamp))


def _kind_by_place(path: str, name: str, parent: str, grandparent: str) -> str:
    if name == "settings.conf":
        return "settings"
    if name == "SKILL.md" or os.path.exists(os.path.join(path, "SKILL.md")):
        return "skill"
    if grandparent == "hooks.d":
        return "hook"
    if parent == "providers" and name.endswith(".conf"):
        return "conf"
    if parent == "prompts" and name.endswith(".md"):
        return "prompt"
    return next((kind for kind, folder in FOLDER.items() if folder == parent), "")


def _source_of(path: str, catalog: Catalog) -> Source:
    """The source that a path lies in; one that is not known counts as a project's."""
    known = [source for source in catalog.unscoped_sources if path == source.path or path.startswith(source.path + "/")]
    return max(known, key=lambda source: len(source.path)) if known else Source(os.path.dirname(path), "project")


# ---- checking


def _check(target: Target, place: Bench, catalog: Catalog, given: Given, tools: dict[str, str]) -> Iterator[Finding]:
    """Findings about a target. `tools` are the paths of the tools met so far, by the names that they gave."""
    file = target.file
    if file is None:
        yield from _check_text(target, catalog)
        return
    from bridoon.cli import check_files, check_hooks, check_programs

    static = list(check_files.check_file(file, catalog.env.get("PATH", os.defpath)))
    static += _closed(file.path, catalog)
    yield from static
    if any(finding.level == "error" for finding in static):
        return
    match target.kind:
        case "tool":
            wanted = given.value("--input") if given.has("--exec") else None
            yield from check_programs.check_tool(file, place, wanted, tools)
        case "command":
            yield from _replaced(file, catalog)
            yield from check_programs.check_command(file, place)
        case "provider":
            yield from check_programs.check_provider(file, place)
        case _:
            yield from check_hooks.check_hook(file, place)


def _replaced(file: Executable, catalog: Catalog) -> Iterator[Finding]:
    """A finding when a command has the name of a bundled one."""
    for other in catalog.entries("commands", unscoped=True):
        if other.name == file.name and other.source.scope == "bundled" and not os.path.samefile(other.path, file.path):
            text = f"it replaces the bundled command {file.name!r}"
            yield Finding(file.path, "warning", text, "give it another name")
            return


def _closed(path: str, catalog: Catalog) -> list[Finding]:
    """A finding when the file lies in a directory whose code may not run; asking changes no record."""
    from bridoon.catalog.trust import GRANTED, OWN, came_with_checkout

    head, mark, _ = path.rpartition("/.harness/")
    harness = f"{head}/.harness"
    if not mark or harness == catalog.home or catalog.env.get("HARNESS_TRUST") == "1":
        return []
    state = catalog.trust.state(harness)
    if state in (GRANTED, OWN) or not (state or came_with_checkout(harness, catalog.env)):
        return []
    return [Finding(path, "error", f"not run: it {IN_INDEX}", f"hs trust {harness}")]


def _check_text(target: Target, catalog: Catalog) -> Iterator[Finding]:
    from bridoon.cli import check_texts

    match target.kind:
        case "skill":
            yield from check_texts.check_skill(target.path)
        case "conf":
            yield from check_texts.check_variant(target.path, _source_of(target.path, catalog), catalog)
        case "settings":
            yield from check_texts.check_settings(target.path, _source_of(target.path, catalog), catalog)
        case _:
            yield from check_texts.check_prompt(target.path)
