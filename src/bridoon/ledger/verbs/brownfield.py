"""`import brownfield`: takes over what the documents of a repository say already."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any, NamedTuple

from bridoon.ledger import brownfield
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import Invalid, LedgerError, Missing, TooMuch
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows import brownfield as rows
from bridoon.ledger.store.write import Write
from bridoon.ledger.verbs.query import PROOFS

MATRIX = "docs/TEST_MATRIX.md"
DECISIONS = "docs/decisions"
BACKLOG = "docs/HARNESS_BACKLOG.md"
LARGEST = 256 * 1024 * 1024
"""Bytes of a document that is read at all."""


class Sources(NamedTuple):
    """All that the documents say."""

    stories: list[brownfield.Story]
    decisions: list[brownfield.Decision]
    items: list[brownfield.Item]


class Count(NamedTuple):
    """What became of the things of one sort."""

    seen: int
    added: int = 0
    updated: int = 0

    def data(self) -> dict[str, int]:
        """The numbers for JSON."""
        return {**self._asdict(), "unchanged": self.seen - self.added - self.updated}


def load(ledger: Ledger, given: Given) -> Answer:
    """Add what the documents have and the ledger has not, and fill what is empty; with `--refresh` the documents win.

    All documents are read before anything is written, and what they bring is written in one transaction.
    """
    refresh = given.has("--refresh")
    sources = read(ledger.place.root)
    with ledger.writing() as write:
        stories = _bring(write, "story", rows.STORY, {each.id: _story(each, refresh) for each in sources.stories})
        decisions = _bring(
            write, "decision", rows.DECISION, {each.id: _decision(each, refresh) for each in sources.decisions}
        )
        items = _add_items(write, sources.items)
    lines = (
        "Brownfield import complete.",
        f"Stories imported or updated: {stories.added + stories.updated}",
        f"Decisions imported or updated: {decisions.added + decisions.updated}",
        f"Backlog items discovered: {items.seen}",
    )
    data = {"refresh": refresh, "stories": stories.data(), "decisions": decisions.data(), "backlog": items.data()}
    return Answer("\n".join(lines), data)


def read(root: str) -> Sources:
    """Read and check all documents. Raises Missing, Invalid, LedgerError, which name the document."""
    stories = brownfield.stories(_text(root, MATRIX))
    directory = os.path.join(root, DECISIONS)
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        raise Missing(f"there is no directory {DECISIONS}", f"import brownfield looks for it in {root}") from None
    except OSError as wrong:
        raise LedgerError(f"{DECISIONS} cannot be read: {wrong.strerror}") from wrong
    decisions = []
    for name in names:
        path = f"{DECISIONS}/{name}"
        if not brownfield.DECISION_NAME.fullmatch(name) or os.path.isdir(os.path.join(root, path)):
            continue
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise Invalid(f"the name of {os.fsencode(path)!r} is not UTF-8")
        decisions.append(brownfield.decision(name, _text(root, path)))
    backlog = _text(root, BACKLOG) if os.path.lexists(os.path.join(root, BACKLOG)) else ""
    items = brownfield.items(backlog)
    return Sources(stories, decisions, items)


def _text(root: str, path: str) -> str:
    """What a document says. Raises Missing, Invalid, LedgerError, which name it."""
    full = os.path.join(root, path)
    try:
        status = os.stat(full)
        if not stat.S_ISREG(status.st_mode):
            raise LedgerError(f"{path} is no regular file")
        if status.st_size > LARGEST:
            raise TooMuch(f"{path} is larger than {LARGEST >> 20} MiB")
        with open(full, "rb") as file:
            content = file.read(LARGEST)
    except FileNotFoundError:
        raise Missing(f"there is no file {path}", f"import brownfield looks for it in {root}") from None
    except OSError as wrong:
        raise LedgerError(f"{path} cannot be read: {wrong.strerror}") from wrong
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise Invalid(f"{path} line {_line(content, wrong.start)} is not UTF-8", "nothing was imported") from None
    if "\0" in text:
        raise Invalid(
            f"{path} line {_line(content, content.index(0))} holds a NUL: it is no text", "nothing was imported"
        )
    return text


def _line(content: bytes, place: int) -> int:
    return content.count(b"\n", 0, place) + 1


def _story(story: brownfield.Story, refresh: bool) -> dict[str, Any]:
    return {
        "title": story.title,
        "contract_doc": story.contract_doc,
        "risk_lane": story.risk_lane,
        "status": story.status,
        **dict(zip(PROOFS, story.proofs, strict=True)),
        "evidence": story.evidence,
        "notes": f"Imported from {MATRIX}.",
        "refresh": int(refresh),
    }


def _decision(decision: brownfield.Decision, refresh: bool) -> dict[str, Any]:
    return {
        "title": decision.title,
        "status": decision.status,
        "doc_path": f"{DECISIONS}/{decision.id}.md",
        "notes": f"Imported from {DECISIONS}.",
        "refresh": int(refresh),
    }


def _bring(write: Write, table: str, columns: tuple[str, ...], wanted: Mapping[str, dict[str, Any]]) -> Count:
    """Record what is new or differs; what would change nothing is no operation."""
    found = write.all(f"SELECT id, {', '.join(columns)} FROM {table}")
    known = {row[0]: row[1:] for row in found}
    added = updated = 0
    for name, payload in wanted.items():
        before = known.get(name)
        if before is not None and not rows.changes(columns, before, payload):
            continue
        write.do(Op(f"import.{table}", payload, id=name))
        added, updated = added + (before is None), updated + (before is not None)
    return Count(len(wanted), added, updated)


def _add_items(write: Write, items: list[brownfield.Item]) -> Count:
    """Add the items whose titles are not in the backlog yet."""
    known = {title for (title,) in write.all("SELECT title FROM backlog")}
    added = 0
    for item in items:
        if item.title in known:
            continue
        known.add(item.title)
        payload = item._asdict()
        status = payload.pop("status")
        row = write.do(Op("backlog.add", {**payload, "notes": f"Imported from {BACKLOG}."}))
        if status != "proposed":
            uid = write.uid_of("backlog", row, "backlog item")
            write.do(Op("backlog.close", {"status": status}, id=row, uid=uid))
        added += 1
    return Count(len(items), added)
