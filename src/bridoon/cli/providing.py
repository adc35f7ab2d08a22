"""`hs providers`, and what other commands say about them: which are there, ready, or would be used."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bridoon.catalog.lookup import Catalog, Executable
from bridoon.cli import declared
from bridoon.cli.compose import catalog_here
from bridoon.cli.declare import read
from bridoon.cli.show import clean, mask, put, put_json
from bridoon.cli.stopping import stop_at_once
from bridoon.errors import BridoonError, HookFailed, NoProvider

if TYPE_CHECKING:
    from bridoon.catalog.variants import ProviderConf
    from bridoon.providers.select import Credentials

Env = Mapping[str, str]


class Provider(NamedTuple):
    """A provider as people see it."""

    name: str
    path: str
    kind: str
    """`program`, or `variant` of the program that speaks its protocol."""
    protocol: str
    model: str
    """Its default model; empty when it has none or its server would have to tell."""
    url: str
    about: str
    """What it says about itself."""
    ready: bool
    why: str
    """Why it is ready, or what is missing."""
    key: str
    """The key that it would be given, masked; empty without one."""
    key_from: str
    """`environment: NAME` or the file that holds the key."""
    scope: str
    pack: str
    local: bool = False
    """Its URL leads to this machine."""

    @property
    def summary(self) -> str:
        """What it is and whether it can be used, on one line."""
        about = self.about or (f"speaks {self.protocol}" if self.kind == "variant" else "(no description)")
        return f"{about} ({self.why})" if self.why else about


class Chosen(NamedTuple):
    """What a run would use now."""

    provider: str
    model: str
    why: str
    problem: str = ""
    """Why no run could begin; empty when one could."""
    hint: str = ""


def providers(argv: list[str], env: Env) -> int:
    """Carry out `hs providers`."""
    given = read(declared.PROVIDERS, argv)
    if given is None:
        return 0
    from bridoon.cli.describe import environment

    stop_at_once()
    catalog = catalog_here(env, os.getcwd())
    found = survey(catalog, env)
    misses = [miss for miss in catalog.near_misses if miss.kind in ("providers", "conf", "source")]
    if given.has("--json"):
        put_json(
            {
                "providers": [each._asdict() for each in found],
                "near_misses": [miss._asdict() for miss in misses],
            }
        )
        return 0
    programs = {each.name: each for each in catalog.entries("providers", unscoped=True)}
    for each in found:
        mark = "*" if each.ready else " "
        put(f"{mark} {clean(each.name):<20} {clean(each.summary)}  [{clean(each.path)}]")
        for line in environment(programs[each.name], env) if each.name in programs else ():
            put(f"{'':<25}{clean(line)}")
    put("(* ready)" if found else "(no providers)")
    if misses:
        put("\nnearly, but not found:")
        for miss in misses:
            put(f"  {clean(miss.path)}: {clean(miss.reason)}")
    return 0


def survey(catalog: Catalog, env: Env) -> list[Provider]:
    """Every provider and variant by name, without a network. An executable hides a variant of its name."""
    from bridoon.cli.describe import describe
    from bridoon.providers.select import stored_credentials

    stored = stored_credentials(catalog)
    programs = {each.name: each for each in catalog.entries("providers", unscoped=True)}
    variants = {conf.name: conf for conf in catalog.confs() if conf.name not in programs}
    about = describe(programs.values(), env)
    found = [_program(each, catalog, env, stored)._replace(about=about[each.path]) for each in programs.values()]
    found += [_variant(conf, programs, catalog, env, stored) for conf in variants.values()]
    return sorted(found, key=lambda each: os.fsencode(each.name))


def _program(each: Executable, catalog: Catalog, env: Env, stored: Credentials) -> Provider:
    from bridoon.providers import detect
    from bridoon.providers.select import KEYS

    try:
        why = detect.reason(each, catalog, env, stored)
        problem = ""
        model = detect.defaults(each, catalog, env).get("model", "") if each.bundled or why else ""
    except BridoonError as wrong:
        why, model, problem = "", "", wrong.message
    variable = KEYS.get(each.name, re.sub(r"[^A-Z0-9]", "_", each.name.upper()) + "_API_KEY")
    key, key_from = _key(variable, each.name, env, stored)
    if not why and not problem:
        problem = f"needs {variable}, or: hs auth set {each.name}" if each.name in KEYS else "use it with -p"
    if why == "it says that it is ready":
        why = f"{variable} is set" if key_from.startswith("environment") else why
    return Provider(
        name=each.name,
        path=each.path,
        kind="program",
        protocol=each.name,
        model=model,
        url="",
        about="",
        ready=bool(why),
        why=why or problem,
        key=key if why else "",
        key_from=key_from if why else "",
        scope=each.source.scope,
        pack=each.source.pack,
    )


def _variant(
    conf: ProviderConf, programs: Mapping[str, Executable], catalog: Catalog, env: Env, stored: Credentials
) -> Provider:
    from bridoon.providers import address, detect, select

    why = detect.reason(conf, catalog, env, stored)
    problem = ""
    local = address.leads_here(conf.url)
    if conf.protocol not in programs:
        why, problem = "", f"no provider speaks protocol={conf.protocol}"
    elif why:
        try:
            select.variant_key(catalog, conf, env, stored)
        except BridoonError as wrong:
            why, problem = "", wrong.message
    elif local:
        problem = f"a server at {conf.url}"
    elif conf.auth_env:
        problem = f"needs {conf.auth_env}, or: hs auth set {conf.name}"
    else:
        problem = f"needs: hs auth set {conf.name}" if conf.url else "use it with -p"
    key, key_from = _key(conf.auth_env, conf.name, env, stored)
    return Provider(
        name=conf.name,
        path=conf.path,
        kind="variant",
        protocol=conf.protocol,
        model=conf.model,
        url=conf.url,
        about=conf.description,
        ready=bool(why),
        why=why or problem,
        key=key if why else "",
        key_from=key_from if why else "",
        scope=conf.source.scope,
        pack=conf.source.pack,
        local=local,
    )


def _key(variable: str, name: str, env: Env, stored: Credentials) -> tuple[str, str]:
    """A provider's key, masked, and where it comes from; the variable counts first."""
    if variable and env.get(variable):
        return mask(env[variable].strip()), f"environment: {variable}"
    entries = stored.get(name)
    return (mask(entries[0].key), entries[0].path) if entries and entries[0].key else ("", "")


def chosen(catalog: Catalog, env: Env) -> Chosen:
    """What a run would talk to, and why: the `resolve` stage is asked. Local servers get 100 ms to answer."""
    from bridoon.loop.chain import run_stage
    from bridoon.loop.run import Run
    from bridoon.proc.cancel import Cancel
    from bridoon.providers import select

    given = {"provider": env.get("HARNESS_PROVIDER", ""), "model": env.get("HARNESS_MODEL", "")}
    run = Run(None, catalog, env, cancel=Cancel())
    try:
        found = run_stage(run, "resolve", dict(given))
    except HookFailed as failed:
        return Chosen(given["provider"], given["model"], "", failed.message, failed.hint)
    finally:
        run.close()
    provider, model = str(found.get("provider") or ""), str(found.get("model") or "")
    why = str(found.get("why") or "") or _why(given["provider"], catalog)
    if not provider:
        none = NoProvider("no provider was found", "set HARNESS_PROVIDER or run: hs auth set <provider>")
        return Chosen("", model, "", none.message, none.hint)
    try:
        select.prepare(catalog, provider, env)
    except BridoonError as wrong:
        return Chosen(provider, model, why, wrong.message, wrong.hint)
    return Chosen(provider, model, why)


def _why(given: str, catalog: Catalog) -> str:
    if given:
        return "HARNESS_PROVIDER says so" if os.environ.get("HARNESS_PROVIDER") == given else "-p says so"
    path = catalog.settings.origin("provider")
    return f"{path} says so" if path else ""
