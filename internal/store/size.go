package store

import (
	"context"
	"database/sql"
)

// What rows take in a store, in bytes beside the text of answers: measured with 100,000 trials,
// see docs/scale.md. A text takes more than its length, as pages have room left.
var (
	sizeInFile     = size{trial: 800, call: 650, text: 1.15}
	sizeInDatabase = size{trial: 800, call: 650, text: 1.05}
)

type size struct{ trial, call, text float64 }

// BytesOf is about what a store grows by with trials and calls whose answers have a mean
// length, once they are scored. The store need not exist.
func BytesOf(path string, trials, calls int, answer float64) int64 {
	s := sizeInFile
	if IsAddress(path) {
		s = sizeInDatabase
	}
	return int64(float64(trials)*s.trial + float64(calls)*(s.call+s.text*answer))
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
	type row struct {
		model string
		Recent
	}
	models := map[string]Recent{}
	for r, err := range query(ctx, db, `SELECT model, count(*), avg(latency_ms), avg(bytes), avg(output_tokens) FROM (
		SELECT model, latency_ms, octet_length(text) AS bytes, output_tokens, error_kind, source, stage FROM calls ORDER BY id DESC LIMIT ?) AS c
		WHERE error_kind = '' AND source IS NULL AND stage <> 'embed' GROUP BY model`, []any{latest}, func(rows *sql.Rows) (r row, err error) {
		return r, rows.Scan(&r.model, &r.Calls, &r.LatencyMS, &r.Bytes, &r.Tokens)
	}) {
		if err != nil {
			return nil, err
		}
		models[r.model] = r.Recent
	}
	return models, nil
}
