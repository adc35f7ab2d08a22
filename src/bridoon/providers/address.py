"""URLs, and which way leads to them: directly or through the proxy that the environment names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from bridoon.errors import ConfigError
from bridoon.wire.digits import whole_number

PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """A URL taken apart."""

    scheme: str
    host: str
    """Lower case, without the brackets of an IPv6 address."""
    port: int
    target: str
    """Path and query, never empty."""
    user: str = ""
    """`name:password` of a proxy, percent-decoded."""

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: what error messages may show of a URL."""
        return f"{self.scheme}://{self.authority}"

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address always means this machine."""
    return host in ("localhost", "::1") or host.endswith(".localhost") or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))


def parse(url: str, what: str = "the URL", *, credentials: bool = False) -> Address:
    """Take a URL apart. Raises ConfigError, whose message never repeats a password.

    A name and password in the URL are accepted only where `credentials` says so.
    """
    scheme, mark, rest = url.strip().partition("://")
    scheme = scheme.lower()
    rest = rest.partition("#")[0]
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    authority, target = rest[:end], rest[end:]
    user, at, place = authority.rpartition("@")
    host, port = _split(place)
    if not mark or scheme not in PORTS or not host or not _readable(rest):
        shown = f"{scheme}://...@{place}" if at else url.strip()
        raise ConfigError(f"{what} is not an http or https URL: {shown[:80]!r}")
    if user and not credentials:
        raise ConfigError(f"{what} holds a name or password", hint="put the key into its own variable")
    number = whole_number(port) if port else PORTS[scheme]
    if not 0 < number < 65536:
        raise ConfigError(f"{what} has no valid port: {port[:20]!r}")
    host = host.lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise ConfigError(f"{what} has a host that is no name: {host[:80]!r}") from None
    if ":" not in host and not all(0 < len(label) < 64 for label in host.removesuffix(".").split(".")):
        raise ConfigError(f"{what} has a host that is no name: {host[:80]!r}")
    target = target or "/"
    if target.startswith("?"):
        target = "/" + target
    return Address(scheme, host, number, _quoted(target), _unquoted(user))


def _split(place: str) -> tuple[str, str]:
    """Host and port of `host:port`, `[v6]:port`, or a host alone."""
    if place.startswith("["):
        host, bracket, port = place[1:].partition("]")
        return host if bracket else "", port.removeprefix(":")
    host, _, port = place.partition(":")
    return host, port


def _readable(text: str) -> bool:
    """Without blanks, control characters and backslashes, over whose meaning programs differ."""
    return text.isprintable() and " " not in text and "\\" not in text


def leads_here(url: str) -> bool:
    """Whether a URL leads to this machine. False for what is no URL."""
    try:
        return bool(url) and parse(url).loopback
    except ConfigError:
        return False


def proxy_for(address: Address, env: Mapping[str, str]) -> Address | None:
    """The proxy that the environment names for an address; None for the direct way.

    `<SCHEME>_PROXY`, then `ALL_PROXY`, in lower or upper case; `NO_PROXY` lists hosts that are reached
    directly. Raises ConfigError for a proxy that we cannot speak to.
    """
    names = [f"{address.scheme}_proxy", "all_proxy"]
    value = next((env[each] for name in names for each in (name, name.upper()) if env.get(each)), "")
    if not value or bypassed(address, env.get("no_proxy") or env.get("NO_PROXY") or ""):
        return None
    if "://" not in value:
        value = "http://" + value
    if not value.lower().startswith("http://"):
        kind = value.split("://", 1)[0]
        raise ConfigError(f"a {kind} proxy is not supported", hint="name an http:// proxy, or the host in NO_PROXY")
    return parse(value, "the proxy", credentials=True)


def bypassed(address: Address, no_proxy: str) -> bool:
    """Whether a NO_PROXY list names the address: `*`, hosts, domains, `host:port`, IP addresses and
    networks.
    """
    for entry in re.split(r"[,\s]+", no_proxy.lower()):
        if not entry:
            continue
        if entry == "*":
            return True
        if "/" in entry:
            if _in_network(address.host, entry):
                return True
            continue
        name, port = entry, ""
        if entry.count(":") == 1 or entry.startswith("["):
            name, _, port = entry.rpartition(":") if not entry.endswith("]") else (entry, "", "")
        name = name.strip("[]").removeprefix("*").lstrip(".")
        if port and port != str(address.port):
            continue
        if address.host == name or address.host.endswith("." + name):
            return True
    return False


def _in_network(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _quoted(target: str) -> str:
    """Non-ASCII characters of a path as the percent form that HTTP wants."""
    return "".join(c if c.isascii() else "".join(f"%{byte:02X}" for byte in c.encode()) for c in target)


def _unquoted(text: str) -> str:
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())
    return raw.decode("utf-8", "replace")
