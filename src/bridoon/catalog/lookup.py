"""What is in the `.harness` directories right now: drop-ins by kind and name, settings, prompts, skills."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from bridoon.catalog.files import Watch, printable
from bridoon.catalog.passes import Arrangement, RunHook, effective, process_runner, scoped
from bridoon.catalog.shelf import FOLDERS, Shelf, clashes
from bridoon.catalog.sources import Executable, NearMiss, Source, colon_list, places
from bridoon.catalog.survey import IN_INDEX, Survey

if TYPE_CHECKING:
    from bridoon.catalog.conf import Settings
    from bridoon.catalog.prompts import Fragment
    from bridoon.catalog.skills import Skill
    from bridoon.catalog.trust import Ask, Released, Trust
    from bridoon.catalog.variants import ProviderConf, Verdict
    from bridoon.sdk.script import Context, Stoppable

T = TypeVar("T")

__all__ = ["Catalog", "Executable", "NearMiss", "Source"]


class Catalog:
    """The drop-ins that take part in a run in `cwd`. Call `refresh` before each state; the rest answers
    from memory.

    `home` is $HARNESS_HOME, `root` the directory that holds the bundled `plugins/`. `provider` limits the
    sources to those of the active provider (`choose` changes it); empty means all. `notice` is told, once
    each, what a person should know. `ask_trust` asks a person about code that came with a checkout;
    `released` tells what else a yes would let run.
    `run_hook` runs hooks of the `sources` stage that are not ours; without it they are started as
    processes.
    """

    def __init__(  # noqa: PLR0913 - each is one fact about where a run takes place
        self,
        env: Mapping[str, str],
        cwd: str,
        home: str,
        root: str,
        provider: str = "",
        *,
        notice: Callable[[str], None] | None = None,
        ask_trust: Ask | None = None,
        released: Released | None = None,
        run_hook: RunHook | None = None,
    ) -> None:
        self.env = env
        self.cwd = os.path.abspath(cwd)
        self.home = os.path.abspath(home)
        self.root = os.path.abspath(root)
        self.provider = provider
        self.cancel: Stoppable | None = None
        """Stops hooks of the `sources` stage that `refresh` waits for; it raises Cancelled then."""
        self.generation = 0
        """Grows whenever a refresh found something changed."""
        self.withheld: dict[str, NearMiss] = {}
        """Tools that no file holds and that may not be used, by the names that they would have."""
        self._protocol = ""
        self._notice = notice or (lambda text: None)
        self._asking = ask_trust, released
        self._run_hook = run_hook
        self._trust: Trust | None = None
        self._told: set[str] = set()
        self._lent: dict[str, tuple[Executable, ...]] = {}
        self._kept: dict[str, tuple[int, Any]] = {}
        self._watched: dict[str, tuple[int, Watch, Any]] = {}
        self._survey: Survey | None = None
        self._arrangement: Arrangement | None = None
        self._reported: dict[NearMiss, str] = {}
        self._forget()

    # ---- looking

    def refresh(self) -> bool:
        """Look again; whether anything changed. An unchanged world costs a few dozen `stat` calls."""
        survey, old = self._survey, self._arrangement
        if survey is None or old is None or survey.watch.young or survey.watch.changed():
            survey = Survey(self.cwd, self.home, self.root, self._user_home, self._allowed)
        elif not old.custom:
            return False
        new = self._arrange(survey)
        changed = (
            old is None
            or self._survey is None
            or not survey.watch.same(self._survey.watch)
            or [shelf.source for shelf in new.active] != [shelf.source for shelf in old.active]
        )
        self._survey, self._arrangement = survey, new
        self._forget()
        if changed:
            self.generation += 1
            self._announce(survey, new)
        return changed

    def choose(self, provider: str, protocol: str = "") -> None:
        """Make a provider the active one. `protocol` counts when no `.conf` of that name says what it
        speaks."""
        if (provider, protocol) != (self.provider, self._protocol):
            self.provider, self._protocol = provider, protocol
            if self._survey is not None:
                self._arrangement = self._arrange(self._survey)
                self._forget()
                self.generation += 1

    def _arrange(self, survey: Survey) -> Arrangement:
        env = {**self.env, "HARNESS_PROVIDER": self.provider}
        run_hook: RunHook | None = self._run_hook or process_runner(env, self.cwd, self.home, self.root, self.cancel)
        if env.get("HARNESS_STAGE") == "sources":
            run_hook = None  # this is such a hook, or was started by one: it would be started again for ever
        arrangement = Arrangement(survey, self.provider, self._protocol, run_hook)
        if arrangement.failure:
            self._tell(f"{arrangement.failure}; the standard directories are used")
        return arrangement

    def _forget(self) -> None:
        """Drop what was derived from the last look."""
        self._kinds: dict[str, dict[str, Executable]] = {}
        self._hooks: dict[str, list[Executable]] = {}
        self._settings: Settings | None = None
        self._confs: list[ProviderConf] | None = None
        self._conf: dict[str, ProviderConf | None] = {}
        self._read_misses: list[NearMiss] = []
        self._variable: str | None = None

    @property
    def _user_home(self) -> str:
        return self.env.get("HOME", "").rstrip("/")

    @property
    def trust(self) -> Trust:
        """The record of what may run."""
        if self._trust is None:
            from bridoon.catalog.trust import Trust

            ask, released = self._asking
            self._trust = Trust(self.home, ask, self.env, released)
        return self._trust

    def _allowed(self, harness_dirs: list[str]) -> list[str]:
        return [path for path in harness_dirs if self.trust.allowed(path) or self.trust.ask(path)]

    def _there(self) -> tuple[Survey, Arrangement]:
        if self._survey is None or self._arrangement is None:
            self.refresh()
        assert self._survey is not None
        assert self._arrangement is not None
        return self._survey, self._arrangement

    # ---- sources

    @property
    def shelves(self) -> list[Shelf]:
        """The contents of the sources that take part, lowest priority first."""
        return self._there()[1].active

    @property
    def sources(self) -> list[Source]:
        """The sources that take part, lowest priority first."""
        return [shelf.source for shelf in self.shelves]

    @property
    def unscoped_sources(self) -> list[Source]:
        """All sources, those of other providers included."""
        return [shelf.source for shelf in self._there()[1].all]

    @property
    def untrusted(self) -> list[Source]:
        """Harness directories that came with a checkout and were not trusted: only text of theirs is read."""
        return list(self._there()[0].untrusted)

    @property
    def harness_dirs(self) -> list[Source]:
        """Trusted harness directories of the walk, most global first."""
        return list(self._there()[0].harness_dirs)

    @property
    def sources_variable(self) -> str:
        """The value of HARNESS_SOURCES."""
        if self._variable is None:
            self._variable = colon_list([source.path for source in self.sources], self.home)
        return self._variable

    def walk(self) -> list[Source]:
        """The standard list that the `sources` stage starts from, whatever its hooks make of it."""
        return [shelf.source for shelf in self._there()[0].walk()]

    def scoped(self, paths: list[str]) -> list[str]:
        """Those of these sources that do not belong to a provider other than the active one."""
        shelves = self._there()[0].resolve(paths)
        return [shelf.source.path for shelf in scoped(shelves, self.provider, self._protocol)]

    # ---- drop-ins

    def hooks(self, stage: str) -> list[Executable]:
        """The hooks of a stage in the order in which they run, the most local of each name."""
        found = self._hooks.get(stage)
        if found is None:
            found = self._hooks[stage] = effective(self.shelves, f"hooks.d/{stage}")
        return list(found)

    def find(self, kind: str, name: str) -> Executable | None:
        """The most local drop-in of a kind (`commands`, `tools`, `providers`, `hooks.d/<stage>`) and file
        name."""
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = {each.name: each for each in effective(self.shelves, kind)}
        return known.get(name)

    def entries(self, kind: str, *, unscoped: bool = False) -> list[Executable]:
        """Every drop-in of a kind, overridden ones included, lowest priority first."""
        shelves = self._there()[1].all if unscoped else self.shelves
        return [each for shelf in shelves for each in shelf.executables.get(kind, ())]

    def lend(self, owner: str, tools: Sequence[Executable]) -> None:
        """Let tools take part that no file holds, in the place of those that `owner` lent before. They come after all
        others: a file of the same name counts."""
        if self._lent.get(owner, ()) != tuple(tools):
            self._lent[owner] = tuple(tools)
            self.generation += 1

    @property
    def lent(self) -> list[Executable]:
        """The tools that no file holds."""
        return [tool for tools in self._lent.values() for tool in tools]

    def stages(self) -> list[str]:
        """The names of all stages that have hooks."""
        kinds = {kind for shelf in self.shelves for kind in shelf.executables if kind.startswith("hooks.d/")}
        return sorted((kind.removeprefix("hooks.d/") for kind in kinds), key=os.fsencode)

    def kind_of(self, path: str) -> str:
        """The kind of drop-in that a file at this path would be; empty where none are looked for."""
        folder = os.path.dirname(os.path.abspath(path))
        sources = [*self.unscoped_sources, *self.untrusted]
        for source in sources:
            kind = folder.removeprefix(source.path + "/")
            if kind in FOLDERS or (kind.startswith("hooks.d/") and kind.count("/") == 1):
                return kind
        return ""

    # ---- settings and variants

    @property
    def settings(self) -> Settings:
        """The `settings.conf` of all sources, merged."""
        if self._settings is None:
            from bridoon.catalog.conf import read_settings

            misses: list[NearMiss] = []
            self._settings = read_settings(self.shelves, misses)
            self._note(misses)
        return self._settings

    def confs(self) -> list[ProviderConf]:
        """Every usable provider variant of every source, overridden ones included, lowest priority first."""
        if self._confs is None:
            from bridoon.catalog.variants import ProviderConf, read_variant

            read = [read_variant(variant) for shelf in self._there()[1].all for variant in shelf.variants]
            self._note([each for each in read if isinstance(each, NearMiss)])
            self._confs = [each for each in read if isinstance(each, ProviderConf)]
        return self._confs

    def conf(self, name: str) -> ProviderConf | None:
        """The most local variant of a name. One that cannot be used hides those below it all the same."""
        if name not in self._conf:
            from bridoon.catalog.variants import ProviderConf, read_variant

            named = [each for shelf in self._there()[1].all for each in shelf.variants if each.name == name]
            conf = read_variant(named[-1]) if named else None
            self._conf[name] = conf if isinstance(conf, ProviderConf) else None
        return self._conf[name]

    def key_allowed(self, conf: ProviderConf, variable: str = "") -> Verdict:
        """Whether a variant may be given the key in `variable` (empty: the credential of its name)."""
        from bridoon.catalog.variants import key_allowed

        own = [each for each in self.confs() if each.source.scope in ("bundled", "home")]
        return key_allowed(conf, own, variable)

    # ---- text

    def prompts(self) -> list[str]:
        """The parts of the system prompt that lie on disk, global first."""
        return [fragment.text for fragment in self.fragments()]

    def fragments(self) -> list[Fragment]:
        """The same with the path of each."""

        def make(watch: Watch) -> list[Fragment]:
            from bridoon.catalog.prompts import Prompts

            prompts = Prompts(self.cwd, self.sources, self.untrusted, watch, self.env)
            found = prompts.collect()
            self.report(prompts.misses, "prompts")
            return found

        return self._while_unchanged("prompts", make)

    def skills(self) -> dict[str, Skill]:
        """The skills by name, in bytewise order, the most local of each name."""

        def make(watch: Watch) -> dict[str, Skill]:
            from bridoon.catalog.skills import Skills

            skills = Skills(self, watch)
            found = skills.find()
            self.report(skills.misses, "skills")
            return found

        return self._while_unchanged("skills", make)

    def _while_unchanged(self, key: str, make: Callable[[Watch], T]) -> T:
        """What `make` derived from files, made again when one of those that it watched changed."""
        known = self._watched.get(key)
        if known is None or known[0] != self.generation or known[1].young or known[1].changed():
            watch = Watch()
            known = self._watched[key] = (self.generation, watch, make(watch))
        value: T = known[2]
        return value

    def kept(self, key: str, make: Callable[[T | None], T]) -> T:
        """What `make` derived from this catalog, made again, out of the old value, after a refresh that
        found changes."""
        known = self._kept.get(key)
        if known is None or known[0] != self.generation:
            known = self._kept[key] = (self.generation, make(known[1] if known else None))
        value: T = known[1]
        return value

    # ---- what nearly works

    @property
    def near_misses(self) -> list[NearMiss]:
        """Drop-ins that nearly work, with the reason; of tools whose schema is wrong those that `ToolIndex`
        reported."""
        survey, arrangement = self._there()
        _ = self.settings, self.confs(), self.fragments(), self.skills()
        found = [*survey.misses, *(miss for shelf in arrangement.all for miss in shelf.misses)]
        found += [*clashes(arrangement.all), *self._read_misses, *self._reported, *self.withheld.values()]
        return list(dict.fromkeys(found))

    def _note(self, misses: list[NearMiss]) -> None:
        self._read_misses += misses
        for miss in misses:
            self._tell(_sentence(miss))

    def report(self, misses: list[NearMiss], about: str) -> None:
        """Take note of near misses that others found: skills, prompts, schemas. They replace those reported
        before `about` the same."""
        for miss in [miss for miss, group in self._reported.items() if group == about]:
            del self._reported[miss]
        for miss in misses:
            self._reported[miss] = about
            self._tell(_sentence(miss))

    def alarm(self, text: str) -> None:
        """Tell a person something, once."""
        self._tell(text)

    def _announce(self, survey: Survey, arrangement: Arrangement) -> None:
        for text in survey.alarms:
            self._tell(text)
        for source in survey.untrusted:
            if self.trust.is_news(source.path):
                self._tell(f"{source.path} {IN_INDEX}: nothing of it runs until hs trust")
        for shelf in arrangement.all:
            for miss in shelf.misses:
                if not miss.reason.startswith("skipped:"):
                    self._tell(_sentence(miss))
        for miss in clashes(arrangement.all):
            self._tell(_sentence(miss))

    def _tell(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._notice(printable(text))


def catalog_for(context: Context) -> Catalog:
    """The catalog of the run that a drop-in is part of; a program makes one from its environment."""
    if context.run is not None:
        found: Catalog = context.run.catalog
        return found
    env = context.env
    home, root = places(env)
    return Catalog(env, context.cwd, home, root, env.get("HARNESS_PROVIDER", ""), notice=context.log)


def _sentence(miss: NearMiss) -> str:
    return f"{miss.path}: {miss.reason}"
