-- Version 12: an order finer than seconds, and why a proposal was rejected (until then a line of its notes).
ALTER TABLE trace ADD COLUMN recorded_at_unix_ns INTEGER;
ALTER TABLE story_backlog_link ADD COLUMN linked_at_unix_ns INTEGER;
ALTER TABLE backlog ADD COLUMN rejection_reason TEXT;
WITH RECURSIVE
    note(id, number, line, rest) AS (
        SELECT id, 0, NULL, notes || char(10) FROM backlog WHERE status = 'rejected' AND notes IS NOT NULL
        UNION ALL
        SELECT id, number + 1, substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1)
        FROM note WHERE rest <> ''
    ),
    reason(id, number, text) AS (
        SELECT id, min(number), substr(line, 19) FROM note WHERE substr(line, 1, 18) = 'rejection_reason: ' GROUP BY id
    )
UPDATE backlog SET rejection_reason = (SELECT text FROM reason WHERE reason.id = backlog.id)
WHERE id IN (SELECT id FROM reason);
INSERT INTO schema_version (version) VALUES (12);
