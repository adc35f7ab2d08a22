"""`hs new KIND NAME`: writes a small drop-in that works, and says where it is and how to try it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from bridoon.cli.declare import Command, Option, read
from bridoon.cli.show import clean, did_you_mean, put
from bridoon.errors import UsageError

KINDS = ("tool", "hook", "command", "provider", "skill", "pack")

LANGUAGES = ("bash", "python", "conf")

TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")

STAGES = (
    "start", "assemble", "send", "receive", "tool_exec", "tool_done", "error", "done", "end",
    "sources", "resolve", "auth-set", "pre-tool",
)  # fmt: skip
"""Stages that something leads to. Any other name makes one that only a hook's `next_state` reaches."""

GATES = ("tool_exec", "pre-tool")

NAMES: Mapping[str, tuple[re.Pattern[str], str]] = {
    "tool": (re.compile(r"[A-Za-z0-9_-]{1,64}"), "letters, digits, _ and -, at most 64"),
    "command": (re.compile(r"[a-z][a-z0-9_-]*"), "small letters, digits, _ and -, a letter first"),
    "provider": (re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"), "letters, digits, _ - and ."),
    "hook": (re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*"), "letters, digits, _ - and ."),
    "skill": (re.compile(r"[a-z0-9][a-z0-9-]{0,63}"), "small letters, digits and -, at most 64"),
    "pack": (re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*"), "letters, digits, _ and -"),
}

NEW = Command(
    "new", "write a small drop-in that works", "|".join(KINDS) + " NAME", 2, 2,
    (
        Option("--lang", "bash (the default), python, or for a provider conf", "LANG", LANGUAGES, short="-l"),
        Option("--stage", f"of a hook: {', '.join(STAGES[:9])}", "STAGE", short="-s", completes="stage"),
        Option("--global", "for all projects: into $HARNESS_HOME", short="-g"),
        Option("--dir", "into this .harness directory or pack", "DIR", completes="directory"),
    ),
    "Without --global or --dir it goes into the nearest .harness directory, from here upward; one is made "
    "when there is none. A hook's NAME may be STAGE/NAME, and gets a number in front when it has none.",
)  # fmt: skip


class Plan(NamedTuple):
    """What is to be written."""

    kind: str
    name: str
    stage: str
    language: str
    files: tuple[tuple[str, str, int], ...]
    """Path relative to the harness directory, template, mode."""


def main(words: list[str], env: Mapping[str, str]) -> int:
    """Write the drop-in that the words ask for. Raises UsageError; nothing is written then."""
    given = read(NEW, words)
    if given is None:
        return 0
    kind, name = given.words
    if kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}", did_you_mean(kind, KINDS, f"one of {', '.join(KINDS)}"))
    plan = _plan(kind, name, given.value("--stage"), given.value("--lang"))
    target = _target(given.value("--dir"), given.has("--global"), env)
    paths = [_write(os.path.join(target, path), template, mode, plan) for path, template, mode in plan.files]
    for path in paths:
        put(clean(path))
    for line in _advice(plan, paths[0], target, env):
        put(line)
    return 0


def _plan(kind: str, name: str, stage: str, language: str) -> Plan:
    if kind == "hook":
        stage, name = _hook_name(name, stage)
    elif stage:
        raise UsageError("--stage is for hooks", "hs new hook NAME --stage STAGE")
    pattern, rule = NAMES[kind]
    if not pattern.fullmatch(name):
        raise UsageError(f"a {kind} cannot be called {name!r}", f"allowed: {rule}")
    if language == "conf" and kind != "provider":
        raise UsageError("--lang conf is for providers")
    if language and kind == "skill":
        raise UsageError("a skill is text: --lang is for programs")
    language = language or "bash"
    return Plan(kind, name, stage, language, _files(kind, name, stage, language))


def _files(kind: str, name: str, stage: str, language: str) -> tuple[tuple[str, str, int], ...]:
    match kind:
        case "hook":
            template = "gate" if stage in GATES else "hook"
            return ((f"hooks.d/{stage}/{name}", f"{template}.{language}", 0o755),)
        case "skill":
            return ((f"skills/{name}/SKILL.md", "skill.md", 0o644),)
        case "pack":
            return (
                (f"plugins/{name}/tools/{name}", f"tool.{language}", 0o755),
                (f"plugins/{name}/prompts/{name}.md", "prompt.md", 0o644),
            )
        case "provider" if language == "conf":
            return ((f"providers/{name}.conf", "provider.conf", 0o644),)
        case _:
            return ((f"{kind}s/{name}", f"{kind}.{language}", 0o755),)


def _hook_name(name: str, stage: str) -> tuple[str, str]:
    """Stage and basename of a hook: `tool_exec/05-ask`, or a name beside `--stage`."""
    before, slash, after = name.rpartition("/")
    if slash:
        if stage and stage != before:
            raise UsageError(f"two stages: {before} and {stage}")
        stage, name = before, after
    if not stage:
        raise UsageError("which stage is the hook for?", f"--stage {'|'.join(STAGES[:9])}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", stage):
        raise UsageError(f"a stage cannot be called {stage!r}", f"one of {', '.join(STAGES)}")
    if not re.match(r"\d+-", name):
        name = f"{'05' if stage in GATES else '50'}-{name}"
    if stage == "tool_exec" and os.fsencode(name) >= b"10-exec":
        raise UsageError(f"{name} sorts after 10-exec, which runs the tool", "a gate needs a smaller number: 05-...")
    return stage, name


def _target(directory: str, home: bool, env: Mapping[str, str]) -> str:
    """The harness directory (or pack) that the drop-in goes into."""
    if directory and home:
        raise UsageError("--dir and --global exclude each other")
    if home:
        return env["HARNESS_HOME"]
    if directory:
        path = os.path.abspath(directory)
        is_pack = os.path.basename(os.path.dirname(path)) == "plugins"
        if os.path.basename(path) == ".harness" or is_pack or path == env["HARNESS_HOME"]:
            return path
        return os.path.join(path, ".harness")
    place = os.getcwd()
    while True:
        candidate = os.path.join(place, ".harness")
        if os.path.isdir(candidate) and not _same(candidate, env["HARNESS_HOME"]):
            return candidate
        if place == os.path.dirname(place):
            return os.path.join(os.getcwd(), ".harness")
        place = os.path.dirname(place)


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _write(path: str, template: str, mode: int, plan: Plan) -> str:
    """Write a file that is not there yet. Raises UsageError when it is."""
    with open(os.path.join(TEMPLATES, template), encoding="utf-8") as file:
        text = file.read()
    variable = re.sub(r"[^A-Z0-9]", "_", plan.name.upper())
    label = re.sub(r"^\d+-", "", plan.name)
    for mark, value in (("NAME", plan.name), ("STAGE", plan.stage), ("LABEL", label), ("VARIABLE", variable)):
        text = text.replace(f"@{mark}@", value)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise UsageError(f"{path} is there already", "choose another name, or edit that file") from None
    except OSError as wrong:
        raise UsageError(f"{path} cannot be written: {wrong.strerror}") from None
    with open(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
        os.fchmod(out.fileno(), mode)  # whatever the umask says: a drop-in without the x bit is ignored
    return path


def _advice(plan: Plan, path: str, target: str, env: Mapping[str, str]) -> list[str]:
    """How to try what was written, and what stands in its way."""
    lines = {
        "tool": [f'try it: hs "call the tool {plan.name} with a short text"', "listed by: hs tools"],
        "hook": [f'try it: hs "run date with bash"; listed by: hs hooks {plan.stage}'],
        "command": [f"try it: hs {plan.name}"],
        "provider": [f'try it: hs -p {plan.name} "hello"', "listed by: hs providers"],
        "skill": [f'try it: hs "load the skill {plan.name}"', "listed by: hs skills"],
        "pack": [f'try it: hs "call the tool {plan.name} with a short text"', "listed by: hs tools"],
    }[plan.kind]
    if plan.kind == "provider" and plan.language == "conf":
        lines.insert(0, "edit it first: model, url and auth_env are examples")
    lines.append(f"check it: hs check {_quote(path)}")
    return lines + _obstacles(plan, path, target, env)


def _quote(path: str) -> str:
    import shlex

    return shlex.quote(path)


def _obstacles(plan: Plan, path: str, target: str, env: Mapping[str, str]) -> list[str]:
    from bridoon.loop.place import catalog_of

    catalog = catalog_of(env, os.getcwd(), warn=False)
    here = {source.path for source in catalog.unscoped_sources}
    place = os.path.join(target, "plugins", plan.name) if plan.kind == "pack" else target
    if place not in here and os.path.realpath(place) not in {os.path.realpath(each) for each in here}:
        if any(miss.path == target for miss in catalog.near_misses):
            return [f"note: {clean(target)} is not trusted yet: hs trust"]
        return [f"note: {clean(target)} takes part only below {clean(os.path.dirname(target))}"]
    kind = {"tool": "tools", "command": "commands", "provider": "providers"}.get(plan.kind, "")
    same = [each for each in catalog.entries(kind) if each.name == plan.name and each.path != path] if kind else []
    return [f"note: it takes the place of {clean(same[-1].path)}"] if same else []
