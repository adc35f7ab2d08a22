-- Version 6: which changesets have been applied.
CREATE TABLE changeset_applied (
    id TEXT PRIMARY KEY,
    path TEXT,
    applied_at TEXT NOT NULL DEFAULT (datetime('now'))
);
INSERT INTO schema_version (version) VALUES (6);
