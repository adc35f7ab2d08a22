"""`hs permissions`: the mode, the rules in the order in which they count, and what would become of a call."""

from __future__ import annotations

import os
from collections.abc import Mapping

from bridoon.catalog.lookup import Catalog
from bridoon.cli import declared
from bridoon.cli.compose import catalog_here
from bridoon.cli.declare import Given, read
from bridoon.cli.listing import tool_index
from bridoon.cli.show import clean, did_you_mean, put, put_json
from bridoon.cli.stopping import stop_at_once
from bridoon.errors import NotFound
from bridoon.toolkit import permissions as policy
from bridoon.toolkit.permissions import Policy, Verdict


def permissions(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs permissions [TOOL [ARGUMENT]]`."""
    given = read(declared.PERMISSIONS, argv)
    if given is None:
        return 0
    if given.has("--permissions"):
        env = {**env, "HARNESS_PERMISSIONS": given.value("--permissions")}
    stop_at_once()
    catalog = catalog_here(env, os.getcwd())
    if given.words:
        return _about_call(given, catalog, env)
    settings = catalog.settings
    if given.has("--json"):
        rules = [
            {"action": rule.action, "target": rule.target, "where": rule.where, "problem": policy.flaw(rule)}
            for rule in policy.rules_of(settings)
        ]
        put_json({"mode": policy.mode_of(settings, env), "rules": rules})
        return 0
    for line in policy.describe(settings, env):
        put(clean(line))
    return 0


def _about_call(given: Given, catalog: Catalog, env: Mapping[str, str]) -> int:
    verdict = verdict_on(given.words[0], given.words[1] if len(given.words) > 1 else "", catalog, env)
    if given.has("--json"):
        put_json(verdict._asdict())
    else:
        put(f"{verdict.action}: {clean(verdict.why)}")
    return 0


def verdict_on(tool: str, argument: str, catalog: Catalog, env: Mapping[str, str]) -> Verdict:
    """What becomes of a call of a tool with one argument, in a one-shot run. Nothing is run.

    Raises NotFound for a tool that is not there.
    """
    settings = catalog.settings
    index = tool_index(catalog, env)
    found, spec = index.by_name(tool), index.spec(tool)
    if found is None or spec is None:
        raise NotFound(f"no tool is called {clean(tool)!r}", did_you_mean(tool, [each["name"] for each in index.specs]))
    # As the bundled gate has it: only a bundled tool is believed when it says that it just reads.
    reads = (spec.get("annotations") or {}).get("readOnlyHint") is True
    call = policy.call_like(tool, argument, os.getcwd(), env.get("HOME") or os.path.expanduser("~"))
    rules = Policy(policy.mode_of(settings, env), policy.rules_of(settings))
    return policy.decide(call, rules, [], harmless=found.bundled and (reads or spec["name"] == "agent"))
