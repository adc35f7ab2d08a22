"""How far a capability is there: inactive (nobody provides it), degraded (not all who should), or full."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from bridoon.ledger import vocabulary
from bridoon.ledger.errors import Invalid
from bridoon.ledger.registry import Tool

INACTIVE, DEGRADED, FULL = "inactive", "degraded", "full"


class Posture(NamedTuple):
    """What there is for a capability, as the last check found it."""

    capability: str
    posture: str
    """`inactive`, `degraded` or `full`."""
    present: list[Tool]
    missing: list[Tool]
    """Registered and not there, or there and failed when it was called in this run."""
    unknown: list[Tool]
    """Nobody has confirmed them: never checked, or nothing to check them by."""
    unusable: list[Tool]
    """Of a kind that the asking runtime cannot use: for it they do not exist."""
    barred: list[Tool]
    """Somebody else's, and not trusted: neither run nor probed, so they do not exist either."""

    @property
    def providers(self) -> int:
        """How many count."""
        return len(self.present) + len(self.missing) + len(self.unknown)


def posture(
    tools: Iterable[Tool],
    capability: str,
    can: Collection[str] = vocabulary.TOOL_KINDS,
    failed: Collection[str] = (),
    barred: Collection[str] = (),
) -> Posture:
    """The posture of one capability. `can`: kinds that the asking runtime can use; `failed`: names of tools that failed
    when they were called in this run; `barred`: names of those that it does not trust. Raises Invalid for what is no
    capability."""
    name = vocabulary.capability(capability)
    return _judge(name, [tool for tool in tools if provides(tool, name)], can, failed, barred)


def postures(
    tools: Iterable[Tool],
    can: Collection[str] = vocabulary.TOOL_KINDS,
    failed: Collection[str] = (),
    barred: Collection[str] = (),
) -> list[Posture]:
    """The postures of all capabilities that somebody provides, by their names."""
    groups: dict[str, list[Tool]] = {}
    for tool in tools:
        if name := spelt(tool.capability):
            groups.setdefault(name, []).append(tool)
    return [_judge(name, groups[name], can, failed, barred) for name in sorted(groups)]


def spelt(capability: str | None) -> str:
    """The plain spelling of a capability, however a row spells it."""
    return vocabulary.token(capability or "").replace("_", "-")


def _judge(
    capability: str, tools: Sequence[Tool], can: Collection[str], failed: Collection[str], barred: Collection[str]
) -> Posture:
    usable = [tool for tool in tools if tool.kind in can and tool.name not in barred]
    standing = {"present": [], "missing": [], "unknown": []}  # type: dict[str, list[Tool]]
    for tool in usable:
        status = tool.status if tool.status in standing else "unknown"
        standing["missing" if tool.name in failed and status == "present" else status].append(tool)
    full = len(standing["present"]) == len(usable)
    return Posture(
        capability,
        INACTIVE if not usable else FULL if full else DEGRADED,
        standing["present"],
        standing["missing"],
        standing["unknown"],
        [tool for tool in tools if tool.kind not in can and tool.name not in barred],
        [tool for tool in tools if tool.name in barred],
    )


def provides(tool: Tool, capability: str) -> bool:
    """Whether a tool serves a capability, however a row of another program spells it."""
    return tool.capability is not None and vocabulary.token(tool.capability) == vocabulary.token(capability)


def note(found: Posture) -> str:
    """The line for a trace; empty for a capability that is fully there."""
    if found.posture == INACTIVE:
        return f"capability {found.capability}: inactive"
    if found.posture == FULL:
        return ""
    parts = [f"{len(found.present)} of {found.providers} present"]
    for word, tools in (("missing", found.missing), ("unconfirmed", found.unknown)):
        if tools:
            parts.append(f"{word} " + ", ".join(_plain(tool.name) for tool in tools))
    return f"Weak proof: {found.capability} ({'; '.join(parts)})"


def kinds(text: str | None) -> tuple[str, ...]:
    """The kinds that `--can` lists; all of them when it was not given. Raises Invalid."""
    if text is None:
        return vocabulary.TOOL_KINDS
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if not words:
        raise Invalid("--can names no kind of tool", "one or more of: " + ", ".join(vocabulary.TOOL_KINDS))
    for word in words:
        vocabulary.one_of(word, vocabulary.TOOL_KINDS, "--can cannot name")
    return tuple(dict.fromkeys(words))


def _plain(name: str) -> str:
    """A name as a trace can hold it: one line, not too long."""
    shown = name if len(name) <= 80 else name[:79] + "…"
    return "".join(char if char.isprintable() else "?" for char in shown)
