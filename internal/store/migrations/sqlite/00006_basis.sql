-- +goose Up
-- What outcomes and verdicts were derived from beside answers, as a hash; 0: a version
-- before format 6 wrote them.
ALTER TABLE outcomes ADD COLUMN basis INTEGER NOT NULL DEFAULT 0;
ALTER TABLE judged ADD COLUMN basis INTEGER NOT NULL DEFAULT 0;

-- 1: the trial no longer asks it, because what it depends on changed.
ALTER TABLE calls ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;

-- Questions had the settings of judges, and no longer have.
UPDATE trials SET question = 0 WHERE question > 0;

-- +goose Down
SELECT 1;
