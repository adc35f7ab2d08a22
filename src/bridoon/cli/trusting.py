"""`hs trust`, `hs untrust`: let the `.harness` directory of a checkout run its code, or no longer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bridoon.catalog.files import exposed
from bridoon.catalog.lookup import Catalog
from bridoon.catalog.sources import HARNESS
from bridoon.catalog.trust import GRANTED, REVOKED, listing
from bridoon.cli import declared
from bridoon.cli.compose import catalog_here, say, tools_waiting
from bridoon.cli.declare import Given, read
from bridoon.cli.show import clean, put, put_json
from bridoon.errors import BridoonError, NotFound, UsageError

if TYPE_CHECKING:
    from bridoon.evidence.released import Waiting


def trust(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs trust`: list what would run, then record that it may."""
    given = read(declared.TRUST, argv)
    if given is None:
        return 0
    catalog = catalog_here(env, os.getcwd())
    if given.has("--list"):
        if given.words:
            raise UsageError("hs trust --list takes no directory")
        return _show_records(catalog, given.has("--json"))
    named = [_harness_dir(word) for word in given.words[:1]]
    _refuse_home(named, catalog)
    waiting = [_holding(catalog, env, each) for each in named] if named else holding_here(catalog, env)
    trusted = [each for each in named if catalog.trust.state(each) == GRANTED]
    waiting = [each for each in waiting if each.path not in trusted]
    if given.has("--json"):
        put_json({"directories": [{"path": each.path, "would_run": each.would_run} for each in waiting]}, indent=2)
    else:
        _list(trusted, waiting)
    if not given.has("--dry-run"):
        for each in waiting:
            _grant(catalog, each.path, given)
            if each.tools:
                each.tools.remember()
    return 0


class Holding(NamedTuple):
    """A directory that is not trusted, and what trusting it would let run."""

    path: str
    would_run: list[str]
    tools: Waiting | None


def holding_here(catalog: Catalog, env: Mapping[str, str]) -> list[Holding]:
    """The directories whose code waits for trust, and the one that decides about the tools of the ledger here. What
    holds only data waits for nothing."""
    from bridoon.evidence import detect

    found = [source.path for source in catalog.untrusted]
    if detect.database(env, catalog.cwd):
        from bridoon.evidence.released import beside

        own = beside(env, catalog.cwd)
        if (
            own
            and own not in found
            and os.path.realpath(own) != os.path.realpath(catalog.home)
            and catalog.trust.state(own) != GRANTED
        ):
            found.append(own)
    return [each for path in found if (each := _holding(catalog, env, path)).would_run]


def _holding(catalog: Catalog, env: Mapping[str, str], directory: str) -> Holding:
    tools = tools_waiting(catalog.trust, env, directory, catalog.cwd)
    return Holding(directory, listing(directory) + (tools.lines if tools else []), tools)


def _list(trusted: list[str], waiting: list[Holding]) -> None:
    if not trusted and not waiting:
        put("nothing here waits for trust")
    for path in trusted:
        put(f"{clean(path)} is trusted already")
    for each in waiting:
        put(f"{clean(each.path)} {'holds:' if each.would_run else 'holds nothing that would run'}")
        for line in each.would_run:
            put(f"  {line}")


def _grant(catalog: Catalog, directory: str, given: Given) -> None:
    try:
        catalog.trust.grant(directory)
    except OSError as wrong:
        where = os.path.join(catalog.home, "trusted")
        raise BridoonError(f"cannot write {where}: {wrong.strerror}", "is HARNESS_HOME writable?") from None
    if not given.has("--json"):
        put(f"trusted: {clean(directory)}")
    reason = exposed(os.stat(directory))
    if reason:
        say(f"harness: {clean(directory)} is still skipped: {reason}")


def untrust(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs untrust`: nothing of the directory runs any more."""
    given = read(declared.UNTRUST, argv)
    if given is None:
        return 0
    catalog = catalog_here(env, os.getcwd())
    if given.words:
        directory = _recorded(given.words[0], catalog) or _harness_dir(given.words[0])
    else:
        local = [source.path for source in catalog.harness_dirs if source.scope != "home"]
        if not local:
            raise NotFound("no trusted .harness directory here", "hs trust --list shows what is recorded")
        directory = local[-1]
    _refuse_home([directory], catalog)
    if catalog.trust.state(directory) == REVOKED:
        put(f"{clean(directory)} is not trusted already")
        return 0
    try:
        catalog.trust.revoke(directory)
    except OSError as wrong:
        raise BridoonError(f"cannot record that: {clean(directory)}: {wrong.strerror}") from None
    put(f"not trusted any more: {clean(directory)}")
    return 0


def _harness_dir(word: str) -> str:
    """The harness directory that a word means: itself, or the one in it. Raises NotFound."""
    path = os.path.abspath(word)
    for candidate in (os.path.join(path, HARNESS), path):
        if os.path.basename(candidate) == HARNESS and os.path.isdir(candidate):
            return candidate
    raise NotFound(f"there is no {HARNESS} directory in {clean(path)}")


def _recorded(word: str, catalog: Catalog) -> str:
    """The path of a record that a word means, whether or not the directory still has its usual name."""
    path = os.path.abspath(word)
    known = {record.path for record in catalog.trust.records()}
    return next((each for each in (path, os.path.join(path, HARNESS)) if os.path.realpath(each) in known), "")


def _refuse_home(directories: list[str], catalog: Catalog) -> None:
    for each in directories:
        if os.path.realpath(each) == os.path.realpath(catalog.home):
            raise UsageError(f"{clean(each)} is HARNESS_HOME: it is your own and always takes part")


def _show_records(catalog: Catalog, as_json: bool) -> int:
    found = catalog.trust.records()
    untrusted = [source.path for source in catalog.untrusted]
    waiting = [path for path in untrusted if catalog.trust.is_news(path)]
    if as_json:
        recorded = [{"path": each.path, "state": each.how, "at": each.at} for each in found]
        put_json({"records": recorded, "not_trusted_here": untrusted})
        return 0
    for each in found:
        put(f"  {each.how:<8} {each.at[:10]}  {clean(each.path)}")
    for path in waiting:
        put(f"  {'asks':<8} {'':<10}  {clean(path)}")
    if not found and not waiting:
        put("(nothing recorded)")
    return 0
