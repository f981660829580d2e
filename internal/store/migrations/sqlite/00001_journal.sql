-- +goose Up
CREATE TABLE runs (
  n           INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE,
  study       TEXT NOT NULL,          -- name of the study
  suite       TEXT NOT NULL,
  study_path  TEXT NOT NULL,
  study_json  TEXT NOT NULL,          -- the study as it was resolved, canonical JSON
  overrides   TEXT NOT NULL,          -- JSON list: what -o changed in the file
  treatment   TEXT NOT NULL,          -- what decides what is asked, "name=value" lines
  replicates  INTEGER NOT NULL,
  trials      INTEGER NOT NULL,       -- planned
  created_at  TEXT NOT NULL,          -- RFC 3339, UTC
  version     TEXT NOT NULL           -- of the program
);
CREATE INDEX runs_by_study ON runs (study, n);

CREATE TABLE items (
  run     INTEGER NOT NULL REFERENCES runs (n),
  item    TEXT NOT NULL,
  input   TEXT NOT NULL,              -- hash of what arms are given
  gold    TEXT NOT NULL,              -- hash of what answers are scored against
  PRIMARY KEY (run, item)
) WITHOUT ROWID;

-- The plan. Ids of one run are consecutive, in plan order.
CREATE TABLE trials (
  id        INTEGER PRIMARY KEY,
  run       INTEGER NOT NULL REFERENCES runs (n),
  item      TEXT NOT NULL,
  arm       TEXT NOT NULL,
  replicate INTEGER NOT NULL
);
CREATE INDEX trials_by_run ON trials (run, id);

-- One row a request that was sent, answered or not. An answer is here before
-- anything uses it.
CREATE TABLE calls (
  id            INTEGER PRIMARY KEY,
  trial         INTEGER NOT NULL REFERENCES trials (id),
  stage         TEXT NOT NULL,        -- run | judge
  step          TEXT NOT NULL,
  key           TEXT NOT NULL,        -- hash of the whole request
  parts         TEXT NOT NULL,        -- the request, "name=value" lines, long values hashed
  provider      TEXT NOT NULL,
  model         TEXT NOT NULL,        -- the provider's name of it
  model_version TEXT NOT NULL,
  request_id    TEXT NOT NULL,
  text          TEXT NOT NULL,
  tool_calls    TEXT,                 -- JSON list
  stop          TEXT NOT NULL,        -- end | length | tool | refused | other
  stop_reason   TEXT NOT NULL,        -- the provider's own word
  refusal       TEXT NOT NULL,
  adapted       TEXT,                 -- JSON list: what was changed because the model refuses it
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens   INTEGER NOT NULL,
  usage_flags   INTEGER NOT NULL,     -- 1: input counts cached, 2: output counts reasoning
  cost_usd      REAL,                 -- NULL: no price known
  latency_ms    REAL NOT NULL,        -- of the last attempt
  attempts      INTEGER NOT NULL,
  error_kind    TEXT NOT NULL,
  error         TEXT NOT NULL,
  UNIQUE (trial, stage, step)
);

CREATE TABLE outcomes (
  trial  INTEGER PRIMARY KEY REFERENCES trials (id),
  kind   TEXT NOT NULL,               -- ok | malformed | refused | failed
  reason TEXT NOT NULL,
  notes  TEXT,                        -- JSON list
  detail TEXT NOT NULL,
  data   BLOB
);

CREATE TABLE verdicts (
  trial  INTEGER NOT NULL REFERENCES trials (id),
  step   TEXT NOT NULL,
  source TEXT NOT NULL,               -- model | human | rule
  judge  TEXT NOT NULL,
  data   BLOB,
  error  TEXT NOT NULL,
  PRIMARY KEY (trial, step)
) WITHOUT ROWID;

-- Trials whose judging is over, with or without verdicts.
CREATE TABLE judged (trial INTEGER PRIMARY KEY REFERENCES trials (id));

-- Scores of one trial: JSON, {unit: {metric: score}}. A score is a number x,
-- which is x/1, or [num, den], or the reason in words why there is none.
CREATE TABLE scores (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  data  TEXT NOT NULL
);

CREATE TABLE analyses (
  run      INTEGER PRIMARY KEY REFERENCES runs (n),
  analysis TEXT NOT NULL,             -- JSON, see package analyse
  verdict  TEXT,                      -- JSON, see package gate; NULL without rules
  basis    TEXT NOT NULL              -- hash of what the study says of scoring and analysis
);

-- What happened to a run: sessions, retries of failed trials, re-scoring with
-- other gold. Append-only.
CREATE TABLE events (
  id   INTEGER PRIMARY KEY,
  run  INTEGER NOT NULL REFERENCES runs (n),
  at   TEXT NOT NULL,
  what TEXT NOT NULL,
  note TEXT NOT NULL
);
-- +goose Down
SELECT 1;
