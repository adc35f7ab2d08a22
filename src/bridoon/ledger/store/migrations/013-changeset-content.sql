-- Version 13: which bytes of a changeset were applied.
ALTER TABLE changeset_applied ADD COLUMN content_sha256 TEXT;
INSERT INTO schema_version (version) VALUES (13);
