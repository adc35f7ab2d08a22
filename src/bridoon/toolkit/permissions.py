"""Which tool calls run at once, which are asked about and which are refused: modes, rules, a person's word.

Modes: `auto` runs everything; `ask` asks before tools that change things; `read-only` refuses those. The
mode is HARNESS_PERMISSIONS, else `permissions=` in `settings.conf`. Rules come before the mode: `deny` wins
over everything, then `ask`, then `allow`. A project's settings are only read when the project is trusted; its
rules then count like any others, but its `permissions=` can only make the mode stricter, never looser. What
changes in the settings while a run goes on can only make that run stricter.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from bridoon.catalog.conf import MODES, Settings
from bridoon.sdk.script import Context
from bridoon.toolkit.toolrules import FILE_TOOLS, Call, ToolRule, allowed, touched

YES, NO = "yes", "no"

_DETAIL = 4000


class Verdict(NamedTuple):
    """What becomes of a call, and why."""

    action: str
    """`allow`, `ask` or `deny`."""
    why: str


class Policy(NamedTuple):
    """What decides about calls at one moment."""

    mode: str
    rules: tuple[ToolRule, ...]


class Tool(NamedTuple):
    """What the gate has to know about a tool."""

    names: tuple[str, ...]
    """Its names besides the one that the model used."""
    harmless: bool
    """Whether it is a bundled tool that only reads, or whose own calls pass this gate (`agent`)."""


class Asker(Protocol):
    """The part of a run that the gate uses (`bridoon.loop.run.Run`)."""

    settings: Settings
    grants: list[Any]

    @property
    def catalog(self) -> Any: ...
    def ask(self, question: str, choices: list[str], detail: str = "") -> str | None: ...


def mode_of(settings: Settings, env: Mapping[str, str], default: str = "auto") -> str:
    """The mode now; a word that is no mode counts as `ask`. `default` is the mode when nobody says one."""
    given = env.get("HARNESS_PERMISSIONS", "").strip()
    if given:
        return given if given in MODES else "ask"
    mode = default
    for layer in settings.layers:
        said = layer.values.get("permissions", "")
        if not said:
            continue
        said = said if said in MODES else "ask"
        mode = stricter(mode, said) if layer.source.scope == "project" else said
    return mode


def stricter(one: str, other: str) -> str:
    """The stricter of two modes."""
    return max(one, other, key=MODES.index)


def rules_of(settings: Settings) -> tuple[ToolRule, ...]:
    """The rules of the settings, in their order."""
    return tuple(rule for each in settings.rules if (rule := ToolRule.of(each)) is not None)


def policy_of(start: Settings, now: Settings, env: Mapping[str, str]) -> Policy:
    """The policy of a run that began with the settings `start`: later ones only add to its strictness."""
    mode, rules = mode_of(start, env), rules_of(start)
    if now is not start:
        mode = stricter(mode, mode_of(now, env))
        known = {rule.target for rule in rules if rule.action != "allow"}
        later = (rule for rule in rules_of(now) if rule.action != "allow")
        rules += tuple(rule for rule in later if rule.target not in known)
    return Policy(mode, rules)


def decide(call: Call, policy: Policy, grants: list[ToolRule], *, harmless: bool) -> Verdict:
    """What becomes of a call. `grants` are the allow rules that a person gave in this session."""
    for rule in policy.rules:
        if rule.action == "deny" and (part := touched(rule, call)):
            return Verdict("deny", f"denied by the rule `{rule}` ({rule.where}){_part(part, call)}")
    closed = policy.mode == "read-only" and not harmless
    given = [] if closed else [grant for grant in grants if _covers_leash(grant, call)]
    if allowed([grant for grant in given if grant.pattern is not None], call):
        return Verdict("allow", "allowed in this session")
    asking = next((rule for rule in policy.rules if rule.action == "ask" and touched(rule, call)), None)
    if asking is not None and not closed:
        return Verdict("ask", f"the rule `{asking}` ({asking.where}) asks first")
    if asking is None and allowed([rule for rule in policy.rules if rule.action == "allow"], call):
        return Verdict("allow", "allowed by a rule")
    if asking is None and allowed(given, call):
        return Verdict("allow", "allowed in this session")
    if harmless or policy.mode == "auto":
        return Verdict("allow", f"mode {policy.mode}")
    if closed:
        return Verdict("deny", f"permissions are read-only, and {call.name} can change things")
    return Verdict("ask", f"in mode ask, {call.name} asks first")


def _part(part: str, call: Call) -> str:
    return "" if part in (call.name, call.command) else f": {part[:200]}"


def _covers_leash(grant: ToolRule, call: Call) -> bool:
    """A word given in passing does not cover the files that decide what the agent may do."""
    return call.path is None or not _on_leash(call.path, call) or _on_leash(grant.pattern or "", call)


def _on_leash(path: str, call: Call) -> bool:
    whole = os.path.join(call.cwd, path)
    return any(".harness" in each.split("/") for each in (os.path.normpath(whole), os.path.realpath(whole)))


Payload = dict[str, Any]
Lookup = Callable[[str], Tool]
"""Finds a tool by the name that the model used."""


def gate(payload: Payload, context: Context, run: Asker, find: Lookup) -> Payload:
    """Let the first call of the payload pass, asking a person where needed, or raise SystemExit (why not)."""
    if isinstance(payload.get("result"), str):
        return payload
    policy = policy_of(run.settings, run.catalog.settings, context.env)
    if policy.mode == "auto" and not policy.rules:
        return payload
    call, harmless = call_of(payload, context, find)
    verdict = decide(call, policy, run.grants, harmless=harmless)
    if verdict.action == "deny":
        raise SystemExit(verdict.why)
    if verdict.action == "ask":
        _ask(call, verdict, context, run)
    return payload


def call_of(payload: Payload, context: Context, find: Lookup) -> tuple[Call, bool]:
    """The first call of a payload, and whether its tool is harmless."""
    queue = payload.get("tool_calls")
    first = queue[0] if isinstance(queue, list) and queue and isinstance(queue[0], dict) else payload
    name, given = str(first.get("name", "")), first.get("input")
    tool = find(name)
    home = context.env.get("HOME") or os.path.expanduser("~")
    call = Call((name, *tool.names), given if isinstance(given, dict) else {}, context.cwd, home)
    return call, tool.harmless


def call_like(name: str, argument: str, cwd: str, home: str) -> Call:
    """A call with one argument, for people who want to know what would become of it."""
    key = "command" if name == "bash" else "path" if name in FILE_TOOLS else "argument"
    return Call((name,), {key: argument}, cwd, home)


def offers(call: Call) -> list[ToolRule]:
    """What a person could allow for the rest of the session instead of only this call."""
    rules = []
    if call.command is not None:
        from bridoon.toolkit.shellrules import prefixes

        found = prefixes(call.command)
        rules += [ToolRule("allow", "bash", prefix) for prefix in found] if len(found) <= 3 else []
    elif call.path is not None:
        folder = os.path.dirname(os.path.realpath(os.path.join(call.cwd, call.path))).rstrip("/")
        if not set("*?[") & set(folder):
            rules.append(ToolRule("allow", call.name, f"{folder}/**"))
    return rules


def _ask(call: Call, verdict: Verdict, context: Context, run: Asker) -> None:
    """Ask a person about a call; raise SystemExit unless the answer is yes."""
    narrow = offers(call)
    wide = ToolRule("allow", call.name, None)
    always = {f"always {wide.target} in this session": [wide]}
    if narrow:
        always[f"always {', '.join(rule.target for rule in narrow)} in this session"] = narrow
    question, detail = f"Run {call.name}? ({verdict.why})", detail_of(call)
    if context.run is None:
        answer = ask_terminal(question, detail)
    else:
        # Yes and no have the same numbers in every question; how many offers follow depends on the call.
        answer = run.ask(printable(question), [YES, NO, *always], printable(detail))
    if answer is None:
        raise SystemExit(
            f"{call.name} needs a yes ({verdict.why}), and nobody can be asked here; a rule in settings.conf "
            f"(allow {(narrow or [wide])[0].target}) or --permissions auto would let it run"
        )
    answer = answer.strip()
    if answer in always:
        run.grants.extend(always[answer])
    elif answer.lower() not in (YES, "y"):
        reason = "" if answer.lower() in ("", NO, "n") else f": {answer}"
        raise SystemExit(f"the user said no to this call of {call.name}{reason}")


def detail_of(call: Call) -> str:
    """What a person has to see of a call to decide about it, shortened in the middle."""
    if call.command is not None:
        text = call.command
    elif call.path is not None:
        path = os.path.join(call.cwd, call.path)
        real = os.path.realpath(path)
        text = path + (f" (which is {real})" if real != os.path.normpath(path) else "")
        content = call.input.get("content", call.input.get("edits"))
        if content is not None:
            text += "\n" + (content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
    else:
        text = json.dumps(dict(call.input), ensure_ascii=False)
    if len(text) <= _DETAIL:
        return text
    return f"{text[: _DETAIL // 2]}\n[... {len(text) - _DETAIL} characters ...]\n{text[-_DETAIL // 2 :]}"


def printable(text: str) -> str:
    """The text with control and direction characters made visible: it cannot draw over what it says."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def ask_terminal(question: str, detail: str) -> str | None:
    """Ask on the controlling terminal, yes or no; None without one."""
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(f"{printable(detail)}\n{printable(question)} [y/N, or why not] ".encode("utf-8", "replace"))
            return terminal.readline().decode("utf-8", "replace").strip() or NO
    except OSError:
        return None


def describe(settings: Settings, env: Mapping[str, str], default: str = "auto") -> list[str]:
    """Lines for people: the mode, the rules in the order in which they count, what is wrong with any."""
    mode = mode_of(settings, env, default)
    forced = env.get("HARNESS_PERMISSIONS", "").strip()
    origin = "HARNESS_PERMISSIONS" if forced else settings.origin("permissions") or "default"
    lines = [f"mode: {mode} ({origin})"]
    rules = rules_of(settings)
    for action in ("deny", "ask", "allow"):
        for rule in rules:
            if rule.action == action:
                wrong = flaw(rule)
                lines.append(f"{rule}  ({rule.where})" + (f"  !! {wrong}" if wrong else ""))
    return lines if rules else [*lines, "no rules"]


def flaw(rule: ToolRule) -> str:
    """Why a rule can never apply, or not as it seems; empty when nothing is wrong with it."""
    if rule.pattern is None:
        return ""
    if not rule.pattern:
        return "an empty pattern matches nothing"
    if rule.action == "allow" and rule.tool == "bash":
        from bridoon.toolkit.shellrules import NEVER

        name = os.path.basename(rule.pattern.split()[0])
        if name in NEVER:
            return f"never applies: {name} runs what its arguments say"
    if rule.action == "allow" and rule.tool in FILE_TOOLS and rule.pattern.startswith("../"):
        return "reaches out of the session's directory"
    return ""
