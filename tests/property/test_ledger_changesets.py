"""Whatever is done to a ledger, in whatever runs: their changesets give the same rows again, once and for all."""

from __future__ import annotations

import importlib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from ledgers import Place

from bridoon.errors import BridoonError
from bridoon.ledger import place
from bridoon.ledger.cmdline.command import Given
from bridoon.ledger.cmdline.parse import parse
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import KINDS

RUNS = st.sampled_from(["a", "b", "c"])
STORIES = st.sampled_from(["A", "A", "A", "B", "B", "C", "gone"])
NUMBERS = st.sampled_from(["1", "1", "1", "2", "2", "3", "9"])
LANES = st.sampled_from(["tiny", "normal", "high-risk"])
TEXTS = st.sampled_from(
    ["", " ", "the build is slow", "The build is slow!", "ä\n\x1b[31m😀", "a,b", '["x","y, z"]', "none"]
)
STATUSES = st.sampled_from(["planned", "in_progress", "changed", "retired", "implemented"])
COMMANDS = st.sampled_from(["true", "false", ""])

HERE_ALONE = {"schema_version", "sqlite_sequence", "bridoon_version", "bridoon_outbox", "bridoon_foreign_tool"}
"""Tables that say when a database was made, and what still has to be written."""
YEAR = re.compile(r"\b20\d\d(?=-\d\d-\d\d \d\d:\d\d:\d\d)")
"""Of a time that was recorded; 2000 has all days that another one has."""
COLUMNS = {"changeset_applied": "id", "bridoon_run": "run_id, ops, digest, last_at"}
"""When and from where a changeset came, and how large its file is here, differs between copies."""


def rows(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything in a database that has to be the same in every copy."""
    import sqlite3

    db = sqlite3.connect(database)
    try:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")]
        return {
            name: sorted(db.execute(f"SELECT {COLUMNS.get(name, '*')} FROM {name}").fetchall(), key=repr)
            for name in names
            if name not in HERE_ALONE
        }
    finally:
        db.close()


class Runs(RuleBasedStateMachine):
    """Several runs that change one ledger in turns, through the commands."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="changesets-"))
        self.ledger = Place(self.folder / "source")
        self.used: set[str] = set()

    @initialize()
    def make(self) -> None:
        self.do("", "init")
        for story in ("A", "B"):
            self.do("a", "story", "add", "--id", story, "--title", story, "--lane", "tiny", "--verify", "true")

    def do(self, run: str, *words: str, where: Place | None = None) -> str:
        """Carry out a command in this process; what it says, or what is wrong."""
        there = where or self.ledger
        env = {**there.env, **({"HARNESS_RUN_ID": run} if run else {})}
        given = parse(list(words))
        assert isinstance(given, Given)
        ledger = Ledger(place.find(env, str(there.root)), env)
        module, _, function = given.command.body.partition(":")
        try:
            answer = getattr(importlib.import_module(f"bridoon.ledger.verbs.{module}"), function)(ledger, given)
        except BridoonError as wrong:
            return f"error: {wrong}"
        assert ledger.warnings == []
        return str(answer.text)

    # ---- what people do

    @rule(run=RUNS, lane=LANES, summary=TEXTS, flags=TEXTS)
    def intake(self, run: str, lane: str, summary: str, flags: str) -> None:
        self.do(run, "intake", "--type", "harness-improvement", "--summary", summary, "--lane", lane,
                f"--flags={flags}", f"--docs={flags}", "--story", "A", f"--notes={summary}")  # fmt: skip

    @rule(run=RUNS, story=STORIES, lane=LANES, title=TEXTS, command=COMMANDS)
    def add_story(self, run: str, story: str, lane: str, title: str, command: str) -> None:
        self.do(run, "story", "add", "--id", story, f"--title={title}", "--lane", lane, "--verify", command,
                f"--contract={title}", f"--notes={title}")  # fmt: skip

    @rule(run=RUNS, story=STORIES, status=STATUSES, proof=st.sampled_from(["0", "1"]), evidence=TEXTS)
    def update_story(self, run: str, story: str, status: str, proof: str, evidence: str) -> None:
        proofs = [word for name in ("unit", "integration", "e2e", "platform") for word in (f"--{name}", proof)]
        self.do(run, "story", "update", "--id", story, "--status", status, f"--evidence={evidence}", *proofs)

    @rule(run=RUNS, story=STORIES, command=COMMANDS)
    def change_command(self, run: str, story: str, command: str) -> None:
        self.do(run, "story", "update", "--id", story, "--verify", command, "--contract", "docs/x.md")

    @rule(run=RUNS, story=STORIES, verb=st.sampled_from(["verify", "complete"]))
    def prove_story(self, run: str, story: str, verb: str) -> None:
        self.do(run, "story", verb, story)

    @rule(run=RUNS, kind=st.sampled_from(["dependency", "hierarchy"]), first=STORIES, second=STORIES)
    def edge(self, run: str, kind: str, first: str, second: str) -> None:
        start, end = ("--blocker", "--blocked") if kind == "dependency" else ("--parent", "--child")
        if "unchanged" in self.do(run, "story", kind, "add", start, first, end, second):
            self.do(run, "story", kind, "remove", start, first, end, second)

    @rule(run=RUNS, kind=st.sampled_from(["dependency", "hierarchy"]))
    def remove_edge(self, run: str, kind: str) -> None:
        start, end = ("--blocker", "--blocked") if kind == "dependency" else ("--parent", "--child")
        columns = "story_id, blocks_story_id" if kind == "dependency" else "parent_story_id, child_story_id"
        for first, second in self.ledger.sql(f"SELECT {columns} FROM story_{kind} LIMIT 1"):
            assert "removed" in self.do(run, "story", kind, "remove", start, first, end, second)

    @rule(run=RUNS, name=st.sampled_from(["D", "E"]), title=TEXTS, verify=st.booleans())
    def decide(self, run: str, name: str, title: str, verify: bool) -> None:
        self.do(run, "decision", "add", "--id", name, "--title", title, "--verify", "true", "--status", "proposed",
                f"--doc={title}", f"--predicted={title}", f"--notes={title}")  # fmt: skip
        if verify:
            self.do(run, "decision", "verify", name)

    @rule(run=RUNS, title=TEXTS, pain=TEXTS)
    def add_to_backlog(self, run: str, title: str, pain: str) -> None:
        self.do(run, "backlog", "add", "--title", title, "--pain", pain, "--risk", "tiny", f"--while={pain}",
                f"--suggestion={title}", f"--predicted={title}", f"--notes={pain}")  # fmt: skip

    @rule(run=RUNS, item=NUMBERS, outcome=TEXTS,
          status=st.sampled_from(["proposed", "accepted", "implemented", "rejected"]))  # fmt: skip
    def close(self, run: str, item: str, status: str, outcome: str) -> None:
        more = ["--outcome", outcome] if outcome else []
        self.do(run, "backlog", "close", "--id", item, "--status", status, *more)

    @rule(run=RUNS, item=NUMBERS, story=STORIES, relationship=st.sampled_from(["resolves", "references", ""]))
    def link(self, run: str, item: str, story: str, relationship: str) -> None:
        verb = ["link", "--relationship", relationship] if relationship else ["unlink"]
        self.do(run, "story", "backlog", *verb, "--story", story, "--backlog", item)

    @rule(run=RUNS, name=st.sampled_from(["t", "u"]), kind=st.sampled_from(["cli", "mcp"]))
    def register(self, run: str, name: str, kind: str) -> None:
        self.do(run, "tool", "register", "--name", name, "--command", f"mcp:{name}", "--description", "d" * 20,
                "--responsibility", "verification", "--kind", kind, "--force", "--scan", ".git", "--capability", "coverage",
                "--args", "env:enum:required:a,b")  # fmt: skip

    @rule(run=RUNS, name=st.sampled_from(["t", "u"]), verb=st.sampled_from(["check", "remove"]))
    def tool(self, run: str, name: str, verb: str) -> None:
        self.do(run, "tool", verb, "--name", name)

    @rule(run=RUNS, intake=NUMBERS, story=STORIES, friction=TEXTS, linked=st.booleans())
    def trace(self, run: str, intake: str, story: str, friction: str, linked: bool) -> None:
        more = ["--intake", intake, "--story", story] if linked else []
        self.do(run, "trace", "--summary", "what was done", "--outcome", "completed", "--actions", "a,b",
                "--changed", "x", f"--friction={friction}", "--duration", "3", f"--agent={friction}", "--tokens", "7",
                f"--read={friction}", f"--decisions={friction}", f"--errors={friction}", f"--notes={friction}", *more)  # fmt: skip

    @rule(run=RUNS, trace=NUMBERS, description=TEXTS, about=st.booleans())
    def intervene(self, run: str, trace: str, description: str, about: bool) -> None:
        more = ["--trace", trace, "--story", "A"] if about else []
        self.do(run, "intervention", "add", "--type", "override", "--description", description, "--source", "ci",
                f"--impact={description}", *more)  # fmt: skip

    @rule(run=RUNS, how=st.sampled_from(["--commit", "--accept", "--reject"]), first=st.booleans())
    def propose(self, run: str, how: str, first: bool) -> None:
        if how == "--commit":
            self.do(run, "propose", "--commit")
            return
        keys = self.keys()
        for key in keys[:1] if first else keys[-1:]:
            more = ["--outcome-after-traces", "1"] if how == "--accept" else ["--reason", "no"]
            self.do(run, "propose", how, key, *more)

    @rule(run=RUNS)
    def audit(self, run: str) -> None:
        self.do(run, "audit", "--record-evidence")

    @rule(run=RUNS, item=NUMBERS, status=st.sampled_from(["confirmed", "reverted"]))
    def observe(self, run: str, item: str, status: str) -> None:
        self.do(run, "backlog", "outcome", "record", "--id", item, "--status", status, "--outcome", "seen")

    @rule(run=RUNS, proposed=st.booleans())
    def reconcile(self, run: str, proposed: bool) -> None:
        """With an item that somebody filed by hand under the title of a proposal, or with what there is."""
        for _ in range(2 if proposed else 0):
            self.do(run, "trace", "--summary", "s", "--friction", "no docs")
        if proposed:
            self.do(run, "backlog", "add", "--title", "Reduce repeated friction: no docs")
        self.do(run, "backlog", "reconcile", "--action", "backfill-lifecycle-identity", "--apply")

    @rule(run=RUNS, how=st.sampled_from(["--accept", "--reject"]))
    def decide_upon_old_rows(self, run: str, how: str) -> None:
        """Upon traces that an older program left: without a uid, and of which no changeset tells."""
        last = self.number("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name='trace'")
        for _ in range(2):
            self.ledger.sql("INSERT INTO trace (task_summary, harness_friction) VALUES ('s', 'old trouble')")
        proposal = self.do("", "propose").partition("Title: Reduce repeated friction: old trouble\n")[2]
        key = proposal.partition("  Key: ")[2].partition("\n")[0]
        more = ["--outcome-due", "2999-01-01T00:00:00Z"] if how == "--accept" else ["--reason", "no"]
        self.do(run, "propose", how, key, *more)
        self.ledger.sql("DELETE FROM trace WHERE harness_friction='old trouble'")
        self.ledger.sql("UPDATE sqlite_sequence SET seq=? WHERE name='trace'", last)

    @rule(run=RUNS, refresh=st.booleans(), status=STATUSES)
    def load(self, run: str, refresh: bool, status: str) -> None:
        self.ledger.file("docs/TEST_MATRIX.md", f"| Story | Contract | Unit | Status |\n|---|---|---|---|\n"
                         f"| A | c | yes | {status} |\n| M-1 | c | no | {status} |\n")  # fmt: skip
        self.ledger.file("docs/decisions/0001-x.md", f"# X\n\n## Status\n\n{status}\n")
        self.ledger.file("docs/HARNESS_BACKLOG.md", f"## Items\n\n### Title\n\nfrom {status}\n\n### Risk\n\ntiny\n")
        self.do(run, "import", "brownfield", *(["--refresh"] if refresh else []))

    @rule(run=RUNS, other=RUNS, story=st.sampled_from(["A", "B"]), unlink=st.booleans())
    def resolve(self, run: str, other: str, story: str, unlink: bool) -> None:
        """The whole way of a proposal, from what was in the way to what came of it."""
        for _ in range(2):
            self.do(run, "trace", "--summary", "s", "--friction", "no cache")
        key = next(iter(self.keys()), "")
        self.do(other, "propose", "--accept", key, "--outcome-after-traces", "1")
        item = str(self.number("SELECT max(id) FROM backlog WHERE proposal_key=?", key))
        self.do(run, "story", "update", "--id", story, "--status", "in_progress", "--verify", "true")
        self.do(run, "intake", "--type", "harness-improvement", "--summary", "s", "--lane", "tiny", "--story", story)
        self.do(other, "story", "backlog", "link", "--story", story, "--backlog", item, "--relationship", "resolves")
        if unlink:
            self.do(run, "story", "backlog", "unlink", "--story", story, "--backlog", item)
        self.do(run, "trace", "--summary", "s", "--story", story, "--outcome", "completed", "--actions", "a",
                "--changed", "x", "--intake", str(self.number("SELECT max(id) FROM intake")))  # fmt: skip
        self.do(other, "story", "complete", story)
        self.do(run, "backlog", "outcome", "record", "--id", item, "--status", "confirmed", "--outcome", "faster")

    def keys(self) -> list[str]:
        """The keys of all proposals, those of frictions first."""
        return [line.split()[1] for line in self.do("", "propose").splitlines() if line.startswith("  Key: ")]

    def number(self, sql: str, *values: str) -> int | None:
        found: int | None = self.ledger.value(sql, *values)
        return found

    # ---- what must hold

    def teardown(self) -> None:
        try:
            self.check()
        finally:
            shutil.rmtree(self.folder)

    def check(self) -> None:
        """The same rows come out of the changesets, of all at once and a second time."""
        before = rows(self.ledger.database)
        files = sorted(self.ledger.changesets.glob("*.jsonl"))
        for file in files:
            assert "already applied" in self.do("", "db", "changeset", "apply", str(file))
        assert rows(self.ledger.database) == before
        copy = Place(self.folder / "copy")
        said = self.do("", "db", "rebuild", "--from", str(self.ledger.changesets), where=copy)
        assert said.startswith("Rebuilt"), said
        assert rows(copy.database) == before
        for file in files:
            assert "already applied" in self.do("", "db", "changeset", "apply", str(file), where=copy)
        assert rows(copy.database) == before
        self.check_times(files, before)
        if len(files) == 1:
            third = Place(self.folder / "third")
            self.do("", "init", where=third)
            assert "applied (" in self.do("", "db", "changeset", "apply", str(files[0]), where=third)
            assert rows(third.database) == before

    def check_times(self, files: list[Path], before: dict[str, list[tuple[Any, ...]]]) -> None:
        """Rows get the times that were recorded, not those of the replay: of changesets from long ago, too."""
        old = Place(self.folder / "old")
        for file in files:
            old.file(f"old/{file.name}", YEAR.sub("2000", file.read_text("utf-8")))
        self.do("", "db", "rebuild", "--from", "old", where=old)
        found = rows(old.database)
        for table in before.keys() - {"bridoon_run"}:  # its digests are those of the lines
            aged = [
                [YEAR.sub("2000", each) if isinstance(each, str) else each for each in row] for row in before[table]
            ]
            assert sorted(map(tuple, aged), key=repr) == found[table], table


def test_every_kind_of_operation_is_among_those_that_are_replayed() -> None:
    runs = Runs()
    try:
        runs.make()
        runs.intake("a", "tiny", "s", "x")
        runs.add_story("b", "C", "tiny", "t", "true")
        runs.prove_story("b", "C", "verify")
        for kind in ("dependency", "hierarchy"):
            runs.edge("a", kind, "A", "B")
            runs.remove_edge("b", kind)
            runs.edge("b", kind, "B", "C")
        runs.decide("a", "D", "t", True)
        runs.register("a", "t", "mcp")
        runs.tool("b", "t", "check")
        runs.tool("a", "t", "remove")
        runs.register("b", "u", "mcp")
        runs.tool("a", "u", "check")
        runs.add_to_backlog("a", "t", "p")
        runs.close("b", "1", "implemented", "o")
        runs.trace("a", "1", "A", "f", True)
        runs.intervene("b", "1", "d", True)
        runs.update_story("a", "C", "in_progress", "1", "e")
        runs.change_command("b", "C", "false")
        runs.load("b", True, "planned")
        runs.audit("a")
        runs.resolve("a", "b", "A", False)
        runs.resolve("b", "a", "B", True)
        runs.audit("b")
        runs.reconcile("a", True)
        runs.propose("b", "--reject", False)
        runs.decide_upon_old_rows("a", "--accept")
        lines = [line for run in ("a", "b") for line in runs.ledger.changeset(run)]
        assert {line["op"] for line in lines} == {*KINDS, "changeset.header"}
    finally:
        runs.teardown()


TestRuns = Runs.TestCase
TestRuns.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
