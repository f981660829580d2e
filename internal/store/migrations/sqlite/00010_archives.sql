-- +goose Up
-- Where the rows of the run are, which are no longer here: JSON, see archive.go; NULL: here.
ALTER TABLE runs ADD COLUMN archive TEXT;

-- The run of the source, whose calls may be in an archive.
ALTER TABLE calls ADD COLUMN source_run INTEGER REFERENCES runs (n);
UPDATE calls SET source_run = (SELECT o.run FROM calls s JOIN trials o ON o.id = s.trial WHERE s.id = calls.source) WHERE source IS NOT NULL;

-- The step of the run whose answer is the data, which is then NULL: an answer is stored once.
ALTER TABLE outcomes ADD COLUMN step TEXT;

-- +goose Down
SELECT 1;
