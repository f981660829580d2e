-- +goose Up
-- See ../postgres. A file has no partitions.
SELECT 1;

-- +goose Down
SELECT 1;
