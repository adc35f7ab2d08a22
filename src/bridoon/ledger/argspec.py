"""The arguments of a registered tool: how `--args` is read, how they are stored, and what a stored text means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from bridoon.ledger.errors import Invalid

FORM = "name:type:required[:help] or name:type:optional[:help], with commas between entries"


class Arg(NamedTuple):
    """One argument."""

    name: str
    type: str
    """Free text: `string`, `enum`, `int`, `flag` ..."""
    required: bool
    help: str = ""
    """What it is for; of an `enum`, the words that are possible, with commas between."""


def parse(text: str | None) -> list[Arg]:
    """The arguments that `--args` names; none for a blank text. Raises Invalid, which quotes the wrong entry.

    A comma ends an entry, unless what follows has no colon and the entry has a help: then it belongs to the help.
    So `env:enum:required:staging,production` is one argument, whose help is `staging,production`.
    """
    if not text or not text.strip():
        return []
    found: list[Arg] = []
    for fragment in text.split(","):
        if ":" in fragment:
            found.append(_entry(fragment))
        elif found and found[-1].help.strip() and fragment.strip():
            found[-1] = found[-1]._replace(help=f"{found[-1].help},{fragment}")
        else:
            raise _wrong(fragment, "has no colon, and there is no help before it that it could belong to")
    return [arg._replace(help=arg.help.strip()) for arg in found]


def stored(args: Sequence[Arg]) -> str | None:
    """What the column `args` holds: JSON text, None for no arguments."""
    import json

    if not args:
        return None
    return json.dumps([arg._asdict() for arg in args], separators=(",", ":"), ensure_ascii=False)


def read(text: object) -> list[Arg]:
    """The arguments that a stored text holds. Never raises: what is no argument is left out.

    Control characters inside of texts are read as they are: other programs store them without escapes.
    """
    import json

    if not isinstance(text, str) or not text.strip():
        return []
    try:
        items = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return []
    if not isinstance(items, list):
        return []
    return [
        Arg(item["name"], _text(item.get("type")) or "string", item.get("required") is True, _text(item.get("help")))
        for item in items
        if isinstance(item, dict) and isinstance(item.get("name"), str) and item["name"]
    ]


def choices(arg: Arg) -> list[str]:
    """The words that an argument of type `enum` may be, each once; none: anything."""
    if arg.type.strip().lower() != "enum":
        return []
    return list(dict.fromkeys(word.strip() for word in arg.help.split(",") if word.strip()))


def _entry(fragment: str) -> Arg:
    parts = fragment.split(":", 3)
    if len(parts) < 3:
        raise _wrong(fragment, "has only one colon")
    name, kind, required = (part.strip() for part in parts[:3])
    if required not in ("required", "optional"):
        raise _wrong(fragment, "must have 'required' or 'optional' as its third part")
    if not name or not kind:
        raise _wrong(fragment, "must have a name and a type")
    return Arg(name, kind, required == "required", parts[3] if len(parts) > 3 else "")


def _wrong(fragment: str, reason: str) -> Invalid:
    return Invalid(f"tool register: --args entry {fragment.strip()[:80]!r} {reason}", FORM)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
