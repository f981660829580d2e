package view

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/store"
)

// version is the state of the store.
func (v *Viewer) version(ctx context.Context) (int64, error) {
	v.watched.Lock()
	defer v.watched.Unlock()
	return v.watch.Version(ctx)
}

// A memo keeps a value for each run in one state of the store.
type memo[T any] struct {
	mu   sync.Mutex
	kept map[string]stated[T]
}

type stated[T any] struct {
	version int64
	value   T
	err     error
}

// of returns the value of a run, made again if the store changed.
func (m *memo[T]) of(ctx context.Context, v *Viewer, run *store.Run, get func() (T, error)) (value T, err error) {
	version, err := v.version(ctx)
	if err != nil {
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.kept[run.ID]; ok && k.version == version {
		return k.value, k.err
	}
	value, err = get()
	if ctx.Err() == nil {
		m.kept[run.ID] = stated[T]{version, value, err}
	}
	return value, err
}

// analysis returns the stored analysis and verdict of a run. The error wraps
// [store.ErrNotFound] if it was not analysed.
func (v *Viewer) analysis(ctx context.Context, run *store.Run) (experiment.Result, error) {
	return v.results.of(ctx, v, run, func() (experiment.Result, error) { return experiment.Kept(ctx, v.DB, run) })
}

// tally counts the trials of a run, once for all pages.
func (v *Viewer) tally(ctx context.Context, run *store.Run) (store.Tally, error) {
	return v.tallies.of(ctx, v, run, func() (store.Tally, error) { return v.DB.Tally(ctx, run) })
}

// metrics returns the metrics of a run's analysis, primary ones first.
func (v *Viewer) metrics(ctx context.Context, run *store.Run) []analyse.Metric {
	kept, err := v.analysis(ctx, run)
	if err != nil {
		return nil
	}
	list := slices.Clone(kept.Analysis.Metrics)
	order := map[string]int{"primary": -2, "secondary": -1}
	slices.SortStableFunc(list, func(a, b analyse.Metric) int { return cmp.Compare(order[a.Rank], order[b.Rank]) })
	return list
}

// loaded is the study of a run, or why it cannot show its trials.
type loaded struct {
	once sync.Once
	x    *experiment.Experiment
	run  *experiment.Run
	show func(context.Context, eval.Trial) (eval.Exhibit, error)
	err  error
	at   time.Time // of err
	// Items whose input or gold is not that of the run.
	input, gold map[string]bool
}

// A stamp is that of the files that a study reads, at a time.
type stamp struct {
	x    *experiment.Experiment
	text string
	at   time.Time
}

// stampFor is how long a stamp is used, and an error of loading: a page asks often.
const stampFor = time.Second

// study loads the study of a run, again if its files or the plan changed.
func (v *Viewer) study(run *store.Run) *loaded {
	v.mu.Lock()
	file, known := v.files[run.ID]
	if !known {
		file = v.Study(run)
		v.files[run.ID] = file
	}
	v.mu.Unlock()
	key := run.ID + " " + strconv.Itoa(run.Trials)
	if info, err := os.Stat(file); err == nil {
		key += " " + info.ModTime().String()
	}
	v.mu.Lock()
	if s := v.stamps[run.ID]; s.x != nil && time.Since(s.at) > stampFor {
		v.stamps[run.ID] = stamp{s.x, s.x.File.Stamp(), time.Now()}
	}
	l := v.studies[key+v.stamps[run.ID].text]
	if l == nil || !l.at.IsZero() && time.Since(l.at) > stampFor {
		l = &loaded{}
		v.studies[key+v.stamps[run.ID].text] = l
	}
	v.mu.Unlock()
	l.once.Do(func() {
		err := l.load(v, run, file)
		v.mu.Lock()
		defer v.mu.Unlock()
		if l.err = err; err != nil {
			l.at = time.Now()
			if l.x != nil {
				_ = l.x.Close()
				l.x = nil
			}
		} else {
			s := stamp{l.x, l.x.File.Stamp(), time.Now()}
			v.stamps[run.ID], v.studies[key+s.text] = s, l
		}
	})
	return l
}

func (l *loaded) load(v *Viewer, run *store.Run, file string) (err error) {
	own := *run // the plan is set in it
	if l.x, err = v.Load(&own, file); err != nil {
		return err
	}
	if l.run, err = l.x.Attach(v.ctx, v.DB, &own); err != nil {
		return err
	}
	if l.show, err = l.run.Exhibits(v.ctx); err != nil {
		return err
	}
	was, err := v.DB.Items(v.ctx, &own)
	l.input, l.gold = map[string]bool{}, map[string]bool{}
	for _, it := range l.x.Items() {
		l.input[it.ID] = was[it.ID].Input != it.Input
		l.gold[it.ID] = was[it.ID].Gold != it.Gold
	}
	return err
}
