-- Version 3: the registry of tools.
CREATE TABLE tool (
    name TEXT PRIMARY KEY,
    created_at TEXT NOT NULL DEFAULT (datetime('now')),
    provider TEXT NOT NULL DEFAULT 'custom',
    command TEXT NOT NULL,
    description TEXT NOT NULL,
    args TEXT,
    responsibility TEXT NOT NULL,
    since TEXT NOT NULL DEFAULT 'registered'
);
INSERT INTO schema_version (version) VALUES (3);
