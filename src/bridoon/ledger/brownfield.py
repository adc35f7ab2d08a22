"""What the documents of a repository say that it has stories, decisions and wishes: Markdown in, values out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bridoon.ledger import vocabulary
from bridoon.ledger.vocabulary import token

NO_STORY = frozenset(("", "story", "tbd", "todo", "example", "examples"))
"""Ids of rows that describe none."""
NO_PROOF = frozenset((
    "", "0", "false", "na", "no", "none", "nope", "not", "never", "off", "skip", "skipped", "tbd", "tba", "todo",
    "missing", "fail", "failed", "failing", "planned", "pending", "blocked", "unknown",
))  # fmt: skip
"""First words of cells that say that there is no proof."""
NO_PROOF_YET = re.compile(r"n_a(_|$)|.*(pending|blocked|not_attempted|not_operator_reviewed)")
PLACEHOLDER = "short_name"
"""The title in the template of a backlog, which is no item."""
FIELDS = ("title", "discovered_while", "current_pain", "suggested_improvement", "risk", "status")
HEADING = re.compile(r"#{1,6}\s")
DECISION_NAME = re.compile(r"[0-9]{4}-.+\.md", re.DOTALL)


class Story(NamedTuple):
    """A row of the matrix."""

    id: str
    title: str
    contract_doc: str | None
    risk_lane: str
    status: str
    proofs: tuple[int, int, int, int]
    """Unit, integration, e2e, platform: 1 is proven."""
    evidence: str | None


class Decision(NamedTuple):
    """A document about a decision."""

    id: str
    title: str
    status: str


class Item(NamedTuple):
    """Something that should become better."""

    title: str
    discovered_while: str | None
    current_pain: str | None
    suggested_improvement: str | None
    risk: str | None
    status: str


def stories(text: str) -> list[Story]:
    """The stories of a matrix, in its order. Of two rows with one id the later one counts.

    A table is a matrix when one of its rows has the headings `story` and `status`; tables with other headings are
    passed over.
    """
    found: dict[str, Story] = {}
    columns: dict[str, int] | None = None
    for cells, starts_other in _rows(text):
        whole = "|".join(cells).lower()
        headings = [token(cell) for cell in cells] if "story" in whole and "status" in whole else []
        if "story" in headings and "status" in headings:
            columns = {heading: at for at, heading in reversed(list(enumerate(headings)))}
        elif starts_other:
            columns = None
        elif columns is not None:
            story = _story(cells, columns)
            if story:
                found.pop(story.id, None)
                found[story.id] = story
    return list(found.values())


def decision(name: str, text: str) -> Decision:
    """The decision that a file of this name holds."""
    stem = name.removesuffix(".md")
    title, status, in_status = "", "", False
    for line in lines(text):
        if not title and line.startswith("# "):
            title = line[2:].strip()
        if in_status and line.strip():
            status, in_status = line, False
        if not status and line.strip() == "## Status":
            in_status = True
    return Decision(stem, title or stem, _leading(status, vocabulary.DECISION_STATUSES) or "accepted")


def items(text: str) -> list[Item]:
    """The items of a backlog, in its order: what follows the line `## Items`, from one `### Title` to the next."""
    found: list[dict[str, str]] = []
    begun, field = False, ""
    for line in lines(text):
        if not begun:
            begun = line.strip() == "## Items"
        elif HEADING.match(line):
            field = token(line) if line.startswith("### ") else ""
            if field == "title":
                found.append({})
        elif field in FIELDS and line.strip() and found:
            found[-1].setdefault(field, line.strip())
            field = ""
    return [_item(fields) for fields in found if token(fields.get("title", "")) not in ("", PLACEHOLDER)]


def lines(text: str) -> Iterator[str]:
    """The lines of a text, without their ends: `\\n` or `\\r\\n`, and nothing else."""
    for line in text.removeprefix("\ufeff").split("\n"):
        yield line.removesuffix("\r")


def split_row(line: str) -> list[str]:
    """The cells of a row of a table. A `|` after a backslash belongs to its cell."""
    cells: list[str] = []
    pending: list[str] = []
    for piece in line.strip().split("|"):
        backslashes = len(piece) - len(piece.rstrip("\\"))
        if backslashes % 2:
            pending.append(piece[:-1])
            continue
        cells.append("|".join([*pending, piece]).strip())
        pending = []
    if pending:  # a backslash at the very end
        cells.append("|".join(pending).strip() + "\\")
    return cells[1:-1] if len(cells) > 2 and not cells[-1] else cells[1:]


def _rows(text: str) -> Iterator[tuple[list[str], bool]]:
    """The rows of all tables, and of each whether it is the heading of a new one."""
    above: list[str] | None = None
    inside = first = False
    for line in lines(text):
        if not line.lstrip(" \t").startswith("|"):
            if above is not None:
                yield above, False
            above, inside = None, False
            continue
        cells = split_row(line)
        if above is not None:
            yield above, first and _is_rule(cells)
        above, first, inside = cells, not inside, True
    if above is not None:
        yield above, False


def _is_rule(cells: Sequence[str]) -> bool:
    return all(cell and not cell.strip(":-") and "-" in cell for cell in cells)


def _story(cells: list[str], columns: dict[str, int]) -> Story | None:
    def cell(name: str) -> str:
        at = columns.get(name, len(cells))
        return cells[at] if at < len(cells) else ""

    name = cell("story")
    if token(name) in NO_STORY:
        return None
    contract, status = cell("contract"), token(cell("status"))
    evidence = cell("evidence")
    if "evidence" in columns and columns["evidence"] == max(columns.values()):
        evidence = " | ".join(cells[columns["evidence"] :]).strip()
    lane = _lane(cell("lane") or cell("risk_lane") or cell("risk"))
    return Story(
        id=name,
        title=contract or name,
        contract_doc=contract or None,
        risk_lane=lane or "high_risk",
        status=status if status in vocabulary.STORY_STATUSES else "planned",
        proofs=(proven(cell("unit")), proven(cell("integration")), proven(cell("e2e")), proven(cell("platform"))),
        evidence=evidence or None,
    )


def proven(cell: str) -> int:
    """Whether a cell says that there is a proof: 1 or 0."""
    said = token(cell)
    return 0 if said.partition("_")[0] in NO_PROOF or NO_PROOF_YET.match(said) else 1


def _item(fields: dict[str, str]) -> Item:
    return Item(
        title=fields["title"],
        discovered_while=fields.get("discovered_while"),
        current_pain=fields.get("current_pain"),
        suggested_improvement=fields.get("suggested_improvement"),
        risk=_lane(fields.get("risk", "")),
        status=_leading(fields.get("status", ""), vocabulary.BACKLOG_STATUSES) or "proposed",
    )


def _lane(text: str) -> str | None:
    """The lane with which a text begins, unless it names others as well."""
    said = f"_{token(text)}_"
    named = [lane for lane in vocabulary.LANES if f"_{lane}_" in said]
    return named[0] if len(named) == 1 and said.startswith(f"_{named[0]}_") else None


def _leading(text: str, words: Sequence[str]) -> str | None:
    """The word with which a text begins, when it is one of these."""
    said = token(text)
    return next((word for word in words if said == word or said.startswith(word + "_")), None)
