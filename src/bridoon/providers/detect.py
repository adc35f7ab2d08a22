"""Which provider and model to use when nobody said: keys first, then a model server on this machine."""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bridoon.errors import NoProvider
from bridoon.providers import address, knobs
from bridoon.providers.select import Credentials, knows, stored_credentials, variant_key
from bridoon.providers.values import table
from bridoon.wire import http1

if TYPE_CHECKING:
    from bridoon.catalog.lookup import Catalog, Executable
    from bridoon.catalog.variants import ProviderConf

PROBE_LIMIT = 0.1
"""Seconds for all local servers together."""

ASK_LIMIT = 1.0
"""Seconds for one local server that the user chose by name."""

PROBE_BYTES = 1 << 20
"""Bytes of a list of models that are read."""

LOCAL_ORDER = ("ollama", "llama.cpp", "lmstudio", "vllm")
"""Which local server is taken when several answer."""

READY_LIMIT = 5.0
"""Seconds that a provider program may take to say whether it is ready."""

NO_MODELS = ("embed", "rerank", "whisper", "tts")
"""Parts of the names of models that do not chat."""


class Found(NamedTuple):
    """A provider that can be used, and how it was found."""

    provider: str
    why: str
    """Words for the user: `GROQ_API_KEY is set`."""
    model: str = ""


class Place(NamedTuple):
    """Where a model server may answer."""

    name: str
    """The provider's."""
    address: address.Address
    key: str = ""


def choose(catalog: Catalog, env: Mapping[str, str], stored: Credentials) -> Found:
    """The provider to use: the first that is ready, users' own before bundled ones, else a local server that
    answers.

    Raises NoProvider with the shortest ways out as its hint.
    """
    found = with_key(catalog, env, stored)
    if found is None and looks_for_servers(catalog, env):
        found = local_server(local_variants(catalog))
    if found is None:
        raise NoProvider(
            "no provider is ready: no API key was found and no model server answers on this machine",
            "export ANTHROPIC_API_KEY=... (or OPENAI_API_KEY, GROQ_API_KEY, ...)\n"
            "  hs auth set anthropic      stores a key\n"
            "  ollama serve               or llama-server, LM Studio, vLLM: found by itself once it runs",
        )
    return found


# ---- keys


def with_key(catalog: Catalog, env: Mapping[str, str], stored: Credentials) -> Found | None:
    """The first provider with a key: in the order of the sources and of names, those in users' directories
    first.
    """
    ours: list[Executable | ProviderConf] = []
    theirs: list[Executable | ProviderConf] = []
    seen: set[str] = set()
    everything: list[Executable | ProviderConf] = [
        *catalog.entries("providers", unscoped=True),
        *catalog.confs(),
    ]
    places = {source.path: index for index, source in enumerate(catalog.unscoped_sources)}
    # The most local file of a name stands for it, where it stands.
    for each in sorted(everything, key=lambda each: -places.get(each.source.path, 0)):
        if each.name not in seen:
            seen.add(each.name)
            (ours if each.source.scope == "bundled" else theirs).append(each)
    for group in (theirs, ours):
        for each in sorted(group, key=lambda each: (places.get(each.source.path, 0), os.fsencode(each.name))):
            why = reason(each, catalog, env, stored)
            if why:
                return Found(each.name, why)
    return None


def reason(each: Executable | ProviderConf, catalog: Catalog, env: Mapping[str, str], stored: Credentials) -> str:
    """Why a provider is ready, in words; empty when it is not."""
    from bridoon.catalog.variants import ProviderConf

    variable = each.auth_env if isinstance(each, ProviderConf) else ""
    if variable and env.get(variable):
        return f"{variable} is set"
    entries = stored.get(each.name)
    if entries and not entries[0].expired:
        return "hs auth has a key"
    if isinstance(each, ProviderConf):
        return ""
    return "it says that it is ready" if is_ready(each, catalog, env) else ""


def is_ready(provider: Executable, catalog: Catalog, env: Mapping[str, str]) -> bool:
    """Whether an executable says that it can be used. One that does not know `--ready` is never asked."""
    env = {**env, "HARNESS_SOURCES": catalog.sources_variable}
    if provider.bundled and provider.marked:
        from bridoon.proc import inline
        from bridoon.sdk.script import Context

        drop_in = inline.load(provider.path)
        return drop_in.ready is not None and drop_in.ready(Context(env, log=catalog.alarm))
    return knows(provider, b"--ready") and _ask(provider, env, "--ready", catalog) is not None


def defaults(provider: Executable, catalog: Catalog, env: Mapping[str, str]) -> dict[str, str]:
    """What an executable prints for `--defaults`, as far as it is `key=value` lines."""
    if provider.bundled and provider.marked:
        from bridoon.proc import inline

        return dict(inline.load(provider.path).defaults)
    if not knows(provider, b"--defaults"):
        return {}
    text = _ask(provider, env, "--defaults", catalog) or ""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in reversed(list(pairs)) if equals}


def _ask(provider: Executable, env: Mapping[str, str], flag: str, catalog: Catalog) -> str | None:
    """What a provider program prints for a flag; None when it fails or takes too long."""
    from bridoon.proc.environment import child_env
    from bridoon.proc.run import CannotStart, command_for, run

    command = [*command_for(provider.path, provider.marked), flag]
    try:
        done = run(command, env=child_env(env, root=catalog.root), timeout=READY_LIMIT)
    except CannotStart:
        return None
    return done.stdout.text() if done.code == 0 else None


# ---- the model


def default_model(name: str, catalog: Catalog, env: Mapping[str, str]) -> str:
    """The model of a provider when nobody named one; empty when it needs none.

    Raises NoProvider when a local server would have to tell, and does not answer.
    """
    conf = catalog.conf(name)
    if conf is not None and conf.model:
        return conf.model
    provider = catalog.find("providers", name)
    if provider is not None:
        return _own_server(name, env) or defaults(provider, catalog, env).get("model", "")
    if conf is None or not address.leads_here(conf.url):
        return ""
    where = address.parse(conf.url)
    key = variant_key(catalog, conf, env, stored_credentials(catalog))
    found = local_server([Place(name, where, key)], ASK_LIMIT)
    if found is None:
        raise NoProvider(f"{name}: no model server answers at {where.origin}", "start it, or name a model with -m")
    return found.model


def _own_server(name: str, env: Mapping[str, str]) -> str:
    """The first model of the server on this machine that OPENAI_API_URL or OPENAI_BASE_URL leads to."""
    if name != "openai":
        return ""
    url = knobs.full_url(env, "OPENAI", "", "/chat/completions")
    if not address.leads_here(url):
        return ""
    found = local_server([Place(name, address.parse(url), env.get("OPENAI_API_KEY", "").strip())], ASK_LIMIT)
    return found.model if found else ""


# ---- servers on this machine


def looks_for_servers(catalog: Catalog, env: Mapping[str, str]) -> bool:
    """Whether to knock at the ports of model servers on this machine: HARNESS_DETECT_LOCAL or `detect_local=`."""
    return (env.get("HARNESS_DETECT_LOCAL") or catalog.settings.get("detect_local") or "on") != "off"


def local_variants(catalog: Catalog) -> list[Place]:
    """The variants whose URL leads to this machine, in the order in which they are preferred."""
    found = {conf.name: conf for conf in catalog.confs() if address.leads_here(conf.url)}
    rank = {name: index for index, name in enumerate(LOCAL_ORDER)}
    names = sorted(found, key=lambda name: (rank.get(name, len(rank)), name))
    return [Place(name, address.parse(found[name].url)) for name in names]


def local_server(places: Sequence[Place], limit: float = PROBE_LIMIT) -> Found | None:
    """The first of some named endpoints whose server answers with a list of models. All are asked at once."""
    asked = [_Probe(place) for place in places]
    try:
        _wait_for(asked, limit)
    finally:
        for probe in asked:
            probe.close()
    for probe in asked:
        if probe.model:
            where = probe.place.address.origin
            return Found(probe.place.name, f"a model server answers at {where}", probe.model)
    return None


class _Probe:
    """One question to one port: which models do you have?"""

    def __init__(self, place: Place) -> None:
        self.place, where = place, place.address
        self.model = ""
        self.sock = socket.socket(socket.AF_INET6 if ":" in where.host else socket.AF_INET)
        self.sock.setblocking(False)
        self.response = http1.Response()
        self.pieces: list[bytes] = []
        self.asked = False
        host = "127.0.0.1" if where.host.endswith("localhost") else where.host
        try:
            code = self.sock.connect_ex((host, where.port))
        except OSError:
            code = errno.EINVAL
        self.done = code not in (0, errno.EINPROGRESS) or where.scheme != "http"

    @property
    def event(self) -> int:
        """What the socket waits for."""
        return select.POLLIN if self.asked else select.POLLOUT

    def step(self) -> None:
        """Go on as far as possible without waiting."""
        try:
            if not self.asked:
                self._ask()
            else:
                self._read()
        except BlockingIOError:
            pass
        except (OSError, ValueError):
            self.done = True

    def _ask(self) -> None:
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "refused")
        where = self.place.address
        head = {"Host": where.authority, "Accept": "application/json", "Connection": "close"}
        if self.place.key:
            head["Authorization"] = f"Bearer {self.place.key}"
        self.sock.send(http1.request_head("GET", models_path(where.target), head))
        self.asked = True

    def _read(self) -> None:
        data = self.sock.recv(1 << 16)
        if data:
            self.pieces += self.response.feed(data)
        else:
            self.response.end()
        if self.response.done:
            self.done = True
            head = self.response.head
            self.model = first_model(b"".join(self.pieces)) if head is not None and head.status == 200 else ""
        elif self.response.received > PROBE_BYTES:
            self.done = True

    def close(self) -> None:
        self.sock.close()


def _wait_for(probes: Iterable[_Probe], limit: float) -> None:
    """Let the probes go on until all are done or the time is over, or a preferred one has answered."""
    deadline = time.monotonic() + limit
    while True:
        waiting = [probe for probe in probes if not probe.done]
        if not waiting:
            return
        first = next(probe for probe in probes if not probe.done or probe.model)
        if first.model:
            return
        poll = select.poll()
        for probe in waiting:
            poll.register(probe.sock, probe.event)
        left = deadline - time.monotonic()
        if left <= 0:
            return
        ready = {fd for fd, _ in poll.poll(left * 1000)}
        for probe in waiting:
            if probe.sock.fileno() in ready:
                probe.step()


def models_path(target: str) -> str:
    """Where an endpoint's sister tells its models: `/v1/models` for `/v1/chat/completions`."""
    path = target.partition("?")[0]
    for ending in ("/chat/completions", "/messages", "/responses"):
        if path.endswith(ending):
            return path.removesuffix(ending) + "/models"
    return "/v1/models"


def first_model(content: bytes) -> str:
    """The first model that can chat in a list as OpenAI's API has it; empty for anything else, e.g. a web
    page.
    """
    try:
        value = table(json.loads(content))
    except (ValueError, RecursionError):
        return ""
    listed = value.get("data")
    if value.get("object") != "list" or not isinstance(listed, list):
        return ""
    names: list[Any] = [table(each).get("id") for each in listed if table(each).get("object") == "model"]
    chat = [name for name in names if isinstance(name, str) and name.isprintable() and _chats(name)]
    return chat[0] if chat else ""


def _chats(name: str) -> bool:
    return bool(name) and not any(word in name.lower() for word in NO_MODELS)
