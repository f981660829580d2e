package experiment

import (
	"context"

	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// A Shard is one step of a run on whole items, so that the arms and replicates of an item
// are never apart: the trials from a place in the plan to another, which is not included.
type Shard struct {
	Step Step `json:"step"`
	From int  `json:"from"`
	To   int  `json:"to"`
}

// A Step of a run begins when the one before it has ended for all items.
type Step int

// The steps of a run.
const (
	Performing  Step = iota
	Calibrating      // the judge, by its known answers
	Judging
	Scoring // of the whole run
)

func (s Step) String() string { return [...]string{"run", "calibrate", "judge", "score"}[s] }

// LeastTrials is the least size of a shard but the last: a job of a queue costs about as much
// as ten trials. Of very many trials it has more, else the jobs alone fill the database.
const (
	LeastTrials = 64
	manyTrials  = 10_000_000
	mostTrials  = 1024
)

// whole is a step of the whole run.
func (r *Run) whole(step Step) Shard { return Shard{step, 0, r.Plan.Len()} }

// Shards splits the pending work of a part of a run.
func (r *Run) Shards(left *Left) []Shard {
	shards := r.cut(Performing, left.performs)
	if !r.HasJudge() {
		return shards
	}
	calibrates := r.calibrationArms()
	of := func(calibrating bool) func(int) bool {
		return func(seq int) bool {
			return calibrates[r.Plan.Trial(seq).Arm] == calibrating && (left.performs(seq) || left.answered(seq) && left.judges(seq))
		}
	}
	return append(append(shards, r.cut(Calibrating, of(true))...), r.cut(Judging, of(false))...)
}

// cut makes shards of the items that have pending trials.
func (r *Run) cut(step Step, pending func(seq int) bool) (shards []Shard) {
	size := LeastTrials
	if r.Plan.Len() >= manyTrials {
		size = mostTrials
	}
	from, n, item := 0, 0, ""
	for seq := range r.Plan.Len() {
		if of := r.Plan.Trial(seq).Item; of != item {
			if n >= size {
				shards, n = append(shards, Shard{step, from, seq}), 0
			}
			if n == 0 {
				from = seq
			}
			item = of
		}
		if pending(seq) {
			n++
		}
	}
	if n > 0 {
		shards = append(shards, Shard{step, from, r.Plan.Len()})
	}
	return shards
}

// Tasks returns what is pending of a shard, of which other processes may have done some.
func (r *Run) Tasks(ctx context.Context, s Shard, part Part) ([]run.Task, error) {
	p, err := r.db.ProgressIn(ctx, r.Record, s.From, s.To)
	if err != nil {
		return nil, err
	}
	return store.Collect(r.tasks(ctx, r.leftOf(part, p), s))
}

// InOrder reports whether tasks of items that come one after another are to be done one after
// another.
func (r *Run) InOrder() bool {
	return r.Study.Execution.Delay > 0 || r.Study.Execution.ItemByItem
}

// CheckPrograms is what ends each session, of some trials: it rejects answers of a pipeline
// whose program changed meanwhile.
func (r *Run) CheckPrograms(ctx context.Context, s Shard) error {
	return r.checkPrograms(ctx, func(seq int) bool { return s.Step == Performing && s.From <= seq && seq < s.To })
}

// Part returns the part of the run that this is left of.
func (l *Left) Part() Part { return l.part }

// Spent returns what the run had spent.
func (l *Left) Spent() run.Spent { return l.progress.Spent }
