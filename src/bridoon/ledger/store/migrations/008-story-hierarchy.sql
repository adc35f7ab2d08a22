-- Version 8: stories have parts.
CREATE TABLE story_hierarchy (
    parent_story_id TEXT NOT NULL REFERENCES story(id) ON DELETE CASCADE,
    child_story_id TEXT NOT NULL REFERENCES story(id) ON DELETE CASCADE,
    created_at TEXT NOT NULL DEFAULT (datetime('now')),
    PRIMARY KEY (parent_story_id, child_story_id),
    CHECK (parent_story_id <> child_story_id)
);
CREATE INDEX idx_story_hierarchy_child ON story_hierarchy(child_story_id);
INSERT INTO schema_version (version) VALUES (8);
