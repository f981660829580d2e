-- +goose Up
-- The processes that sent requests.
CREATE TABLE sessions (
  id      INTEGER PRIMARY KEY,
  run     INTEGER NOT NULL REFERENCES runs (n),
  process TEXT NOT NULL               -- host:process id
);

-- One row a request that was sent, written before it is sent, so that a crash
-- forgets none. A call has one row here for its first request and for each retry.
CREATE TABLE attempts (
  trial      INTEGER NOT NULL REFERENCES trials (id),
  session    INTEGER NOT NULL REFERENCES sessions (id),
  n          INTEGER NOT NULL,        -- in the session, from 1, in the order of sending
  stage      TEXT NOT NULL,
  step       TEXT NOT NULL,
  sent_at    INTEGER NOT NULL,        -- microseconds since 1970, UTC
  ended      INTEGER NOT NULL,        -- 1: an answer or an error came back
  error_kind TEXT NOT NULL,
  tokens     INTEGER NOT NULL,        -- estimates, which count while ended is 0
  cost_usd   REAL NOT NULL,
  PRIMARY KEY (trial, session, n)
) WITHOUT ROWID;

-- Requests of earlier formats, which have no row in attempts.
ALTER TABLE runs ADD COLUMN untimed INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET untimed = (SELECT coalesce(sum(c.attempts), 0) FROM trials t JOIN calls c ON c.trial = t.id WHERE t.run = runs.n);

-- +goose Down
SELECT 1;
