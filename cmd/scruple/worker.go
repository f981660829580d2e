package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/scruple-eval/scruple/internal/annotate"
	"github.com/scruple-eval/scruple/internal/disk"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/ledger"
	"github.com/scruple-eval/scruple/internal/run"
	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/worker"
)

// slice is how long a worker works on a shard before others may have it.
const slice = time.Minute

var errNotShared = errors.New("workers need a store that they share: give --store postgres://USER@HOST/DATABASE, or set SCRUPLE_STORE")

// queue opens the shared store with its queue.
func (a *app) queue(ctx context.Context, do func(*worker.Queue) error) error {
	if !store.IsAddress(a.storeFor("")) {
		return errNotShared
	}
	db, err := store.Open(ctx, a.storeFor(""))
	if err != nil {
		return err
	}
	defer db.Close()
	q, err := worker.Open(ctx, db)
	if err != nil {
		return err
	}
	defer q.Close()
	return do(q)
}

func (a *app) work(o *opened) error {
	opt := worker.Settings{Concurrency: o.number("concurrency"), Only: o.text("runs"), Once: o.is("once"), Slice: o.time("slice")}
	if opt.Concurrency < 0 || opt.Slice < time.Second {
		return fmt.Errorf("worker --concurrency %d --slice %v: want at least 1 call, and 1s", opt.Concurrency, opt.Slice)
	}
	if _, err := path.Match(opt.Only, ""); err != nil {
		return fmt.Errorf("worker --runs %s: %w", opt.Only, err)
	}
	opt.Say = a.warnLine
	opt.Score, opt.Observer, opt.Version = scoreLast, a.quiet(), version()
	return a.queue(o.ctx, func(q *worker.Queue) error {
		opt.Load = func(ctx context.Context, r *store.Run) (*worker.Loaded, error) {
			return a.loaded(ctx, q.Store(), r, o)
		}
		ctx, stop, restore := interruptible(o.ctx, "other workers go on with the rest")
		defer restore()
		return q.Take(ctx, opt, stop)
	})
}

// warnLine is warn of what comes from elsewhere, on one line.
func (a *app) warnLine(format string, args ...any) {
	a.warn("%s", say.PlainLine(fmt.Sprintf(format, args...)))
}

// scoreLast scores a run whose last step it is.
func scoreLast(ctx context.Context, r *experiment.Run) error {
	if left, err := r.Blinded(ctx); err != nil || left > 0 {
		return err
	}
	_, err := r.Rescore(ctx, samplesPerArm(len(r.Bench.Arms())))
	return err
}

// quiet tells of failures, not of progress: a worker may take part in many runs.
func (a *app) quiet() run.Observer { return &plainObserver{w: a.err, every: 24 * time.Hour} }

// loaded loads a run for a worker with its flags.
func (a *app) loaded(ctx context.Context, db *store.DB, r *store.Run, o *opened) (*worker.Loaded, error) {
	path, remove, err := a.studyFor(ctx, db, r, o.text("root"))
	if err != nil {
		return nil, err
	}
	from := source{path: path, overrides: r.Overrides, store: db.Path(), run: r.ID}
	x, err := from.load()
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	fail := func(err error) (*worker.Loaded, error) { return nil, errors.Join(err, x.Close(), remove()) }
	for _, label := range x.Study.Execution.Labels {
		if !slices.Contains(o.list("label"), label) {
			return fail(fmt.Errorf("the study wants workers with --label %s", label))
		}
	}
	for _, p := range x.Bench.Pipelines() {
		if p.Kind == "exec" && !o.is("allow-exec") {
			return fail(fmt.Errorf("arm %s runs a program: start the worker with --allow-exec if you trust all who may write to the store", p.Model[len(eval.PipelinePrefix):]))
		}
	}
	part, err := x.Same(ctx, db, r)
	if err != nil {
		return fail(err)
	}
	models, _, closeModels, err := a.models(ctx, x, false)
	if err != nil {
		return fail(err)
	}
	return &worker.Loaded{Run: part, Models: models, Close: func() error { return errors.Join(closeModels(), x.Close(), remove()) }}, nil
}

// mostKept is the most bytes of files that a store keeps of one study.
const mostKept = 1 << 30

// keepFiles keeps in the store what the study reads, what people locked, and the ledger, for
// workers on other machines. Files of more than a gigabyte, or outside of the folders above the
// study, must be there already.
func (a *app) keepFiles(ctx context.Context, db *store.DB, r *experiment.Run) error {
	sums, err := r.File.Sums()
	people, errPeople := annotate.At(r.File, r.Study, time.Now).Files()
	own, errOwn := ledger.Copy(ledger.Find(r.File.Dir))
	if err := errors.Join(err, errPeople, errOwn); err != nil {
		return err
	}
	for _, p := range people {
		if info, err := os.Stat(r.File.Place(p)); err == nil && info.Mode().IsRegular() {
			sums = append(sums, study.Sum{Path: p})
		}
	}
	paths := []string{filepath.Base(r.File.Path)}
	for _, s := range sums {
		if filepath.IsAbs(s.Path) {
			a.warn("workers need %s in the same place: it is not in the folders of the study", s.Path)
			return nil
		}
		if !slices.Contains(paths, s.Path) {
			paths = append(paths, s.Path)
		}
	}
	total := int64(0)
	for _, p := range paths {
		if info, err := os.Stat(r.File.Place(p)); err == nil {
			total += info.Size()
		}
	}
	if total > mostKept {
		a.warn("the study reads %d MB, more than a store keeps: workers need a copy of it, see worker --root", total>>20)
		return nil
	}
	return db.KeepFiles(ctx, r.Record, func(yield func(store.StudyFile, error) bool) {
		for _, f := range own {
			if !yield(store.StudyFile{Path: ledger.Folder + "/" + f.Name, Mode: 0o600, Data: f.Data}, nil) {
				return
			}
		}
		for _, p := range paths {
			path := r.File.Place(p)
			data, err := os.ReadFile(path)
			info, errStat := os.Stat(path)
			if err = errors.Join(err, errStat); err != nil {
				yield(store.StudyFile{}, err)
				return
			}
			if !yield(store.StudyFile{Path: filepath.ToSlash(p), Mode: info.Mode(), Data: data}, nil) {
				return
			}
		}
	})
}

// studyFor returns the study file of a run: in a folder of worker --root, else made from the
// store, else where the run was begun.
func (a *app) studyFor(ctx context.Context, db *store.DB, r *store.Run, root string) (path string, remove func() error, err error) {
	nothing := func() error { return nil }
	if root != "" {
		in := filepath.Join(root, filepath.Base(filepath.Dir(r.StudyPath)), filepath.Base(r.StudyPath))
		if _, err := os.Stat(in); err != nil {
			in = filepath.Join(root, filepath.Base(r.StudyPath))
		}
		return in, nothing, nil
	}
	dir, remove, err := disk.Temp("worker", r.ID)
	if err != nil {
		return "", nil, err
	}
	const deep = "1/2/3/4/5/6/7/8" // a study may read what is in the folders above it
	kept := false
	for f, err := range db.Files(ctx, r) {
		if err != nil {
			return "", nil, errors.Join(err, remove())
		}
		name := filepath.Join(deep, filepath.FromSlash(f.Path))
		if !filepath.IsLocal(name) {
			return "", nil, errors.Join(fmt.Errorf("the study reads %s, outside of what a worker can make: see worker --root", f.Path), remove())
		}
		to := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, f.Data, f.Mode|0o400)); err != nil {
			return "", nil, errors.Join(err, remove())
		}
		kept = true
	}
	if !kept {
		return r.StudyPath, nothing, remove()
	}
	return filepath.Join(dir, deep, filepath.Base(r.StudyPath)), remove, nil
}

// takePart gives a run to workers, unless they have it, and takes part until it is done.
func (a *app) takePart(ctx context.Context, db *store.DB, r *experiment.Run, left *experiment.Left, models map[string]*run.Model, opt runOptions, stop <-chan error) error {
	q, err := worker.Open(ctx, db)
	if err != nil {
		return err
	}
	defer q.Close()
	has, err := db.Entrusted(ctx, r.Record)
	if err != nil {
		return err
	}
	if has && opt.detach && !r.LimitsRecorded() {
		back, err := q.Back(ctx, r.Record)
		if err == nil && !back {
			err = exit(exitNotAllowed, fmt.Errorf("workers have %s in progress with other limits or settings of execution and models than the study has now: `%s` ends it, and then the same command gives it to them anew", r.Record.ID, a.command("stop", r.Record.ID)))
		}
		if err != nil {
			return err
		}
		has = false
	}
	if !has {
		if err := a.keepFiles(ctx, db, r); err != nil {
			return err
		}
		db.Await()
		err := r.RecordLimits(ctx)
		if err == nil {
			err = r.RecordRetry(ctx, left)
		}
		if err == nil {
			// Workers could not record in the ledger that results of TEST are shown.
			err = q.Entrust(ctx, r, left, worker.Entrusting{NoReuse: opt.noReuse, Score: opt.detach && r.Study.Split != study.SplitTest, Version: version()})
		}
		if err != nil && !errors.Is(err, store.ErrEntrusted) { // by another process, meanwhile
			return err
		}
	}
	if opt.detach {
		a.say("%s: workers have it; `%s` shows how far they are", r.Record.ID, a.command("status", r.Record.ID, "--workers"))
		return nil
	}
	observer, closeObserver := a.observer()
	defer closeObserver()
	err = q.Take(ctx, worker.Settings{Run: r.Record, Slice: slice, Score: scoreLast, Version: version(), Observer: observer, Say: a.warnLine,
		Load: func(context.Context, *store.Run) (*worker.Loaded, error) {
			return &worker.Loaded{Run: r, Models: models, Close: func() error { return nil }}, nil
		}}, stop)
	if err == nil {
		return nil
	}
	if errors.Is(err, run.ErrBudget) && !errors.Is(err, run.ErrStopped) { // nothing was left to begin with
		err = fmt.Errorf("%w: %w", run.ErrStopped, err)
	}
	// It stays with those who still work on it.
	back, errBack := q.Back(context.WithoutCancel(ctx), r.Record)
	if errBack == nil && !back {
		errBack = fmt.Errorf("%w: other workers have %s in progress: `%s` takes part again, and `%s` ends it", errOthers, r.Record.ID, a.command("run", r.Record.ID), a.command("stop", r.Record.ID))
	}
	return errors.Join(err, errBack)
}

// errOthers is wrapped by the error of leaving a run to workers.
var errOthers = errors.New("left")

func (a *app) stop(o *opened) error {
	return a.queue(o.ctx, func(q *worker.Queue) error {
		if err := q.Stop(o.ctx, o.run, o.is("now"), o.time("wait")); err != nil {
			return err
		}
		a.say("%s: stopped; `%s` resumes it", o.run.ID, a.command("run", o.arg))
		return nil
	})
}

// workers shows what workers do.
func (a *app) workers(ctx context.Context) error {
	return a.queue(ctx, func(q *worker.Queue) error {
		s, err := q.Status(ctx)
		if err != nil {
			return err
		}
		return a.answer(s, "workers", struct {
			worker.Status
			Command func(...string) string
		}{s, a.command})
	})
}
