package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/scruple-eval/scruple/internal/eval"
)

// AddPeople appends those verdicts of people that are not in force already, in one
// transaction. Verdicts on trials that the run does not have are left out.
func (db *DB) AddPeople(ctx context.Context, run *Run, list []eval.PersonVerdict) (added int, err error) {
	if n, err := db.NotInForce(ctx, run, list); n == 0 || err != nil {
		return 0, err
	}
	err = db.rewrite(ctx, run, func(x *steps) {
		x.notInForce(run, list, func(id int64, v eval.PersonVerdict) {
			added++
			x.exec(insertions[intoVerdicts].rows(1), verdictRow(run, v.Trial.Item, id, &v.Verdict)...)
		})
	})
	return added, err
}

// NotInForce counts those verdicts of people that are not in force.
func (db *DB) NotInForce(ctx context.Context, run *Run, list []eval.PersonVerdict) (n int, err error) {
	if db, err = db.withRows(ctx, run); err != nil {
		return 0, err
	}
	x := &steps{ctx: ctx, on: db.sql}
	x.notInForce(run, list, func(int64, eval.PersonVerdict) { n++ })
	return n, db.explain(x.err)
}

func (x *steps) notInForce(run *Run, list []eval.PersonVerdict, do func(trial int64, v eval.PersonVerdict)) {
	for _, v := range list {
		id := int64(0)
		if v.Trial.Arm != "" {
			var err error
			if id, err = run.id(v.Trial); err != nil {
				continue
			}
		}
		var data []byte
		x.get(`SELECT data FROM verdicts WHERE run = ? AND item = ? AND trial = ? AND unit = ? AND step = ? AND source = ? AND judge = ? AND round = ? AND NOT stale
			ORDER BY id DESC LIMIT 1`, []any{run.N, v.Trial.Item, id, modelText(v.Unit), v.Step, string(v.Source), v.By, max(1, v.Round)}, &data)
		none := errors.Is(x.err, sql.ErrNoRows)
		if none {
			x.err = nil
		}
		if x.err == nil && (none || !bytes.Equal(data, v.Data)) {
			do(id, v)
		}
	}
}
