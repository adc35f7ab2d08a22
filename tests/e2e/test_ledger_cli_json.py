"""The answers that programs get: one line, one envelope, always JSON."""

from __future__ import annotations

import json
import re

import pytest
from ledgers import Place

from bridoon.ledger.protocol import LARGEST

INTAKE = "intake --type new-spec --summary s --lane tiny"


def test_an_answer_is_one_line_in_an_envelope(ledger: Place) -> None:
    ran = ledger.run(f"{INTAKE} --json", env={"HARNESS_REQUEST_ID": "  me-1 "})
    assert ran.out == '{"operation":"intake","protocol_version":1,"request_id":"me-1","result":{"id":1}}\n'
    assert (ran.code, ran.err) == (0, "")


def test_an_error_is_one_line_in_an_envelope(ledger: Place) -> None:
    ran = ledger.run("story verify nobody --json", env={"HARNESS_REQUEST_ID": "r"})
    assert (ran.code, ran.err, ran.out.count("\n")) == (3, "", 1)
    whole = ran.value
    assert sorted(whole) == ["error", "operation", "protocol_version", "request_id"]
    assert (whole["operation"], whole["protocol_version"], whole["request_id"]) == ("story.verify", 1, "r")
    assert sorted(whole["error"]) == ["code", "details", "message", "retryable"]
    assert whole["error"]["code"] == "NOT_FOUND"


def test_a_request_id_is_cut_after_128_characters_and_made_when_there_is_none(ledger: Place) -> None:
    long = ledger.run("query stats --json", env={"HARNESS_REQUEST_ID": "é" * 200}).value
    assert long["request_id"] == "é" * 128
    for env in ({}, {"HARNESS_REQUEST_ID": "  "}):
        assert re.fullmatch(r"req-\d+-\d+", ledger.run("query stats --json", env=env).value["request_id"])


@pytest.mark.parametrize(
    "line", ["--json", "frob --json", "story --json", "intake --json", "query stats --frob --json", "audit --json x",
             "query tools --frob --json", "help frob --json"],
)  # fmt: skip
def test_a_command_line_that_cannot_be_read_is_an_error_of_parsing(bare: Place, line: str) -> None:
    ran = bare.run(line)
    assert (ran.code, ran.err) == (2, "")
    assert (ran.value["operation"], ran.value["error"]["code"]) == ("cli.parse", "INVALID_ARGUMENT")


def test_arguments_that_are_no_utf_8_are_an_error_in_json_as_well(bare: Place) -> None:
    ran = bare.run([b"story", b"\xff", b"--json"])
    assert (ran.code, ran.value["operation"]) == (2, "cli.parse")


def test_an_answer_that_nobody_reads_is_refused(ledger: Place) -> None:
    with ledger.open() as db:
        db.execute(
            "INSERT INTO intake (input_type, summary, risk_lane) VALUES ('new_spec', ?, 'tiny')", ("x" * LARGEST,)
        )
    code, error = ledger.error("query intakes")
    assert (code, error["code"]) == (5, "OUTPUT_LIMIT_EXCEEDED")
    assert len(ledger.ok("query intakes")) > LARGEST


def test_texts_of_every_kind_come_back_as_they_were(ledger: Place) -> None:
    texts = [
        'tab\tquote"back\\slash',
        "line\nend\r",
        "\x01\x1f\x7f\x85",
        "\u2028\u202e\ufeff",
        "👩‍👩‍👧 é",
        "x" * 100_000,
    ]
    for text in texts:
        words = ["intake", "--type", "new-spec", "--lane", "tiny", f"--summary={text}", f"--notes={text}"]
        assert ledger.json(words)["id"]
    ran = ledger.run("query intakes --json")
    assert ran.out.count("\n") == 1
    found = json.loads(ran.out)["result"]["intakes"]
    assert [each["summary"] for each in reversed(found)] == texts


def test_the_lists_that_were_there_first_have_no_envelope(ledger: Place) -> None:
    assert ledger.ok("tool check --json") == "[\n]\n"
    words = ["tool", "register", "--name", "t", "--command", "t", "--kind", "skill"]
    ledger.ok([*words, "--description", 'tab\t and "quotes" here', "--responsibility", "verification"])
    ran = ledger.run("query tools --capability none --json")
    assert (ran.code, ran.out) == (0, "[\n]\n")
    ran = ledger.run("query tools --json")
    assert ran.out.startswith('[\n  {\n    "provider": "harness-cli",\n    "name": "init",\n')
    assert ran.out.endswith("\n  }\n]\n")
    assert ran.value[-1]["description"] == 'tab\t and "quotes" here'


def test_comma_separated_values_are_not_escaped_like_a_table(ledger: Place) -> None:
    words = ["query", "sql", "--csv", """SELECT 'a,"b"' AS "x,y", NULL, '', 1.0, 'l' || char(10) || char(27)"""]
    assert ledger.ok(words).splitlines()[0].startswith('"x,y",NULL,')
    assert ledger.ok(words).partition("\n")[2] == '"a,""b""",,"",1,"l\n\x1b"\n'
