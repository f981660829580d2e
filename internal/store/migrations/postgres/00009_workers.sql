-- +goose Up
-- The workers of the store, and what they share. Their queue is River's, in tables of its own.
CREATE TABLE workers (
  holder  TEXT COLLATE "C" PRIMARY KEY, -- one opening of the store, and the id of River's client
  process TEXT COLLATE "C" NOT NULL,
  seen    TIMESTAMPTZ NOT NULL,         -- by the clock of the server
  note    TEXT COLLATE "C" NOT NULL     -- why it does not take part in a run, "" if it does
);

-- What may be asked of a model, by all workers together.
CREATE TABLE limits (
  name    TEXT COLLATE "C" PRIMARY KEY, -- wire, address and model
  free    DOUBLE PRECISION NOT NULL,    -- requests
  tokens  DOUBLE PRECISION NOT NULL,    -- below 0 if more were used than allowed
  at      TIMESTAMPTZ NOT NULL,
  closed  TIMESTAMPTZ NOT NULL          -- no request before
);

-- What a run has spent of its budget, and what its workers may spend without asking again.
CREATE TABLE budgets (
  run    BIGINT PRIMARY KEY,
  calls  BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  cost   DOUBLE PRECISION NOT NULL
);

-- The files of studies, so that every worker reads the same.
CREATE TABLE files (
  hash TEXT COLLATE "C" PRIMARY KEY,
  data BYTEA NOT NULL
);
CREATE TABLE files_of_runs (
  run  BIGINT NOT NULL,
  path TEXT COLLATE "C" NOT NULL, -- from the folder of the study
  mode BIGINT NOT NULL,           -- who may read and execute it
  hash TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (run, path)
);
-- +goose Down
SELECT 1;
