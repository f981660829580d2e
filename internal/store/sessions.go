package store

import (
	"context"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Sessions lists the sessions of a run that sent requests, oldest first. Requests of
// trials that left the plan count.
func (db *DB) Sessions(ctx context.Context, run *Run) ([]eval.Session, error) {
	const from = ` FROM sessions s JOIN attempts a ON a.session = s.id JOIN trials t ON t.id = a.trial WHERE s.run = ? `
	type row struct {
		ID                                int64
		Process                           string
		First, Last                       int64
		Requests, Retries, Answers, Items int
	}
	sessions, err := all[row](ctx, db, `SELECT s.id, s.process, min(a.sent_at), max(a.sent_at), count(*),
		count(*) - count(DISTINCT a.trial || ' ' || a.stage || ' ' || a.step), count(*) FILTER (WHERE a.ended AND a.error_kind = ''), count(DISTINCT t.item)`+from+
		`GROUP BY s.id ORDER BY s.id`, run)
	if err != nil {
		return nil, err
	}
	asked, err := mapped[int64, int](ctx, db, `SELECT first, count(*) FROM (SELECT min(s.id) AS first`+from+`GROUP BY t.item) AS items GROUP BY first`, run)
	if err != nil {
		return nil, err
	}
	var list []eval.Session
	index, sum := map[int64]int{}, 0
	for i, s := range sessions {
		index[s.ID], sum = i, sum+asked[s.ID]
		list = append(list, eval.Session{N: i + 1, Process: s.Process, First: s.First, Last: s.Last,
			Requests: s.Requests, Retries: s.Retries, Answers: s.Answers, Items: s.Items, New: asked[s.ID], Done: sum})
	}
	type failure struct {
		Session int64
		eval.SessionError
	}
	return list, visit(ctx, db, `SELECT s.id, a.error_kind, count(*)`+from+`AND NOT (a.ended AND a.error_kind = '')
		GROUP BY s.id, a.error_kind ORDER BY s.id, a.error_kind`, []any{run}, func(f failure) {
		s := &list[index[f.Session]]
		s.Errors = append(s.Errors, f.SessionError)
	})
}
