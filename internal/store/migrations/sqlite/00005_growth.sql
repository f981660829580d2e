-- +goose Up
-- A run may grow and shrink: its plan is the trials with a place. A trial keeps its
-- id, also when it leaves the plan.
ALTER TABLE trials ADD COLUMN place INTEGER NOT NULL DEFAULT 0;    -- in the plan, from 0; -id outside of it
ALTER TABLE trials ADD COLUMN question INTEGER NOT NULL DEFAULT 0; -- hash of what determines its requests; 0 before format 5
UPDATE trials SET place = id - (SELECT min(f.id) FROM trials f WHERE f.run = trials.run);
DROP INDEX trials_by_run;
CREATE UNIQUE INDEX trials_by_place ON trials (run, place);

-- The call whose answer was taken. NULL: the answer was asked for.
ALTER TABLE calls ADD COLUMN source INTEGER REFERENCES calls (id);
CREATE INDEX calls_by_key ON calls (key) WHERE source IS NULL; -- answers that may be taken

-- 1: its results have been shown.
ALTER TABLE runs ADD COLUMN analysed INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET analysed = 1 WHERE n IN (SELECT run FROM analyses);

-- +goose Down
SELECT 1;
