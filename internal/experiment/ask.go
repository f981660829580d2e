package experiment

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

// Left counts the pending work of a run.
type Left struct {
	Trials    int // to perform
	Judgments int // trials with an outcome to judge; performing adds to them

	progress    *store.Progress
	retryFailed bool
}

// None reports whether no work is pending.
func (l *Left) None() bool { return l.Trials+l.Judgments == 0 }

// Left reads the pending work of a run. With retryFailed, it includes failed
// trials.
func (r *Run) Left(ctx context.Context, retryFailed bool) (*Left, error) {
	p, err := r.db.Progress(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	l := &Left{progress: p, retryFailed: retryFailed}
	for seq := range p.Done {
		if l.performs(seq) {
			l.Trials++
		}
	}
	if r.HasJudge() {
		l.Judgments = p.ToJudge()
		if retryFailed {
			l.Judgments += store.Count(p.Unjudged)
		}
	}
	return l, nil
}

// performs reports whether a trial is pending.
func (l *Left) performs(seq int) bool {
	return !l.progress.Done[seq] || l.retryFailed && l.progress.Failed[seq]
}

// judges reports whether the judging of a trial is pending.
func (l *Left) judges(seq int) bool {
	return !l.progress.Judged[seq] || l.retryFailed && l.progress.Unjudged[seq]
}

// Asking holds what [Run.Ask] needs to call models.
type Asking struct {
	Models   map[string]*run.Model // by id: [Experiment.UsedModels] and the bench's pipelines
	Observer run.Observer          // may be nil
	// An error received from Stop stops the run: no new trial starts, calls in
	// flight finish, and Ask returns [run.ErrStopped] wrapping the error. Cancel
	// the context to cancel the calls too.
	Stop <-chan error
}

// Ask performs and judges the pending trials of a run. It deletes the stored
// analysis, which no longer covers all answers.
func (r *Run) Ask(ctx context.Context, left *Left, a Asking) error {
	if left.None() {
		return nil
	}
	if err := r.db.DropAnalysis(ctx, r.Record); err != nil {
		return err
	}
	journal, err := r.db.Journal(ctx, r.Record)
	if err != nil {
		return err
	}
	x, spent := r.Study.Execution, left.progress
	engine := run.New(run.Settings{Concurrency: x.Concurrency, Retries: durations(x.Retries), Timeout: x.Timeout.D(), Delay: x.Delay.D(),
		MaxFailed: *x.MaxFailed, Budget: run.Budget{Calls: x.MaxCalls, Tokens: x.MaxTokens, Cost: x.MaxCost}}, journal, a.Models,
		run.Spent{Calls: spent.Calls, Tokens: spent.Tokens, Cost: spent.Cost, Unpriced: spent.Unpriced}, a.Observer)
	defer stopOn(a.Stop, engine)()

	err = engine.Perform(ctx, r.Bench, r.armPlans(left, eval.StageRun), r.runTasks(left))
	if err == nil && r.HasJudge() {
		err = r.judge(ctx, engine, journal, left.retryFailed)
	}
	return errors.Join(err, journal.Close())
}

// stopOn stops the engine when an error arrives, until the returned function is
// called.
func stopOn(stop <-chan error, engine *run.Engine) (end func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case why := <-stop:
			engine.Stop(why)
		case <-done:
		}
	})
	return func() { close(done); wait.Wait() }
}

// judge judges every outcome without a verdict.
func (r *Run) judge(ctx context.Context, engine *run.Engine, journal *store.Journal, retryFailed bool) error {
	if err := journal.Flush(); err != nil {
		return err
	}
	left, err := r.Left(ctx, retryFailed)
	if err != nil {
		return err
	}
	return engine.Judge(ctx, r.Bench, r.armPlans(left, eval.StageJudge), r.judgeTasks(ctx, left))
}

func (r *Run) runTasks(left *Left) iter.Seq2[run.Task, error] {
	return func(yield func(run.Task, error) bool) {
		for seq := range r.Plan.Len() {
			if left.performs(seq) && !yield(run.Task{Trial: r.Plan.Trial(seq), Called: left.progress.Called[seq]}, nil) {
				return
			}
		}
	}
}

// judgeTasks lists the trials to judge: the calibration arms first, so that the
// judge's quality is known before the rest is paid for.
func (r *Run) judgeTasks(ctx context.Context, left *Left) iter.Seq2[run.Task, error] {
	calibrates := r.calibrationArms()
	return func(yield func(run.Task, error) bool) {
		for _, calibrating := range []bool{true, false} {
			for j, err := range r.db.Outcomes(ctx, r.Record) {
				if err != nil {
					yield(run.Task{}, err)
					return
				}
				seq, ok := r.Plan.Seq(j.Trial)
				if !ok || calibrates[j.Trial.Arm] != calibrating || j.Outcome.Kind == eval.Failed || !left.judges(seq) {
					continue
				}
				if !yield(run.Task{Trial: j.Trial, Called: left.progress.Called[seq], Outcome: j.Outcome}, nil) {
					return
				}
			}
		}
	}
}

// armPlans counts the trials of a stage for each arm.
func (r *Run) armPlans(left *Left, stage eval.Stage) []run.ArmPlan {
	index := map[string]int{}
	var plans []run.ArmPlan
	for _, id := range r.ArmIDs() {
		index[id] = len(plans)
		plans = append(plans, run.ArmPlan{Arm: id})
	}
	done, failed := left.progress.Done, left.progress.Failed
	if stage == eval.StageJudge {
		done, failed = left.progress.Judged, left.progress.Unjudged
	}
	for seq := range r.Plan.Len() {
		p := &plans[index[r.Plan.Trial(seq).Arm]]
		p.Planned++
		if done[seq] {
			p.Done++
		}
		if failed[seq] {
			p.Failed++
		}
	}
	return plans
}

func durations[D interface{ D() time.Duration }](ds []D) []time.Duration {
	list := make([]time.Duration, 0, len(ds))
	for _, d := range ds {
		list = append(list, d.D())
	}
	return list
}
