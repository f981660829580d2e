package experiment

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/discipline"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/text"
)

// Left counts the pending work of a part of a run.
type Left struct {
	Trials    int // to perform
	Judgments int // trials with an outcome to judge; performing adds to them
	Elsewhere int // pending trials outside of the part

	progress *store.Progress
	part     Part
	selected []bool // by sequence number; nil: all
}

// None reports whether no work is pending.
func (l *Left) None() bool { return l.Trials+l.Judgments == 0 }

// Left reads the pending work of a part of a run.
func (r *Run) Left(ctx context.Context, part Part) (*Left, error) {
	p, err := r.db.Progress(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	l := r.leftOf(r.UntilLook(part, p), p)
	judged := r.HasJudge()
	for seq := range p.Trials {
		switch {
		case l.performs(seq):
			l.Trials++
		case !l.has(seq) && !p.Done.Has(seq):
			l.Elsewhere++
		}
		if judged && l.answered(seq) && l.judges(seq) {
			l.Judgments++
		}
	}
	return l, nil
}

// leftOf is what is left of a part, with nothing counted yet.
func (r *Run) leftOf(part Part, p *store.Progress) *Left {
	return &Left{progress: p, part: part, selected: r.selected(part)}
}

// CheckPart returns an error for a part that names items or arms that the study does
// not have: such a part selects no trials.
func (x *Experiment) CheckPart(part Part) error {
	if err := cmp.Or(allKnown("--items", "item", part.Items, x.itemIDs()), allKnown("--arms", "arm", part.Arms, x.ArmIDs())); err != nil {
		return err
	}
	if part.Limit < 0 {
		return fmt.Errorf("--limit %d: want the number of items to run, at least 1", part.Limit)
	}
	return nil
}

// selected returns the trials of a part by sequence number, nil for the whole run.
func (r *Run) selected(part Part) []bool {
	if part.Whole() {
		return nil
	}
	calibrates, chosen, arms := r.calibrationArms(), text.SetOf(part.Items), text.SetOf(part.Arms)
	selected, position, last := make([]bool, r.Plan.Len()), 0, ""
	for seq := range selected {
		t := r.Plan.Trial(seq)
		if len(chosen) > 0 && !chosen[t.Item] {
			continue
		}
		if t.Item != last {
			position, last = position+1, t.Item
		}
		selected[seq] = (part.Limit == 0 || position <= part.Limit) && (len(arms) == 0 || arms[t.Arm] || calibrates[t.Arm])
	}
	return selected
}

// allKnown returns an error of a flag or verb for the first name that is not known.
func allKnown(of, noun string, names, known []string) error {
	for _, n := range names {
		if !slices.Contains(known, n) {
			const few = 5
			return fmt.Errorf("%s: the study has no %s %q; the nearest are %s", of, noun, text.Shorten(n, 100), strings.Join(text.NearestFew(n, known, few), ", "))
		}
	}
	return nil
}

func (l *Left) has(seq int) bool { return l.selected == nil || l.selected[seq] }

// performs reports whether a trial is to be performed.
func (l *Left) performs(seq int) bool {
	return l.has(seq) && (!l.progress.Done.Has(seq) || l.part.RetryFailed && l.progress.Failed.Has(seq))
}

// answered reports whether a trial has an outcome that can be judged.
func (l *Left) answered(seq int) bool { return l.progress.Done.Has(seq) && !l.progress.Failed.Has(seq) }

// judges reports whether a trial with an outcome is to be judged.
func (l *Left) judges(seq int) bool {
	return l.has(seq) && (!l.progress.Judged.Has(seq) || l.part.RetryFailed && l.progress.Unjudged.Has(seq))
}

// Asking holds what [Run.Ask] needs to call models.
type Asking struct {
	Models   map[string]*run.Model // by id: [Experiment.UsedModels] and the bench's pipelines
	Observer run.Observer          // may be nil
	// An error received from Stop stops the run: no new trial starts, calls in
	// flight finish, and Ask returns [run.ErrStopped] wrapping the error. Cancel
	// the context to cancel the calls too.
	Stop <-chan error
	// NoReuse asks again what other runs, or trials that left the plan, have an
	// answer to.
	NoReuse bool
	// MaxCalls is the most requests of the session, which ends between two items if they
	// fit: Ask then returns [run.ErrSessionEnd]. 0 means no limit.
	MaxCalls int
	// Concurrency replaces that of the study; 0 does not.
	Concurrency int
	// Recorded and Draw are those of [run.Settings]. Draw is first called with what was spent so far.
	Recorded func(eval.Trial)
	Draw     func(run.Spent) (run.Budget, error)
}

// Ask performs and judges the pending trials of a run. It deletes the stored
// analysis, which no longer covers all answers.
func (r *Run) Ask(ctx context.Context, left *Left, a Asking) error {
	if left.None() {
		return nil
	}
	if err := r.RecordLimits(ctx); err != nil {
		return err
	}
	if err := r.RecordRetry(ctx, left); err != nil {
		return err
	}
	if err := r.db.DropAnalysis(ctx, r.Record); err != nil {
		return err
	}
	s, err := r.Session(ctx, left, a)
	if err != nil {
		return err
	}
	err = s.Do(ctx, Performing, left, r.tasks(ctx, left, r.whole(Performing)))
	if err == nil && r.HasJudge() {
		err = s.judgeAll(ctx)
	}
	err = errors.Join(err, s.Close())
	if changed := r.checkPrograms(context.WithoutCancel(ctx), left.performs); changed != nil {
		if errors.Is(err, run.ErrStopped) || errors.Is(err, run.ErrSessionEnd) {
			return changed // a stopped run has results, this one has not
		}
		return errors.Join(err, changed)
	}
	return err
}

// A Session asks models for a run and journals what they answer.
type Session struct {
	*run.Engine
	run     *Run
	part    Part
	journal *store.Journal
	keeper  *keeper
	unstop  func()
}

// Session begins a session with what was spent so far. Close it.
func (r *Run) Session(ctx context.Context, left *Left, a Asking) (*Session, error) {
	journal, err := r.db.Journal(ctx, r.Record)
	if err != nil {
		return nil, err
	}
	keeper, err := r.keeper(ctx)
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	x, budget, before := r.Study.Execution, r.Budget(), left.Spent()
	if a.Draw != nil {
		if budget, err = a.Draw(before); err != nil {
			return nil, errors.Join(err, journal.Close())
		}
	}
	engine := run.New(run.Settings{Concurrency: cmp.Or(a.Concurrency, x.Concurrency), Retries: mapped(x.Retries, study.Duration.D), Timeout: x.Timeout.D(), Delay: x.Delay.D(),
		ItemByItem: x.ItemByItem, Session: a.MaxCalls, MaxFailed: *x.MaxFailed, NoReuse: a.NoReuse, Budget: budget, Draw: a.Draw, Recorded: a.Recorded}, journal, a.Models, before, a.Observer)
	return &Session{run: r, part: left.part, journal: journal, Engine: engine, keeper: keeper, unstop: stopOn(a.Stop, engine)}, nil
}

// limiting are the sections of a study that have limits. The treatment has what else they say.
var limiting = []string{"execution", "models"}

// RecordLimits records the limits that the study has now. A run goes on with those, and status and
// workers go by what is recorded.
func (r *Run) RecordLimits(ctx context.Context) error {
	keys, other := r.withLimits()
	if !other {
		return nil
	}
	isLimit := func(override string) bool {
		return slices.ContainsFunc(limiting, func(section string) bool { return strings.HasPrefix(override, section) })
	}
	overrides := slices.DeleteFunc(slices.Clone(r.Record.Overrides), isLimit)
	for _, o := range r.overrides {
		if isLimit(o) {
			overrides = append(overrides, o)
		}
	}
	recorded, err := study.CanonicalJSON(keys)
	if err != nil {
		return err
	}
	return r.db.SetStudy(ctx, r.Record, recorded, overrides)
}

// LimitsRecorded reports whether the run is recorded with the limits that the study has now, or with a
// study that cannot be read.
func (r *Run) LimitsRecorded() bool {
	_, other := r.withLimits()
	return !other
}

// withLimits are the keys of the recorded study with the limits that the study has now, and whether these
// are other ones.
func (r *Run) withLimits() (keys map[string]json.RawMessage, other bool) {
	if json.Unmarshal(r.Record.StudyJSON, &keys) != nil {
		return nil, false
	}
	now := r.File.Keys()
	for _, section := range limiting {
		other = other || !bytes.Equal(keys[section], now[section])
		if keys[section] = now[section]; keys[section] == nil {
			delete(keys, section)
		}
	}
	return keys, other
}

// Budget returns what the study lets a run spend.
func (r *Run) Budget() run.Budget {
	x := r.Study.Execution
	return run.Budget{Calls: x.MaxCalls, Tokens: x.MaxTokens, Cost: x.MaxCost}
}

// Close writes what is queued, and ends the session.
func (s *Session) Close() error {
	s.unstop()
	return s.journal.Close()
}

// Flush returns when all that was recorded so far is on disk.
func (s *Session) Flush() error { return s.journal.Flush() }

// Do performs or judges tasks of shards of one step, as they come. left counts those of
// each arm.
func (s *Session) Do(ctx context.Context, step Step, left *Left, tasks iter.Seq2[run.Task, error]) error {
	if step == Performing {
		return s.Perform(ctx, keeping{s.run.Bench, s.keeper, s.journal}, s.run.armPlans(left, eval.StageRun), tasks)
	}
	bench, _, err := s.run.judgeBench()
	if err != nil {
		return err
	}
	return s.Judge(ctx, keeping{bench, s.keeper, s.journal}, s.run.armPlans(left, eval.StageJudge), tasks)
}

// judgeAll judges every outcome without a verdict.
func (s *Session) judgeAll(ctx context.Context) error {
	if err := s.journal.Flush(); err != nil {
		return err
	}
	left, err := s.run.Left(ctx, s.part)
	if err != nil {
		return err
	}
	return s.Do(ctx, Judging, left, func(yield func(run.Task, error) bool) {
		for _, step := range []Step{Calibrating, Judging} { // so that the judge's quality is known before the rest is paid for
			for t, err := range s.run.tasks(ctx, left, s.run.whole(step)) {
				if !yield(t, err) {
					return
				}
			}
		}
	})
}

// checkPrograms rejects the answers of this session from pipelines whose program
// changed meanwhile: it is not known which program gave them. They are kept, and the
// next run asks their trials again.
func (r *Run) checkPrograms(ctx context.Context, performed func(seq int) bool) error {
	changed := map[string]bool{} // models of arms
	for _, p := range r.Bench.Pipelines() {
		changed[p.Model] = p.Changed(true)
	}
	names := r.arms(func(a eval.Arm) bool { return changed[a.Model] })
	if len(names) == 0 {
		return nil
	}
	p, err := r.db.Progress(ctx, r.Record)
	if err != nil {
		return err
	}
	var trials []eval.Trial
	for seq := range r.Plan.Len() {
		if t := r.Plan.Trial(seq); slices.Contains(names, t.Arm) && performed(seq) && (p.Called.Has(seq) || p.Done.Has(seq)) {
			trials = append(trials, t)
		}
	}
	if len(trials) == 0 {
		return nil
	}
	return errors.Join(
		discipline.NotAllowed("the program of arm %s changed while the run asked it, so its answers may be of two programs and are not used: run the same command again to ask it anew", strings.Join(names, ", ")),
		r.db.Retire(ctx, r.Record, trials, store.Distrusted))
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

// tasks lists what is pending of a shard.
func (r *Run) tasks(ctx context.Context, left *Left, s Shard) iter.Seq2[run.Task, error] {
	if s.Step == Performing {
		return func(yield func(run.Task, error) bool) {
			for seq := s.From; seq < s.To; seq++ {
				if left.performs(seq) && !yield(run.Task{Trial: r.Plan.Trial(seq), Called: left.progress.Called.Has(seq)}, nil) {
					return
				}
			}
		}
	}
	calibrates := r.calibrationArms()
	var bench eval.Bench // for those that are judged again
	return spread(r.db.OutcomesIn(ctx, r.Record, s.From, s.To), func(j eval.Judged) (_ []run.Task, err error) {
		seq, ok := r.Plan.Seq(j.Trial)
		if !ok || calibrates[j.Trial.Arm] != (s.Step == Calibrating) || j.Outcome.Kind == eval.Failed || !left.judges(seq) {
			return nil, nil
		}
		task := run.Task{Trial: j.Trial, Called: left.progress.Called.Has(seq), Outcome: j.Outcome}
		if left.progress.Unjudged.Has(seq) {
			if bench == nil {
				if bench, _, err = r.judgeBench(); err != nil {
					return nil, err
				}
			}
			d, _ := r.redo(ctx, bench, eval.StageJudge, j) // an answer since the verdict, of a session that was interrupted, is not asked again
			for _, v := range d.verdicts {
				if v.Err != "" {
					task.Again = append(task.Again, v.Step)
				}
			}
		}
		return []run.Task{task}, nil
	})
}

// armPlans counts the trials of a stage for each arm.
func (r *Run) armPlans(left *Left, stage eval.Stage) []run.ArmPlan {
	index := map[string]int{}
	var plans []run.ArmPlan
	for _, id := range r.ArmIDs() {
		index[id] = len(plans)
		plans = append(plans, run.ArmPlan{Arm: id})
	}
	done, failed, again := left.progress.Done, left.progress.Failed, left.performs
	if stage == eval.StageJudge {
		done, failed, again = left.progress.Judged, left.progress.Unjudged, left.judges
	}
	for seq := range r.Plan.Len() {
		if !left.has(seq) && !done.Has(seq) {
			continue
		}
		p := &plans[index[r.Plan.Trial(seq).Arm]]
		p.Planned++
		if again(seq) {
			continue // a retried trial counts once, by its new outcome
		}
		if done.Has(seq) {
			p.Done++
		}
		if failed.Has(seq) {
			p.Failed++
		}
	}
	return plans
}
