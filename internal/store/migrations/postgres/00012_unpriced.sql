-- +goose Up
-- See ../sqlite.
ALTER TABLE attempts ALTER cost_usd DROP NOT NULL;

-- +goose Down
SELECT 1;
