-- +goose Up
-- The prompts of a few trials of each arm and judge, which reports show as an example. A
-- row has what a model was asked in a stage of a trial.
CREATE TABLE prompts (
  trial INTEGER NOT NULL REFERENCES trials (id),
  stage TEXT NOT NULL,                -- run | judge
  model TEXT NOT NULL,                -- as in calls
  steps INTEGER NOT NULL,             -- of the trial in the stage, of all models
  texts TEXT NOT NULL,                -- JSON list of the first steps: {step, text}, shortened
  PRIMARY KEY (trial, stage, model)
) WITHOUT ROWID;

-- +goose Down
SELECT 1;
