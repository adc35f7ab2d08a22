"""The `sources` stage: which of the directories that are there take part, and hooks that say otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridoon.catalog.shelf import Shelf
from bridoon.catalog.sources import Executable, NearMiss, colon_list
from bridoon.catalog.survey import Survey
from bridoon.errors import BridoonError

if TYPE_CHECKING:
    from bridoon.sdk.script import Stoppable

STAGE = "hooks.d/sources"
WALK, SCOPE = "30-walk-dirs", "40-scope-providers"
"""The bundled hooks of the stage. Their work is done here without running them, as long as nothing
overrides them."""

PASSES = 3

LIMIT = 60.0
"""Seconds that a hook of the stage may take."""

RunHook = Callable[[Executable, dict[str, Any]], dict[str, Any]]
"""Runs one hook with a payload and returns the payload that it prints. Raises BridoonError."""


def scoped(shelves: Sequence[Shelf], provider: str, protocol: str = "") -> list[Shelf]:
    """Without the sources that belong to providers other than the active one and the one whose protocol it
    speaks.

    `protocol` counts when no variant of that name says it. With an empty `provider` all are kept.
    """
    if not provider:
        return list(shelves)
    protocol = _protocol(shelves, provider) or protocol
    return [shelf for shelf in shelves if not shelf.source.provider or _belongs(shelf, provider, protocol)]


def _belongs(shelf: Shelf, provider: str, protocol: str) -> bool:
    if shelf.source.provider in (provider, protocol):
        return True
    hosts = shelf.has_provider(provider) or shelf.has_variant(provider)
    return hosts or (bool(protocol) and shelf.has_provider(protocol))


def _protocol(shelves: Sequence[Shelf], provider: str) -> str:
    from bridoon.catalog.variants import read_variant

    for shelf in reversed(shelves):
        for variant in shelf.variants:
            if variant.name == provider:
                conf = read_variant(variant)
                return "" if isinstance(conf, NearMiss) else conf.protocol
    return ""


def effective(shelves: Sequence[Shelf], kind: str) -> list[Executable]:
    """The drop-ins of a kind, the most local of each name, in bytewise order."""
    found: dict[str, Executable] = {}
    for shelf in shelves:
        for each in shelf.executables.get(kind, ()):
            found[each.name] = each
    return [found[name] for name in sorted(found, key=os.fsencode)]


class Arrangement:
    """Carries out the `sources` stage over a survey: `all` holds every source, `active` those that take part.

    Hooks found in the bundled packs and the home run first. Hooks that lie in the sources found so far, and
    did not run yet, follow in a second and third pass. A hook that fails is named in `failure`, and the
    standard walk counts.
    """

    def __init__(self, survey: Survey, provider: str, protocol: str, run_hook: RunHook | None) -> None:
        self._survey = survey
        self._provider, self._protocol = provider, protocol
        self.failure = ""
        self.custom = bool(run_hook) and any(not _is_ours(hook) for hook in effective(survey.walk(), STAGE))
        """Whether a hook takes part whose answer may change without a trace on disk."""
        self.all = survey.walk()
        self.active = self._scope(self.all)
        if self.custom and run_hook:
            try:
                self._ask_hooks(run_hook)
            except BridoonError as wrong:
                self.failure = wrong.message

    def _scope(self, shelves: Sequence[Shelf]) -> list[Shelf]:
        return scoped(shelves, self._provider, self._protocol)

    def _ask_hooks(self, run_hook: RunHook) -> None:
        ran: set[str] = set()
        found: list[Shelf] = []
        for number in range(PASSES):
            places = found if number else self._survey.bootstrap()
            hooks = [hook for hook in effective(places, STAGE) if hook.path not in ran]
            if not hooks:
                break
            for hook in hooks:
                ran.add(hook.path)
                found = self._step(hook, found, run_hook)
        last = [hook for hook in effective(found, STAGE) if hook.name == SCOPE]
        if last and _is_ours(last[0]):
            found = self._scope(found)
        left_out = [shelf for shelf in self._survey.walk() if shelf not in self.active and shelf not in found]
        self.all, self.active = [*left_out, *found], found

    def _step(self, hook: Executable, found: list[Shelf], run_hook: RunHook) -> list[Shelf]:
        if _is_ours(hook):
            return self._survey.walk() if hook.name == WALK else self._scope(found)
        payload = {"sources": [shelf.source.path for shelf in found]} if found else {}
        answer = run_hook(hook, payload).get("sources")
        if not isinstance(answer, list) or not all(isinstance(each, str) for each in answer):
            raise BridoonError(f"hook {hook.path} printed no list of sources")
        return self._survey.resolve(answer)


def _is_ours(hook: Executable) -> bool:
    return hook.bundled and hook.name in (WALK, SCOPE)


def process_runner(env: Mapping[str, str], cwd: str, home: str, root: str, cancel: Stoppable | None = None) -> RunHook:
    """Runs `sources` hooks as processes, or inline when they are bundled. Raises BridoonError naming the
    hook."""

    def run_hook(hook: Executable, payload: dict[str, Any]) -> dict[str, Any]:
        surroundings = {
            **env,
            "HARNESS_STAGE": "sources",
            "HARNESS_SOURCES": colon_list(payload.get("sources", []), home),
            "HARNESS_CWD": cwd,
            "HARNESS_HOME": home,
            "HARNESS_ROOT": root,
        }
        if hook.bundled and hook.marked:
            from bridoon.proc import inline
            from bridoon.sdk.script import Context

            try:
                answer = inline.load(hook.path).run(payload, Context(surroundings, cancel=cancel))
            except (SystemExit, Exception) as wrong:
                raise BridoonError(f"hook {hook.path} failed: {wrong}") from wrong
        else:
            answer = _spawn(hook, payload, surroundings, cwd, cancel)
        if not isinstance(answer, dict):
            raise BridoonError(f"hook {hook.path} printed no JSON object")
        return answer

    return run_hook


def _spawn(hook: Executable, payload: dict[str, Any], env: dict[str, str], cwd: str, cancel: Stoppable | None) -> Any:
    import json

    from bridoon.proc.environment import child_env
    from bridoon.proc.run import CannotStart, command_for, run

    try:
        done = run(
            command_for(hook.path, hook.marked),
            stdin=json.dumps(payload).encode("utf-8", "replace") + b"\n",
            env=child_env(env, root=env["HARNESS_ROOT"]),
            cwd=cwd if os.path.isdir(cwd) else None,
            timeout=LIMIT,
            cancel=cancel,
        )
    except CannotStart as wrong:
        raise BridoonError(f"hook {hook.path} cannot start: {wrong}") from None
    if done.code != 0 or done.timed_out:
        last = done.stderr.text().strip().splitlines()[-1:]
        raise BridoonError(
            f"hook {hook.path} exited {done.code} during sources" + "".join(f": {each}" for each in last)
        )
    text = done.stdout.text(1 << 20)
    try:
        return json.loads(text) if text.strip() else payload
    except ValueError:
        raise BridoonError(f"hook {hook.path} printed no JSON during sources: {text[:60]!r}") from None
