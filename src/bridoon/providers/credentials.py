"""Keys that people stored with `hs auth set`: `.auth.json` in the sources, the most local one counts.

{"groq": [{"type": "api_key", "key": "gsk_..."}]}     mode 0600, written whole or not at all
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from bridoon.errors import BridoonError, ConfigError, NotFound, UsageError
from bridoon.providers.values import strings
from bridoon.sdk.script import Context

FILE = ".auth.json"
CACHE = ".auth-cache.json"
SECRETS = ("key", "token", "access_token")
"""Fields of a credential that hold its secret."""

SIZE_LIMIT = 1 << 20
"""Bytes of a credential file that are read."""


class Credential(NamedTuple):
    """One stored secret and where it lies."""

    provider: str
    place: int
    """Where it stands in the provider's list; the first one is used."""
    values: Mapping[str, Any]
    path: str

    @property
    def secret(self) -> str:
        """The secret itself: `key`, `token` or `access_token`."""
        return next((strings(self.values[each]) for each in SECRETS if self.values.get(each)), "")

    @property
    def key(self) -> str:
        """The secret; empty once it has expired."""
        return "" if self.expired else self.secret

    @property
    def expired(self) -> bool:
        """Whether `expires_at` (epoch seconds; absent or 0: never) has passed."""
        try:
            until = float(self.values.get("expires_at") or 0)
        except (TypeError, ValueError):
            return False
        return 0 < until <= time.time()


def load(sources: Iterable[str], notice: Callable[[str], None] = lambda text: None) -> dict[str, list[Credential]]:
    """The credentials of the source directories (lowest priority first): each provider's most local list.

    A file that cannot be used is left out; `notice` is told.
    """
    found: dict[str, list[Credential]] = {}
    for source in sources:
        path = os.path.join(source, FILE)
        if not os.path.lexists(path):
            continue
        try:
            stored = read(path)
        except ConfigError as wrong:
            notice(f"{wrong.message}: the file is left out")
            continue
        for provider, entries in stored.items():
            if entries:
                found[provider] = [Credential(provider, index, each, path) for index, each in enumerate(entries)]
    return found


def own_key(context: Context, provider: str, variable: str) -> str:
    """The key for a protocol's own service: the variable if it is set (empty means none), else the stored
    one.
    """
    if variable in context.env:
        return context.env[variable].strip()
    entries = load(context.sources, context.log).get(provider)
    return entries[0].key if entries else ""


def read(path: str) -> dict[str, list[dict[str, Any]]]:
    """What a credential file holds. A missing one is empty. Raises ConfigError, which never quotes the
    content.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        return {}
    except OSError as wrong:
        raise ConfigError(f"cannot be read: {wrong.strerror or wrong}", path) from None
    if not content.strip():
        return {}
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise ConfigError("is not valid JSON", path) from None
    if not isinstance(value, dict):
        raise ConfigError("is not a JSON object", path)
    stored: dict[str, list[dict[str, Any]]] = {}
    for provider, entries in value.items():
        listed = entries if isinstance(entries, list) else [entries]
        if not all(isinstance(each, dict) for each in listed):
            raise ConfigError("is not a list of credentials", path, provider)
        stored[provider] = listed
    return stored


def store(path: str, provider: str, credential: Mapping[str, Any]) -> None:
    """Make a credential the only one of a provider in a file. Raises ConfigError for a file that is
    broken.
    """
    stored = read(path)
    stored[provider] = [dict(credential)]
    _write(path, stored)


def remove(path: str, provider: str, index: int) -> None:
    """Take one credential out of a file. Raises NotFound."""
    stored = read(path)
    entries = stored.get(provider, [])
    if not 0 <= index < len(entries):
        raise NotFound(f"{path} has no credential {provider} [{index}]", "hs auth list shows them")
    del entries[index]
    if not entries:
        del stored[provider]
    _write(path, stored)


def place(home: str, cwd: str, local: bool) -> str:
    """The file that a command changes: the home's, or with `local` the nearest project's. Raises NotFound."""
    if not local:
        return os.path.join(home, FILE)
    folder = os.path.abspath(cwd)
    while True:
        candidate = os.path.join(folder, ".harness")
        if os.path.isdir(candidate) and not _same(candidate, home):
            return os.path.join(candidate, FILE)
        if folder == os.path.dirname(folder):
            raise NotFound("there is no .harness directory here", "mkdir .harness makes one")
        folder = os.path.dirname(folder)


def refresh_cache(home: str) -> None:
    """Keep `.auth-cache.json` of the home like its `.auth.json`: provider programs written for it read only
    that.

    It never holds credentials of projects. Failure to write it stops nothing.
    """
    path, cache = os.path.join(home, FILE), os.path.join(home, CACHE)
    try:
        if os.stat(path).st_mtime_ns <= os.stat(cache).st_mtime_ns:
            return
    except FileNotFoundError:
        if not os.path.exists(path):
            return
    except OSError:
        return
    try:
        _write(cache, read(path))
    except BridoonError:
        pass


def check_name(provider: str) -> str:
    """A provider's name as a user gives it. Raises UsageError for what cannot be one."""
    if not provider or "/" in provider or not provider.isprintable() or provider.startswith((".", "-")):
        raise UsageError(f"{provider[:60]!r} cannot be the name of a provider")
    return provider


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _write(path: str, stored: Mapping[str, Any]) -> None:
    """Replace the file with one that only its owner can read, at no moment half written."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    draft = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(stored, file, indent=2, ensure_ascii=False)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as wrong:
        raise BridoonError(f"cannot write {path}: {wrong.strerror or wrong}") from wrong
