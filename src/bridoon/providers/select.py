"""Which executable serves a provider, and what its environment needs: a variant's endpoint and key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bridoon.errors import ConfigError, NoProvider, NotFound
from bridoon.providers import address, credentials
from bridoon.providers.values import strings

if TYPE_CHECKING:
    from bridoon.catalog.conf import Settings
    from bridoon.catalog.lookup import Catalog, Executable
    from bridoon.catalog.variants import ProviderConf

Credentials = Mapping[str, list[credentials.Credential]]

SETTINGS = {
    "openai_api": "OPENAI_API",
    "idle_timeout": "HARNESS_IDLE_TIMEOUT",
    "thinking": "HARNESS_THINKING",
    "cache": "HARNESS_CACHE",
    "stream": "HARNESS_STREAM",
    "script": "BRIDOON_SCRIPT",
    "local_model": "HARNESS_LOCAL_MODEL",
}
"""Keys of `settings.conf` that providers read, and the variables that beat them."""

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The variable in which a bundled protocol's executable finds its key."""

SAMPLING = ("temperature", "top_p", "top_k")


class Prepared(NamedTuple):
    """A provider that can be called."""

    provider: Executable
    env: dict[str, str]
    """Variables to add. An empty value hides one that is meant for another service."""
    streams: bool
    """Whether to ask for events while the answer is made (`--stream`)."""


def prepare(catalog: Catalog, name: str, env: Mapping[str, str], stored: Credentials | None = None) -> Prepared:
    """Find what serves the provider `name`: an executable, or a `.conf` and the executable of its protocol.

    `stored` are the credentials to use, by default those of the catalog's sources. Raises NotFound,
    NoProvider when a key is missing, ConfigError when a file wants a key that is not meant for its host.
    """
    if stored is None:
        stored = stored_credentials(catalog)
    from_settings = setting_variables(catalog.settings, env)
    provider = catalog.find("providers", name)
    if provider is not None:
        if not provider.bundled:
            credentials.refresh_cache(catalog.home)
        additions = {**from_settings, **_own_key(name, env, stored)}
        return Prepared(provider, additions, _asks_to_stream(provider, {**env, **additions}, "auto"))
    conf = catalog.conf(name)
    if conf is None:
        raise NotFound(f"there is no provider {name!r}", "hs models lists the providers")
    provider = catalog.find("providers", conf.protocol)
    if provider is None:
        raise ConfigError(f"there is no provider {conf.protocol!r} for protocol={conf.protocol}", conf.path)
    additions = {**from_settings, **variant_variables(catalog, conf, env, stored)}
    return Prepared(provider, additions, _asks_to_stream(provider, {**env, **additions}, conf.stream))


def stored_credentials(catalog: Catalog) -> Credentials:
    """The credentials in the sources that take part."""
    return credentials.load((source.path for source in catalog.unscoped_sources), catalog.alarm)


def setting_variables(settings: Settings, env: Mapping[str, str]) -> dict[str, str]:
    """What `settings.conf` says to providers, as variables; those that are set already win."""
    return {
        variable: settings.get(key) for key, variable in SETTINGS.items() if settings.get(key) and not env.get(variable)
    }


def variant_variables(
    catalog: Catalog, conf: ProviderConf, env: Mapping[str, str], stored: Credentials
) -> dict[str, str]:
    """The environment that makes a protocol's executable speak to a variant's service.

    Every variable that could carry another service's key or endpoint is set, if only to nothing.
    """
    prefix = re.sub(r"[^A-Z0-9]", "_", conf.protocol.upper())
    key = variant_key(catalog, conf, env, stored)
    additions = {f"{prefix}_API_KEY": key, f"{prefix}_AUTH_HEADER": "", f"{prefix}_BETA": ""}
    if conf.url:
        try:
            address.parse(conf.url, "url=")
        except ConfigError as wrong:
            raise ConfigError(wrong.message, conf.path, hint=wrong.hint) from None
        additions[f"{prefix}_API_URL"] = conf.url
    additions[f"{prefix}_MAX_TOKENS"] = str(conf.max_tokens or "")
    for name in SAMPLING:
        value = getattr(conf, name)
        additions[f"{prefix}_{name.upper()}"] = "" if value is None else f"{value:g}"
    if prefix == "OPENAI":
        additions["OPENAI_API"] = _variant_api(conf)
    if conf.stream != "auto":
        additions["HARNESS_STREAM"] = conf.stream
    if address.leads_here(conf.url):
        # A server on this machine is no business of a proxy.
        listed = env.get("no_proxy") or env.get("NO_PROXY") or ""
        additions["no_proxy"] = ",".join(part for part in (listed, "localhost,127.0.0.1,::1") if part)
    return additions


def openai_api(catalog: Catalog, name: str, env: Mapping[str, str]) -> str:
    """Which of OpenAI's APIs a provider speaks, `chat` or `responses`: what its `.conf`, the environment or
    a setting says.
    """
    conf = None if catalog.find("providers", name) is not None else catalog.conf(name)
    if conf is not None:
        return _variant_api(conf)
    return env.get("OPENAI_API") or catalog.settings.get("openai_api") or "chat"


def _variant_api(conf: ProviderConf) -> str:
    return conf.values.get("api") or "chat"


def variant_key(catalog: Catalog, conf: ProviderConf, env: Mapping[str, str], stored: Credentials) -> str:
    """The key for a variant: its variable, else the credential of its name; empty where none is needed.

    Raises NoProvider when there is none, ConfigError when the file may not have it.
    """
    variable = conf.auth_env
    key = env.get(variable, "").strip() if variable else ""
    entries = stored.get(conf.name)
    from_store = entries[0] if not key and entries else None
    if from_store is not None:
        key = from_store.key
    if key:
        _check_host(catalog, conf, "" if from_store is not None else variable, from_store)
        return key
    if not variable and not conf.url and conf.protocol in KEYS:
        # A variant without a URL or a key of its own is the protocol's own service.
        own = stored.get(conf.protocol)
        return env.get(KEYS[conf.protocol], "").strip() or (own[0].key if own else "")
    if variable and not address.leads_here(conf.url):
        raise NoProvider(f"{variable} not set — run: hs auth set {conf.name}", f"or: export {variable}=...")
    return ""


def _check_host(catalog: Catalog, conf: ProviderConf, variable: str, stored: credentials.Credential | None) -> None:
    if stored is not None:
        scopes = {source.path: source.scope for source in catalog.unscoped_sources}
        if scopes.get(stored.path.rpartition("/")[0]) == "project":
            return  # a project's own credential is the project's own affair
    verdict = catalog.key_allowed(conf, variable)
    if not verdict:
        raise ConfigError(verdict.message, hint="a project's files cannot send a user's key to another host")
    if stored is not None:
        _check_stored_host(catalog, conf, stored)


def _check_stored_host(catalog: Catalog, conf: ProviderConf, stored: credentials.Credential) -> None:
    """A key of the user, under a name that only a project knows, goes to the host for which it was stored."""
    from bridoon.catalog.variants import host_of

    known = any(each.name == conf.name and each.source.scope in ("bundled", "home") for each in catalog.confs())
    if known or conf.source.scope != "project" or address.leads_here(conf.url):
        return
    host = host_of(conf.url)[1]
    meant = strings(stored.values.get("host"))
    if not host or host != meant:
        told = f"it was stored for {meant}" if meant else "it was stored without saying for which host"
        raise ConfigError(
            f"{conf.path} wants to send the credential stored for {conf.name} to {host or 'nowhere'}, but {told}",
            hint=f"hs auth set {conf.name}, in this directory, stores it for that host",
        )


def _own_key(name: str, env: Mapping[str, str], stored: Credentials) -> dict[str, str]:
    """The stored credential of a provider that is an executable, in the variable where it looks for it."""
    variable = KEYS.get(name) or re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_API_KEY"
    if env.get(variable):
        return {}
    entries = stored.get(name)
    if entries and entries[0].key:
        return {variable: entries[0].key}
    return {variable: ""} if name in KEYS else {}


def _asks_to_stream(provider: Executable, env: Mapping[str, str], word: str) -> bool:
    """Whether the provider understands `--stream`: marked ones do; others mention it in a line that is no
    comment.
    """
    word = env.get("HARNESS_STREAM") or word
    if word in ("always", "never"):
        return word == "always"
    if provider.marked:
        return True
    try:
        with open(provider.path, "rb") as file:
            content = file.read(1 << 20)
    except OSError:
        return False
    if b"\0" in content:
        return b"--stream" in content
    return any(b"--stream" in line for line in content.split(b"\n") if not line.lstrip().startswith((b"#", b"//")))


def knows(provider: Executable, flag: bytes) -> bool:
    """Whether a provider can be asked with a flag: it is marked, mentions it, or is no text at all."""
    if provider.marked:
        return True
    try:
        with open(provider.path, "rb") as file:
            content = file.read(1 << 20)
    except OSError:
        return False
    return b"\0" in content or flag in content
