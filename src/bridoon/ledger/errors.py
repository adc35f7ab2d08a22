"""What can go wrong with the ledger. People see exit code 1; programs that asked for JSON get a code and its exit.

LedgerError            INTERNAL_ERROR        5
├── Invalid            INVALID_ARGUMENT      2   a value is not one of those that are possible
├── Incompatible       COMPATIBILITY_ERROR   2   no database, a foreign or too new one, a changeset of another kind
├── Missing            NOT_FOUND             3   no row of that name
├── Conflict           CONFLICT              3   the rows do not allow it: exists, cycle, other bytes, other revision
├── VerificationFailed VERIFICATION_FAILED   4   a verify command failed where its success was asked for
└── TooMuch            OUTPUT_LIMIT_EXCEEDED 5   the JSON answer is larger than anybody reads

Errors of the command line itself are `bridoon.errors.UsageError` (exit 2 for everybody, INVALID_ARGUMENT).
"""

from __future__ import annotations

from typing import Any

from bridoon.errors import BridoonError


class LedgerError(BridoonError):
    """Something is wrong with the ledger. `details` holds what a program can act on."""

    code = "INTERNAL_ERROR"
    machine_exit = 5

    def __init__(self, message: str, hint: str = "", **details: Any) -> None:
        super().__init__(message, hint)
        self.details = details


class Invalid(LedgerError):
    """A value is not one of those that are possible."""

    code, machine_exit = "INVALID_ARGUMENT", 2


class Incompatible(LedgerError):
    """The database or the changeset is missing, foreign, or of a version that we do not know."""

    code, machine_exit = "COMPATIBILITY_ERROR", 2


class Missing(LedgerError):
    """There is no row of that name."""

    code, machine_exit = "NOT_FOUND", 3


class Conflict(LedgerError):
    """The rows as they are do not allow it."""

    code, machine_exit = "CONFLICT", 3


class VerificationFailed(LedgerError):
    """A verification command failed where its success was asked for."""

    code, machine_exit = "VERIFICATION_FAILED", 4


class TooMuch(LedgerError):
    """The answer is larger than 16 MiB of JSON."""

    code, machine_exit = "OUTPUT_LIMIT_EXCEEDED", 5


def missing(what: str, name: object) -> Missing:
    """The error for a row that is not there."""
    which = f"there is no {what} #{name}" if isinstance(name, int) else f"no {what} is called {str(name)[:80]!r}"
    listing = {"story": "matrix", "backlog item": "backlog"}.get(what, f"{what}s")
    return Missing(which, f"harness-cli query {listing} lists them")
