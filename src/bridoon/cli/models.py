"""`hs models`: which models could be used now. A service is asked when it is named or on this machine."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bridoon.catalog.lookup import Catalog
from bridoon.cli import declared
from bridoon.cli.compose import catalog_here, say
from bridoon.cli.declare import read
from bridoon.cli.providing import Chosen, Provider, chosen, survey
from bridoon.cli.show import clean, did_you_mean, put, put_json
from bridoon.cli.stopping import stop_at_once
from bridoon.errors import BridoonError, Cancelled, NotFound, ProviderError

if TYPE_CHECKING:
    from bridoon.providers.exchange import Endpoint

LIMIT = 5.0
"""Seconds that a server may take to list its models."""

SIZE_LIMIT = 8 << 20
"""Bytes of such a list."""


class Model(NamedTuple):
    """A model of a provider."""

    provider: str
    name: str
    note: str
    used: bool = False
    """Whether a run would use it now."""


def models(argv: list[str], env: Mapping[str, str]) -> int:
    """Carry out `hs models [PROVIDER]`. Raises NotFound, ProviderError when a service does not tell."""
    given = read(declared.MODELS, argv)
    if given is None:
        return 0
    stop_at_once()
    catalog = catalog_here(env, os.getcwd())
    found = survey(catalog, env)
    use = chosen(catalog, env)
    name = given.words[0] if given.words else ""
    listed = _marked(_of_one(name, found, catalog, env) if name else _of_all(found, catalog, env), use, name)
    if given.has("--json"):
        put_json({"models": [each._asdict() for each in listed], "used": _used(use)})
        return 0
    for each in listed:
        mark = "*" if each.used else " "
        name = clean(each.name) or "(its own)"
        put(f"{mark} {clean(each.provider):<16} {name:<36} {clean(each.note)}".rstrip())
    if not listed:
        put("(no models)")
        if use.problem:
            say(f"harness: {clean(use.problem)}" + (f"\n  {use.hint}" if use.hint else ""))
    return 0


def _marked(listed: list[Model], use: Chosen, only: str) -> list[Model]:
    """The models with the one marked that a run would use; it stands first when nobody listed it."""
    here = (use.provider, use.model)
    listed = [each._replace(used=(each.provider, each.name) == here) for each in listed]
    if use.problem or only not in ("", use.provider) or any(each.used for each in listed):
        return listed
    return [Model(use.provider, use.model, use.why, True), *listed]


def _used(use: Chosen) -> dict[str, str] | None:
    return None if use.problem else {"provider": use.provider, "model": use.model, "why": use.why}


def _of_all(found: list[Provider], catalog: Catalog, env: Mapping[str, str]) -> list[Model]:
    """The default models of what is ready, and what servers on this machine have."""
    from bridoon.providers import detect

    knocks = detect.looks_for_servers(catalog, env)
    listed = []
    for each in found:
        if each.local and not knocks:
            continue
        if each.local:
            listed += _of_local(each, env)
        elif each.ready and each.model:
            listed.append(Model(each.name, each.model, f"default; {each.why}"))
    return listed


def _of_local(each: Provider, env: Mapping[str, str]) -> list[Model]:
    from bridoon.providers.exchange import Endpoint

    try:
        names = ask(Endpoint(each.url, {}), {**env, "no_proxy": "*"})
    except BridoonError:
        return []  # most people have none of these servers
    return [Model(each.name, name, "on this machine") for name in names]


def _of_one(name: str, found: list[Provider], catalog: Catalog, env: Mapping[str, str]) -> list[Model]:
    each = next((each for each in found if each.name == name), None)
    if each is None:
        names = [each.name for each in found]
        raise NotFound(f"there is no provider {clean(name)!r}", did_you_mean(name, names, "hs providers lists them"))
    default = [Model(name, each.model, "default")] if each.model else []
    endpoint, surroundings = _endpoint(each, catalog, env)
    if endpoint is None:
        return default
    names = ask(endpoint, surroundings)
    listed = [Model(name, model, "default" if model == each.model else "") for model in names]
    return listed if each.model in names else [*default, *listed]


def _endpoint(each: Provider, catalog: Catalog, env: Mapping[str, str]) -> tuple[Endpoint | None, dict[str, str]]:
    """Where a provider's requests go, with its key; None for a program whose ways only it knows."""
    from bridoon.providers import select
    from bridoon.sdk.script import Context

    prepared = select.prepare(catalog, each.name, env)
    surroundings = {**env, **prepared.env, "HARNESS_SOURCES": catalog.sources_variable}
    if not prepared.provider.bundled:
        return None, surroundings
    context = Context(surroundings, log=lambda text: say(f"harness: {clean(text)}"))
    if prepared.provider.name == "anthropic":
        from bridoon.providers import anthropic_api

        return anthropic_api.endpoint_of(context), surroundings
    if prepared.provider.name == "openai":
        from bridoon.providers import openai_api

        return openai_api.endpoint_of(context), surroundings
    return None, surroundings


def ask(endpoint: Endpoint, env: Mapping[str, str]) -> list[str]:
    """The names of a server's models, in its order. Raises ProviderError when it does not tell within 5 s."""
    from bridoon.proc.cancel import Cancel
    from bridoon.providers import address, detect, failures
    from bridoon.providers.http import Request, pool

    where = address.parse(endpoint.url)
    path = detect.models_path(where.target)
    query = "?limit=1000" if "anthropic-version" in endpoint.headers else ""
    headers = {name: value for name, value in endpoint.headers.items() if name.lower() != "content-type"}
    cancel = Cancel()
    timer = threading.Timer(LIMIT, cancel.set)
    timer.daemon = True
    timer.start()
    try:
        request = Request(where.origin + path + query, {**headers, "Accept": "application/json"}, method="GET")
        response = pool().request(request, env, cancel, LIMIT)
        content = response.read(SIZE_LIMIT)
        response.close()
    except Cancelled:
        raise ProviderError(f"{where.origin} did not answer within {LIMIT:.0f} s", "network") from None
    finally:
        timer.cancel()
    if response.status != 200:
        raise failures.refusal(response.status, response.headers, content, where.origin, endpoint.secrets)
    return _names(content, where.origin)


def _names(content: bytes, origin: str) -> list[str]:
    """The names in a list of models as the APIs of OpenAI, Anthropic, Together and others have it."""
    try:
        value: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise ProviderError(f"{origin} answered no JSON when it was asked for its models", "invalid") from None
    if isinstance(value, dict):
        value = value.get("data", value.get("models"))
    if not isinstance(value, list):
        raise ProviderError(f"{origin} answered no list when it was asked for its models", "invalid")
    rows = [each if isinstance(each, dict) else {"id": each} for each in value]
    names = [each.get("id") or each.get("name") for each in rows]
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name))
