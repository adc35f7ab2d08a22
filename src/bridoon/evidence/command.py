"""Calls a registered command with the arguments of a model: checked against their declaration, no shell between."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bridoon.errors import BridoonError
from bridoon.evidence import excerpt
from bridoon.ledger import argspec
from bridoon.ledger.argspec import Arg
from bridoon.ledger.judge.command import ASSIGNED, place
from bridoon.loop.env import seconds
from bridoon.loop.executor import TOOL_LIMIT
from bridoon.proc.environment import child_env
from bridoon.proc.run import CannotStart, run
from bridoon.sdk.script import Context, Result
from bridoon.toolkit.outcome import output_limit
from bridoon.toolkit.shell import OURS

KINDS = {"int": "integer", "integer": "integer", "number": "number", "float": "number"}
KINDS |= dict.fromkeys(("flag", "bool", "boolean"), "boolean")
"""JSON types by the words of a declaration. Any other word is a string."""

LONGEST = 100_000
"""Bytes of one argument; Linux takes 128 KiB."""

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


class CallFailed(BridoonError):
    """The command could not be started."""


def schema(args: Sequence[Arg]) -> dict[str, Any]:
    """The JSON schema of a call."""
    properties = {}
    for arg in args:
        one: dict[str, Any] = {"type": kind(arg)}
        if choices := argspec.choices(arg):
            one["enum"] = choices
        elif arg.help:
            one["description"] = excerpt.line(arg.help, 300)
        properties[arg.name] = one
    required = [arg.name for arg in args if arg.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def kind(arg: Arg) -> str:
    """The JSON type of an argument."""
    return KINDS.get(arg.type.strip().lower(), "string")


def words(command: str, args: Sequence[Arg], given: dict[str, Any]) -> list[str]:
    """The words that are run: those of the command, each with its placeholders filled in; the rest as options.

    Raises BridoonError for arguments that are not as declared, and for a command that is no list of words.
    """
    values, template = checked(args, given), _template(command)
    named = {name for word in template for name in PLACEHOLDER.findall(word)}
    known = {arg.name for arg in args}
    found = []
    for word in template:
        holes = [name for name in PLACEHOLDER.findall(word) if name in known]
        if holes and word == "{" + holes[0] + "}" and holes[0] not in values:
            continue  # an optional argument that was not given leaves no empty word
        found.append(PLACEHOLDER.sub(lambda hole: values.get(hole[1], "") if hole[1] in known else hole[0], word))
    for arg in args:
        if arg.name in named or arg.name not in values:
            continue
        if kind(arg) == "boolean":
            found += [f"--{arg.name}"] if values[arg.name] == "true" else []
        else:
            found += [f"--{arg.name}", values[arg.name]]
    return found


def _template(command: str) -> list[str]:
    import shlex

    try:
        return shlex.split(command)
    except ValueError as wrong:
        raise CallFailed(f"its command cannot be read: {wrong}") from None


def checked(args: Sequence[Arg], given: dict[str, Any]) -> dict[str, str]:
    """The given values as words. Raises BridoonError that says what is wrong with the first wrong one."""
    known = {arg.name: arg for arg in args}
    for name in given:
        if name not in known:
            raise BridoonError(f"there is no argument {name[:60]!r}", "known: " + ", ".join(known))
    values = {}
    for arg in args:
        value = given.get(arg.name)
        if value is None:
            if arg.required:
                raise BridoonError(f"{arg.name} is required")
            continue
        values[arg.name] = _word(arg, value)
    return values


def call(command: str, args: Sequence[Arg], given: dict[str, Any], root: str, context: Context) -> Result:
    """Run the command at `root`. Raises BridoonError for wrong arguments, CallFailed, Cancelled."""
    argv = words(command, args, given)
    assigned: dict[str, str] = {}
    for word in _template(command):
        if not ASSIGNED.match(word):
            break  # a value that looks like an assignment is none
        name, _, value = argv.pop(0).partition("=")
        assigned[name] = value
    if not argv:
        raise CallFailed("its command names no program")
    if "/" in argv[0]:
        argv[0] = place(argv[0], root, context.env)
    limit = seconds(context.env, "HARNESS_TOOL_TIMEOUT", TOOL_LIMIT)
    extra = {**dict.fromkeys(OURS), **assigned}
    try:
        done = run(
            argv,
            cwd=root,
            env=child_env(context.env, root=context.env["HARNESS_ROOT"], extra=extra),
            timeout=limit,
            cancel=context.cancel,
            spill=context.env.get("HARNESS_OUTPUT_FILE", ""),
            out_limit=4 * output_limit(context.env),
            merge=True,
            keep_background=True,
        )
    except CannotStart as wrong:
        raise CallFailed(f"{excerpt.line(argv[0], 200)} cannot be started: {wrong}") from None
    code = done.code if done.code >= 0 else 128 - done.code
    status = {"exit": code, "timed_out": done.timed_out, "elapsed_s": round(done.seconds, 3), "limit_s": limit}
    text = done.stdout.text(output_limit(context.env)).replace("\0", "\ufffd")
    return Result(text, failed=code != 0 or done.timed_out, status=status)


def _word(arg: Arg, value: Any) -> str:
    wanted = kind(arg)
    if wanted == "boolean":
        word = _truth(value)
        if not word:
            raise BridoonError(f"{arg.name} must be true or false, not {_told(value)}")
        return word
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BridoonError(f"{arg.name} must be {'a number' if wanted != 'string' else 'a string'}, not {_told(value)}")
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if wanted == "integer" and not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
        raise BridoonError(f"{arg.name} must be a whole number, not {_told(value)}")
    if wanted == "number" and not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise BridoonError(f"{arg.name} must be a number, not {_told(value)}")
    choices = argspec.choices(arg)
    if choices and text not in choices:
        raise BridoonError(f"{arg.name} must be one of {', '.join(choices)}; not {_told(value)}")
    if "\0" in text or len(text.encode("utf-8", "replace")) > LONGEST:
        raise BridoonError(f"{arg.name} cannot be passed to a command: it is too long, or holds a NUL")
    return text.encode("utf-8", "replace").decode()


def _truth(value: Any) -> str:
    if value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "1")):
        return "true"
    return (
        "false" if value is False or (isinstance(value, str) and value.strip().lower() in ("false", "no", "0")) else ""
    )


def _told(value: Any) -> str:
    return excerpt.line(repr(value), 60)
