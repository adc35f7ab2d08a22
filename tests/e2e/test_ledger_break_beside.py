"""What lies beside a database and is not ours: SQLite would obey it, so the command refuses."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import subprocess

import pytest
from ledgers import Place

MAGIC = bytes.fromhex("d9d505f920a163d7")
COMMANDS = ["query stats", "migrate", "init", "intake --type new-spec --summary s --lane tiny", "tool check"]


def journal_that_names(victim: bytes, ledger: Place) -> bytes:
    """A journal as a change of two databases leaves it: its end names the file that SQLite removes afterwards."""
    content = ledger.database.read_bytes()
    page = struct.unpack(">H", content[16:18])[0]
    head = MAGIC + struct.pack(">IIIII", 0, 1, len(content) // page, 512, page)
    end = struct.pack(f">I{len(victim)}sII8s", 0x40000000 // page + 1, victim, len(victim), sum(victim), MAGIC)
    return head.ljust(512, b"\0") + end


@pytest.mark.parametrize("line", COMMANDS)
def test_a_journal_that_names_another_file_does_not_have_it_removed(ledger: Place, line: str) -> None:
    with sqlite3.connect(ledger.database) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    db.close()
    victim = ledger.home / "precious.txt"
    victim.write_text("mine\n")
    journal = ledger.root / "harness.db-journal"
    journal.write_bytes(journal_that_names(os.fsencode(victim), ledger))
    ran = ledger.run(line)
    assert (ran.code, ran.out) == (1, "")
    assert "names another file" in ran.err
    assert victim.read_text() == "mine\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("line", COMMANDS)
def test_changes_beside_the_database_that_came_with_a_checkout_are_not_taken_over(ledger: Place, line: str) -> None:
    stranger = sqlite3.connect(ledger.database, isolation_level=None)
    stranger.execute("PRAGMA wal_autocheckpoint=0")
    stranger.execute("INSERT INTO decision (id, title) VALUES ('theirs', 't')")
    wal = (ledger.root / "harness.db-wal").read_bytes()
    stranger.close()
    ledger.database.unlink()
    ledger.ok("init")
    (ledger.root / "harness.db-wal").write_bytes(wal)
    for words in (["init", "-q"], ["add", "-f", "harness.db-wal"]):
        subprocess.run(["git", *words], cwd=ledger.root, env=ledger.env, check=True, timeout=20)
    ran = ledger.run(line)
    assert (ran.code, ran.out) == (1, "")
    assert "came with a checkout" in ran.err
    (ledger.root / "harness.db-wal").unlink()
    assert ledger.run("query stats").code == 0


def test_a_database_that_another_process_has_open_is_used_in_a_repository(ledger: Place) -> None:
    subprocess.run(["git", "init", "-q"], cwd=ledger.root, env=ledger.env, check=True, timeout=20)
    with ledger.open() as db:
        db.execute("INSERT INTO decision (id, title) VALUES ('ours', 't')")
        assert (ledger.root / "harness.db-wal").exists()
        assert ledger.json("query stats")["decisions"] == 1
