-- +goose Up
-- A file has no workers; the number is that of ../postgres.
SELECT 1;
-- +goose Down
SELECT 1;
