-- +goose Up
-- See ../sqlite.
ALTER TABLE items ADD COLUMN grouped TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
