"""A throw-away project that a test fills with drop-ins, and in which it runs the installed `hs`."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridoon.model.message import Message

MARK = "BRIDOON_TEST_MARK"
"""Environment variable that every process started through a project carries."""

TIMEOUT = 30.0
"""Seconds that one command may take before the test fails."""

Step = Mapping[str, Any]

ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A tool call as a script spells it: `call("bash", command="ls")`."""
    return {"name": name, "input": arguments}


def bash(command: str) -> dict[str, Any]:
    """A call of the bash tool."""
    return call("bash", command=command)


class Result:
    """How one command ended. `output` is the run's answer; everything else is read when it is asked for."""

    def __init__(self, project: Project, code: int, stdout: str, stderr: str) -> None:
        self.project, self.code, self.stdout, self.stderr = project, code, stdout, stderr
        self.events: list[dict[str, Any]] = []
        """The objects of `--json`, the final `result` left out."""
        self.final: dict[str, Any] = {}
        """The `result` object of `--json`."""
        for line in stdout.splitlines():
            value = _object(line)
            if value.get("type") == "result":
                self.final = value
            elif "type" in value:
                self.events.append(value)

    @property
    def output(self) -> str:
        """What the run answered; of a command, what it printed."""
        return str(self.final["output"]) if self.final else self.stdout.rstrip("\n")

    @property
    def session(self) -> Path:
        """The session's directory: the one that was named, else the newest."""
        ident = self.final.get("session")
        return self.project.sessions / ident if ident else self.project.newest_session()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, as it is on disk."""
        from bridoon.session import store

        return store.open_session(str(self.session), repair=False).messages()

    @property
    def results(self) -> list[str]:
        """The texts of all tool results of the conversation."""
        from bridoon.model.message import ToolResult

        return [part.content for message in self.messages for part in message.parts if isinstance(part, ToolResult)]

    @property
    def failed(self) -> list[bool]:
        """For each tool result, whether it is marked as failed."""
        from bridoon.model.message import ToolResult

        return [part.failed for message in self.messages for part in message.parts if isinstance(part, ToolResult)]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The payloads that reached the `send` stage in this project so far, oldest first."""
        if not self.project.requests_file.exists():
            return []
        return [json.loads(line) for line in self.project.requests_file.read_text("utf-8").splitlines()]

    def __repr__(self) -> str:
        return f"<exit {self.code}>\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


class Project:
    """A directory with `.harness`, beside a home directory that only this test uses."""

    def __init__(self, place: Path) -> None:
        self.dir = place / "project"
        self.harness = self.dir / ".harness"
        self.home = place / "home"
        self.sessions = self.home / ".harness" / "sessions"
        self.requests_file = place / "requests.jsonl"
        self.mark = uuid.uuid4().hex
        self.started = False
        self._place = place
        for directory in (self.harness, self.home, place / "tmp"):
            directory.mkdir(parents=True)
        self.env: dict[str, str] = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(place / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "HARNESS_DETECT_LOCAL": "off",  # whatever runs on this machine is not the test's
            MARK: self.mark,
        }
        """The environment of what is run here; a test may change it."""
        self.prefix: list[str] = []
        """What stands before `hs` on every command line."""

    # ---- dropping things in

    def file(self, path: str, text: str, mode: int = 0o644) -> Path:
        """Write a file below the project directory."""
        target = self.dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
        target.chmod(mode)
        return target

    def drop(self, path: str, body: str, mode: int = 0o755) -> Path:
        """Write an executable below `.harness`; a body without a `#!` line is bash."""
        text = textwrap.dedent(body).lstrip("\n")
        return self.file(f".harness/{path}", text if text.startswith("#!") else f"#!/usr/bin/env bash\n{text}\n", mode)

    def tool(
        self, name: str, body: str, *, schema: Mapping[str, Any] | None = None, about: str = "a test's tool"
    ) -> Path:
        """A tool. A body without a `#!` line is what bash does for `--exec`; the rest is put around it."""
        text = textwrap.dedent(body).strip("\n")
        if text.startswith("#!"):
            return self.drop(f"tools/{name}", text)
        spec = {"name": name, "description": about, "input_schema": schema or ANYTHING}
        flags = f"--schema) echo {shlex.quote(json.dumps(spec))} ;;\n--describe) echo {shlex.quote(about)} ;;"
        return self.drop(f"tools/{name}", f'case "${{1:-}}" in\n{flags}\n--exec)\n{text}\n;;\nesac')

    def hook(self, path: str, body: str) -> Path:
        """A hook: `hook("tool_exec/05-deny", "exit 1")`."""
        return self.drop(f"hooks.d/{path}", body)

    def command(self, name: str, body: str) -> Path:
        """A command."""
        return self.drop(f"commands/{name}", body)

    def provider(self, name: str, body: str) -> Path:
        """A provider; a name that ends in `.conf` makes a variant."""
        if name.endswith(".conf"):
            return self.file(f".harness/providers/{name}", textwrap.dedent(body).lstrip("\n"))
        return self.drop(f"providers/{name}", body)

    def skill(self, name: str, description: str, body: str = "Do it.") -> Path:
        """A skill's SKILL.md."""
        head = f"---\nname: {name}\ndescription: {description}\n---\n"
        return self.file(f".harness/skills/{name}/SKILL.md", head + textwrap.dedent(body).lstrip("\n") + "\n")

    def prompt(self, name: str, text: str) -> Path:
        """A prompt fragment."""
        return self.file(f".harness/prompts/{name}.md", text)

    def settings(self, *lines: str, **values: str) -> Path:
        """Write `settings.conf` anew: `settings("deny bash(rm *)", provider="scripted")`."""
        text = "".join(f"{line}\n" for line in (*lines, *(f"{key}={value}" for key, value in values.items())))
        return self.file(".harness/settings.conf", text)

    # ---- running

    def script(self, steps: Sequence[Step]) -> str:
        """Write the steps of the scripted model to a file and return its path."""
        path = self._place / "script.json"
        path.write_text(json.dumps(list(steps)), "utf-8")
        return str(path)

    def say(
        self,
        message: str = "go",
        *options: str,
        calls: Sequence[Mapping[str, Any]] = (),
        steps: Sequence[Step] | None = None,
        answer: str = "done",
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        json: bool = True,
        record: bool = True,
        timeout: float = TIMEOUT,
    ) -> Result:
        """Run `hs -p scripted MESSAGE`. The model makes `calls`, then answers; or follows `steps`."""
        if steps is None:
            steps = [*([{"calls": list(calls)}] if calls else []), {"say": answer}]
        if record:
            recorder = self.home / ".harness" / "hooks.d" / "send" / "00-record"
            recorder.parent.mkdir(parents=True, exist_ok=True)
            recorder.write_text(f"#!/bin/sh\nexec tee -a {shlex.quote(str(self.requests_file))}\n", "utf-8")
            recorder.chmod(0o755)
        given = {"BRIDOON_SCRIPT": self.script(steps), **(env or {})}
        words = [
            "-p",
            "scripted",
            *(["--json"] if json else []),
            *options,
            "--",
            *([message] if message else []),
        ]
        return self.run(*words, stdin=stdin, env=given, timeout=timeout)

    def run(
        self,
        *words: str,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> Result:
        """Run `hs WORDS` in the project directory to its end. It has no terminal."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        process = self.start(*words, env=env, stdin=subprocess.PIPE if data is not None else subprocess.DEVNULL)
        try:
            out, err = process.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"hs {shlex.join(words)} took more than {timeout} s\n{out!r}\n{err!r}") from None
        return Result(self, process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def start(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        cwd: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start `hs WORDS` in a session of its own, with pipes for its output."""
        self.started = True
        return subprocess.Popen(
            [*self.prefix, hs(), *words],
            cwd=cwd or self.dir,
            env={**self.env, **(env or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def newest_session(self) -> Path:
        """The session that was made last."""
        found = [path for path in self.sessions.iterdir() if (path / "session.conf").exists()]
        return max(found, key=lambda path: (path / "session.conf").stat().st_mtime_ns)


def hs() -> str:
    """The installed `hs` of the interpreter that runs the tests."""
    path = Path(sys.executable).parent / "hs"
    assert path.exists(), f"{path} is missing: install the project first (pip install -e .)"
    return str(path)


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
