"""Puts a trace into the ledger, once, whatever becomes of the process meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bridoon.errors import BridoonError
from bridoon.evidence import excerpt, limits
from bridoon.ledger.errors import Invalid, LedgerError
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.place import Place
from bridoon.ledger.store.cells import compact
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.schema import UIDS
from bridoon.ledger.store.write import Write

WAIT = 2.0
"""Seconds that others may hold the database. Then the trace waits in a file."""

LISTS = ("actions_taken", "files_read", "files_changed", "errors")


class Kept(NamedTuple):
    """A trace that can be put into a ledger now or later."""

    uid: str
    """Its identity: a trace that is there already is not added again."""
    trace: dict[str, Any]
    """As `trace.build` made it, with `created_at`."""
    intake: str = ""
    story: str = ""
    """What HARNESS_INTAKE and HARNESS_STORY said."""
    run_id: str = ""
    """HARNESS_RUN_ID."""


def keep(place: Place, kept: Kept, env: Mapping[str, str]) -> list[str]:
    """Add the trace; what went wrong besides. Raises LedgerError when the ledger cannot take it."""
    try:
        return _keep(place, kept, env)
    except BridoonError:
        raise
    except Exception as wrong:  # what a stranger wrote into the rows can lead to anything
        raise LedgerError(f"{place.database} cannot take it: {type(wrong).__name__}: {wrong}") from wrong


def _keep(place: Place, kept: Kept, env: Mapping[str, str]) -> list[str]:
    place = place._replace(run_id=kept.run_id)
    warnings: list[str] = []
    while True:
        ledger = Ledger(place, env, wait=WAIT)
        try:
            with ledger.writing() as write, limits.limited(write.db, place.database, WAIT):
                _add(write, kept)
            return warnings + ledger.warnings
        except Invalid as wrong:
            if not place.run_id:
                raise
            warnings.append(f"{wrong.message}: the trace is in no changeset")
            place = place._replace(run_id="")


def _add(write: Write, kept: Kept) -> None:
    if _is_there(write, kept):
        return
    links, notes = _links(write, kept)
    trace = {**kept.trace, **links}
    for name in LISTS:
        trace[name] = compact(trace.get(name) or [])
    trace["notes"] = "\n".join([*notes, str(trace.get("notes") or "")])
    write.do(Op("trace.add", trace, uid=kept.uid if write.schema >= UIDS else ""))


def _is_there(write: Write, kept: Kept) -> bool:
    if write.schema >= UIDS:
        return write.one("SELECT 1 FROM trace WHERE uid=?", kept.uid) is not None
    # Traces had no identity then. Their notes name the run, and no session has two runs of one name.
    last = str(kept.trace.get("notes") or "").rpartition("\n")[2]
    found = write.one(
        "SELECT 1 FROM (SELECT notes FROM trace ORDER BY id DESC LIMIT 500) WHERE instr(notes, ?) > 0", last
    )
    return found is not None


def _links(write: Write, kept: Kept) -> tuple[dict[str, Any], list[str]]:
    """The intake and the story that a trace belongs to, and notes about those that are not there."""
    links: dict[str, Any] = {}
    notes = []
    if kept.intake:
        number = int(kept.intake) if kept.intake.isascii() and kept.intake.isdigit() and len(kept.intake) < 18 else -1
        uid = ", uid" if write.schema >= UIDS else ""
        row = write.one(f"SELECT id{uid} FROM intake WHERE id=?", number)
        if row is None:
            notes.append(f"HARNESS_INTAKE {excerpt.line(kept.intake, 60)}: there is no such intake")
        else:
            links["intake_id"] = row[0]
            links["intake_uid"] = row[1] if uid else None
    if kept.story:
        if write.one("SELECT 1 FROM story WHERE id=?", kept.story) is None:
            notes.append(f"HARNESS_STORY {excerpt.line(kept.story, 60)}: there is no such story")
        else:
            links["story_id"] = kept.story
    else:
        rows = write.all("SELECT id FROM story WHERE status='in_progress' LIMIT 2")
        if len(rows) == 1:
            links["story_id"] = rows[0][0]
    return links, notes
