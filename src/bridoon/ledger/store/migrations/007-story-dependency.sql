-- Version 7: story_id blocks blocks_story_id.
CREATE TABLE story_dependency (
    story_id TEXT NOT NULL REFERENCES story(id) ON DELETE CASCADE,
    blocks_story_id TEXT NOT NULL REFERENCES story(id) ON DELETE CASCADE,
    created_at TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (story_id, blocks_story_id),
    CHECK (story_id <> blocks_story_id)
);
CREATE INDEX idx_story_dependency_blocker ON story_dependency(blocks_story_id);
INSERT INTO schema_version (version) VALUES (7);
