"""Asks tools, commands and providers for what they say about themselves. Only `--exec` runs a tool."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from bridoon.catalog.files import decode, read_file
from bridoon.catalog.sources import Executable
from bridoon.cli.check_bench import Bench, Finding, Shot

QUICK = 500.0
"""Milliseconds that a question about itself may take before it is worth a word."""

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

BAD_INPUTS = (("what is not JSON", "{not json"), ("a list", "[]"), ("an empty object", "{}"))


def source_of(file: Executable) -> str | None:
    """The text of a script; None for a binary."""
    try:
        content = read_file(file.path, 1 << 20)
    except OSError:
        return None
    return None if b"\0" in content[:4096] else decode(content)


def mentions(file: Executable, flag: str) -> bool:
    """Whether a program can be asked `flag` without carrying out something else: its text has the word."""
    text = source_of(file)
    return file.marked or text is None or flag in text


# ---- tools


def check_tool(file: Executable, bench: Bench, given: str | None, met: dict[str, str]) -> Iterator[Finding]:
    """Findings about a tool. `given` is the input to run it with; None: it is not run.

    `met` holds the paths of other tools by the names of their schemas; this one is added.
    """
    schema: dict[str, Any] = {}
    if mentions(file, "--schema"):
        shot = bench.shoot(file, ["--schema"], stage="assemble")
        schema, findings = read_schema(file, shot)
        yield from findings
        other = met.setdefault(str(schema.get("name", "")), file.path) if schema else file.path
        if os.path.basename(other) != file.name:
            yield Finding(file.path, "error", f"name clash: {other} is called {schema['name']!r} too", "rename one")
        yield from _cost(file, shot, "--schema")
    else:
        yield Finding(file.path, "error", "does not know --schema: the model is not shown it", "see hs new tool")
    yield from _describe(file, bench)
    if not mentions(file, "--exec"):
        yield Finding(file.path, "error", "does not know --exec: it cannot be run")
    elif given is not None:
        yield from _execute(file, bench, given, schema)


def read_schema(file: Executable, shot: Shot) -> tuple[dict[str, Any], list[Finding]]:
    """What `--schema` said, and what is wrong with it."""
    lost = "the model is not shown it"
    if shot.failed:
        return {}, [Finding(file.path, "error", f"--schema failed ({shot.reason}): {lost}")]
    try:
        schema = json.loads(shot.out)
    except (ValueError, RecursionError) as wrong:
        return {}, [Finding(file.path, "error", f"--schema prints no JSON ({wrong}): {lost}")]
    if not isinstance(schema, dict):
        return {}, [
            Finding(file.path, "error", f"--schema prints a JSON {type(schema).__name__}, not an object: {lost}")
        ]
    return schema, [*_schema_head(file, schema), *_input_schema(file, schema)]


def _schema_head(file: Executable, schema: dict[str, Any]) -> Iterator[Finding]:
    name = schema.get("name")
    if not isinstance(name, str) or not name:
        yield Finding(file.path, "error", "its schema has no name: the model is not shown it")
    elif not NAME.fullmatch(name):
        yield Finding(
            file.path,
            "warning",
            f"models are shown another name than {name!r}",
            "letters, digits, _ and - only, at most 64",
        )
    elif name != file.name:
        yield Finding(
            file.path,
            "warning",
            f"its schema calls it {name!r}, its file {file.name!r}",
            "give both the same name",
        )
    about = schema.get("description")
    if not isinstance(about, str) or not about.strip():
        yield Finding(file.path, "warning", "its schema has no description: a model cannot know when to call it")


def _input_schema(file: Executable, schema: dict[str, Any]) -> Iterator[Finding]:
    given = schema.get("input_schema")
    if given is None:
        yield Finding(file.path, "note", "no input_schema: it takes no arguments")
        return
    if not isinstance(given, dict) or given.get("type") != "object":
        yield Finding(file.path, "error", 'input_schema must be an object with "type": "object": model APIs refuse it')
        return
    properties = given.get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(each, dict) for each in properties.values()):
        yield Finding(file.path, "error", "properties must map names to schemas: model APIs refuse it")
        return
    required = given.get("required", [])
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        yield Finding(file.path, "error", "required must be a list of names: model APIs refuse it")
        return
    missing = [each for each in required if each not in properties]
    if missing:
        yield Finding(file.path, "error", f"required names what is no property: {', '.join(missing)}")
    combined = [word for word in ("anyOf", "oneOf", "allOf") if word in given]
    if combined:
        yield Finding(file.path, "warning", f"{combined[0]} at the top of input_schema: some model APIs refuse it")
    plain = [
        each for each, about in properties.items() if not ({"type", "anyOf", "oneOf", "enum", "$ref"} & set(about))
    ]
    if plain:
        yield Finding(file.path, "note", f"no type given for {', '.join(plain)}")


def _execute(file: Executable, bench: Bench, given: str, schema: dict[str, Any]) -> Iterator[Finding]:
    try:
        json.loads(given)
    except ValueError as wrong:
        yield Finding(file.path, "error", f"--input is not JSON: {wrong}")
        return
    shot = bench.shoot(file, ["--exec"], given + "\n", "tool_exec")
    if shot.failed:
        yield Finding(file.path, "error", f"--exec failed on the given input: {shot.reason}")
    else:
        more = " and something to the log" if shot.err.strip() else ""
        said = f"--exec took {shot.ms:.0f} ms and printed {len(shot.out)} characters{more}"
        yield Finding(file.path, "ok", f"{said}: {shot.out.strip()[:60]!r}", ms=shot.ms)
        if not shot.out.strip():
            yield Finding(file.path, "note", "--exec printed nothing: the model sees an empty result")
    required = (schema.get("input_schema") or {}).get("required")
    for what, text in BAD_INPUTS if required else BAD_INPUTS[:2]:
        shot = bench.shoot(file, ["--exec"], text + "\n", "tool_exec")
        if shot.timed_out:
            yield Finding(file.path, "error", f"--exec does not end when its input is {what}")
        elif not shot.failed:
            yield Finding(
                file.path,
                "warning",
                f"--exec succeeds when its input is {what}",
                "exit non-zero and say what is wrong: the model reads it and tries again",
            )


# ---- commands


def check_command(file: Executable, bench: Bench) -> Iterator[Finding]:
    """Findings about a command. It is only asked to describe itself."""
    yield from _describe(file, bench)


def _describe(file: Executable, bench: Bench) -> Iterator[Finding]:
    if not mentions(file, "--describe"):
        yield Finding(
            file.path,
            "warning",
            "does not know --describe: lists show no description of it",
            'case "${1:-}" in --describe) echo "..."; exit 0 ;; esac',
        )
        return
    shot = bench.shoot(file, ["--describe"])
    lines = shot.out.strip().splitlines()
    if shot.failed:
        yield Finding(file.path, "error" if file.marked else "warning", f"--describe failed: {shot.reason}")
    elif not lines:
        yield Finding(file.path, "warning", "--describe prints nothing")
    elif len(lines) > 1:
        yield Finding(file.path, "note", f"--describe prints {len(lines)} lines: only the first is shown")
    yield from _cost(file, shot, "--describe")


def _cost(file: Executable, shot: Shot, flag: str) -> Iterator[Finding]:
    if shot.failed:
        return
    if shot.ms > QUICK:
        yield Finding(
            file.path, "warning", f"{flag} takes {shot.ms:.0f} ms", "answer at once, without network", shot.ms
        )
    else:
        yield Finding(file.path, "ok", f"{flag} {shot.ms:.0f} ms", ms=shot.ms)
    if shot.err.strip():
        yield Finding(file.path, "note", f"{flag} writes to standard error: {shot.err.strip().splitlines()[0][:100]!r}")


# ---- providers


def check_provider(file: Executable, bench: Bench) -> Iterator[Finding]:
    """Findings about a provider. It is asked its flags, never to send anything."""
    yield from _describe(file, bench)
    if mentions(file, "--ready"):
        yield from _ready(file, bench)
    else:
        yield Finding(file.path, "note", "does not know --ready: it is used only when it is named (-p)")
    if mentions(file, "--defaults"):
        yield from _defaults(file, bench)
    text = source_of(file) or ""
    told = [line for line in text.splitlines() if "--stream" in line]
    if told and all(line.lstrip().startswith("#") for line in told) and not file.marked:
        yield Finding(file.path, "note", "mentions --stream in comments only: it is not streamed")


def _ready(file: Executable, bench: Bench) -> Iterator[Finding]:
    shot = bench.shoot(file, ["--ready"], stage="resolve")
    if shot.obstacle or shot.timed_out:
        yield Finding(file.path, "error", f"--ready: {shot.reason}", "answer at once, without network")
        return
    if shot.out.strip():
        yield Finding(file.path, "warning", f"--ready prints: {shot.out.strip()[:60]!r}", "only the exit code counts")
    state = "ready" if shot.code == 0 else f"not ready (exit {shot.code})"
    if shot.ms > QUICK:
        yield Finding(
            file.path,
            "warning",
            f"--ready takes {shot.ms:.0f} ms: every start without -p waits for it",
            "look at variables and files only, not at the network",
            shot.ms,
        )
    yield Finding(file.path, "ok", f"{state}: --ready {shot.ms:.0f} ms", ms=shot.ms)


def _defaults(file: Executable, bench: Bench) -> Iterator[Finding]:
    shot = bench.shoot(file, ["--defaults"], stage="resolve")
    if shot.failed:
        yield Finding(file.path, "warning", f"--defaults failed: {shot.reason}")
        return
    lines = [line for line in shot.out.splitlines() if line.strip()]
    odd = [line for line in lines if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*=.*", line)]
    if odd:
        yield Finding(file.path, "warning", f"--defaults prints what is not key=value: {odd[0][:60]!r}")
    if not any(line.startswith("model=") for line in lines):
        yield Finding(file.path, "note", "--defaults names no model: one must be given with -m")
    yield from _cost(file, shot, "--defaults")
