-- +goose Up
-- The split, cluster and strata of an item, as JSON; '': a version before format 13 wrote it.
ALTER TABLE items ADD COLUMN grouped TEXT NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
