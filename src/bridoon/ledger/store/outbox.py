"""The changeset of a run: its lines are committed with the rows, and appended to the file of the run afterwards.

A process that dies in between leaves the lines in the outbox; the next one appends them. Which of them are in the
file already is seen from the file, so that no line is lost and none is there twice.
"""

from __future__ import annotations

import os
import sqlite3
import time
from typing import TYPE_CHECKING

from bridoon.ledger.place import ENDING, is_run_id
from bridoon.ledger.store import db as database
from bridoon.ledger.store.cells import compact, number, word
from bridoon.ledger.store.schema import columns, version_of

if TYPE_CHECKING:
    from bridoon.ledger.store.op import Op


class Pen:
    """Notes the operations of one run, inside the transaction that carries them out."""

    def __init__(self, db: sqlite3.Connection, run_id: str) -> None:
        self._db = db
        self._run_id = run_id
        row = db.execute("SELECT ops, digest FROM bridoon_run WHERE run_id=?", (run_id,)).fetchone()
        self._continues = row is not None
        self._ops: int = number(row[0]) or 0 if row else 0
        self._digest: str = word(row[1]) if row else ""
        self.last: int = number(db.execute("SELECT max(last_at) FROM bridoon_run").fetchone()[0]) or 0
        """When the newest operation of any run was recorded, in nanoseconds since 1970."""

    def note(self, op: Op) -> None:
        """Put the line of an operation into the outbox."""
        from bridoon.ledger.store.touched import NOTE, row_of

        line = op.line()
        self._ops += 1
        if self._continues:
            self._continues = False
            _forget_hash(self._db, self._run_id)
        self._digest = chain(self._digest, line)
        self.last = max(self.last, op.at)
        if self._ops == 1:
            self._db.execute(
                "INSERT OR IGNORE INTO changeset_applied (id, path) VALUES (?, ?)",
                (self._run_id, os.path.join(".harness", "changesets", self._run_id + ENDING)),
            )
        self._db.execute(
            "INSERT INTO bridoon_run (run_id, ops, digest, last_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(run_id) DO UPDATE SET ops=excluded.ops, digest=excluded.digest, last_at=excluded.last_at",
            (self._run_id, self._ops, self._digest, op.at),
        )
        row = row_of(op)
        if row is not None:
            self._db.execute(NOTE, (*row, op.at))
        self._db.execute(
            "INSERT INTO bridoon_outbox (run_id, ordinal, line) VALUES (?, ?, ?)", (self._run_id, self._ops, line)
        )


def _forget_hash(db: sqlite3.Connection, run_id: str) -> None:
    """A run that was applied from a file and goes on here is no longer what that file holds."""
    if "content_sha256" in columns(db, "changeset_applied"):
        db.execute(
            "UPDATE changeset_applied SET content_sha256=NULL WHERE id=? AND content_sha256 IS NOT NULL", (run_id,)
        )


def chain(digest: str, line: str) -> str:
    """The digest of all lines so far and one more."""
    import hashlib

    return hashlib.sha256(f"{digest}\n{line}".encode()).hexdigest()


def header(run_id: str, schema: int) -> str:
    """The first line of a changeset."""
    from bridoon.ledger.store.op import HEADER

    return compact({"base_schema_version": schema, "op": HEADER, "run_id": run_id, "version": 1})


def is_waiting(db: sqlite3.Connection) -> bool:
    """Whether there are lines that no file has yet."""
    return db.execute("SELECT 1 FROM bridoon_outbox LIMIT 1").fetchone() is not None


def hand_over(db: sqlite3.Connection, directory: str, wait: float) -> list[str]:
    """Append what the outbox holds to the files of its runs, then take it out. Raises OSError, sqlite3.Error.

    Which runs had written more before than their file holds now: it was another one.
    """
    if not is_waiting(db):
        return []
    short = []
    os.makedirs(directory, exist_ok=True)
    for (run_id,) in db.execute("SELECT DISTINCT run_id FROM bridoon_outbox ORDER BY seq").fetchall():
        if not is_run_id(run_id):  # somebody put it there who wants a file of ours elsewhere
            continue
        if _hand_over_run(db, directory, run_id, wait):
            short.append(run_id)
    return short


def _hand_over_run(db: sqlite3.Connection, directory: str, run_id: str, wait: float) -> bool:
    """Append the lines of one run; whether its file lacks what it had written before."""
    fd = _open_alone(os.path.join(directory, run_id + ENDING), wait)
    try:
        rows = db.execute(
            "SELECT seq, line, ordinal FROM bridoon_outbox WHERE run_id=? ORDER BY seq", (run_id,)
        ).fetchall()
        if not rows:
            return False
        known = db.execute("SELECT size FROM bridoon_run WHERE run_id=?", (run_id,)).fetchone()
        known_size = number(known[0]) or -1 if known else -1
        there = os.fstat(fd).st_size
        is_short = there < known_size or (there == 0 and (number(rows[0][2]) or 0) > 1)
        lines = [word(line).encode() for _, line, _ in rows]
        size = _append(fd, lines, header(run_id, version_of(db)), known_size)
        with database.transaction(db, wait):
            db.execute("UPDATE bridoon_run SET size=? WHERE run_id=?", (size, run_id))
            db.execute("DELETE FROM bridoon_outbox WHERE run_id=? AND seq<=?", (run_id, rows[-1][0]))
        return is_short
    finally:
        os.close(fd)


def _append(fd: int, lines: list[bytes], head: str, known: int) -> int:
    """Bring a file up to date: all `lines` are in it afterwards, once. Returns its size.

    `known` is the size that we left it with: when it still has that, the lines simply follow.
    """
    size = os.fstat(fd).st_size
    text = b"".join(line + b"\n" for line in lines)
    if size != known or size == 0:
        content = b""
        while chunk := os.pread(fd, 1 << 20, len(content)):
            content += chunk
        size, text = compare(content, lines, head.encode(), known)
    while text:
        done = os.pwrite(fd, text, size)
        size, text = size + done, text[done:]
    os.fsync(fd)
    return size


def compare(content: bytes, lines: list[bytes], head: bytes, known: int) -> tuple[int, bytes]:
    """What has to be written into a file so that all `lines` are in it once, and from which byte on.

    Behind what we knew stands the beginning of what a process was writing when it died, or else something that is
    not ours: somebody edited, merged or replaced the file. Then the lines that it holds are recognised by their time.
    """
    base = known if 0 < known <= len(content) and content[known - 1 : known] == b"\n" else 0
    tail = content[base:]
    text = b"".join(line + b"\n" for line in (lines if base else [head, *lines]))
    if text.startswith(tail):
        return len(content), text[len(tail) :]
    if tail.startswith(text):
        return len(content), b""
    there = set(content.split(b"\n"))
    absent = [line for line in lines if b'"recorded_at_unix_ns"' not in line or line not in there]
    text = b"".join(line + b"\n" for line in ([head, *absent] if not content.strip() else absent))
    whole = content.rfind(b"\n") + 1
    if not text or text.startswith(content[whole:]):
        return whole if text else len(content), text
    return len(content), b"\n" + text  # the unfinished line is not ours: it stays, on a line of its own


def _open_alone(path: str, wait: float) -> int:
    """A file, made when it is not there, that no other process appends to meanwhile. Raises OSError."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            _lock(fd, wait)
            held, now = os.fstat(fd), os.stat(path)
            if (held.st_dev, held.st_ino) == (now.st_dev, now.st_ino):
                return fd
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # it was replaced while we waited, as by a checkout


def _lock(fd: int, wait: float) -> None:
    """Hold a file against other processes that append to it. Raises TimeoutError after `wait` seconds."""
    import fcntl

    give_up = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= give_up:
                raise TimeoutError("another process holds it") from None
        time.sleep(database.POLL)
