"""Which backlog rows from before the keys belong to which proposal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bridoon.ledger.judge.grouping import key_of
from bridoon.ledger.judge.lifecycle import OPEN, Backlog, Unkeyed
from bridoon.ledger.judge.proposals import COMPONENTS, ORIGIN, TITLES, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

DERIVABLE, MANUAL, AMBIGUOUS, DUPLICATE = "derivable", "manual", "ambiguous", "duplicate_candidate"
CLASSES = (DERIVABLE, MANUAL, AMBIGUOUS, DUPLICATE)


class Classified(NamedTuple):
    """A backlog row without a key, and what can be said about it."""

    row: Unkeyed
    name: str
    """`derivable`: its key is certain. `manual`: no proposal. `ambiguous`: several could be meant, or its component is
    not known. `duplicate_candidate`: another row speaks for the same proposal."""
    key: str = ""
    proposal: Proposal | None = None
    """The proposal, when it is still generated."""


def classify(known: Backlog, listed: list[Proposal]) -> list[Classified]:
    """All rows without a key, by id. Of several rows of one key an open one is taken, else the newest."""
    rows = sorted(row for rows in known.by_title.values() for row in rows)
    by_title: dict[str, list[Proposal]] = {}
    for proposal in listed:
        by_title.setdefault(proposal.title, []).append(proposal)
    found = [_classify(row, by_title.get(row.title, [])) for row in rows]
    chosen: dict[str, Classified] = {}
    for each in found:
        held = chosen.get(each.key)
        if each.name == DERIVABLE and (held is None or each.row.status in OPEN or held.row.status not in OPEN):
            chosen[each.key] = each
    return list(_without_duplicates(found, chosen, known))


def _without_duplicates(found: list[Classified], chosen: dict[str, Classified], known: Backlog) -> Iterator[Classified]:
    for each in found:
        twice = each.name == DERIVABLE and (chosen[each.key] is not each or each.key in known.by_key)
        yield each._replace(name=DUPLICATE) if twice else each


def _classify(row: Unkeyed, same: list[Proposal]) -> Classified:
    if len(same) > 1:
        same = [proposal for proposal in same if str(row.current_pain or "").endswith(": " + proposal.brief)]
        if len(same) != 1:
            return Classified(row, AMBIGUOUS)
    if same:
        return Classified(row, DERIVABLE, same[0].key, same[0])
    looks = row.title.startswith(tuple(TITLES.values()))
    if row.discovered_while != ORIGIN or not looks:
        return Classified(row, MANUAL)
    component = _component(row)
    if component is None or row.title.endswith("..."):
        return Classified(row, AMBIGUOUS)
    return Classified(row, DERIVABLE, key_of(component, row.title))


def _component(row: Unkeyed) -> str | None:
    """The component that its notes name, when its title fits."""
    found = re.match(r"component: ([^;]*);", row.notes or "")
    source = next((name for name, beginning in TITLES.items() if row.title.startswith(beginning)), "")
    component = COMPONENTS.get(source)
    return component if found and found[1] == component else None
