package store

import (
	"context"
)

// What rows take in a store, in bytes: measured with 200,000 and with 40,000 trials, see docs/scale.md. What
// scores, outcomes and answers have in them takes more than its length, as pages have room left.
var (
	sizeInFile     = size{trial: 250, derived: 1.3, call: 410, answer: 1.1}
	sizeInDatabase = size{trial: 440, derived: 1.05, call: 750, answer: 0.95}
)

type size struct{ trial, derived, call, answer float64 }

// assumedDerived is what the outcome and scores of a trial have if the store has none.
const assumedDerived = 1000

// BytesOf is about what a store grows by with trials whose outcome and scores have a mean
// length, 0 if it is not known, and with calls whose answers have one. The store need not exist.
func BytesOf(path string, trials, calls int, derived, answer float64) int64 {
	s := sizeInFile
	if IsAddress(path) {
		s = sizeInDatabase
	}
	if derived == 0 {
		derived = assumedDerived
	}
	return int64(float64(trials)*(s.trial+s.derived*derived) + float64(calls)*(s.call+s.answer*answer))
}

// Derived is the mean length of the outcomes and scores of the latest trials of the store, 0 if
// it has none.
func (db *DB) Derived(ctx context.Context) (bytes float64, err error) {
	return one[float64](ctx, db, `SELECT (SELECT coalesce(avg(octet_length(data)), 0) FROM (SELECT data FROM scores ORDER BY trial DESC LIMIT ?) AS s)
		+ (SELECT coalesce(avg(octet_length(detail) + coalesce(octet_length(data), 0)), 0) FROM (SELECT detail, data FROM outcomes ORDER BY trial DESC LIMIT ?) AS o)`, latest, latest)
}

// Recent is what the latest calls of a model took that it answered.
type Recent struct {
	Calls         int
	LatencyMS     float64 // mean
	Bytes, Tokens float64 // mean, of answers
}

// latest is how many calls [DB.Recent] reads: all of a large store would take minutes.
const latest = 10_000

// Recent reads the latest calls of the store, by the provider's name of the model. Answers that
// were taken are not among them, nor those of runs that are archived.
func (db *DB) Recent(ctx context.Context) (map[string]Recent, error) {
	return mapped[string, Recent](ctx, db, `SELECT model, count(*), avg(latency_ms), avg(bytes), avg(output_tokens) FROM (
		SELECT model, latency_ms, octet_length(text) AS bytes, output_tokens, error_kind, source, stage FROM calls ORDER BY id DESC LIMIT ?) AS c
		WHERE error_kind = '' AND source IS NULL AND stage <> 'embed' GROUP BY model`, latest)
}
