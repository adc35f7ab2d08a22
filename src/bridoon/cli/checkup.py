"""What `hs doctor` looks at on this machine: interpreter, directories, terminal, programs, variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from bridoon import __version__
from bridoon.catalog.files import exposed
from bridoon.cli import known
from bridoon.cli.show import clean, near, tilde
from bridoon.wire.digits import whole_number

OK, NOTE, BAD = "ok", "note", "bad"

ROOM = 100 << 20
"""Bytes free below which a disk is called full."""

EXTRAS = (
    ("rich", "the REPL's output"),
    ("prompt_toolkit", "the REPL's line editing"),
    ("yaml", "scripts of the provider `scripted`"),
    ("xllamacpp", "models in this process: pip install 'bridoon[local]'"),
)

Env = Mapping[str, str]


class Finding(NamedTuple):
    """One line of the report."""

    level: str
    """`ok`, `note` (worth knowing) or `bad` (something will not work)."""
    what: str
    text: str


Check = Callable[[Env], Iterator[Finding]]


def python(env: Env) -> Iterator[Finding]:
    """The interpreter and the installation."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding(OK if sys.version_info >= (3, 11) else BAD, "python", f"{version} ({sys.executable})")
    root = env["HARNESS_ROOT"]
    whole = os.path.isdir(os.path.join(root, "plugins", "core", "commands"))
    lacking = "" if whole else " holds no bundled plugins (HARNESS_ROOT)"
    yield Finding(OK if whole else BAD, "harness", f"{__version__}, {tilde(root, env)}{lacking}")
    if not sys.platform.startswith("linux"):
        yield Finding(NOTE, "system", f"{sys.platform}: processes that leave their group are not found")


def directories(env: Env) -> Iterator[Finding]:
    """HARNESS_HOME, sessions, the log."""
    if not os.environ.get("HOME"):
        yield Finding(NOTE, "HOME", f"not set: your harness directory is {tilde(env['HARNESS_HOME'], env)}")
    yield from _directory("home", env["HARNESS_HOME"], env)
    yield from _directory("sessions", env["HARNESS_SESSIONS"], env)
    log = env.get("HARNESS_LOG", "")
    if log and not log.startswith("/dev/"):
        reason = _unwritable(log)
        why = f": {reason}; notes go nowhere" if reason else ""
        yield Finding(NOTE if reason else OK, "log", tilde(log, env) + why)
    else:
        yield Finding(OK, "log", log or "(none)")


def _directory(what: str, path: str, env: Env) -> Iterator[Finding]:
    shown = tilde(path, env)
    there = os.path.lexists(path) and not os.path.isdir(path)
    reason = "not a directory" if there else _unwritable(path)
    if reason:
        yield Finding(BAD, what, f"{shown}: {reason}")
        return
    try:
        unfit = exposed(os.stat(path))
    except OSError:
        yield Finding(OK, what, f"{shown} (made when it is needed)")
        return
    yield Finding(BAD if unfit else OK, what, f"{shown}: {unfit}" if unfit else shown)
    free = _free(path)
    if free is not None and free < ROOM:
        yield Finding(BAD, "disk", f"{free >> 20} MiB free at {shown}")


def _unwritable(path: str) -> str:
    """Why nothing can be written there; a path that is missing counts when it could be made."""
    place = path
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    if place != path and not os.path.isdir(place):
        return f"{clean(place)} is no directory"
    if place == path and os.path.islink(path) and not os.path.exists(path):
        return "a link that leads nowhere"
    mode = os.W_OK | os.X_OK | os.R_OK if os.path.isdir(place) else os.W_OK
    return "" if os.access(place, mode) else f"no permission to write in {clean(place)}"


def _free(path: str) -> int | None:
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize


def terminal(env: Env) -> Iterator[Finding]:
    """Where a person could be asked, and how things are shown."""
    names = ("standard input", "standard output", "standard error")
    here = [name for number, name in enumerate(names) if _isatty(number)]
    kind = env.get("TERM", "") or "(TERM is not set)"
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
        asked = "gates can ask at /dev/tty"
    except OSError:
        asked = "no /dev/tty: gates that ask refuse"
    yield Finding(OK, "terminal", f"{', '.join(here) or 'none'}; {clean(kind)}; {asked}")
    encoding = (getattr(sys.stdout, "encoding", None) or "none").lower()
    if encoding.replace("-", "") not in ("utf8", "none"):
        text = f"standard output is {encoding}: what it lacks is replaced (set LANG or PYTHONUTF8=1)"
        yield Finding(NOTE, "encoding", text)


def _isatty(number: int) -> bool:
    try:
        return os.isatty(number)
    except OSError:
        return False


def programs(env: Env) -> Iterator[Finding]:
    """Programs on PATH that we or plugins call."""
    import shutil

    path = os.environ.get("PATH", os.defpath)
    found = shutil.which("hs", path=path)
    mine = os.path.abspath(sys.argv[0]) if os.path.basename(sys.argv[0]) == "hs" else ""
    if found is None:
        yield Finding(NOTE, "hs", "not on PATH: type its whole path, or add its directory to PATH")
    elif mine and os.path.realpath(found) != os.path.realpath(mine):
        yield Finding(NOTE, "hs", f"PATH finds {tilde(found, env)}, but this is {tilde(mine, env)}")
    else:
        yield Finding(OK, "hs", tilde(found, env))
    git = shutil.which("git", path=path)
    missing = "not found: .harness directories inside git checkouts are not trusted without asking"
    yield Finding(OK if git else NOTE, "git", tilde(git, env) if git else missing)
    bash = shutil.which("bash", path=path)
    yield Finding(OK if bash else BAD, "bash", tilde(bash, env) if bash else "not found: no tool bash")
    upstream = [name for name in ("jq", "curl") if not shutil.which(name, path=path)]
    if upstream:
        yield Finding(NOTE, "plugins", f"{' and '.join(upstream)} not found: many bash plugins need them")


def extras(env: Env) -> Iterator[Finding]:
    """Optional parts of the installation."""
    from importlib.util import find_spec

    for module, purpose in EXTRAS:
        if find_spec(module) is not None:
            yield Finding(OK, module, "installed")
        else:
            yield Finding(NOTE if module == "xllamacpp" else BAD, module, f"not installed ({purpose})")


def variables(env: Env) -> Iterator[Finding]:
    """Variables that mean nothing, or that have consequences one should know."""
    names = {setting.variable for setting in known.EVERYTHING if setting.variable}
    for name in sorted(os.environ):
        if name.startswith(("HARNESS_", "BRIDOON_")) and name not in names and name not in known.INTERNAL:
            guess = near(name.lower(), [each.lower() for each in names]).upper()
            text = "unknown" + (f": did you mean {guess}?" if guess else " to the harness; a plugin's?")
            yield Finding(NOTE, clean(name), text)
    if os.environ.get("HARNESS_TRUST") == "1":
        yield Finding(NOTE, "HARNESS_TRUST", "1: code of every checkout runs without asking")
    limit = os.environ.get("HARNESS_MAX_TURNS", "")
    if limit and not whole_number(limit):
        yield Finding(BAD, "HARNESS_MAX_TURNS", f"{clean(limit)!r} is not a number of turns: 100 is used")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        given = os.environ.get(name, "")
        if given and not os.path.exists(given):
            yield Finding(BAD, name, f"{clean(given)} does not exist: no https connection can be made")


def leftovers(env: Env) -> Iterator[Finding]:
    """Processes that a killed harness left behind are ended."""
    from bridoon.proc import children

    killed = children.sweep_stale(env["HARNESS_HOME"])
    text = f"{killed} left by harness processes that were killed: ended now" if killed else "none left behind"
    yield Finding(NOTE if killed else OK, "processes", text)


PLACE: tuple[Check, ...] = (python, directories, terminal, programs, extras, variables, leftovers)


def examined(checks: tuple[Check, ...], env: Env) -> list[Finding]:
    """The findings of several checks. One that fails is a finding itself: nothing stops the others."""
    found: list[Finding] = []
    for check in checks:
        try:
            found += check(env)
        except Exception as wrong:
            why = f"{type(wrong).__name__}: {clean(str(wrong))}"
            found.append(Finding(BAD, check.__name__.replace("_", " "), f"cannot be checked: {why}"))
    return found
