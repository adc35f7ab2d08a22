"""Whether a project's `.harness` may run code: what people drop may, what came with a checkout asks first."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from bridoon.catalog import git
from bridoon.catalog.files import entries, exposed, is_folder, printable, read_file
from bridoon.catalog.sources import upward

Ask = Callable[[str, list[str]], "bool | None"]
"""Asks a person about a directory, given a list of what would run: yes, no, or None when there is nobody to
ask."""

Released = Callable[[str], list[str]]
"""Tells what would run besides the files of a directory if that were trusted, fit for a terminal."""

OWN, GRANTED, REVOKED = "own", "granted", "revoked"
"""How a directory came into the record: git did not know it; a person said yes; a person took it back."""

LISTED = 200
"""Lines of a listing."""

ATTRIBUTE = "user.bridoon.trust"
"""The extended attribute of a directory that holds the token of its record."""


class Record(NamedTuple):
    """One line of `$HARNESS_HOME/trusted`."""

    path: str
    how: str
    at: str
    inodes: tuple[int, int]
    """Of the directory and its parent. An `own` record counts only while they are the same: a repository
    that is cloned later to the same place is another one."""
    token: str = ""
    """A word that was written to the directory itself (an extended attribute), since file systems give the
    numbers of removed directories out again. Empty where that is not possible."""


class Trust:
    """Decides about harness directories, once per directory and run.

    A directory is trusted when HARNESS_TRUST=1 (nothing is recorded then); when `$HARNESS_HOME/trusted`
    says so; or when no git repository on the way up holds anything at its path, which is then recorded, so
    that committing it later changes nothing. Otherwise a person is asked, at most once per run and
    directory.
    """

    def __init__(self, home: str, ask: Ask | None, env: Mapping[str, str], released: Released | None = None) -> None:
        self._home = home
        self._ask = ask
        self._released = released
        self._env = env
        self._records: dict[str, Record] | None = None
        self._decided: dict[str, tuple[tuple[int, int], bool]] = {}
        self._asked: set[str] = set()

    def allowed(self, harness_dir: str) -> bool:
        """Whether what lies in the directory may run. Starts git only when a repository is near and nothing
        is recorded."""
        try:
            inodes = _inodes(harness_dir)
        except OSError:
            return False
        known = self._decided.get(harness_dir)
        if known is None or known[0] != inodes:
            known = self._decided[harness_dir] = (inodes, self._decide(harness_dir, inodes))
        return known[1]

    def ask(self, harness_dir: str) -> bool:
        """Ask the person about a directory that is not allowed, if that was not done before, and record a
        yes."""
        if self._ask is None or harness_dir in self._asked:
            return False
        self._asked.add(harness_dir)
        contents = listing(harness_dir) + (self._released(harness_dir) if self._released else [])
        if not contents or self._ask(harness_dir, contents) is not True:
            return False
        self.grant(harness_dir)
        return True

    def grant(self, harness_dir: str) -> None:
        """Record that a person trusts the directory, whatever it will hold. Raises OSError when nothing can
        be written."""
        self._write(harness_dir, GRANTED)

    def revoke(self, harness_dir: str) -> None:
        """Record that the directory is not trusted any more; it counts as code that came with a checkout."""
        self._write(harness_dir, REVOKED)

    def state(self, harness_dir: str) -> str:
        """How the directory is recorded: `own`, `granted`, `revoked`, or empty."""
        record = self._record(os.path.realpath(harness_dir))
        return record.how if record else ""

    def is_news(self, harness_dir: str) -> bool:
        """Whether somebody wants to know that the directory is not trusted: it holds more than data, and nobody
        took it back."""
        return self.state(harness_dir) != REVOKED and bool(listing(harness_dir))

    def records(self) -> list[Record]:
        """What is recorded, one of each path, oldest path first."""
        return list(_read_records(self._path).values())

    def _decide(self, harness_dir: str, inodes: tuple[int, int]) -> bool:
        if self._env.get("HARNESS_TRUST") == "1":
            return True
        record = self._record(os.path.realpath(harness_dir))
        if record is not None and (record.how != OWN or _is_same(record, inodes)):
            return record.how != REVOKED
        if came_with_checkout(harness_dir, self._env):
            return False
        try:
            self._write(harness_dir, OWN)
        except OSError:
            pass  # a home that cannot be written is no reason to stop what the user dropped
        return True

    def _record(self, real: str) -> Record | None:
        if self._records is None:
            self._records = _read_records(self._path)
        return self._records.get(real)

    @property
    def _path(self) -> str:
        return os.path.join(self._home, "trusted")

    def _write(self, harness_dir: str, how: str) -> None:
        """Append one line in one write: processes that do so together do not disturb each other."""
        import json
        import time

        real = os.path.realpath(harness_dir)
        inodes = _inodes(real)
        token = _new_token(real) if how == OWN else ""
        record = Record(real, how, time.strftime("%Y-%m-%dT%H:%M:%S%z"), inodes, token)
        os.makedirs(self._home, mode=0o700, exist_ok=True)
        line = json.dumps(record._asdict()) + "\n"
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, (f"\n{line}" if torn else line).encode("ascii"))
        finally:
            os.close(descriptor)
        if self._records is not None:
            self._records[real] = record
        self._decided[harness_dir] = (inodes, how != REVOKED)


def _inodes(path: str) -> tuple[int, int]:
    real = os.path.realpath(path)
    return os.stat(real).st_ino, os.stat(os.path.dirname(real)).st_ino


def _is_same(record: Record, inodes: tuple[int, int]) -> bool:
    """Whether the directory is the one that was recorded, and not another that came to its place."""
    return record.inodes == inodes and (not record.token or _token(record.path) == record.token)


def _new_token(path: str) -> str:
    token = os.urandom(12).hex()
    try:
        os.setxattr(path, ATTRIBUTE, token.encode("ascii"))
    except (AttributeError, OSError):
        return ""
    return token if _token(path) == token else ""


def _token(path: str) -> str:
    try:
        return os.getxattr(path, ATTRIBUTE).decode("ascii", "replace")
    except (AttributeError, OSError):
        return ""


def _read_records(path: str) -> dict[str, Record]:
    """The last line of each path counts. Lines that are torn or foreign are skipped, and a file that others
    can write."""
    import json

    records: dict[str, Record] = {}
    try:
        if exposed(os.stat(path)):
            return records
        content = read_file(path, 16 << 20)
    except OSError:
        return records
    for line in content.splitlines():
        try:
            value = json.loads(line)
            one, other = value["inodes"]
            token = str(value.get("token", ""))
            record = Record(str(value["path"]), str(value["how"]), str(value["at"]), (int(one), int(other)), token)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if record.how in (OWN, GRANTED, REVOKED):
            records[record.path] = record
    return records


def came_with_checkout(harness_dir: str, env: Mapping[str, str]) -> bool:
    """Whether a git repository holds the directory, a link that leads to it, or something in it.

    Every repository on the way up is asked, for the path as it is written and for each place that links
    lead to. A repository that cannot be asked, or does not answer within 10 s, counts as one that holds it.
    Without any `.git` on the way up the answer is no, and git is not started.
    """
    for path in _spellings(harness_dir):
        for place in upward(path):
            if os.path.lexists(os.path.join(place, ".git")):
                program = git.find(env, place)
                if not program or _list_index(program, place, path, env) != b"":
                    return True
    return False


def may_hold(path: str) -> bool:
    """Whether a repository on the way up may hold a file of this name. No is certain, and found without git."""
    name = os.path.basename(path).lower().encode("utf-8", "surrogateescape") + b"\0"
    for spelling in _spellings(path):
        for place in upward(spelling):
            marker = os.path.join(place, ".git")
            if os.path.lexists(marker) and _index_names(marker, name):
                return True
    return False


def _index_names(marker: str, name: bytes) -> bool:
    """Whether an index has the name; yes when it is one that only git can read."""
    try:
        if os.path.isdir(marker) and not any(each.startswith("sharedindex.") for each in os.listdir(marker)):
            with open(os.path.join(marker, "index"), "rb") as file:
                index = file.read()
            # From version 4 on, paths are cut to what differs from the one before.
            return index[:4] != b"DIRC" or index[4:8] > b"\0\0\0\3" or name in index.lower()
    except FileNotFoundError:
        return False
    except OSError:
        pass
    return True


def leads_out(path: str, env: Mapping[str, str]) -> bool:
    """Whether a file of a checkout lies behind a link that came with it and leads out of it.

    Text of a checkout is read without asking; what such a link leads to is somebody's private file.
    """
    real = os.path.realpath(path)
    root = next((each for each in upward(path)[1:] if os.path.lexists(os.path.join(each, ".git"))), "")
    if not root or f"{real}/".startswith(os.path.realpath(root).rstrip("/") + "/"):
        return False
    below = upward(path)
    below = below[: below.index(root)]
    return any(os.path.islink(each) and came_with_checkout(each, env) for each in below)


def _spellings(path: str) -> list[str]:
    """The path with its parents resolved, and every place on the way through links to what it really is."""
    found: list[str] = []
    path = os.path.abspath(path)
    for _ in range(40):
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if path in found:
            break
        found.append(path)
        if not os.path.islink(path):
            break
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    real = os.path.realpath(path)
    return found if real in found else [*found, real]


def _list_index(program: str, repository: str, path: str, env: Mapping[str, str]) -> bytes | None:
    """What `git ls-files` prints for a path: the beginning of it, None when git fails."""
    below = os.path.relpath(path, repository)
    # A file system that ignores case gives `.HARNESS` to whoever asks for `.harness`, so the index is asked without
    # case.
    words = ["ls-files", "-s", "-z", "--", f":(icase,literal){below}" if below != "." else ":/"]
    return git.ask(program, words, repository, env)


def listing(harness_dir: str) -> list[str]:
    """What would run or count if the directory were trusted, as paths relative to it, fit for a terminal."""
    found: list[str] = []
    packs = [entry.path for entry in entries(os.path.join(harness_dir, "plugins")) if is_folder(entry)]
    for source in (harness_dir, *packs):
        for place in _places(source):
            found += [printable(os.path.relpath(each, harness_dir)) for each in _files(place)]
    return found if len(found) <= LISTED else [*found[:LISTED], f"... and {len(found) - LISTED} more"]


def _places(source: str) -> Sequence[str]:
    stages = [entry.path for entry in entries(os.path.join(source, "hooks.d"))]
    names = ("commands", "tools", "providers", "skills", "settings.conf")
    return [*(os.path.join(source, name) for name in names), *stages]


def _files(place: str) -> list[str]:
    try:
        if stat.S_ISDIR(os.stat(place).st_mode):
            return [entry.path for entry in entries(place) if not entry.name.startswith(".")]
    except OSError:
        return []
    return [place]
