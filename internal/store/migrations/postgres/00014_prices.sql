-- +goose Up
-- See ../sqlite.
ALTER TABLE calls ADD COLUMN prices TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
SELECT 1;
