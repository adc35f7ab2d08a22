"""`story backlog`: which story resolves a backlog item, and which ones refer to it."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.errors import Conflict
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.show.text import clean
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows.link import link_of
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.store.write import Write
from bridoon.ledger.verbs.listing import find, page

WHAT = "a link between a story and the backlog"
COLUMNS = ("story", "backlog", "relationship", "status", "title")
FIELDS = {
    "story": "link.story_id",
    "backlog": "backlog.id",
    "relationship": "link.relationship",
    "status": "backlog.status",
    "title": "backlog.title",
    "linked_at": "link.linked_at",
}


def link(ledger: Ledger, given: Given) -> Answer:
    """Link a story to a backlog item, or change what their link says."""
    relationship = given.text("--relationship")
    words = vocabulary.RELATIONSHIPS
    vocabulary.one_of(relationship, words, "story backlog link: --relationship cannot be")
    item = vocabulary.integer(given.text("--backlog"), "story backlog link: --backlog")
    story = given.text("--story")
    with ledger.writing() as write:
        uid = _identity(write, item)
        known = link_of(write, story, uid)
        if known != relationship:
            payload = {"backlog_uid": uid, "relationship": relationship, "linked_at_unix_ns": write.at}
            write.do(Op("story.backlog.link", payload, id=story))
    change = "unchanged" if known == relationship else "changed" if known else "added"
    data = {"story": story, "backlog": item, "relationship": relationship, "change": change}
    return Answer(f"Story backlog link {clean(story)} -> #{item} ({relationship}) {change}.", data)


def unlink(ledger: Ledger, given: Given) -> Answer:
    """Remove the link between a story and a backlog item."""
    item = vocabulary.integer(given.text("--backlog"), "story backlog unlink: --backlog")
    story = given.text("--story")
    with ledger.writing() as write:
        uid = _identity(write, item)
        known = link_of(write, story, uid)
        if known:
            write.do(Op("story.backlog.unlink", {"backlog_uid": uid}, id=story))
    change = "removed" if known else "unchanged"
    return Answer(
        f"Story backlog link {clean(story)} -> #{item} {change}.", {"story": story, "backlog": item, "change": change}
    )


def listing(ledger: Ledger, given: Given) -> Answer:
    """The links, by story and item."""
    wanted = page(given)
    item = vocabulary.integer(given.get("--backlog"), "story backlog list: --backlog")
    named = {"link.story_id": given.get("--story"), "backlog.id": item}
    named = {column: value for column, value in named.items() if value is not None}
    source = "story_backlog_link AS link JOIN backlog ON backlog.uid = link.backlog_uid"
    source += " WHERE " + " AND ".join(f"{column}=?" for column in named) if named else ""
    with ledger.reading() as read:
        read.need(WHOLE, WHAT)
        found = find(read, FIELDS, source, "link.story_id, backlog.id", list(named.values()), wanted)
    return Answer(Table(COLUMNS, found.pick(*COLUMNS)), found.data("links"), note=found.note)


def _identity(write: Write, item: int | None) -> str:
    write.need(WHOLE, WHAT)
    uid = write.uid_of("backlog", item, "backlog item")
    if not uid:
        raise Conflict(
            f"backlog #{item} has no identity that a link could name: an older harness-cli added it",
            "add it again with harness-cli backlog add, and reject the old one",
        )
    return uid
