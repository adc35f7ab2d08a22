"""Rows that another program filled with anything: every listing and every verdict copes, in text and in JSON."""

from __future__ import annotations

import json
import re

import pytest
from ledgers import Place

COMMANDS = [
    "query stats", "query matrix", "query backlog", "query backlog --id 1", "query decisions", "query intakes",
    "query traces", "query friction", "query interventions", "query tools", "query tools --capability coverage",
    "query stories", "query work-graph", "query dependencies", "query hierarchy", "query improvement-health",
    "story backlog list", "audit", "propose", "propose --show-suppressed", "score-trace --id 1", "score-context 1",
    "backlog reconcile --action backfill-lifecycle-identity --dry-run", "tool check", "story verify A",
    "story verify-all", "decision verify D", "story complete A", "story update --id A --unit 1", "audit --record-evidence",
    "propose --commit", "backlog reconcile --action backfill-lifecycle-identity --apply", "db snapshot --output copy.db",
    "trace --summary s --story A --intake 1",
]  # fmt: skip
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
KEYS = ("id", "uid", "name")
CELLS = {
    "bytes": b"\x00\xff\x1b[31m",
    "a real": 1.5,
    "no number": float("inf"),
    "nothing": None,
    "text that is none": "CAST(x'61ff1b5b33316dc3' AS TEXT)",
    "a surrogate": "CAST(x'61eda08062' AS TEXT)",
    "a terminal": "\x1b]0;x\x07\u202e\x9b31m",
    "JSON that is none": '["a",',
    "deep JSON": "[" * 5_000,
    "other JSON": '[1,null,{"a":[]}]',
    "a megabyte": "x" * 1_000_000,
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_every_command_copes_with_rows_of(ledger: Place, cell: object) -> None:
    fill(ledger)
    spoil(ledger, cell)
    for line in COMMANDS:
        if cell == CELLS["a megabyte"] and line.startswith("db snapshot"):
            continue  # it only takes long
        ran = ledger.run(line)
        assert ran.code in (0, 1), (line, ran.err)
        assert "mistake in harness-cli" not in ran.err, (line, ran.err)
        assert "sqlite error" not in ran.err, (line, ran.err)
        assert not ACTING.search(ran.out), line
        json.loads(ledger.run(f"{line}x" if "copy.db" in line else line, "--json").out, parse_constant=forbidden)


def fill(place: Place) -> None:
    """A row of everything."""
    for line in (
        "intake --type new-spec --summary s --lane tiny",
        "story add --id A --title a --lane tiny --verify true",
        "story add --id B --title b --lane tiny --verify true",
        "decision add --id D --title d --verify true",
        "backlog add --title b --predicted p",
        "trace --summary s --story A --intake 1 --friction f",
        "trace --summary s --friction f",
        "intervention add --type approval --description d --source ci --trace 1",
        "story dependency add --blocker A --blocked B",
        "story hierarchy add --parent A --child B",
        "story backlog link --story A --backlog 1 --relationship references",
        "audit --record-evidence",
        "tool register --name t --command sh --kind cli --capability coverage --description 'ten characters' "
        "--responsibility Verification",
    ):
        place.ok(line)


def spoil(place: Place, cell: object) -> None:
    """Put a value into every column of every table but the keys, after taking away what the tables forbid."""
    drawn = isinstance(cell, str) and cell.startswith("CAST")
    value, values = (str(cell), ()) if drawn else ("?", (cell,))
    with place.open() as db:
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("PRAGMA legacy_alter_table=ON")
        kept = (
            "name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name NOT LIKE 'bridoon~_%' ESCAPE '~' AND name<>'schema_version'"
        )
        for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall():
            db.execute(f"DROP TRIGGER {trigger}")
        for (table,) in db.execute(f"SELECT name FROM sqlite_master WHERE type='table' AND {kept}").fetchall():
            names = [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")]
            columns = (
                "id INTEGER PRIMARY KEY" if name == "id" and table in ("trace", "backlog") else name for name in names
            )
            db.execute(f"ALTER TABLE {table} RENAME TO former")
            db.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            db.execute(f"INSERT INTO {table} SELECT * FROM former")
            db.execute("DROP TABLE former")
            for name in names:
                if name not in KEYS and not name.endswith(("_id", "_uid")):
                    db.execute(f"UPDATE {table} SET {name}={value}", values)
        for table, key in (("story", "id"), ("tool", "name"), ("story_dependency", "story_id"), ("trace", "story_id")):
            db.execute(f"INSERT INTO {table} ({key}) VALUES ({value})", values)
        db.execute(f"INSERT INTO tool (name, kind, command) VALUES ('c', 'cli', {value})", values)
        db.execute(
            f"INSERT INTO backlog (title, status, proposal_key, uid) VALUES ({value}, 'accepted', 'k', 'u')", values
        )


def forbidden(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")
