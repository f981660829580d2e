package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/model/recorded"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

func (a *app) runVerb(o *opened) error {
	if err := emptyPart(o.cmd); err != nil {
		return err
	}
	return a.run(o.ctx, o.arg, runOptions{
		fresh: o.is("new"), noReuse: o.is("no-reuse"), gate: o.is("gate"), detach: o.is("detach"),
		part: experiment.Part{RetryFailed: o.is("retry-failed"), Limit: o.number("limit"),
			Items: o.list("items"), Arms: o.list("arms")},
		maxCalls: o.number("max-calls"), record: o.text("record"), unblind: o.text("unblind"), tag: o.text("tag")})
}

// emptyPart returns an error for a flag that selects nothing, such as --limit 0 or
// --items "$UNSET": taken as no flag it would ask for the whole plan.
func emptyPart(c *cobra.Command) error {
	for _, f := range []struct{ name, empty, want string }{
		{"limit", "0", "the number of items to run, at least 1"},
		{"max-calls", "0", "the number of requests, at least 1"},
		{"items", "[]", "ids of items"},
		{"arms", "[]", "names of arms"},
	} {
		if flag := c.Flags().Lookup(f.name); flag.Changed && flag.Value.String() == f.empty {
			return fmt.Errorf("--%s selects nothing: want %s, or leave it out to run the whole plan", f.name, f.want)
		}
	}
	return nil
}

type runOptions struct {
	fresh, noReuse, gate bool
	detach               bool
	maxCalls             int
	part                 experiment.Part
	record, unblind, tag string
}

// detached refuses what needs this process to stay.
func (o runOptions) detached(at string) error {
	switch {
	case !o.detach:
	case !store.IsAddress(at):
		return fmt.Errorf("run --detach: %w", errNotShared)
	case o.gate || o.tag != "" || o.record != "" || o.maxCalls > 0:
		return errors.New("run --detach ends at once: --gate, --tag, --record and --max-calls need a run that stays")
	}
	return nil
}

func (a *app) run(ctx context.Context, arg string, opt runOptions) (err error) {
	if opt.fresh && !isStudyFile(arg) {
		return fmt.Errorf("run %s: --new starts another run of a study: give the study file", arg)
	}
	if opt.tag != "" && !kit.ValidName(opt.tag) {
		return fmt.Errorf("--tag %q: want letters, digits, dots, dashes and underscores", opt.tag)
	}
	a.fresh = opt.fresh
	x, from, err := a.loadFor(ctx, arg)
	if errors.Is(err, store.ErrOlder) { // loading reads the store
		var db *store.DB
		if db, err = store.Open(ctx, a.storeFor(arg)); err == nil {
			db.Close()
			x, from, err = a.loadFor(ctx, arg)
		}
	}
	if err != nil {
		return err
	}
	defer x.Close()
	a.tag = opt.tag
	if opt.gate && !x.HasRules() {
		return fmt.Errorf("run --gate: %w", errNoRules)
	}
	a.warnOf(x)
	if opt.maxCalls < 0 {
		return fmt.Errorf("--max-calls %d: want the number of requests, at least 1", opt.maxCalls)
	}
	if err := cmp.Or(x.CheckPart(opt.part), x.CheckScorer(), from.checkResults(x), opt.detached(from.store),
		annotationsOf(x, from).CheckQueues(x.Study.Annotation)); err != nil {
		return err
	}
	models, tape, closeModels, err := a.models(ctx, x, opt.record != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModels()) }()
	db, err := store.Open(ctx, from.store)
	if err != nil {
		return err
	}
	defer db.Close()
	if tape != nil {
		if err := record(ctx, db, tape, from, opt); err != nil {
			return err
		}
	}
	attempt := experiment.Attempt{ID: from.run, Fresh: opt.fresh, Part: opt.part, Unblind: opt.unblind, By: a.user()}
	r, err := x.Begin(ctx, db, attempt)
	if errors.Is(err, store.ErrEntrusted) { // maybe as the study is now, by a process that began at the same time
		r, err = x.Begin(ctx, db, attempt)
	}
	if err != nil {
		return err
	}
	if r.SeenTest > 0 {
		a.warn("warning: the study has no split, and %s marked as test: the ledger keeps that they were seen, so a registration of them in this folder or repository will need a reason. --split dev leaves them out",
			text.Plural(r.SeenTest, "of its items is", "of its items are"))
	}
	a.sayFollowed(r)
	asked := a.ask(ctx, db, r, models, opt)
	if errors.Is(asked, run.ErrSessionEnd) {
		a.say("%v; run the same command to continue", asked)
		asked = nil
	}
	if asked != nil && !errors.Is(asked, run.ErrStopped) || opt.detach || errors.Is(asked, errOthers) {
		return asked
	}
	db.Await() // who took part scores too
	result, err := a.conclude(ctx, db, r, arg, opt.gate)
	for asked == nil && errors.Is(err, store.ErrEntrusted) { // again, by another process
		if asked = a.ask(ctx, db, r, models, opt); asked == nil {
			result, err = a.conclude(ctx, db, r, arg, opt.gate)
		}
	}
	if opt.tag != "" && asked == nil {
		if errTag := a.tagged(ctx, db, r, opt.tag); errTag != nil {
			return errors.Join(err, errTag)
		}
	}
	if a.first != "" && asked == nil && !opt.gate && result.Analysis != nil && errors.As(err, new(*experiment.TooManyFailedError)) {
		a.warn("no run had the tag %s before: its arm has no answers in this run, and the next run takes them from this one", a.first)
		return r.CheckFailures(result, r.AnsweredFrom(a.first)...) // that arm's are no failures of the run
	}
	if opt.gate && asked == nil && err == nil {
		return exitOf(result.Verdict)
	}
	return errors.Join(asked, err)
}

// sayFollowed says how a run was changed to follow the study, or why it stayed as it was.
func (a *app) sayFollowed(r *experiment.Run) {
	if r.Kept != "" {
		a.say("%s: %s", r.Record.ID, r.Kept)
	}
	if r.Changed != "" {
		a.say("%s follows the study: %s", r.Record.ID, r.Changed)
	}
}

// tagged gives a run its tag.
func (a *app) tagged(ctx context.Context, db *store.DB, r *experiment.Run, tag string) error {
	if _, err := db.Run(ctx, tag); err == nil {
		return fmt.Errorf("--tag %s: a run has this id: give another tag", tag)
	}
	finished, err := r.Tag(ctx, tag)
	switch {
	case err != nil:
		return err
	case !finished:
		a.warn("%s has no tag %s yet: it is not finished", r.Record.ID, tag)
	default:
		a.say("%s has the tag %s", r.Record.ID, tag)
	}
	return nil
}

// record starts a recording, or continues that of the run to be resumed. A
// cassette that lacks answers of its run could not be replayed.
func record(ctx context.Context, db *store.DB, tape *recorded.Recorder, from source, opt runOptions) error {
	if opt.fresh {
		return tape.Start(opt.record, false)
	}
	last, err := from.find(ctx, db)
	if errors.Is(err, store.ErrNotFound) && from.run == "" {
		return tape.Start(opt.record, false)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(opt.record); errors.Is(err, fs.ErrNotExist) {
		done, err := db.Progress(ctx, last)
		if err != nil {
			return err
		}
		if n := done.Called.Count(); n > 0 {
			return fmt.Errorf("recording to %s: run %s has answers of %s already, which the recording would lack: give the cassette it began with, or record another run with --new",
				opt.record, last.ID, text.Plural(n, "trial", "trials"))
		}
	}
	return tape.Start(opt.record, true)
}

// ask performs the pending part of a run, shows progress, and stops at Ctrl-C.
func (a *app) ask(ctx context.Context, db *store.DB, r *experiment.Run, models map[string]*run.Model, opt runOptions) error {
	left, err := r.Left(ctx, opt.part)
	if err == nil && left.Elsewhere > 0 {
		a.say("running a part: %s pending outside of it", text.Plural(left.Elsewhere, "trial stays", "trials stay"))
	}
	var workers bool // have it
	if err == nil {
		workers, err = db.Entrusted(ctx, r.Record)
	}
	if err != nil || left.None() && !workers {
		return err
	}
	unmeetable, err := r.Unmeetable()
	if err != nil {
		return err
	}
	for _, rule := range unmeetable {
		a.warn("warning: %s", say.PlainLine(unmet(rule)))
	}
	then := "run the same command to resume"
	if opt.fresh {
		then += ", without --new"
	}
	ctx, stop, restore := interruptible(ctx, then)
	defer restore()
	if db.Shared() && opt.maxCalls == 0 && opt.record == "" && !r.Study.Execution.ItemByItem {
		return a.takePart(ctx, db, r, left, models, opt, stop)
	}
	observer, closeObserver := a.observer()
	defer closeObserver()
	return r.Ask(ctx, left, experiment.Asking{Models: models, Observer: observer, Stop: stop, NoReuse: opt.noReuse || opt.record != "", MaxCalls: opt.maxCalls})
}

// interruptible sends on stop at the first Ctrl-C, or when the terminal is closed, and
// cancels the context at the second Ctrl-C. The error says what to do then.
func interruptible(ctx context.Context, then string) (_ context.Context, stop <-chan error, restore func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	hangup := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signal.Notify(hangup, syscall.SIGHUP) // it may come several times
	}
	quit := make(chan struct{})
	interrupted := make(chan error, 1)
	go func() {
		select {
		case <-signals:
		case <-hangup:
		case <-quit:
			return
		}
		interrupted <- fmt.Errorf("%w; %s", errInterrupted, then)
		select {
		case <-signals:
			cancel(fmt.Errorf("%w: %w", run.ErrStopped, errInterrupted))
		case <-quit:
		}
	}()
	return ctx, interrupted, func() { signal.Stop(signals); signal.Stop(hangup); close(quit); cancel(nil) }
}

// errInterrupted is the cause of a run stopped by the user.
var errInterrupted = errors.New("interrupted")

func (a *app) score(o *opened) error {
	if err := o.x.CheckScorer(); err != nil {
		return err
	}
	if err := o.x.CheckTest(o.ctx, o.db, o.run, experiment.Attempt{Unblind: o.text("unblind"), By: a.user()}); err != nil {
		return err
	}
	r, err := o.x.Follow(o.ctx, o.db, o.run)
	if err != nil {
		return err
	}
	a.sayFollowed(r)
	_, err = a.conclude(o.ctx, o.db, r, o.arg, false)
	return err
}
