"""What `--json` answers is what the declaration of the command, and so the reference, says of it: every key, in order."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from ledgers import Place

from bridoon.ledger.cmdline.command import JSON_OPTION
from bridoon.ledger.cmdline.declared import COMMANDS

BARE = "no envelope: "
DIRECTORY = "DIRECTORY"
WORD = re.compile(r"\s*([\[\]{},:;]|[^\[\]{},:;\s]+)")
CHANGESET = ".harness/changesets/run-1.changeset.jsonl"
FOREIGN = """\
{"base_schema_version":6,"op":"changeset.header","run_id":"elsewhere","version":1}
{"id":"US-9","op":"story.add","payload":{"contract_doc":null,"notes":null,"risk_lane":"tiny","title":"t",\
"verify_command":null},"version":1}
"""

FIRST = """
init --shim
migrate
import brownfield
intake --type harness-improvement --summary s --lane tiny --story US-1
story add --id US-1 --title 'The first' --lane tiny --verify true
story add --id US-2 --title 'The second' --lane normal --verify false
story add --id US-3 --title 'The third' --lane normal
story update --id US-1 --status in_progress
story verify US-1
1 story verify US-2
1 story verify-all
decision add --id 0002 --title 'The second' --verify true
decision verify 0002
backlog add --title 'Better' --predicted p
backlog close --id 1 --status implemented
tool register --name ls --command ls --description 'Lists files' --responsibility verification --capability listing
tool register --name gone --kind mcp --scan gone --command mcp:gone --description 'Is not there' \
--responsibility verification --capability listing --args 'env:enum:required:a,b'
tool check
tool check --name gone
trace --summary 'The first piece' --friction 'the tests are slow' --intake 1
trace --summary 'The second piece' --friction 'The tests are slow.' --story US-1 --outcome partial
1 score-trace --id 1
score-trace --id 2
score-context 1
intervention add --type correction --description 'no' --source human --trace 1
audit
propose
propose --commit
query matrix
query backlog
query backlog --id 1
query decisions
query intakes
query traces
query friction
query tools
query tools --capability listing --posture
query interventions
query stats
query sql 'SELECT * FROM story'
query stories
query work-graph
query contract
query traces --id 1
query intakes --id 1
query stories --id US-1
query decisions --id 0002
query interventions --id 1
tool remove --name gone
db changeset apply elsewhere.jsonl
db changeset status elsewhere.jsonl
db snapshot --output copy.db
"""
"""Works at every schema from 6 on. In front of a line stands its exit code when that is not 0."""

LATER = """
story dependency add --blocker US-2 --blocked US-1
story dependency add --blocker US-2 --blocked US-1
query dependencies
story dependency remove --blocker US-2 --blocked US-1
story hierarchy add --parent US-2 --child US-1
query hierarchy
story hierarchy remove --parent US-2 --child US-1
story hierarchy remove --parent US-2 --child US-1
story update --id US-1 --expected-status in_progress --status changed
audit --record-evidence
propose --accept {key} --outcome-manual
query improvement-health
story backlog link --story US-2 --backlog {item} --relationship references
story backlog list
story backlog unlink --story US-2 --backlog {item}
story backlog link --story US-1 --backlog {item} --relationship resolves
trace --summary 'The last piece' --story US-1 --intake 1 --outcome completed --actions a --changed b
story complete US-1
story complete US-1
backlog outcome record --id {item} --status confirmed --outcome 'It helped'
backlog reconcile --action backfill-lifecycle-identity --dry-run
propose --show-suppressed
propose --reject {last} --reason 'Not worth it'
db changeset apply CHANGESET
db changeset apply --grown .harness/changesets/
db rebuild --from .harness/changesets
""".replace("CHANGESET", CHANGESET)
"""What needs the newest schema."""


class Field(NamedTuple):
    """What is declared of one value."""

    keys: dict[str, Field] | None = None
    """Of an object, in order."""
    items: list[Field] | None = None
    """Of a list: what its items may be."""
    words: tuple[str, ...] = ()
    """The texts that are possible."""


class Shape:
    """A declared shape: `{id, status: a|b}; with --x {...}; with --y also {...}; with a DIRECTORY {...}`."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = WORD.findall(text.removeprefix(BARE))
        self.plain = self._field()
        self.others: dict[str, Field] = {}
        while self.words:
            assert self.words.pop(0) == ";", text
            when = []
            while self.words[0] not in ("{", "["):
                when.append(self.words.pop(0))
            field = self._field()
            if "also" in when:
                field = Field(keys={**(self.plain.keys or {}), **(field.keys or {})})
            self.others |= {word: field for word in when if word.startswith("--") or word == DIRECTORY}

    def of(self, words: list[str]) -> Field:
        """What is declared for a command line. A directory ends with a slash there."""
        given = {DIRECTORY if word.endswith("/") else word for word in words}
        return next((field for option, field in self.others.items() if option in given), self.plain)

    def _field(self) -> Field:
        word = self.words.pop(0)
        if word == "[":
            items = [self._field()]
            while self.words[0] == "or":
                self.words.pop(0)
                items.append(self._field())
            assert self.words.pop(0) == "]"
            return Field(items=items)
        if word != "{":
            return Field(words=tuple(word.split("|")))
        keys: dict[str, Field] = {}
        while word != "}":
            name = self.words.pop(0)
            assert name.isidentifier(), name
            word = self.words.pop(0)
            keys[name] = Field()
            if word == ":":
                keys[name] = self._field()
                word = self.words.pop(0)
            assert word in (",", "}"), (name, word)
        return Field(keys=keys)


def differences(value: Any, field: Field, at: str = "result") -> Iterator[str]:
    """Where a value is not as it is declared."""
    if field.keys is not None:
        if not isinstance(value, dict) or list(value) != list(field.keys):
            yield f"{at}: {value!r} has not the keys {list(field.keys)}"
            return
        for name, inner in field.keys.items():
            yield from differences(value[name], inner, f"{at}.{name}")
    elif field.items is not None:
        if not isinstance(value, list):
            yield f"{at}: {value!r} is no list"
            return
        for number, item in enumerate(value):
            found = [list(differences(item, each, f"{at}[{number}]")) for each in field.items]
            if all(found):
                yield from found[0]
    elif field.words and value not in field.words:
        yield f"{at}: {value!r} is none of {field.words}"


def carry_out(place: Place, lines: str) -> dict[str, list[str]]:
    """Run every line with `--json`; the differences of each command that was run."""
    found: dict[str, list[str]] = {}
    keys: dict[str, str] = {"key": "", "item": "", "last": ""}
    for line in filter(None, lines.splitlines()):
        code, words = 0, shlex.split(line.format(**keys))
        if words[0] == "1":
            code = int(words.pop(0))
        name = next(name for name in (" ".join(words[:length]) for length in (3, 2, 1)) if name in COMMANDS)
        env = {"HARNESS_RUN_ID": "run-1"} | ({"HARNESS_DB_PATH": "rebuilt.db"} if name == "db rebuild" else {})
        ran = place.run([*words, JSON_OPTION], env=env)
        assert (ran.code, ran.out.count("\n") == 1 or isinstance(ran.value, list)) == (code, True), (line, ran)
        shape = COMMANDS[name].shape
        value = ran.value
        bare = shape.startswith(BARE) and "--posture" not in words
        if not bare:
            assert list(value) == ["operation", "protocol_version", "request_id", "result"], line
            assert (value["operation"], value["protocol_version"]) == (name.replace(" ", "."), 1), line
            value = value["result"]
        found.setdefault(name, []).extend(f"{line}: {each}" for each in differences(value, Shape(shape).of(words)))
        if name == "propose" and "proposals" in value and value["proposals"]:
            keys["key"], keys["last"] = (value["proposals"][at]["key"] for at in (0, -1))
            keys["item"] = str(value["proposals"][0]["backlog_item"])
    return found


@pytest.fixture
def documents(bare: Place) -> Place:
    """A repository with the documents that `import brownfield` reads, and the changeset of another one."""
    bare.file("docs/TEST_MATRIX.md", "| Story | Status | Unit |\n| --- | --- | --- |\n| US-0 | planned | yes |\n")
    bare.file("docs/decisions/0001-first.md", "# The first\n\n## Status\n\nAccepted\n")
    bare.file("elsewhere.jsonl", FOREIGN)
    return bare


def test_every_command_answers_with_the_keys_that_are_declared_for_it(documents: Place) -> None:
    found = carry_out(documents, FIRST + LATER)
    assert {name: each for name, each in found.items() if each} == {}
    assert sorted(found) == sorted(COMMANDS), "the scenario has to run every command"


def test_at_schema_6_the_answers_have_the_same_keys(documents: Place) -> None:
    documents.make(6)
    lines = FIRST.replace("\nmigrate\n", "\n")
    found = carry_out(documents, lines)
    assert {name: each for name, each in found.items() if each} == {}
    assert documents.value("SELECT max(version) FROM schema_version") == 6


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_json_and_says_what_that_answers(name: str) -> None:
    command = COMMANDS[name]
    assert JSON_OPTION in [option.name for option in command.options]
    shape = Shape(command.shape)
    assert set(shape.others) <= {option.name for option in command.options} | {DIRECTORY}
    assert shape.plain.keys or shape.plain.items


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.database])
def test_without_a_ledger_the_answer_is_an_error_that_says_so(bare: Place, name: str) -> None:
    command = COMMANDS[name]
    values = {"--type": "correction" if name == "intervention add" else "new-spec", "--lane": "tiny", "--source": "ci",
              "--id": "1", "--status": "confirmed", "--action": "backfill-lifecycle-identity", "--command": "ls",
              "--description": "long enough", "--responsibility": "verification", "--backlog": "1",
              "--relationship": "resolves", "trace-id": "1", "query": "SELECT 1"}  # fmt: skip
    words = name.split() + [
        f"{option.name}={values.get(option.name, 'x')}" for option in command.options if option.required
    ]
    words += ["--unit=1"] if name == "story update" else ["--dry-run"] if name == "backlog reconcile" else []
    if name == "import brownfield":
        bare.file("docs/TEST_MATRIX.md", "")
        bare.file("docs/decisions/none", "")
    code, error = bare.error(words + [values.get(each.name, "x") for each in command.places])
    assert (code, error["code"], list(error)) == (2, "COMPATIBILITY_ERROR", ["code", "details", "message", "retryable"])
    assert not bare.database.exists()
