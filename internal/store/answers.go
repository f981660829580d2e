package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Answers are the outcomes of one arm of a run, to be read without its plan. In
// memory are ids alone.
type Answers struct {
	db  *DB
	run *Run
	ids map[answerKey]int64
}

type answerKey struct {
	Item      string
	Replicate int
}

// Answers finds the trials of an arm.
func (db *DB) Answers(ctx context.Context, run *Run, arm string) (*Answers, error) {
	ids, err := mapped[answerKey, int64](ctx, db, `SELECT item, replicate, id FROM trials t WHERE `+inPlan+` AND arm = ?`, run, arm)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		arms, err := db.PlanArms(ctx, run)
		return nil, errors.Join(err, fmt.Errorf("arm %q of run %s: %w: its arms are %q", arm, run.ID, ErrNotFound, arms))
	}
	return &Answers{db, run, ids}, nil
}

// PlanArms lists the arms of a run's plan.
func (db *DB) PlanArms(ctx context.Context, run *Run) ([]string, error) {
	return all[string](ctx, db, `SELECT DISTINCT arm FROM trials WHERE run = ? AND place >= 0 ORDER BY arm`, run)
}

// Questions returns the question of each trial of an arm.
func (db *DB) Questions(ctx context.Context, run *Run, arm string) (map[eval.Trial]int64, error) {
	return mapped[eval.Trial, int64](ctx, db, `SELECT item, arm, replicate, question FROM trials t WHERE `+inPlan+` AND arm = ?`, run, arm)
}

// FirstQuestions returns the question of the first replicate of each item and arm.
func (db *DB) FirstQuestions(ctx context.Context, run *Run) (map[[2]string]int64, error) {
	return mapped[[2]string, int64](ctx, db, `SELECT item, arm, question FROM trials t WHERE `+inPlan+` AND replicate = 1`, run)
}

// OutcomesOf reads the outcomes of an arm.
func (db *DB) OutcomesOf(ctx context.Context, run *Run, arm string) iter.Seq2[eval.Judged, error] {
	return db.outcomes(ctx, inPlan+` AND t.arm = ?`, run, arm)
}

// Earlier says which trials of a run an earlier plan had.
type Earlier struct {
	// Outcomes and Verdicts are the trials of the plan with those of an earlier one, which
	// had another question for them or another basis. Reread are those of the others that an
	// earlier version of the rules read.
	Outcomes, Verdicts, Reread Set
	Left                       int  // trials with an outcome that left the plan
	Older                      bool // outcomes are of a version that recorded no basis: it is not known
}

// Earlier returns the trials of a run that an earlier plan had.
func (db *DB) Earlier(ctx context.Context, run *Run) (e Earlier, err error) {
	type row struct {
		Place                   int
		Question, Basis, Judged int64
		Failed                  bool
	}
	e.Outcomes, e.Verdicts, e.Reread = newSet(run.Trials), newSet(run.Trials), newSet(run.Trials)
	if err := visit(ctx, db, `SELECT t.place, t.question, o.basis, coalesce((SELECT j.basis FROM judged j WHERE j.trial = t.id), 0), o.kind = 'failed'
		FROM `+planned+`outcomes o ON o.trial = t.id WHERE `+inPlan, []any{run}, func(r row) {
		e.Older = e.Older || r.Basis == 0 && !r.Failed
		basis, judged := run.plan.Basis(r.Place)
		switch {
		case r.Question != 0 && r.Question != run.plan.Question(r.Place):
			e.Outcomes.add(r.Place)
		case r.Basis == 0 || r.Basis == basis:
		case run.plan.ReadEarlier(r.Place, r.Basis):
			e.Reread.add(r.Place)
		default:
			e.Outcomes.add(r.Place)
		}
		if r.Judged != 0 && r.Judged != judged {
			e.Verdicts.add(r.Place)
		}
	}); err != nil {
		return e, err
	}
	e.Left, err = db.LeftPlan(ctx, run)
	return e, err
}

// LeftPlan counts the trials with an outcome that left the plan.
func (db *DB) LeftPlan(ctx context.Context, run *Run) (int, error) {
	return one[int](ctx, db, `SELECT count(*) FROM trials t JOIN outcomes o ON o.trial = t.id WHERE t.run = ? AND t.place < 0`, run)
}

// JudgedBy returns a hash of what the verdicts of each item and arm depend on beside the
// outcome: judges and their settings, prompt and criteria, gold. Trials that were not judged,
// or by a version that recorded none, are not in it.
func (db *DB) JudgedBy(ctx context.Context, run *Run) (map[[2]string]int64, error) {
	return mapped[[2]string, int64](ctx, db, `SELECT t.item, t.arm, j.basis FROM `+planned+`judged j ON j.trial = t.id WHERE `+inPlan+` AND j.basis <> 0`, run)
}

// A Reading is what an outcome depends on beside its answers, as a hash.
type Reading struct {
	Trial eval.Trial
	Basis int64
}

// ReadBy returns what each outcome was read by, but for those of a version that did not record it.
func (db *DB) ReadBy(ctx context.Context, run *Run) iter.Seq2[Reading, error] {
	return rows[Reading](ctx, db, `SELECT t.item, t.arm, t.replicate, o.basis FROM `+planned+`outcomes o ON o.trial = t.id WHERE `+inPlan+` AND o.basis <> 0`, run)
}

// WithoutQuestions reports whether trials of the plan have no question: a version
// before format 5 wrote them.
func (db *DB) WithoutQuestions(ctx context.Context, run *Run) (bool, error) {
	return one[bool](ctx, db, `SELECT EXISTS (SELECT 1 FROM trials WHERE run = ? AND place >= 0 AND question = 0)`, run)
}

// Get reads the outcome of a trial, the version of the model that gave it, "" where none
// did, and what it took.
func (a *Answers) Get(ctx context.Context, item string, replicate int) (o eval.Outcome, version string, taken eval.Taken, err error) {
	id, ok := a.ids[answerKey{item, replicate}]
	if !ok {
		return o, "", taken, fmt.Errorf("item %q replicate %d of run %s: %w", item, replicate, a.run.ID, ErrNotFound)
	}
	type answered struct {
		Version, Model string
		Call           int64
	}
	last, err := one[answered](ctx, a.db, `SELECT c.model_version, c.model, c.id FROM trials t JOIN calls c ON c.trial = t.id
		WHERE `+oneTrial+` AND c.stage = 'run' AND c.error_kind = ''`+inForce+` ORDER BY c.id DESC LIMIT 1`, a.run, id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return o, "", taken, err
	}
	const ofTrial = "the outcome of item %q replicate %d of run %s"
	if taken, err = first(a.db.taken(ctx, oneTrial, a.run, id), ofTrial, item, replicate, a.run.ID); err != nil {
		return o, "", taken, err
	}
	prices, err := all[string](ctx, a.db, `SELECT DISTINCT c.prices FROM trials t JOIN calls c ON c.trial = t.id
		WHERE `+oneTrial+` AND c.stage = 'run' AND c.error_kind = '' AND c.prices <> ''`+inForce+` ORDER BY 1`, a.run, id)
	if err != nil {
		return o, "", taken, err
	}
	taken.Call, taken.Run, taken.Model, taken.Prices = last.Call, a.run.N, last.Model, strings.Join(prices, "\n")
	j, err := first(a.db.outcomes(ctx, oneTrial, a.run, id), ofTrial, item, replicate, a.run.ID)
	return j.Outcome, last.Version, taken, err
}
