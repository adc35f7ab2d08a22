"""The `key=value` files: `settings.conf` and the provider variants `providers/<name>.conf`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bridoon.catalog.files import decode, read_file
from bridoon.catalog.shelf import Shelf, Variant
from bridoon.catalog.sources import NearMiss, Source

RULE = re.compile(r"(allow|ask|deny)\s+([A-Za-z0-9_*?.:-]+(?:\s*\(.*\))?)")
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
COMMENT = re.compile(r"\s#\s.*")

STREAM = ("auto", "always", "never")

PROTOCOL_HOSTS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "ANTHROPIC_AUTH_TOKEN": "api.anthropic.com",
    "OPENAI_API_KEY": "api.openai.com",
}
"""Variables that the bundled protocol executables read, and the host that each is meant for."""


class Rule(NamedTuple):
    """A line such as `deny bash(rm *)`."""

    action: str
    """`allow`, `ask` or `deny`."""
    text: str
    """What it applies to, as written: `TOOL` or `TOOL(pattern)`."""
    path: str
    line: int


class Layer(NamedTuple):
    """One `settings.conf`."""

    path: str
    source: Source
    values: dict[str, str]
    rules: tuple[Rule, ...]


class Settings(NamedTuple):
    """All `settings.conf` files together: the most local value of each key, and every rule."""

    values: dict[str, str]
    rules: tuple[Rule, ...]
    """Lowest priority first, in the order of their lines."""
    layers: tuple[Layer, ...]
    """The files, lowest priority first. For what a project may only tighten, look here who says what."""

    def get(self, key: str, default: str = "") -> str:
        """The value of a key."""
        return self.values.get(key, default)

    def origin(self, key: str) -> str:
        """The file that a key's value comes from; empty when no file sets it."""
        return next((layer.path for layer in reversed(self.layers) if key in layer.values), "")


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
    values: Mapping[str, str] = {}  # noqa: RUF012 - never mutated
    """Every key as written, known or not."""


class Verdict(NamedTuple):
    """Whether something is allowed; `message` says why not. False in a condition when it is not."""

    allowed: bool
    message: str = ""

    def __bool__(self) -> bool:
        return self.allowed


def parse(text: str) -> tuple[dict[str, str], list[tuple[int, str]]]:
    """The values of `key=value` lines, the first of each key, and the lines that are nothing, with their numbers.

    Carriage returns and blanks around keys and values are dropped. `#` begins a comment at the start of a line, and
    after a blank when a blank follows it.
    """
    values: dict[str, str] = {}
    rest: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key = key.strip()
        if equals and KEY.fullmatch(key):
            values.setdefault(key, COMMENT.sub("", " " + value).strip())
        else:
            rest.append((number, line))
    return values, rest


def read_settings(shelves: Iterable[Shelf], report: list[NearMiss]) -> Settings:
    """Merge the `settings.conf` of all sources. What cannot be used is added to `report`."""
    layers = []
    for shelf in shelves:
        if shelf.settings:
            layer = _layer(shelf.settings, shelf.source, report)
            if layer is not None:
                layers.append(layer)
    merged: dict[str, str] = {}
    for layer in layers:
        merged.update(layer.values)
    return Settings(merged, tuple(rule for layer in layers for rule in layer.rules), tuple(layers))


def _layer(path: str, source: Source, report: list[NearMiss]) -> Layer | None:
    try:
        text = decode(read_file(path))
    except OSError as wrong:
        report.append(NearMiss(path, "settings", f"cannot be read: {wrong.strerror or wrong}"))
        return None
    rules = []
    plain = []
    for number, line in enumerate(text.split("\n"), 1):
        rule = RULE.fullmatch(line.strip())
        if rule:
            rules.append(Rule(rule[1], rule[2].replace(" (", "(", 1) if "(" in rule[2] else rule[2], path, number))
        plain.append("" if rule else line)
    values, rest = parse("\n".join(plain))
    for number, line in rest:
        report.append(NearMiss(f"{path}:{number}", "settings", f"neither key=value nor a rule: {line[:60]!r}"))
    return Layer(path, source, values, tuple(rules))


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
            *(values.get(key, "") for key in ("model", "url", "auth_env", "description")),
            _count(values, "max_tokens") or 0,
            _count(values, "context") or 0,
            _share(values, "temperature"),
            _share(values, "top_p"),
            _count(values, "top_k"),
            values.get("stream", "auto"),
            values,
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

    `own` are the variants that are bundled or lie in $HARNESS_HOME. `variable` names the environment variable that holds
    the key; empty means the credential that the user stored under the variant's name. A variant of a project may take
    a key that one of `own`, or a bundled protocol, takes as well only if its URL leads to that one's host over an equally
    safe scheme, or to this machine. Keys that nobody else takes are the project's own affair, and so are all keys when it
    names no URL. Ask for the variable that the protocol's executable would fall back to, too.
    """
    if conf.source.scope in ("bundled", "home") or not conf.url:
        return Verdict(True)
    hosts = {("https", PROTOCOL_HOSTS[variable])} if variable in PROTOCOL_HOSTS else set()
    for other in own:
        if other.url and (other.auth_env == variable if variable else other.name == conf.name):
            hosts.add(_host(other.url))
    scheme, host = _host(conf.url)
    if not hosts or _is_loopback(host) or (host and {(scheme, host), ("http", host)} & hosts):
        return Verdict(True)
    what = variable or f"the credential stored for {conf.name}"
    where = f"{scheme}://{host}" if host else conf.url[:80]
    meant = ", ".join(sorted(other for _, other in hosts if other)) or "another host"
    return Verdict(False, f"{conf.path} wants to send {what} to {where}, but that key is for {meant} only")


def _host(url: str) -> tuple[str, str]:
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
