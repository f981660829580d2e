package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
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
}

func (a *app) run(ctx context.Context, arg string, opt runOptions) (err error) {
	if opt.fresh && !isStudyFile(arg) {
		return fmt.Errorf("run %s: --new starts another run of a study: name the study file", arg)
	}
	x, from, err := a.loadFor(ctx, arg)
	if err != nil {
		return err
	}
	defer x.Close()
	a.warnOf(x)
	if len(x.Bench.Items()) > manyItems && a.getenv("GOGC") == "" {
		debug.SetGCPercent(60)
	}
	if err := x.CheckScorer(); err != nil {
		return err
	}
	models, closeModels, err := a.models(x, opt.record)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModels()) }()
	db, err := store.Open(ctx, from.store)
	if err != nil {
		return err
	}
	defer db.Close()
	var r *experiment.Run
	if opt.fresh {
		r, err = x.Start(ctx, db)
	} else {
		r, err = x.StartOrResume(ctx, db, from.run)
	}
	if err != nil {
		return err
	}
	asked := a.ask(ctx, r, models, opt.retryFailed)
	if asked != nil && !errors.Is(asked, run.ErrStopped) {
		return asked
	}
	return errors.Join(asked, a.conclude(ctx, db, r))
}

// manyItems is from where on memory counts for more than the time to collect
// it: what is kept of each item adds up, and the heap is let grow to a share
// of it only.
const manyItems = 20_000

// ask asks what is left of a run, shows how it goes, and stops at Ctrl-C.
func (a *app) ask(ctx context.Context, r *experiment.Run, models map[string]*run.Model, retryFailed bool) error {
	left, err := r.Left(ctx, retryFailed)
	if err != nil || left.None() {
		return err
	}
	observer, closeObserver := a.observer()
	defer closeObserver()
	ctx, stop, restore := interruptible(ctx)
	defer restore()
	return r.Ask(ctx, left, experiment.Asking{Models: models, Observer: observer, Stop: stop})
}

// interruptible sends on stop at the first Ctrl-C and cancels the context at the
// second.
func interruptible(ctx context.Context) (_ context.Context, stop <-chan error, restore func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	quit := make(chan struct{})
	interrupted := make(chan error, 1)
	go func() {
		for _, act := range []func(){
			func() { interrupted <- errInterrupted },
			func() { cancel(fmt.Errorf("%w: %w", run.ErrStopped, errInterrupted)) },
		} {
			select {
			case <-signals:
				act()
			case <-quit:
				return
			}
		}
	}()
	return ctx, interrupted, func() { signal.Stop(signals); close(quit); cancel(nil) }
}

// errInterrupted is why a run stopped that the user stopped.
var errInterrupted = errors.New("interrupted: calls under way are let end; the same command continues")
