package store

import (
	"context"

	"github.com/scruple-eval/scruple/internal/eval"
)

// PeopleDiff is how verdicts of people differ from those in force: of each step, those that a
// run lacks, those of them that replace another one, those that no longer count, and those in
// force of people whose answers are away.
type PeopleDiff struct{ Lacking, Changed, Outdated, Away map[string]int }

// Len counts the verdicts that differ.
func (d PeopleDiff) Len() (n int) {
	for _, by := range []map[string]int{d.Lacking, d.Outdated} {
		for _, of := range by {
			n += of
		}
	}
	return n
}

// SetPeople makes the verdicts in list those of people that are in force, in one transaction:
// it appends what the run lacks, and what is not in list becomes stale, but not what people said
// whose answers to a step are away: nothing shows that it changed. Verdicts on trials that the run
// does not have are left out. events are recorded with what changes; nil for none.
func (db *DB) SetPeople(ctx context.Context, run *Run, list []eval.PersonVerdict, away func(step, person string) bool, events func(PeopleDiff) []Event) (PeopleDiff, error) {
	d, err := db.PeopleDiff(ctx, run, list, away)
	if err != nil || d.Len() == 0 {
		return d, err
	}
	err = db.rewrite(ctx, run, func(x *steps) {
		if d = x.people(run, list, away, true); events != nil {
			x.addEvents(run, events(d))
		}
	})
	return d, err
}

// PeopleDiff says what SetPeople would change.
func (db *DB) PeopleDiff(ctx context.Context, run *Run, list []eval.PersonVerdict, away func(step, person string) bool) (PeopleDiff, error) {
	db, err := db.withRows(ctx, run)
	if err != nil {
		return PeopleDiff{}, err
	}
	x := &steps{ctx: ctx, on: db.sql}
	d := x.people(run, list, away, false)
	return d, db.explain(x.err)
}

// A personKey is what one verdict of a person is in force for.
type personKey struct {
	Trial                   int64
	Item, Unit, Step, Judge string
	Round                   int
}

// A PersonUnit is what a person says something of: a trial, or a unit of its answer.
type PersonUnit struct {
	Trial              eval.Trial
	Unit, Step, Person string
	Round              int
}

// SaidByPeople are the verdicts of people on trials that are in force.
func (db *DB) SaidByPeople(ctx context.Context, run *Run) (map[PersonUnit]string, error) {
	return mapped[PersonUnit, string](ctx, db, `SELECT t.item, t.arm, t.replicate, v.unit, v.step, v.judge, v.round, coalesce(v.data, '') FROM verdicts v JOIN trials t ON t.id = v.trial
		WHERE v.run = ? AND v.source = 'human' AND NOT v.stale ORDER BY v.id`, run)
}

// people compares verdicts of people with those in force, and puts them in force if set says so.
func (x *steps) people(run *Run, said []eval.PersonVerdict, away func(step, person string) bool, set bool) PeopleDiff {
	d, has := PeopleDiff{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}, map[personKey]bool{}
	inForce := map[personKey]string{}
	for _, v := range list[struct {
		Of   personKey
		Data string
	}](x, `SELECT trial, item, unit, step, judge, round, coalesce(data, '') FROM verdicts WHERE run = ? AND source = ? AND NOT stale ORDER BY id`, run.N, string(eval.ByHuman)) {
		inForce[v.Of] = v.Data
	}
	for _, v := range said {
		id := int64(0)
		if v.Trial.Arm != "" {
			var err error
			if id, err = run.id(v.Trial); err != nil {
				continue
			}
		}
		k := personKey{id, v.Trial.Item, v.Unit, v.Step, v.By, max(1, v.Round)}
		has[k] = true
		data, is := inForce[k]
		if is && data == string(v.Data) {
			continue
		}
		d.Lacking[v.Step]++
		if is {
			d.Changed[v.Step]++
		}
		if set {
			x.exec(insertions[intoVerdicts].rows(1), verdictRow(run, v.Trial.Item, id, &v.Verdict)...)
		}
	}
	for k := range inForce {
		switch {
		case has[k]:
		case away != nil && away(k.Step, k.Judge):
			d.Away[k.Step]++
		default:
			d.Outdated[k.Step]++
			if set {
				x.exec(`UPDATE verdicts SET stale = TRUE WHERE run = ? AND source = ? AND trial = ? AND item = ? AND unit = ? AND step = ? AND judge = ? AND round = ?`,
					run.N, string(eval.ByHuman), k.Trial, k.Item, modelText(k.Unit), k.Step, k.Judge, k.Round)
			}
		}
	}
	return d
}
