"""Databases that something is wrong with: every command says so in a sentence, or does without what is wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from ledgers import Place, harness_cli

READING = [
    "query stats", "query matrix", "query backlog", "query decisions", "query intakes", "query traces",
    "query friction", "query interventions", "query tools", "query stories", "query work-graph", "query dependencies",
    "query hierarchy", "query improvement-health", "audit", "propose", "score-trace", "score-context 1",
]  # fmt: skip
WRITING = [
    "intake --type new-spec --summary s --lane tiny",
    "story add --id A --title t --lane tiny",
    "story verify A",
    "story verify-all",
    "decision add --id D --title t",
    "backlog add --title t",
    "tool register --name n --command sh --description 'ten characters' --responsibility Verification",
    "tool check",
    "intervention add --type approval --description d --source ci",
    "trace --summary s",
    "propose --commit",
    "audit --record-evidence",
    "db snapshot --output copy.db",
    "import brownfield",
]


def test_a_database_without_the_tables_of_its_version_is_told_to_be_one(bare: Place) -> None:
    bare.sql("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT)")
    bare.sql("INSERT INTO schema_version (version) VALUES (14)")

    for line in (*READING, *WRITING):
        ran = bare.run(line)
        assert ran.code == 1, line
        assert "has not the tables of its schema version" in ran.err or line == "import brownfield", (line, ran.err)
        assert "sqlite error" not in ran.err


def test_a_database_that_is_newer_than_its_version_says_is_not_migrated_over(ledger: Place) -> None:
    ledger.sql("DELETE FROM schema_version WHERE version > 6")

    code, error = ledger.error("migrate")

    assert (code, error["code"]) == (2, "COMPATIBILITY_ERROR")
    assert "has not the tables of its schema version" in error["message"]
    assert ledger.value("SELECT max(version) FROM schema_version") == 6


def test_what_a_trigger_of_somebody_else_forbids_is_a_conflict(ledger: Place) -> None:
    ledger.sql("CREATE TRIGGER no BEFORE INSERT ON intake BEGIN SELECT raise(ABORT, 'not \x1b[31mtoday'); END")

    ran = ledger.run(WRITING[0])

    assert ran.code == 1
    assert "does not take it: not \\x1b[31mtoday" in ran.err
    assert ledger.error(WRITING[0])[0] == 3


@pytest.mark.parametrize("line", ["query stats", "audit", WRITING[0], "migrate", "init"])
def test_ctrl_c_is_heard_while_another_process_has_the_database_to_itself(ledger: Place, line: str) -> None:
    with ledger.open() as db:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("INSERT INTO decision (id, title) VALUES ('D', 'd')")
        assert interrupted(ledger, line) == 130
        db.execute("ROLLBACK")


@pytest.mark.parametrize("line", ["query matrix", "audit", "query work-graph", "db snapshot --output copy.db"])
def test_ctrl_c_is_heard_while_a_view_brings_rows_without_end(ledger: Place, line: str) -> None:
    columns = [str(row[1]) for row in ledger.sql("PRAGMA table_info(story)")]
    with ledger.open() as db:
        db.execute("PRAGMA legacy_alter_table=ON")
        db.execute("ALTER TABLE story RENAME TO stories")
        cells = ", ".join(f"n AS {name}" for name in columns)
        endless = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
        db.execute(f"CREATE VIEW story AS {endless} SELECT {cells} FROM t ORDER BY 1 DESC")

    assert interrupted(ledger, line) == 130
    assert not list(ledger.root.glob("copy.db*"))


def test_a_root_with_two_slashes_in_front_is_one_with_one(bare: Place) -> None:
    root = {"HARNESS_REPO_ROOT": "/" + str(bare.root)}
    bare.ok("init", env=root)
    assert bare.run("query stats", env=root).code == 0
    assert bare.database.exists()


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs to become somebody else")
def test_rows_that_cannot_be_read_here_are_not_passed_over(ledger: Place) -> None:
    with ledger.open() as db:
        db.execute("INSERT INTO decision (id, title) VALUES ('D', 'in the log only')")
        for ending in ("", "-wal"):
            shutil.copy(f"{ledger.database}{ending}", f"{ledger.root}/copy.db{ending}")
            os.chmod(f"{ledger.root}/copy.db{ending}", 0o644)
    for directory in (ledger.root, *ledger.root.parents):
        if directory.stat().st_uid == 0 and str(directory).startswith("/tmp/"):
            directory.chmod(0o755)

    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", harness_cli()]
    if subprocess.run([*nobody, "--version"], cwd="/", env=ledger.env, capture_output=True, timeout=30).returncode:
        pytest.skip("nobody else may read this installation")
    ran = subprocess.run(
        [*nobody, "query", "decisions"],
        env={**ledger.env, "HARNESS_DB_PATH": f"{ledger.root}/copy.db"},
        cwd="/",
        capture_output=True,
        timeout=30,
    )

    assert ran.returncode == 1, ran
    assert b"the newest rows are still in" in ran.stderr


FULL = """
mount -t tmpfs -o size=900k none "$PWD" && cd "$PWD" || exit 77
harness-cli init
dd if=/dev/zero of=filler bs=1k 2>&1 | grep -q "No space" || exit 77
harness-cli intake --type maintenance --lane tiny --summary lost
echo "exit $?"
harness-cli intake --type maintenance --lane tiny --summary lost --json
echo "exit $?"
harness-cli query stats
BRIDOON_SCRIPT=../script.yaml hs -q -p scripted "go"
ls "$HOME"/.harness/.ledger/*
rm filler
harness-cli intake --type maintenance --lane tiny --summary kept
cat .harness/changesets/*
BRIDOON_SCRIPT=../script.yaml hs -q -p scripted "later"
harness-cli query sql "SELECT task_summary FROM trace ORDER BY id"
"""
"""What a person meets who has a ledger on a disk that gets full, and is made free again."""


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    bare = Place(tmp_path)
    bare.root.with_name("script.yaml").write_text("- say: Done.\n- say: Done.\n")
    own = ["unshare", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*own, "true"], capture_output=True, timeout=30).returncode:
        pytest.skip("needs a mount of its own")
    ran = subprocess.run(
        [*own, "sh", "-c", FULL],
        cwd=bare.root,
        env={**bare.env, "HARNESS_RUN_ID": "mine"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    if ran.returncode == 77:
        pytest.skip("needs a mount of its own")
    before, after = ran.stdout.split("Intake #1 recorded.\n")
    assert "Traceback" not in ran.stdout
    assert before.count("the disk is full") == 2, before
    assert "\nexit 1\n" in before
    assert "\nexit 5\n" in before
    assert "=== Harness Stats ===" in before
    assert "the trace of this run waits for the next one" in before
    assert before.count("\nDone.\n") == 1
    assert '"summary":"kept"' in after
    assert "lost" not in after
    assert after.split()[-2:] == ["go", "later"]


def test_a_changeset_of_the_outbox_never_leaves_its_folder(ledger: Place) -> None:
    for run_id in ("../../evil", "/tmp/evil", ".hidden", b"\xff"):
        ledger.sql("INSERT INTO bridoon_outbox (run_id, ordinal, line) VALUES (?, 1, '{}')", run_id)

    ledger.ok("query stats")
    ledger.ok(WRITING[0], env={"HARNESS_RUN_ID": "mine"})

    assert [path.name for path in ledger.root.rglob("*.jsonl")] == ["mine.changeset.jsonl"]
    assert not list(ledger.root.parent.rglob("*evil*"))


def test_nonsense_in_our_own_tables_stops_no_command(ledger: Place) -> None:
    ledger.ok(WRITING[0], env={"HARNESS_RUN_ID": "mine"})
    ledger.sql("UPDATE bridoon_run SET ops='x', digest=?, last_at='z', size='q'", b"\xff")
    ledger.sql("INSERT INTO bridoon_outbox (run_id, ordinal, line) VALUES ('other', 1, ?)", b"\xff")

    for line in (*READING[:3], *WRITING[:2]):
        ran = ledger.run(line, env={"HARNESS_RUN_ID": "mine"})
        assert ran.code == 0, (line, ran)


def test_a_run_from_the_end_of_all_times_can_be_gone_on_from(ledger: Place) -> None:
    ledger.ok(WRITING[0], env={"HARNESS_RUN_ID": "mine"})
    ledger.sql("UPDATE bridoon_run SET last_at=?", 2**63 - 1)

    for line in (WRITING[1], "story verify-all", "trace --summary s --story A"):
        assert ledger.run(line, env={"HARNESS_RUN_ID": "mine"}).code == 0, line


def test_a_damaged_page_is_told_whatever_the_command(ledger: Place) -> None:
    for line in WRITING[:12]:
        ledger.run(line)
    whole = ledger.database.read_bytes()
    for page in range(0, len(whole) // 4096):
        damaged = bytearray(whole)
        damaged[page * 4096 : page * 4096 + 12] = b"\xa5" * 12
        ledger.database.write_bytes(damaged)
        line = (*READING, *WRITING[:12])[page % (len(READING) + 12)]
        ran = ledger.run(line)
        assert ran.code in (0, 1), (page, line, ran)
        assert "Traceback" not in ran.err
        assert "mistake in harness-cli" not in ran.err, (page, line, ran)
        for ending in ("-wal", "-shm"):
            ledger.database.with_name(f"harness.db{ending}").unlink(missing_ok=True)


def interrupted(place: Place, line: str) -> int:
    """The exit code of a command that gets Ctrl-C once it has the database open."""
    process = place.start(line)
    try:
        while process.poll() is None and not has_open(process.pid, place.database.name):
            pass
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    return int(process.returncode)


def has_open(pid: int, name: str) -> bool:
    """Whether a process has a file of that name open."""
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}").endswith("/" + name) for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False
