-- +goose Up
-- The cost of a request is NULL if its price is unknown; it was 0.
CREATE TABLE priced_attempts (
  trial      INTEGER NOT NULL REFERENCES trials (id),
  session    INTEGER NOT NULL REFERENCES sessions (id),
  n          INTEGER NOT NULL,        -- in the session, from 1, in the order of sending
  stage      TEXT NOT NULL,
  step       TEXT NOT NULL,
  sent_at    INTEGER NOT NULL,        -- microseconds since 1970, UTC
  ended      INTEGER NOT NULL,        -- 1: an answer or an error came back
  error_kind TEXT NOT NULL,
  tokens     INTEGER NOT NULL,        -- estimates, which count while ended is 0
  cost_usd   REAL,
  PRIMARY KEY (trial, session, n)
) WITHOUT ROWID;
INSERT INTO priced_attempts SELECT * FROM attempts;
DROP TABLE attempts;
ALTER TABLE priced_attempts RENAME TO attempts;

-- +goose Down
SELECT 1;
