package store

import (
	"cmp"
	"context"
	"database/sql"
	"regexp"
	"slices"
)

// An ErrorCount counts the failed calls with one error.
type ErrorCount struct {
	Calls int    `json:"calls"`
	Kind  string `json:"kind"`
	Text  string `json:"text"` // of one of the calls
}

// varying matches what differs between errors of one cause: numbers and ids.
var varying = regexp.MustCompile(`[0-9a-zA-Z_-]*[0-9][0-9a-zA-Z_-]*`)

// Errors returns the most frequent errors of calls without an answer, at most n.
func (db *DB) Errors(ctx context.Context, run *Run, n int) ([]ErrorCount, error) {
	byCause := map[string]*ErrorCount{}
	for e, err := range query(ctx, db, `SELECT count(*), error_kind, error FROM `+planned+`calls c ON c.trial = t.id
		WHERE `+inPlan+` AND error_kind <> '' GROUP BY error_kind, error ORDER BY error_kind, error`,
		[]any{run.N}, func(rows *sql.Rows) (e ErrorCount, err error) {
			return e, rows.Scan(&e.Calls, &e.Kind, &e.Text)
		}) {
		if err != nil {
			return nil, err
		}
		cause := e.Kind + "\n" + varying.ReplaceAllString(e.Text, "#")
		if known := byCause[cause]; known != nil {
			known.Calls += e.Calls
		} else {
			byCause[cause] = &e
		}
	}
	list := make([]ErrorCount, 0, len(byCause))
	for _, e := range byCause {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b ErrorCount) int {
		return cmp.Or(b.Calls-a.Calls, cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	return list[:min(n, len(list))], nil
}
