package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
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

// A memo keeps a value for each run in one state of the store, and of a file.
type memo[T any] struct {
	mu   sync.Mutex
	kept map[string]stated[T]
}

type stated[T any] struct {
	state string
	value T
	err   error
}

// of returns the value of a run, made again if the store or the file changed.
func (m *memo[T]) of(ctx context.Context, v *Viewer, run *store.Run, file string, get func() (T, error)) (value T, err error) {
	version, err := v.version(ctx)
	if err != nil {
		return value, err
	}
	state := fmt.Sprint(version)
	if info, err := os.Stat(file); err == nil {
		state = fmt.Sprint(version, info.Size(), info.ModTime().UnixNano())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if k, ok := m.kept[run.ID]; ok && k.state == state {
		return k.value, k.err
	}
	value, err = get()
	if ctx.Err() == nil {
		m.kept[run.ID] = stated[T]{state, value, err}
	}
	return value, err
}

// analysis returns the stored analysis and verdict of a run. The error wraps
// [store.ErrNotFound] if it was not analysed.
func (v *Viewer) analysis(ctx context.Context, run *store.Run) (experiment.Result, error) {
	own := *run
	own.StudyPath = v.Study(run)
	return v.results.of(ctx, v, run, experiment.LedgerOf(&own), func() (experiment.Result, error) {
		return experiment.Kept(ctx, v.DB, &own)
	})
}

// A progress is how far a run is, until its results are there.
type progress struct {
	store.Tally
	Judged int  `json:"judged"`
	Ready  bool `json:"ready"` // has results
}

// analysed is the progress of a run with results.
func analysed(a *analyse.Analysis) progress {
	return progress{Tally: store.Tally{Trials: a.Run.Planned, Done: a.Run.Done, Failed: a.Run.Failed}, Ready: true}
}

// Said is the progress in words, without failed trials.
func (p progress) Said() string {
	said := fmt.Sprintf("%d of %d", p.Done, p.Trials)
	switch {
	case p.Ready || p.Done < p.Trials:
	case p.Judged < p.Trials:
		said += fmt.Sprintf(", %d judged", p.Judged)
	default:
		said += ", not scored yet" // nobody may be at it
	}
	return said
}

// tally counts the trials of a run, once for all pages.
func (v *Viewer) tally(ctx context.Context, run *store.Run) (progress, error) {
	return v.tallies.of(ctx, v, run, "", func() (p progress, err error) {
		if p.Tally, err = v.DB.Tally(ctx, run); err == nil {
			p.Judged, p.Ready, err = v.DB.Scoring(ctx, run)
		}
		return p, err
	})
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

// known returns the metrics of a run: those of its analysis, or else those of its study. Without
// either it is not known of any which direction is better.
func (v *Viewer) known(r *request, run *store.Run) []analyse.Metric {
	list := v.metrics(r.Context(), run)
	if l := r.study(v, run); list == nil && l.x != nil {
		list = analyse.MetricsOf(l.x.Suite.Metrics, l.x.Primary, l.x.Secondary)
	}
	return list
}

// studied is the study of a run in one state of what it reads.
type studied struct {
	mu sync.Mutex
	*loaded
	state string
	rests time.Time // it is not looked at before
}

// loaded is the study of a run, or why it cannot show its trials.
type loaded struct {
	x    *experiment.Experiment
	run  *experiment.Run
	show func(context.Context, eval.Trial) (eval.Exhibit, error)
	err  error
	// Items whose input is not that of the run, or whose gold alone is not.
	input, gold map[string]bool
	items       []eval.Item // whose input is
	reworded    []string    // whose input is not
	regraded    error       // says whose gold is not, nil if all is
}

// study loads the study of a run, again if what it reads or the run changed, or if it could not be
// loaded. Looking and failing take some time: the study rests for a multiple of it.
func (v *Viewer) study(run *store.Run) *loaded {
	v.mu.Lock()
	held := v.studies[run.ID]
	if held == nil {
		held = &studied{}
		v.studies[run.ID] = held
	}
	v.mu.Unlock()
	held.mu.Lock()
	defer held.mu.Unlock()
	began := time.Now()
	was := held.loaded
	switch {
	case was == nil:
	case began.Before(held.rests):
		return was
	case was.err == nil && was.state(v, run) == held.state:
		held.rests = time.Now().Add(4 * time.Since(began))
		return was
	}
	held.loaded, held.rests = &loaded{}, time.Time{}
	held.err = held.load(v, run)
	if held.err == nil {
		held.state = held.loaded.state(v, run)
	} else {
		held.rests = time.Now().Add(4 * time.Since(began))
	}
	if was != nil && was.x != nil { // other pages may still read it
		runtime.AddCleanup(was, func(x *experiment.Experiment) { _ = x.Close() }, was.x)
	}
	return held.loaded
}

// state is that of what the study of a run reads, and of the run's plan, gold and archive.
func (l *loaded) state(v *Viewer, run *store.Run) string {
	events, _ := v.DB.Events(v.ctx, run) // one for each change of them
	return fmt.Sprint(run.Trials, run.Archive, len(events), l.x.File.Stamp())
}

func (l *loaded) load(v *Viewer, run *store.Run) (err error) {
	own := *run // the plan is set in it
	if l.x, err = v.Load(&own, v.Study(run)); err != nil {
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
		before, asked := was[it.ID]
		switch {
		case !asked: // of no trial
		case before.Input != it.Input:
			l.input[it.ID], l.reworded = true, append(l.reworded, it.ID)
		default:
			l.gold[it.ID] = before.Gold != it.Gold
			l.items = append(l.items, it)
		}
	}
	if err == nil && slices.Contains(slices.Collect(maps.Values(l.gold)), true) {
		l.regraded = l.x.CheckGold(v.ctx, v.DB, &own)
	}
	return err
}
