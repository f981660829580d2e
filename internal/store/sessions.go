package store

import (
	"context"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Sessions lists the sessions of a run that sent requests, oldest first. Requests of
// trials that left the plan count.
func (db *DB) Sessions(ctx context.Context, run *Run) ([]eval.Session, error) {
	index := map[int64]int{}
	var list []eval.Session
	var s eval.Session
	var id int64
	const from = ` FROM sessions s JOIN attempts a ON a.session = s.id JOIN trials t ON t.id = a.trial WHERE s.run = ? `
	err := db.visit(ctx, `SELECT s.id, s.process, min(a.sent_at), max(a.sent_at), count(*),
		count(*) - count(DISTINCT a.trial || ' ' || a.stage || ' ' || a.step), count(*) FILTER (WHERE a.ended AND a.error_kind = ''), count(DISTINCT t.item)`+from+
		`GROUP BY s.id ORDER BY s.id`, []any{run}, []any{&id, &s.Process, &s.First, &s.Last, &s.Requests, &s.Retries, &s.Answers, &s.Items}, func() {
		index[id], s.N = len(list), len(list)+1
		list = append(list, s)
	})
	var ended eval.SessionError
	if err == nil {
		err = db.visit(ctx, `SELECT s.id, a.error_kind, count(*)`+from+`AND NOT (a.ended AND a.error_kind = '')
			GROUP BY s.id, a.error_kind ORDER BY s.id, a.error_kind`, []any{run}, []any{&id, &ended.Kind, &ended.Requests}, func() {
			s := &list[index[id]]
			s.Errors = append(s.Errors, ended)
		})
	}
	var n int
	if err == nil {
		err = db.visit(ctx, `SELECT first, count(*) FROM (SELECT min(s.id) AS first`+from+`GROUP BY t.item) AS items GROUP BY first`,
			[]any{run}, []any{&id, &n}, func() { list[index[id]].New = n })
	}
	sum := 0
	for i := range list {
		sum += list[i].New
		list[i].Done = sum
	}
	return list, err
}
