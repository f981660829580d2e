package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/scruple-eval/scruple/internal/eval"
)

// A PersonVerdict is a verdict of a person on a trial, or on an item if the trial has
// no arm.
type PersonVerdict struct {
	Trial eval.Trial
	eval.Verdict
}

// AddPeople appends those verdicts of people that are not in force already, in one
// transaction. Verdicts on trials that the run does not have are left out.
func (db *DB) AddPeople(ctx context.Context, run *Run, list []PersonVerdict) (added int, err error) {
	err = db.change(ctx, func(tx *sql.Tx) error {
		return notInForce(ctx, tx, run, list, func(id int64, v PersonVerdict) error {
			added++
			_, err := tx.ExecContext(ctx, insertVerdict, verdictRow(run, v.Trial.Item, id, &v.Verdict)...)
			return err
		})
	})
	return added, err
}

// NotInForce counts those verdicts of people that are not in force.
func (db *DB) NotInForce(ctx context.Context, run *Run, list []PersonVerdict) (n int, err error) {
	err = notInForce(ctx, db.sql, run, list, func(int64, PersonVerdict) error { n++; return nil })
	return n, explain(db.path, err)
}

func notInForce(ctx context.Context, q querier, run *Run, list []PersonVerdict, do func(trial int64, v PersonVerdict) error) error {
	for _, v := range list {
		id := int64(0)
		if v.Trial.Arm != "" {
			var err error
			if id, err = run.id(v.Trial); err != nil {
				continue
			}
		}
		var data []byte
		err := q.QueryRowContext(ctx, `SELECT data FROM verdicts WHERE run = ? AND item = ? AND trial = ? AND unit = ? AND step = ? AND source = ? AND judge = ? AND round = ? AND NOT stale
			ORDER BY id DESC LIMIT 1`, run.N, v.Trial.Item, id, v.Unit, v.Step, string(v.Source), v.By, max(1, v.Round)).Scan(&data)
		switch {
		case err == nil && bytes.Equal(data, v.Data):
			continue
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		}
		if err := do(id, v); err != nil {
			return err
		}
	}
	return nil
}
