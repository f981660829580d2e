-- +goose Up
-- Marks the file as a store of Scruple: "SCRP".
PRAGMA application_id = 1396920912;

-- Of all columns of the row but attempts, which adds up. NULL: written by an older
-- version.
ALTER TABLE calls ADD COLUMN checksum INTEGER;

-- Of the run, its items without gold, which may change, and its trials.
ALTER TABLE runs ADD COLUMN checksum INTEGER;
-- +goose Down
SELECT 1;
