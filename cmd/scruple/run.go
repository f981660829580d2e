package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/store"
)

func runVerb(a *app) *cobra.Command {
	var opt runOptions
	c := verb("run STUDY|RUN", "carry out a study: ask, judge, score, analyse, report", `
Every answer is on disk before it is used. Interrupted at any moment, the same
command goes on where the run stopped and pays for nothing twice. A finished
run is only scored and reported again. A run whose study changed in what it
asks is refused with the difference; --new starts another one.

Ctrl-C lets the calls that are under way end, a second one breaks them off.`, cobra.ExactArgs(1),
		func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], opt) })
	c.Flags().BoolVar(&opt.fresh, "new", false, "start a new run even if there is one of this study")
	c.Flags().BoolVar(&opt.retryFailed, "retry-failed", false, "try the trials again that failed")
	c.Flags().StringVar(&opt.record, "record", "", "write what providers are sent and answer to this cassette, for provider: recorded")
	return c
}

type runOptions struct {
	fresh, retryFailed bool
	record             string
	id                 string // of the run to go on with, "" for the study's last
}

func (a *app) run(ctx context.Context, arg string, opt runOptions) (err error) {
	if !isStudyFile(arg) {
		opt.id = arg
		if opt.fresh {
			return fmt.Errorf("run %s: --new starts another run of a study: name the study file", arg)
		}
	}
	l, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	defer l.close()
	a.warnOf(l)
	if len(l.bench.Items()) > manyItems && a.getenv("GOGC") == "" {
		debug.SetGCPercent(60)
	}
	if err := a.preflight(l); err != nil {
		return err
	}
	models, closeModels, err := a.models(l, opt.record)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModels()) }()
	db, err := store.Open(ctx, a.storeFor(l.file.Path))
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := a.startOrResume(ctx, db, l, opt)
	if err != nil {
		return err
	}
	asked := a.ask(ctx, db, r, l, models, opt)
	if asked != nil && !errors.Is(asked, run.ErrStopped) {
		return asked
	}
	if err := a.conclude(ctx, db, r, l); err != nil {
		return errors.Join(asked, err)
	}
	return asked
}

// manyItems is from where on memory counts for more than the time to collect
// it: what is kept of each item adds up, and the heap is let grow to a share
// of it only.
const manyItems = 20_000

// startOrResume finds the run this study is in, or makes one.
func (a *app) startOrResume(ctx context.Context, db *store.DB, l *loaded, opt runOptions) (*store.Run, error) {
	last, err := db.LastRun(ctx, l.study.Name)
	if opt.id != "" {
		last, err = db.Run(ctx, opt.id)
	}
	switch {
	case err != nil && (opt.id != "" || !errors.Is(err, store.ErrNotFound)):
		return nil, err
	case err == nil && !opt.fresh:
		if err := sameStudy(ctx, db, last, l); err != nil {
			return nil, err
		}
		if err := db.SetPlan(ctx, last, l.plan); err != nil {
			return nil, exit(exitNotAllowed, fmt.Errorf("%w: start another run with --new", err))
		}
		return last, nil
	}
	absolute, err := filepath.Abs(l.file.Path)
	if err != nil {
		return nil, err
	}
	return db.CreateRun(ctx, store.Run{Study: l.study.Name, Suite: l.study.Suite, StudyPath: absolute, StudyJSON: l.file.Canonical(), Overrides: a.overrides,
		Treatment: l.treatment, Replicates: l.study.Execution.Replicates, Version: version(), CreatedAt: time.Now()}, l.bench.Items(), l.plan)
}

// sameStudy refuses to go on with a run whose study asks something else now.
func sameStudy(ctx context.Context, db *store.DB, r *store.Run, l *loaded) error {
	diffs := eval.DiffParts(r.Treatment, l.treatment)
	was, err := db.Items(ctx, r)
	if err != nil {
		return err
	}
	input, gold := plan.Changes(was, l.bench.Items())
	diffs = append(diffs, plan.Shorten(input, 5)...)
	if len(diffs) > 0 {
		return exit(exitNotAllowed, fmt.Errorf("run %s of this study asked something else:\n  %s\nundo the change to go on with it, or start another run with --new",
			r.ID, strings.Join(diffs, "\n  ")))
	}
	if len(gold) > 0 {
		return exit(exitNotAllowed, fmt.Errorf("the gold of %d items changed since run %s: %s\nundo the change, score the answers against the new gold with `scruple score`, or start another run with --new",
			len(gold), r.ID, strings.Join(plan.Shorten(gold, 5), ", ")))
	}
	return nil
}

// ask performs and judges what is left of a run.
func (a *app) ask(ctx context.Context, db *store.DB, r *store.Run, l *loaded, models map[string]*run.Model, opt runOptions) error {
	progress, err := db.Progress(ctx, r)
	if err != nil {
		return err
	}
	todo := pending(progress, opt.retryFailed)
	judges := len(l.judges()) > 0
	if judges {
		todo += progress.ToJudge()
		if opt.retryFailed {
			todo += store.Count(progress.Unjudged)
		}
	}
	if todo == 0 {
		return nil
	}
	if err := db.DropAnalysis(ctx, r); err != nil {
		return err
	}
	journal, err := db.Journal(ctx, r)
	if err != nil {
		return err
	}
	observer, closeObserver := a.observer(l)
	defer closeObserver()
	x := l.study.Execution
	engine := run.New(run.Settings{Concurrency: x.Concurrency, Retries: durations(x.Retries), Timeout: x.Timeout.D(), Delay: x.Delay.D(),
		Budget: run.Budget{Calls: x.MaxCalls, Tokens: x.MaxTokens, Cost: x.MaxCost}}, journal, models,
		run.Spent{Calls: progress.Calls, Tokens: progress.Tokens, Cost: progress.Cost}, observer)
	ctx, restore := interruptible(ctx, engine)
	defer restore()

	err = engine.Perform(ctx, l.bench, armPlans(l, progress, false), runTasks(l.plan, progress, opt.retryFailed))
	if err == nil && judges {
		err = a.judge(ctx, db, r, l, engine, journal, opt.retryFailed)
	}
	return errors.Join(err, journal.Close())
}

// judge has everything judged that has an outcome and no verdict yet.
func (a *app) judge(ctx context.Context, db *store.DB, r *store.Run, l *loaded, engine *run.Engine, journal *store.Journal, retryFailed bool) error {
	if err := journal.Flush(); err != nil {
		return err
	}
	progress, err := db.Progress(ctx, r)
	if err != nil {
		return err
	}
	return engine.Judge(ctx, l.bench, armPlans(l, progress, true), judgeTasks(ctx, db, r, l, progress, retryFailed))
}

func runTasks(p *plan.Plan, progress *store.Progress, retryFailed bool) iter.Seq2[run.Task, error] {
	return func(yield func(run.Task, error) bool) {
		for seq := range p.Len() {
			if progress.Done[seq] && !(retryFailed && progress.Failed[seq]) {
				continue
			}
			if !yield(run.Task{Trial: p.Trial(seq), Called: progress.Called[seq]}, nil) {
				return
			}
		}
	}
}

// judgeTasks lists what is to be judged: the arms that measure the judge
// first, so that what it is worth is known before the rest is paid for.
func judgeTasks(ctx context.Context, db *store.DB, r *store.Run, l *loaded, progress *store.Progress, retryFailed bool) iter.Seq2[run.Task, error] {
	measures := map[string]bool{}
	for _, arm := range l.bench.Arms() {
		measures[arm.ID] = arm.Role == eval.RoleCalibration
	}
	return func(yield func(run.Task, error) bool) {
		for _, measuring := range []bool{true, false} {
			for j, err := range db.Outcomes(ctx, r) {
				if err != nil {
					yield(run.Task{}, err)
					return
				}
				seq, ok := l.plan.Seq(j.Trial)
				again := ok && retryFailed && progress.Unjudged[seq]
				if !ok || measures[j.Trial.Arm] != measuring || progress.Judged[seq] && !again || j.Outcome.Kind == eval.Failed {
					continue
				}
				if !yield(run.Task{Trial: j.Trial, Called: progress.Called[seq], Outcome: j.Outcome}, nil) {
					return
				}
			}
		}
	}
}

func pending(p *store.Progress, retryFailed bool) int {
	n := 0
	for seq := range p.Done {
		if !p.Done[seq] || retryFailed && p.Failed[seq] {
			n++
		}
	}
	return n
}

// armPlans says for each arm how many of its trials a stage has to do.
func armPlans(l *loaded, progress *store.Progress, judging bool) []run.ArmPlan {
	index := map[string]int{}
	var plans []run.ArmPlan
	for _, arm := range l.bench.Arms() {
		index[arm.ID] = len(plans)
		plans = append(plans, run.ArmPlan{Arm: arm.ID})
	}
	for seq := range l.plan.Len() {
		p := &plans[index[l.plan.Trial(seq).Arm]]
		p.Planned++
		if judging && progress.Judged[seq] || !judging && progress.Done[seq] {
			p.Done++
		}
		if !judging && progress.Failed[seq] {
			p.Failed++
		}
	}
	return plans
}

// interruptible stops the engine at the first Ctrl-C and breaks calls off at
// the second.
func interruptible(ctx context.Context, engine *run.Engine) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	quit := make(chan struct{})
	go func() {
		for range 2 {
			select {
			case <-signals:
				engine.Stop(errInterrupted)
			case <-quit:
				return
			}
			select {
			case <-signals:
				cancel(fmt.Errorf("%w: %w", run.ErrStopped, errInterrupted))
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(signals); close(quit); cancel(nil) }
}

// errInterrupted is why a run stopped that the user stopped.
var errInterrupted = errors.New("interrupted: calls under way are let end; the same command continues")

func durations[D interface{ D() time.Duration }](ds []D) []time.Duration {
	list := make([]time.Duration, 0, len(ds))
	for _, d := range ds {
		list = append(list, d.D())
	}
	return list
}
