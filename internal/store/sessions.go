package store

import (
	"context"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A Session is one process's work on a run: what it sent, and what came back.
type Session struct {
	N        int            `json:"n"`        // from 1, in the order of the run
	Process  string         `json:"process"`  // host:id
	First    int64          `json:"first_us"` // time of the first request: microseconds since 1970, UTC
	Last     int64          `json:"last_us"`  // time of the last one
	Requests int            `json:"requests"` // retries included
	Retries  int            `json:"retries"`  // requests beyond the first of a call in the session
	Answers  int            `json:"answers"`
	Items    int            `json:"items"`     // items that it asked about
	New      int            `json:"items_new"` // items not asked about before
	Done     int            `json:"items_sum"` // items of the run asked about by then
	Errors   []SessionError `json:"errors,omitempty"`
}

// A SessionError counts the requests of a session that ended in one kind of error.
// "" stands for requests whose end is unknown, because the process died.
type SessionError struct {
	Kind     eval.ErrorKind `json:"kind"`
	Requests int            `json:"requests"`
}

// Sessions lists the sessions of a run that sent requests, oldest first. Requests of
// trials that left the plan count.
func (db *DB) Sessions(ctx context.Context, run *Run) ([]Session, error) {
	index := map[int64]int{}
	var list []Session
	var s Session
	var id int64
	const from = ` FROM sessions s JOIN attempts a ON a.session = s.id JOIN trials t ON t.id = a.trial WHERE s.run = ? `
	err := db.visit(ctx, `SELECT s.id, s.process, min(a.sent_at), max(a.sent_at), count(*),
		count(*) - count(DISTINCT a.trial || ' ' || a.stage || ' ' || a.step), count(*) FILTER (WHERE a.ended AND a.error_kind = ''), count(DISTINCT t.item)`+from+
		`GROUP BY s.id ORDER BY s.id`, []any{run}, []any{&id, &s.Process, &s.First, &s.Last, &s.Requests, &s.Retries, &s.Answers, &s.Items}, func() {
		index[id], s.N = len(list), len(list)+1
		list = append(list, s)
	})
	var ended SessionError
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
