"""`hs doctor`: what is here, what could be wrong, and what `hs` would talk to. It survives what is broken."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping

from bridoon.catalog.lookup import Catalog, Source
from bridoon.cli import declared
from bridoon.cli.checkup import BAD, NOTE, OK, PLACE, Finding, examined
from bridoon.cli.compose import catalog_here
from bridoon.cli.declare import read
from bridoon.cli.providing import Chosen, Provider, chosen, survey
from bridoon.cli.show import clean, put, put_json, tilde
from bridoon.cli.stopping import stop_at_once

Env = Mapping[str, str]


class Examination:
    """Looks at the catalog's part: sources, trust, near misses, providers. Each check may fail."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.use = Chosen("", "", "", "not tried")

    def sources(self, env: Env) -> Iterator[Finding]:
        """The directories that take part, in order of priority, with how they are trusted."""
        bundled = [source.pack for source in self._catalog.sources if source.scope == "bundled"]
        yield Finding(OK, "bundled", " ".join(bundled) or "(none)")
        number = 0
        for source in self._catalog.sources:
            if source.scope != "bundled":
                number += 1
                parts = [source.scope, f"pack {source.pack}" if source.pack else "", self._trust(source, env)]
                about = clean(", ".join(part for part in parts if part))
                yield Finding(OK, str(number), f"{tilde(source.path, env)}  ({about})")
        if number:
            yield Finding(OK, "", "(higher numbers win)")

    def _trust(self, source: Source, env: Env) -> str:
        if source.scope == "home":
            return "your own"
        state = self._catalog.trust.state(source.harness)
        words = {"own": "trusted: it did not come with a checkout", "granted": "trusted by you"}
        return words.get(state, "trusted: HARNESS_TRUST=1" if env.get("HARNESS_TRUST") == "1" else "trusted")

    def trust(self, env: Env) -> Iterator[Finding]:
        """Directories that came with a checkout and wait for an answer."""
        from bridoon.cli.trusting import holding_here

        waiting = holding_here(self._catalog, env)
        for each in waiting:
            yield Finding(NOTE, "not trusted", f"{tilde(each.path, env)}: hs trust shows what it holds")
        if not waiting:
            yield Finding(OK, "trust", "nothing waits for it")

    def near_misses(self, env: Env) -> Iterator[Finding]:
        """Drop-ins that nearly work, broken tools included."""
        from bridoon.cli.listing import tool_index

        index = tool_index(self._catalog, env)
        self._catalog.skills()
        broken = {path for path, _ in index.problems}
        found = [(path, reason) for path, reason in index.problems]
        found += [(miss.path, miss.reason) for miss in self._catalog.near_misses if miss.path not in broken]
        untrusted = {source.path for source in self._catalog.untrusted}
        for path, reason in found:
            if path not in untrusted:
                yield Finding(NOTE, "", f"{tilde(path, env)}: {clean(reason)}")
        yield from self._idle_rules({str(spec["name"]) for spec in index.specs}, env)
        if not found:
            yield Finding(OK, "drop-ins", f"{len(index.specs)} tools; none nearly works")

    def _idle_rules(self, names: set[str], env: Env) -> Iterator[Finding]:
        """Rules for tools that are not here."""
        from bridoon.cli.check_texts import idle_rules

        names |= {each.name for each in self._catalog.entries("tools", unscoped=True)}
        for rule, text in idle_rules(self._catalog.settings.rules, names):
            yield Finding(NOTE, "rule", f"{tilde(rule.path, env)}:{rule.line}: {clean(text)}")

    def credentials(self, env: Env) -> Iterator[Finding]:
        """Files with keys: readable, well formed, and for their owner only."""
        from bridoon.errors import ConfigError
        from bridoon.providers import credentials

        for source in self._catalog.unscoped_sources:
            path = os.path.join(source.path, credentials.FILE)
            try:
                mode = stat.S_IMODE(os.stat(path).st_mode)
            except OSError:
                continue
            try:
                names = ", ".join(map(clean, credentials.read(path))) or "empty"
            except ConfigError as wrong:
                yield Finding(BAD, "keys", f"{clean(wrong.message)}: the file is left out")
                continue
            if mode & 0o077:
                yield Finding(BAD, "keys", f"{tilde(path, env)} can be read by others: chmod 600")
            else:
                yield Finding(OK, "keys", f"{tilde(path, env)}: {names}")

    def providers(self, env: Env) -> Iterator[Finding]:
        """What is ready and where its key comes from; what answers on this machine."""
        found = survey(self._catalog, env)
        for each in found:
            if each.ready:
                yield Finding(OK, clean(each.name), _about_key(each, env))
        yield from self._local(found, env)
        others = [clean(each.name) for each in found if not each.ready and not each.local]
        if others:
            yield Finding(OK, "not ready", " ".join(others))

    def _local(self, found: list[Provider], env: Env) -> Iterator[Finding]:
        from bridoon.providers import detect

        answering = []
        knocks = detect.looks_for_servers(self._catalog, env)
        for place in detect.local_variants(self._catalog) if knocks else ():
            server = detect.local_server([place])
            if server is not None:
                answering.append(server.provider)
                yield Finding(OK, clean(server.provider), f"{clean(server.why)}: {clean(server.model)}")
        silent = [clean(each.name) for each in found if each.local and not each.ready and each.name not in answering]
        if silent:
            yield Finding(OK, "no answer from" if knocks else "not asked", " ".join(silent))

    def choice(self, env: Env) -> Iterator[Finding]:
        """What a run would use."""
        self.use = chosen(self._catalog, env)
        if self.use.problem:
            yield Finding(BAD, "hs would use", clean(self.use.problem))
        else:
            model = f", model {clean(self.use.model)}" if self.use.model else ""
            why = f" ({clean(self.use.why)})" if self.use.why else ""
            yield Finding(OK, "hs would use", f"{clean(self.use.provider)}{model}{why}")


def _about_key(each: Provider, env: Env) -> str:
    where = each.key_from
    if where.startswith("/"):
        where = tilde(where, env)
    return clean(f"{each.why}: {each.key} ({where})" if each.key else each.why)


def main(argv: list[str], env: Env) -> int:
    """Carry out `hs doctor`. Returns 1 when no run could begin."""
    given = read(declared.DOCTOR, argv)
    if given is None:
        return 0
    stop_at_once()
    look = Examination(catalog_here(env, os.getcwd()))
    sections = [
        ("this machine", examined(PLACE, env)),
        ("sources", examined((look.sources, look.trust), env)),
        ("near misses", examined((look.near_misses,), env)),
        ("providers", examined((look.credentials, look.providers, look.choice), env)),
    ]
    use = _able(look.use, [finding for _, findings in sections for finding in findings])
    if given.has("--json"):
        put_json(_as_json(sections, use))
    else:
        _show(sections, use)
    return 1 if use.problem else 0


def _able(use: Chosen, findings: list[Finding]) -> Chosen:
    """What a run would use, with the reason when there can be none although a model can be reached."""
    for finding in findings:
        if finding.what == "sessions" and finding.level == BAD and not use.problem:
            return use._replace(problem=finding.text, hint="HARNESS_SESSIONS names another place for sessions")
    return use


def _as_json(sections: list[tuple[str, list[Finding]]], use: Chosen) -> dict[str, object]:
    checks = [{"section": title, **finding._asdict()} for title, findings in sections for finding in findings]
    return {"ok": not use.problem, "use": use._asdict(), "checks": checks}


def _show(sections: list[tuple[str, list[Finding]]], use: Chosen) -> None:
    marks = {OK: " ", NOTE: "!", BAD: "X"}
    counts = {OK: 0, NOTE: 0, BAD: 0}
    for title, findings in sections:
        put(title)
        for finding in findings:
            counts[finding.level] += 1
            put(f"{marks[finding.level]} {finding.what:<16} {finding.text}".rstrip())
        put()
    if use.problem:
        put("no run could begin here. The shortest ways out:" if use.hint else "no run could begin here.")
        for way in use.hint.splitlines():
            put(f"  {clean(way.strip())}")
    else:
        put(f"ready; {_number(counts[BAD], 'problem')} (X), {_number(counts[NOTE], 'note')} (!)")


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
