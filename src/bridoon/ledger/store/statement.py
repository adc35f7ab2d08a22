"""One SQL statement of somebody else, run under guard: what it may do, for how long, and how much it may bring."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from bridoon.ledger.errors import Conflict, Invalid, LedgerError, TooMuch
from bridoon.ledger.store import db as database

if TYPE_CHECKING:
    from bridoon.ledger.ledger import Ledger

T = TypeVar("T")

LARGEST = 64 * 1024 * 1024
"""Bytes that a single value, and all rows of an answer together, may take."""
GRACE = 1.0
"""Seconds that a statement has to stop of itself when its time is up. Inside of one function SQLite never looks up."""
LOOK_UP = 2000
"""Steps of SQLite between two looks at the clock."""

ABOUT_TABLES = frozenset((
    "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
    "foreign_key_check", "integrity_check", "quick_check",
))  # fmt: skip
"""Pragmas that read, whatever value they are given."""
GETTERS = frozenset((
    "application_id", "auto_vacuum", "busy_timeout", "cache_size", "cache_spill", "cell_size_check", "collation_list",
    "compile_options", "data_version", "database_list", "defer_foreign_keys", "encoding", "foreign_keys",
    "freelist_count", "fullfsync", "function_list", "hard_heap_limit", "ignore_check_constraints", "journal_mode",
    "journal_size_limit", "locking_mode", "max_page_count", "mmap_size", "module_list", "page_count", "page_size",
    "pragma_list", "query_only", "read_uncommitted", "recursive_triggers", "reverse_unordered_selects",
    "schema_version", "secure_delete", "soft_heap_limit", "synchronous", "temp_store", "threads", "trusted_schema",
    "user_version", "wal_autocheckpoint", "writable_schema",
))  # fmt: skip
"""Pragmas that read when they are given no value."""
FUNCTIONS = frozenset((
    "load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "lsdir", "fsdir", "zipfile", "eval",
))  # fmt: skip
"""Functions that reach beyond the database, where a SQLite has them at all."""
READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE))
DECLARING = (sqlite3.SQLITE_UPDATE, "sqlite_master")
"""What SQLite asks about when a table-valued function such as json_each is used for the first time. A statement that
really updates this table is refused by SQLite itself."""
NEVER = frozenset((sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT))
"""What not even a statement that writes may do."""


class Result(NamedTuple):
    """What a statement brought; its rows are with whoever took them."""

    columns: list[str]
    changed: int
    """Rows that it added, changed or removed, without those that triggers did."""
    more: bool
    """Whether there are rows after those that were asked for."""


class Wanted(NamedTuple):
    """A statement, and what is wanted of it."""

    sql: str
    seconds: float
    write: bool = False
    limit: int | None = None
    offset: int = 0


def run(ledger: Ledger, wanted: Wanted, take: Callable[[tuple[Any, ...]], int]) -> Result:
    """Run one statement; `take` gets row after row, in another thread, and says how many bytes it keeps of it.

    Without `write` it can only read. With it, it is the only one of a transaction. Raises Invalid for what it may not
    do, TooMuch for too many rows, LedgerError when its time is up; in all these cases nothing is changed.
    """
    if "\0" in wanted.sql or not wanted.sql.strip():
        raise Invalid("query sql needs one statement, without NUL characters", 'query sql "SELECT * FROM story"')
    watch: _Watch[Result] = _Watch(wanted.seconds)

    def work() -> Result:
        if wanted.write:
            with ledger.writing() as write:
                result = _guarded(write.db, wanted, take, watch)
                watch.decide()
                return result
        with ledger.reading() as read:
            return _guarded(read.db, wanted, take, watch)

    return watch.over(work)


def _guarded(
    db: sqlite3.Connection, wanted: Wanted, take: Callable[[tuple[Any, ...]], int], watch: _Watch[Result]
) -> Result:
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    db.set_authorizer(_allows(wanted.write))
    watch.start(db)
    try:
        return _fetch(db, wanted, take)
    except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as wrong:
        raise _explained(wrong, wanted) from wrong
    finally:  # the transaction has to end, which the statement itself must not
        db.set_authorizer(None)
        db.set_progress_handler(None, 0)


def _fetch(db: sqlite3.Connection, wanted: Wanted, take: Callable[[tuple[Any, ...]], int]) -> Result:
    before = db.total_changes
    cursor = db.execute(wanted.sql)
    columns = [str(column[0]) for column in cursor.description or ()]
    if not columns and not wanted.write:  # such as DROP TABLE IF EXISTS of one that does not exist
        raise _refused(wanted.write)
    size, more = 0, False
    end = None if wanted.limit is None else wanted.offset + wanted.limit
    for number, row in enumerate(cursor):
        if end is not None and number >= end:
            more = True
            if not wanted.write:  # a statement that writes is carried through
                break
        elif number >= wanted.offset:
            size += take(row)
            if size > LARGEST:
                raise TooMuch(
                    f"the rows take more than {LARGEST >> 20} MiB", "--limit and --offset show a part of them"
                )
    cursor.close()
    changed = 0
    if wanted.write and db.total_changes != before:
        changed = db.execute("SELECT changes()").fetchone()[0]
    return Result(columns, changed, more)


def _allows(write: bool) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    def allows(action: int, first: str | None, second: str | None, _schema: str | None, _trigger: str | None) -> int:
        if action == sqlite3.SQLITE_PRAGMA:
            name = (first or "").lower()
            allowed = name in ABOUT_TABLES or (name in GETTERS and second is None)
        elif action == sqlite3.SQLITE_FUNCTION:
            allowed = (second or "").lower() not in FUNCTIONS
        elif write:
            allowed = action not in NEVER and (action in READING or (first or "").lower() != "sqlite_dbpage")
        else:
            allowed = action in READING or (action, first) == DECLARING
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return allows


def _explained(wrong: Exception, wanted: Wanted) -> LedgerError:
    name, text = str(getattr(wrong, "sqlite_errorname", "")), str(wrong)
    if name.startswith("SQLITE_INTERRUPT"):
        return _late(wanted.seconds)
    if "one statement at a time" in text:
        return Invalid("query sql runs one statement, and another one follows after its ;", "nothing was run")
    refused = name.startswith(("SQLITE_AUTH", "SQLITE_READONLY"))
    if refused or any(sign in text for sign in ("not authorized", "VACUUM", "may not be modified")):
        return _refused(wanted.write)
    if "binding" in text.lower():
        return Invalid("the statement has parameters, for which query sql has no values", "write the values into it")
    if name.startswith("SQLITE_CONSTRAINT"):
        return Conflict(f"the rows do not allow it: {text}", "nothing was changed")
    if name == "SQLITE_TOOBIG":
        return TooMuch(f"a value is larger than {LARGEST >> 20} MiB", "substr shows a part of it")
    if name == "SQLITE_ERROR":
        return Invalid(f"SQLite refuses the statement: {text}", _way_out(text))
    return database.explain(wrong, "the database") if isinstance(wrong, sqlite3.Error) else LedgerError(text)


def _way_out(text: str) -> str:
    """What shows how to write a statement that SQLite has refused."""
    if "no such table" in text:
        return "query sql \"SELECT name FROM sqlite_master WHERE type='table'\" lists the tables"
    if "no such column" in text:
        return 'query sql "PRAGMA table_info(story)" lists the columns of story'
    if "no such function" in text:
        return 'query sql "PRAGMA function_list" lists the functions'
    return 'for example query sql "SELECT id, title FROM story"'


def _refused(write: bool) -> Invalid:
    if write:
        return Invalid(
            "query sql --write does not do this",
            "it changes rows and tables of this database: no other files, transactions, settings, VACUUM",
        )
    return Invalid("query sql is read-only, and this statement does more than read", "query sql --write allows changes")


def _late(seconds: float) -> LedgerError:
    return LedgerError(f"the statement was stopped after {seconds:g} s", "--timeout SECONDS gives it longer")


class _Watch(Generic[T]):
    """Work in another thread, which is given up when its time is over and it does not stop.

    Between two steps SQLite looks at the clock itself. A single function over a long text may take for ever and cannot
    be interrupted: then its thread is left behind, and ends with the process.
    """

    def __init__(self, seconds: float) -> None:
        import threading

        self._seconds = seconds
        self._lock = threading.Lock()
        self._begun = threading.Event()
        self._done = threading.Event()
        self._given_up = self._decided = False
        self._results: list[T] = []
        self._wrong: BaseException | None = None

    def start(self, db: sqlite3.Connection) -> None:
        """The statement begins: from now on time counts. Waiting for other processes does not."""
        give_up = time.monotonic() + self._seconds
        db.set_progress_handler(lambda: self._given_up or time.monotonic() >= give_up, LOOK_UP)
        self._begun.set()

    def decide(self) -> None:
        """From now on it is not given up any more: it will be committed. Raises LedgerError when it is too late."""
        with self._lock:
            if self._given_up:
                raise _late(self._seconds)
            self._decided = True

    def over(self, work: Callable[[], T]) -> T:
        """Carry out `work`; what it returns or raises."""
        import threading

        def worker() -> None:
            try:
                self._results.append(work())
            except BaseException as wrong:
                self._wrong = wrong
            self._begun.set()
            self._done.set()

        threading.Thread(target=worker, name="query sql", daemon=True).start()
        try:
            self._begun.wait()
            if not self._done.wait(self._seconds + GRACE) and self._give_up():
                raise _late(self._seconds)
            self._done.wait()
        except BaseException:
            self._give_up()
            raise
        if self._wrong is not None:
            raise self._wrong
        return self._results[0]

    def _give_up(self) -> bool:
        with self._lock:
            self._given_up = not self._decided
            return self._given_up
