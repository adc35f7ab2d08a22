"""Provider variants, `providers/<name>.conf`: services that speak a protocol of one of our executables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bridoon.catalog.conf import KNOWN, parse
from bridoon.catalog.files import decode, read_file
from bridoon.catalog.shelf import Variant
from bridoon.catalog.sources import NearMiss, Source

STREAM = KNOWN["stream"]

PROTOCOL_HOSTS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "ANTHROPIC_AUTH_TOKEN": "api.anthropic.com",
    "OPENAI_API_KEY": "api.openai.com",
}
"""Variables that the bundled protocol executables read, and the host that each is meant for."""


PROTOCOL_URLS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com",
}
"""Where a variant without a URL leads, by its protocol."""


class ProviderConf(NamedTuple):
    """A provider variant: a service that speaks a protocol that we have an executable for."""

    name: str
    path: str
    source: Source
    protocol: str
    model: str = ""
    url: str = ""
    auth_env: str = ""
    """The variable that holds the key. Empty: the credential stored under `name`, or none."""
    description: str = ""
    max_tokens: int = 0
    context: int = 0
    """Tokens that the model's window holds; 0: unknown."""
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stream: str = "auto"
    values: Mapping[str, str] = {}
    """Every key as written, known or not."""


class Verdict(NamedTuple):
    """Whether something is allowed; `message` says why not. False in a condition when it is not."""

    allowed: bool
    message: str = ""

    def __bool__(self) -> bool:
        return self.allowed


def read_variant(variant: Variant) -> ProviderConf | NearMiss:
    """What a variant file says, or why it cannot be used."""
    path = variant.path
    try:
        values, rest = parse(decode(read_file(path)))
    except OSError as wrong:
        return NearMiss(path, "conf", f"cannot be read: {wrong.strerror or wrong}")
    if rest:
        number, line = rest[0]
        return NearMiss(f"{path}:{number}", "conf", f"not key=value: {line[:60]!r}")
    if not values.get("protocol"):
        return NearMiss(path, "conf", "no protocol= line")
    if values.get("stream", "auto") not in STREAM:
        return NearMiss(path, "conf", f"stream={values['stream'][:40]!r} is none of {', '.join(STREAM)}")
    try:
        return ProviderConf(
            variant.name,
            path,
            variant.source,
            values["protocol"],
            model=values.get("model", ""),
            url=values.get("url", ""),
            auth_env=values.get("auth_env", ""),
            description=values.get("description", ""),
            max_tokens=_count(values, "max_tokens") or 0,
            context=_count(values, "context") or 0,
            temperature=_share(values, "temperature"),
            top_p=_share(values, "top_p"),
            top_k=_count(values, "top_k"),
            stream=values.get("stream", "auto"),
            values=values,
        )
    except ValueError as wrong:
        return NearMiss(path, "conf", str(wrong))


def _count(values: Mapping[str, str], key: str) -> int | None:
    text = values.get(key, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{key}={text[:40]!r} is not a whole number")
    return int(text)


def _share(values: Mapping[str, str], key: str) -> float | None:
    text = values.get(key, "")
    if not text:
        return None
    if not re.fullmatch(r"[0-9]*\.?[0-9]+", text):
        raise ValueError(f"{key}={text[:40]!r} is not a number")
    return float(text)


def key_allowed(conf: ProviderConf, own: Iterable[ProviderConf], variable: str = "") -> Verdict:
    """Whether a variant may be given a key: a project's file never sends a user's key to another host.

    `own` are the variants that are bundled or lie in $HARNESS_HOME. `variable` names the environment
    variable that holds the key; empty means the credential that the user stored under the variant's name. A
    variant of a project may take a key that one of `own`, or a bundled protocol, takes as well only if its
    URL (or, without one, its protocol) leads to that one's host over an equally safe scheme, or to this
    machine. Keys that nobody else takes are the project's own affair. Ask for the variable that the
    protocol's executable would fall back to, too.
    """
    if conf.source.scope in ("bundled", "home"):
        return Verdict(True)
    hosts = {("https", PROTOCOL_HOSTS[variable])} if variable in PROTOCOL_HOSTS else set()
    for other in own:
        if other.auth_env == variable if variable else other.name == conf.name:
            hosts.add(host_of(_url(other)))
    scheme, host = host_of(_url(conf))
    if not hosts or _is_loopback(host) or (host and {(scheme, host), ("http", host)} & hosts):
        return Verdict(True)
    what = variable or f"the credential stored for {conf.name}"
    where = f"{scheme}://{host}" if host else conf.url[:80] or f"the service of {conf.protocol}"
    meant = ", ".join(sorted(other for _, other in hosts if other)) or "another host"
    return Verdict(False, f"{conf.path} wants to send {what} to {where}, but that key is for {meant} only")


def _url(conf: ProviderConf) -> str:
    return conf.url or PROTOCOL_URLS.get(conf.protocol, "")


def host_of(url: str) -> tuple[str, str]:
    """Scheme and host of a URL in small letters; no host when the URL could be read in two ways."""
    from urllib.parse import urlsplit

    if not re.fullmatch(r"[\x21-\x7e]+", url) or "\\" in url:
        return "", ""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return "", ""
    if "@" in parts.netloc:
        return "", ""
    return parts.scheme.lower(), host


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine, by name or by a plainly written address."""
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))
