"""`hs auth`: store, list and remove the keys of providers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from bridoon.cli.compose import catalog_here, say
from bridoon.cli.declare import Command, Option, group_help, read, sub_command
from bridoon.cli.show import clean, mask, put
from bridoon.errors import UsageError
from bridoon.providers import credentials

Env = Mapping[str, str]

LOCAL = Option("--local", "in the nearest project's .harness instead of the home's")

AUTH_SET = Command(
    "auth set",
    "store a key for a provider",
    "PROVIDER",
    1,
    1,
    (LOCAL,),
    "Asks for the key without showing it, or reads it from standard input: `hs auth set groq < key.txt`. "
    "It replaces what was stored for that provider.",
    completes="provider",
)
AUTH_LIST = Command("auth list", "list what is stored, secrets masked", "[PROVIDER]", 0, 1, completes="provider")
AUTH_RM = Command("auth rm", "remove a stored key", "PROVIDER [NUMBER]", 1, 2, (LOCAL,), completes="provider")
AUTH = (AUTH_SET, AUTH_LIST, AUTH_RM)
ABOUT = "store, list and remove the keys of providers"


def auth(argv: list[str], env: Env) -> int:
    """Carry out `hs auth`."""
    if argv[:1] in (["--help"], ["-h"]):
        put(group_help("auth", ABOUT, AUTH))
        return 0
    command, words = sub_command(AUTH, argv, default="list")
    given = read(command, words)
    if given is None:
        return 0
    home = env["HARNESS_HOME"]
    match command:
        case _ if command is AUTH_LIST:
            return _list(given.words, env)
        case _ if command is AUTH_SET:
            name = credentials.check_name(given.words[0])
            path = credentials.place(home, os.getcwd(), given.has("--local"))
            host = _host_of(name, env)
            credentials.store(path, name, {**_credential(name, env), **({"host": host} if host else {})})
            say(f"saved credential for {name} in {path}" + (f", for {host}" if host else ""))
            _warn_unknown(name, env)
        case _:
            name, place = given.words[0], _number(given.words[1:])
            path = credentials.place(home, os.getcwd(), given.has("--local"))
            credentials.remove(path, name, place)
            say(f"removed {name} [{place}] from {path}")
    credentials.refresh_cache(home)
    return 0


def _host_of(name: str, env: Env) -> str:
    """The host that a key of this name is for, as far as the variants here tell."""
    from bridoon.catalog.variants import host_of

    conf = catalog_here(env, os.getcwd()).conf(name)
    return host_of(conf.url)[1] if conf is not None and conf.url else ""


def _warn_unknown(name: str, env: Env) -> None:
    """Say that a key is for a provider which is not here, or not yet."""
    from bridoon.cli.show import did_you_mean

    catalog = catalog_here(env, os.getcwd())
    names = {each.name for each in catalog.entries("providers", unscoped=True)}
    names |= {each.name for each in catalog.confs()}
    if name not in names:
        hint = did_you_mean(name, sorted(names), "hs models lists those that are")
        say(f"no provider of the name {clean(name)} is known yet: {hint}")


def _number(words: list[str]) -> int:
    text = words[0] if words else "0"
    if not (text.isascii() and text.isdigit() and len(text) < 5):
        raise UsageError(f"{text[:40]!r} is not the number of a credential", "hs auth list shows them")
    return int(text)


def _list(words: list[str], env: Env) -> int:
    catalog = catalog_here(env, os.getcwd())
    stored = credentials.load((source.path for source in catalog.unscoped_sources), say)
    names = [name for name in sorted(stored) if not words or name == words[0]]
    for name in names:
        for each in stored[name]:
            kind = clean(str(each.values.get("type", "api_key")))
            ended = " (expired)" if each.expired else ""
            put(f"{clean(name)} [{each.place}] type={kind} key={mask(each.secret)}{ended}")
    if not names:
        put("(no credentials configured)")
    return 0


def _credential(name: str, env: Env) -> Mapping[str, object]:
    """The credential to store: a piped key, else what the hooks of `auth-set` get from the person."""
    if not sys.stdin.isatty():
        key = sys.stdin.read().strip()
        _check_key(key)
        return {"type": "api_key", "key": key}
    from bridoon.loop.chain import run_stage
    from bridoon.loop.place import catalog_of
    from bridoon.loop.run import Run
    from bridoon.proc.cancel import Cancel

    # Every provider's hooks are asked, whichever provider is active.
    unscoped = {**env, "HARNESS_PROVIDER": "", "HARNESS_AUTH_PROVIDER": name}
    catalog = catalog_of(unscoped, os.getcwd())
    given = run_stage(Run(None, catalog, unscoped, cancel=Cancel()), "auth-set", {})
    if not given.get("type"):
        raise UsageError("no credential was given")
    return given


def _check_key(key: str) -> None:
    if not key:
        raise UsageError("standard input holds no key", "hs auth set PROVIDER < FILE")
    if not key.isprintable() or " " in key or not key.isascii():
        raise UsageError("standard input holds more than a key", "pipe the key alone, on one line")
