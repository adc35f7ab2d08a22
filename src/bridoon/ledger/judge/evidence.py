"""The evidence behind proposals, with identities that hold in every copy of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bridoon.ledger.judge.audit import CATEGORIES, Audit
from bridoon.ledger.judge.proposals import Member, Proposal, finding_key
from bridoon.ledger.show.cell import plain
from bridoon.ledger.store.cells import compact, word
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.schema import columns

if TYPE_CHECKING:
    from bridoon.ledger.store.db import Read
    from bridoon.ledger.store.write import Write

LOCAL = ("id", "uid", "intake_id", "intake_uid", "trace_id", "recorded_at_unix_ns")
"""Columns that are not the same in every copy, or that an old program does not know."""


class Evidence(NamedTuple):
    """One piece: a trace, an intervention, an episode of the audit."""

    kind: str
    """As `proposal_evidence_link` calls its source."""
    uid: str
    fingerprint: str
    observed_at: str
    legacy: Member | None = None
    """The row to be captured first, because it has no uid of its own."""
    payload: str = ""
    """What is captured of it."""

    def linked(self) -> dict[str, str]:
        """As the operations name it."""
        return {
            "source_kind": self.kind,
            "evidence_uid": self.uid,
            "evidence_fingerprint": self.fingerprint,
            "observed_at": self.observed_at,
        }


def of_members(source: Read, members: tuple[Member, ...]) -> list[Evidence]:
    """The evidence that traces and interventions are. One without a uid gets one from what it says."""
    found: dict[str, Evidence] = {}
    for member in members:
        if member.uid:
            fingerprint = _digest(member.kind, member.observed_at, member.text)
            piece = Evidence(member.kind, member.uid, fingerprint, member.observed_at)
        else:
            payload = _payload(source, member)
            fingerprint = _digest(member.kind, payload)
            uid = identity("leg", member.kind, fingerprint)
            piece = Evidence("legacy_snapshot", uid, fingerprint, member.observed_at, member, payload)
        found[piece.uid] = piece
    return list(found.values())


def of_audit(source: Read, proposal: Proposal, found: Audit) -> tuple[list[Evidence], int]:
    """The open episodes behind a proposal of the audit, and how many of its findings have none."""
    open_now = {key: (uid, fingerprint, at) for uid, key, fingerprint, at in episodes(source)}
    keys = [finding_key(proposal.pattern, each.id) for each in found.findings[proposal.pattern]]
    known = [Evidence("audit", *open_now[key]) for key in keys if key in open_now]
    return known, len(keys) - len(known)


def episodes(source: Read) -> list[Any]:
    """The open episodes: uid, finding, fingerprint, since when."""
    rows = source.all(
        "SELECT uid, finding_key, evidence_fingerprint, opened_at FROM audit_evidence_episode "
        "WHERE cleared_at IS NULL ORDER BY finding_key"
    )
    return [tuple(map(word, row)) for row in rows]


def record(write: Write, found: Audit) -> tuple[int, int, int]:
    """Open an episode for each finding that has none, end those whose finding is gone: opened, ended, going on."""
    known = {str(key): str(uid) for uid, key, _, _ in episodes(write)}
    wanted = {
        finding_key(category.name, each.id): each for category in CATEGORIES for each in found.findings[category.name]
    }
    opened = [key for key in wanted if key not in known]
    for key in opened:
        write.do(Op("audit.evidence.open", {"finding_key": key, "evidence_fingerprint": _digest("audit", key)}))
    gone = [uid for key, uid in known.items() if key not in wanted]
    for uid in gone:
        write.do(Op("audit.evidence.clear", {}, uid=uid))
    return len(opened), len(gone), len(known) - len(gone)


def capture(write: Write, pieces: list[Evidence]) -> list[dict[str, str]]:
    """Keep the rows that have no uid, and name all pieces as a decision wants them."""
    for piece in pieces:
        if piece.legacy is None:
            continue
        if write.one("SELECT 1 FROM legacy_evidence_snapshot WHERE uid=?", piece.uid):
            continue
        payload = {
            "source_kind": piece.legacy.kind,
            "evidence_fingerprint": piece.fingerprint,
            "canonical_payload": piece.payload,
            "source_local_id": piece.legacy.id,
        }
        write.do(Op("legacy.evidence.capture", payload, uid=piece.uid))
    return [piece.linked() for piece in pieces]


def identity(prefix: str, *material: str) -> str:
    """A uid that is the same wherever it is made from the same material."""
    from hashlib import sha256

    whole = "\0".join((prefix, *material)).encode("utf-8", "surrogatepass")
    return f"{prefix}_{sha256(whole).digest()[:16].hex()}"


def _digest(*material: str) -> str:
    from hashlib import sha256

    return sha256("\0".join(material).encode("utf-8", "surrogatepass")).hexdigest()


def _payload(source: Read, member: Member) -> str:
    """A row as it was, as JSON."""
    names = [name for name in columns(source.db, member.kind) if name not in LOCAL]
    row = source.one(f"SELECT {','.join(names)} FROM {member.kind} WHERE id=?", member.id)
    return compact(dict(zip(names, map(plain, row), strict=True)))
