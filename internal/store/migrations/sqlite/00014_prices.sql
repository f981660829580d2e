-- +goose Up
-- The prices by which cost_usd counts, one a line; '': unknown, or a version before format 14 wrote it.
ALTER TABLE calls ADD COLUMN prices TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
