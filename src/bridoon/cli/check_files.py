"""What can be said about a drop-in without running it: its place, mode, name, first line, line ends."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator

from bridoon.catalog.files import exposed, read_file
from bridoon.catalog.shelf import LEFTOVERS, near_stage
from bridoon.catalog.sources import Executable
from bridoon.cli.check_bench import Finding
from bridoon.sdk.script import MARK

COMMAND = re.compile(r"[a-z][a-z0-9_-]*")

TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")

EXECUTOR = "10-exec"


def check_file(file: Executable, env_path: str) -> Iterator[Finding]:
    """Findings about an executable. One of level `error` means that there is no sense in running it."""
    path = file.path
    try:
        status = os.stat(path)
    except OSError as wrong:
        reason = "a link that leads nowhere" if os.path.islink(path) else wrong.strerror or str(wrong)
        yield Finding(path, "error", reason)
        return
    if not stat.S_ISREG(status.st_mode):
        yield Finding(path, "error", "not a file")
        return
    if not status.st_mode & 0o111:
        yield Finding(path, "error", "not executable: it is ignored", f"chmod +x {shlex.quote(path)}")
    if exposed(status):
        yield Finding(path, "error", f"skipped: {exposed(status)}")
    yield from _name(file)
    yield from _content(path, env_path)


def _name(file: Executable) -> Iterator[Finding]:
    name, path = file.name, file.path
    end = next((end for end in LEFTOVERS if name.endswith(end)), "")
    if end or name.startswith("."):
        yield Finding(
            path,
            "error",
            f"ignored: its name {f'ends in {end}' if end else 'begins with a dot'}",
            "rename it",
        )
    elif file.kind == "commands" and not COMMAND.fullmatch(name):
        yield Finding(path, "error", "no command can be called that", "small letters, digits, - and _ only")
    elif file.kind == "tools" and not TOOL.fullmatch(name):
        yield Finding(path, "warning", "models are shown another name: letters, digits, _ and - only", "rename it")
    elif file.kind.startswith("hooks.d/"):
        yield from _hook_name(file)


def _hook_name(file: Executable) -> Iterator[Finding]:
    stage = file.kind.removeprefix("hooks.d/")
    near = near_stage(stage)
    if near:
        yield Finding(
            file.path, "warning", f"nothing leads to the stage {stage!r} by itself", f"did you mean {near}/ ?"
        )
    if not re.match(r"\d+-", file.name):
        yield Finding(file.path, "note", "no number in front: it runs after all hooks that have one", "NN-name")
    if stage == "tool_exec" and file.name != EXECUTOR and os.fsencode(file.name) > os.fsencode(EXECUTOR):
        text = f"it sorts after {EXECUTOR}, so it sees the result and cannot refuse the call"
        yield Finding(file.path, "note", text, "a gate needs a smaller number: 05-...")


def _content(path: str, env_path: str) -> Iterator[Finding]:
    try:
        start = read_file(path, 1 << 20)
    except OSError as wrong:
        yield Finding(path, "error", f"cannot be read: {wrong.strerror or wrong}")
        return
    if not start:
        yield Finding(path, "error", "the file is empty")
    elif start.startswith(b"\x7fELF") or b"\0" in start[:1024]:
        return
    elif start.startswith(b"\xef\xbb\xbf"):
        yield Finding(
            path,
            "error",
            "it begins with a byte order mark, so its #! line does not count",
            f"sed -i '1s/^\\xef\\xbb\\xbf//' {shlex.quote(path)}",
        )
    elif not start.startswith(b"#!"):
        yield Finding(path, "warning", "no #! line: it is run by bash", "begin it with #!/usr/bin/env bash")
    else:
        yield from _first_line(path, start, env_path)


def _first_line(path: str, start: bytes, env_path: str) -> Iterator[Finding]:
    line = start.split(b"\n", 1)[0]
    unix = f"sed -i 's/\\r$//' {shlex.quote(path)}"
    if line.endswith(b"\r"):
        yield Finding(path, "error", "its lines end in CR LF: the interpreter is not found", unix)
        return
    if b"\r\n" in start:
        yield Finding(path, "warning", "some of its lines end in CR LF", unix)
    words = line[2:].decode("utf-8", "replace").split()
    if not words:
        yield Finding(path, "error", "its #! line names no interpreter", "#!/usr/bin/env bash")
        return
    interpreter = _interpreter(words)
    if not _exists(interpreter, env_path):
        yield Finding(path, "error", f"its interpreter is missing: {interpreter}", "mend the first line, or install it")
    if b"hs py" in line and line != MARK:
        yield Finding(
            path,
            "warning",
            f"nearly marked as a Python drop-in: {line.decode('utf-8', 'replace')!r}",
            f"the first line must be {MARK.decode()}",
        )
    elif line == MARK:
        yield from _syntax(path, start)


def _interpreter(words: list[str]) -> str:
    """The program that a #! line comes to: what `env` looks for, else the first word."""
    if os.path.basename(words[0]) != "env":
        return words[0]
    rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return rest[0] if rest else words[0]


def _exists(program: str, env_path: str) -> bool:
    import shutil

    if "/" in program:
        return os.access(program, os.X_OK)
    return program == "hs" or shutil.which(program, path=env_path) is not None


def _syntax(path: str, source: bytes) -> Iterator[Finding]:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source, path)
    except SyntaxError as wrong:
        yield Finding(f"{path}:{wrong.lineno or 1}", "error", f"syntax error: {wrong.msg}")
    except ValueError as wrong:
        yield Finding(path, "error", f"cannot be compiled: {wrong}")
