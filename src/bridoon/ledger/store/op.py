"""The operations: everything that can change a row, as values, as lines of a changeset, and what their fields are.

The format of a line is that of the changesets of `hoangnb24/repository-harness`: one compact JSON object with sorted
keys. `recorded_at_unix_ns` beside the operation is ours; other readers pass over it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bridoon.ledger.errors import Incompatible
from bridoon.ledger.store.cells import compact

HEADER = "changeset.header"

TEXT, INT, TIME, NOW, LIST = "text", "integer", "time", "now", "list"
"""Types of fields. `time` and `now` are `YYYY-MM-DD HH:MM:SS`; a `now` that is not given is the present."""


class Field(NamedTuple):
    """One key of a payload."""

    name: str
    type: str = TEXT
    required: bool = False
    since: int = 1
    """The version of the operation that brought it."""


class Kind(NamedTuple):
    """One kind of operation."""

    name: str
    key: str
    """How its row is named: `text` (the id), `integer` (a local id in version 1, later a uid), `uid` (always)."""
    prefix: str = ""
    """Of its uid: `ink`, `blg`, `trc`, `int`, `obs`, `aud`, `leg`."""
    fields: tuple[Field, ...] = ()
    revisioned: bool = False
    """Whether it changes a row that has a revision, and can say which one it expects."""
    newest: int = 2
    """The version that we write where the schema allows it."""


class Op(NamedTuple):
    """One change of one row. Code that records one gives `name`, `id` and `payload`; the rest is filled in."""

    name: str
    payload: dict[str, Any]
    id: str | int | None = None
    uid: str = ""
    version: int = 0
    """0: the newest that the schema allows."""
    at: int = 0
    """When it was recorded, in nanoseconds since 1970; 0 when the line does not say."""
    expected_revision: int | None = None

    def get(self, field: str) -> Any:
        """A value of the payload; None when it is absent."""
        return self.payload.get(field)

    def line(self) -> str:
        """The line of a changeset, without its end."""
        whole: dict[str, Any] = {"op": self.name, "payload": self.payload, "version": self.version}
        if self.uid:
            whole["uid"] = self.uid
        if self.id is not None:
            whole["id"] = self.id
        if self.version > 1 and self.at:
            whole["recorded_at_unix_ns"] = self.at
        if self.expected_revision is not None:
            whole["expected_revision"] = self.expected_revision
        return compact(whole)


def _texts(*names: str, required: tuple[str, ...] = ()) -> tuple[Field, ...]:
    return tuple(Field(name, TEXT, name in required) for name in names)


CREATED = Field("created_at", NOW, True, since=2)
PROOFS = tuple(Field(name, INT) for name in ("unit_proof", "integration_proof", "e2e_proof", "platform_proof"))
EDGE = Field("created_at", NOW, since=2)
REFRESH = Field("refresh", INT)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "intake.add", "integer", "ink",
            (*_texts("input_type", "summary", "risk_lane", "risk_flags", "affected_docs", "story_id", "notes",
                     required=("input_type", "summary", "risk_lane")), CREATED),
        ),
        Kind(
            "story.add", "text", "",
            (*_texts("title", "risk_lane", "contract_doc", "verify_command", "notes", required=("title", "risk_lane")),
             Field("created_at", NOW, since=2)),
        ),
        Kind(
            "story.update", "text", "",
            (*_texts("status", "evidence"), *PROOFS, Field("verify_command"), Field("contract_doc", since=2)),
            revisioned=True,
        ),
        Kind(
            "story.verify", "text", "",
            (*_texts("result", required=("result",)), Field("verified_at", NOW, True, since=2)), revisioned=True,
        ),
        Kind(
            "story.complete", "text", "",
            (*_texts("result", "completion_uid", required=("result",)), Field("completed_at", NOW, True, since=2)),
            revisioned=True,
        ),
        Kind("story.dependency.add", "text", "", (*_texts("blocked", required=("blocked",)), EDGE)),
        Kind("story.dependency.remove", "text", "", _texts("blocked", required=("blocked",))),
        Kind("story.hierarchy.add", "text", "", (*_texts("child", required=("child",)), EDGE)),
        Kind("story.hierarchy.remove", "text", "", _texts("child", required=("child",))),
        Kind(
            "story.backlog.link", "text", "",
            (*_texts("backlog_uid", "relationship", required=("backlog_uid", "relationship")),
             Field("linked_at", NOW, True, since=2), Field("linked_at_unix_ns", INT, since=2)),
        ),
        Kind("story.backlog.unlink", "text", "", _texts("backlog_uid", required=("backlog_uid",))),
        Kind(
            "decision.add", "text", "",
            (*_texts("title", "status", "doc_path", "verify_command", "predicted_impact", "notes",
                     required=("title", "status")), Field("created_at", NOW, since=2)),
        ),
        Kind(
            "decision.verify", "text", "",
            (*_texts("result", required=("result",)), Field("verified_at", NOW, since=2)), revisioned=True,
        ),
        Kind(
            "backlog.add", "integer", "blg",
            (*_texts("title", "discovered_while", "current_pain", "suggested_improvement", "risk", "predicted_impact",
                     "notes", required=("title",)),
             CREATED, Field("proposal_key", since=2), Field("occurrence_kind", since=2)),
        ),
        Kind(
            "backlog.close", "integer", "blg",
            (*_texts("status", "actual_outcome", required=("status",)), Field("closed_at", NOW, since=2)),
            revisioned=True,
        ),
        Kind(
            "backlog.complete", "uid", "blg",
            (*_texts("story_id", "resolution_evidence", required=("story_id",)), Field("trace_baseline", INT),
             Field("completed_at", NOW, True, since=2)),
            revisioned=True,
        ),
        Kind(
            "backlog.proposal.decision", "uid", "blg",
            (*_texts("proposal_key", "predecessor_uid", "occurrence_kind", "title", "discovered_while", "current_pain",
                     "suggested_improvement", "risk", "status", "predicted_impact", "notes", "outcome_schedule_kind",
                     "outcome_due_at", "rejection_reason",
                     required=("proposal_key", "occurrence_kind", "title", "status")),
             Field("created_at", NOW, since=2), Field("accepted_at", TIME), Field("closed_at", TIME),
             Field("outcome_after_traces", INT), Field("evidence", LIST)),
        ),
        Kind(
            "backlog.outcome.observe", "uid", "obs",
            (*_texts("backlog_uid", "status", "outcome", "evidence", required=("backlog_uid", "status", "outcome")),
             Field("ordinal", INT, True), Field("observed_at", NOW, True)),
        ),
        Kind(
            "backlog.legacy.reconcile", "uid", "blg",
            (*_texts("title", "proposal_key", "occurrence_kind",
                     required=("title", "proposal_key", "occurrence_kind")),
             Field("legacy_row", "object"), Field("evidence", LIST)),
        ),
        Kind(
            "legacy.evidence.capture", "uid", "leg",
            (*_texts("source_kind", "evidence_fingerprint", "canonical_payload",
                     required=("source_kind", "evidence_fingerprint", "canonical_payload")),
             Field("source_local_id", INT), Field("captured_at", NOW, True)),
        ),
        Kind(
            "audit.evidence.open", "uid", "aud",
            (*_texts("finding_key", "evidence_fingerprint", required=("finding_key", "evidence_fingerprint")),
             Field("opened_at", NOW, True)),
        ),
        Kind("audit.evidence.clear", "uid", "aud", (Field("cleared_at", NOW, True),), revisioned=True),
        Kind(
            "tool.register", "text", "",
            (*_texts("command", "description", "args", "responsibility", "kind", "capability", "scan_target",
                     required=("command", "description", "responsibility", "kind")),
             Field("created_at", NOW, since=2)),
        ),
        Kind(
            "tool.check", "text", "",
            (*_texts("status", "detail", required=("status",)), Field("checked_at", NOW, since=2)),
        ),
        Kind("tool.remove", "text"),
        Kind(
            "trace.add", "integer", "trc",
            (Field("task_summary", TEXT, True), Field("intake_id", INT), *_texts(
                "story_id", "agent", "actions_taken", "files_read", "files_changed", "decisions_made", "errors",
                "outcome"), Field("duration_seconds", INT), Field("token_estimate", INT),
             *_texts("harness_friction", "notes"),
             CREATED, Field("intake_uid", since=2), Field("recorded_at_unix_ns", INT, since=2)),
        ),
        Kind(
            "intervention.add", "integer", "int",
            (Field("trace_id", INT), *_texts("story_id", "type", "description", "source", "impact",
                                             required=("type", "description", "source")),
             CREATED, Field("trace_uid", since=2)),
        ),
        Kind(
            "import.story", "text", "",
            (*_texts("title", "contract_doc", "risk_lane", "status", "evidence", "notes",
                     required=("title", "risk_lane", "status")), *PROOFS, EDGE, REFRESH),
        ),
        Kind(
            "import.decision", "text", "",
            (*_texts("title", "status", "doc_path", "notes", required=("title", "status")), EDGE, REFRESH),
        ),
    )
}  # fmt: skip
"""Every operation by its name. The two of `import` are ours; a changeset of another program never holds them."""


def kind_of(name: object) -> Kind:
    """The kind of an operation. Raises Incompatible for one that we do not know."""
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        from difflib import get_close_matches

        near = get_close_matches(str(name)[:80], KINDS, 1)
        raise Incompatible(f"unknown operation {str(name)[:80]!r}", f"did you mean {near[0]!r}?" if near else "")
    return kind


def complete(op: Op) -> Op:
    """The operation with every field that its kind has in its version: absent ones are null."""
    kind = KINDS[op.name]
    payload = {field.name: op.payload.get(field.name) for field in kind.fields if field.since <= op.version}
    return op._replace(payload=payload)
