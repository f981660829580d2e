-- +goose Up
-- See ../sqlite.
ALTER TABLE runs ADD COLUMN archive TEXT COLLATE "C";
ALTER TABLE calls ADD COLUMN source_run BIGINT;
UPDATE calls SET source_run = (SELECT o.run FROM calls s JOIN trials o ON o.id = s.trial WHERE s.id = calls.source) WHERE source IS NOT NULL;
ALTER TABLE outcomes ADD COLUMN step TEXT COLLATE "C";

-- +goose Down
SELECT 1;
