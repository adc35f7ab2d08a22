"""Load a marked drop-in into this interpreter: compiled once, since its `.pyc` is kept."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from threading import RLock
from types import ModuleType, TracebackType

from bridoon.errors import ConfigError
from bridoon.sdk.py import declared_in
from bridoon.sdk.script import MARK, DropIn

_loaded: dict[str, DropIn] = {}
_lock = RLock()


def is_marked(path: str) -> bool:
    """Whether the file's first line says that it declares a drop-in. False for what cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(len(MARK) + 2).partition(b"\n")[0].removesuffix(b"\r") == MARK
    except OSError:
        return False


def load(path: str) -> DropIn:
    """What the drop-in at `path` declares, read once per process.

    For files that nobody edits while we run, that is, bundled ones. Raises `ConfigError` with file and line
    for one that cannot be read, does not compile, fails, or does not declare exactly one drop-in.
    """
    # Reading a dict is atomic; the lock is for those who find nothing.
    return _loaded.get(path) or _load(path)


def _load(path: str) -> DropIn:
    with _lock:
        if path not in _loaded:
            _loaded[path] = _declared_in(path)
        return _loaded[path]


def _declared_in(path: str) -> DropIn:
    name = "bridoon.dropin:" + path
    module = ModuleType(name)
    module.__file__ = path
    # Classes made in there look their module up by name.
    sys.modules[name] = module
    try:
        importlib.machinery.SourceFileLoader(name, path).exec_module(module)
        return declared_in(module)
    except BaseException as wrong:
        del sys.modules[name]
        if isinstance(wrong, (Exception, SystemExit)):
            raise _said_by(wrong, path) from wrong
        raise


def _said_by(wrong: BaseException, path: str) -> ConfigError:
    if isinstance(wrong, SyntaxError):
        return ConfigError(wrong.msg, path, f"line {wrong.lineno}" if wrong.lineno else "")
    line = _line_in(wrong.__traceback__, path)
    if not line and isinstance(wrong, (OSError, LookupError)):
        return ConfigError(getattr(wrong, "strerror", None) or str(wrong), path)
    return ConfigError(f"{type(wrong).__name__}: {wrong}", path, f"line {line}" if line else "")


def _line_in(trace: TracebackType | None, path: str) -> int:
    """The last line of this file that a traceback passes through, 0 if it does not."""
    line = 0
    while trace is not None:
        if os.path.realpath(trace.tb_frame.f_code.co_filename) == os.path.realpath(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
