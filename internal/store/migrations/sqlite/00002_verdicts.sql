-- +goose Up
-- Verdicts of several judges and people, in rounds, on items, trials and units.
-- Append-only: of rows with one item, trial, unit, step, source, judge and
-- round the last is in force, unless it is stale.
CREATE TABLE verdicts_2 (
  id     INTEGER PRIMARY KEY,
  run    INTEGER NOT NULL REFERENCES runs (n),
  item   TEXT NOT NULL,
  trial  INTEGER NOT NULL,            -- 0: the item itself
  unit   TEXT NOT NULL,               -- '' the whole item or trial
  step   TEXT NOT NULL,               -- what was judged
  source TEXT NOT NULL,               -- model | human | rule | pipeline
  judge  TEXT NOT NULL,               -- which model, person, rule or pipeline
  round  INTEGER NOT NULL,            -- from 1
  at     TEXT NOT NULL,               -- RFC 3339, UTC; '' where the calls tell
  data   BLOB,
  error  TEXT NOT NULL,
  stale  INTEGER NOT NULL DEFAULT 0   -- 1: gold changed since
);
INSERT INTO verdicts_2 (run, item, trial, unit, step, source, judge, round, at, data, error)
  SELECT t.run, t.item, v.trial, '', v.step, v.source, v.judge, 1, '', v.data, v.error
  FROM verdicts v JOIN trials t ON t.id = v.trial ORDER BY v.trial, v.step;
DROP TABLE verdicts;
ALTER TABLE verdicts_2 RENAME TO verdicts;
CREATE INDEX verdicts_by_trial ON verdicts (trial, step, unit, source, judge, round);
CREATE INDEX verdicts_of_items ON verdicts (run, item) WHERE trial = 0;

-- Scores of a case as a whole, such as the majority of its replicates, filed
-- under its first trial with an outcome. Form as in scores.
CREATE TABLE case_scores (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  data  TEXT NOT NULL
);

-- +goose Down
SELECT 1;
