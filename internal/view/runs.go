package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A runRow is a run in the list of runs.
type runRow struct {
	*store.Run
	progress
	Verdict, Href, Question, Cost string
	Simulated                     bool
	Pair, Difference              string // of the first primary comparison
	Drawn                         *drawn
	experiment.TrendPoint
	comparison analyse.Comparison
}

// A drawn difference is one on the axis that the runs of a study share, from 0 to 100.
type drawn struct{ Zero, At, Low, High float64 }

// runsData is the list of runs.
type runsData struct {
	Query string
	All   int
	Runs  []*runRow
}

// longestQuestion is how many characters a list of runs has of a question.
const longestQuestion = 100

// runsPage lists the runs, newest first: all, or those with a text in their names, tags, arms or
// question.
func (v *Viewer) runsPage(r *request) error {
	runs, err := v.DB.Runs(r.Context())
	if err != nil {
		return err
	}
	data := runsData{Query: strings.TrimSpace(r.param("q")), All: len(runs)}
	for _, run := range slices.Backward(runs) {
		row, words, err := v.runRow(r, run)
		if err != nil {
			return err
		}
		if strings.Contains(strings.ToLower(strings.Join(words, "\n")), strings.ToLower(data.Query)) {
			data.Runs = append(data.Runs, row)
		}
	}
	draw(data.Runs)
	return v.render(r, "runs", "Runs", data)
}

// runRow is a run in the list, and the texts by which it is found.
func (v *Viewer) runRow(r *request, run *store.Run) (*runRow, []string, error) {
	row := &runRow{Run: run, Href: r.link([]string{"r", run.ID})}
	words := []string{run.ID, run.Study, run.Suite}
	kept, err := v.analysis(r.Context(), run)
	if err != nil {
		var study struct{ Description string }
		var arms []string
		_ = json.Unmarshal(run.StudyJSON, &study) // without it, there is no question
		if r.param("q") != "" {                   // reads the plan
			if arms, err = v.DB.PlanArms(r.Context(), run); err != nil {
				return nil, nil, err
			}
		}
		row.Question = text.Shorten(study.Description, longestQuestion)
		row.progress, err = v.tally(r.Context(), run)
		return row, append(append(words, study.Description), arms...), err
	}
	a := kept.Analysis
	row.progress = analysed(a)
	row.Question, row.Cost = text.Shorten(a.Study.Description, longestQuestion), report.Spent(a)
	words = append(words, a.Study.Description)
	for _, arm := range a.Arms {
		row.Simulated = row.Simulated || arm.Simulated || arm.SimulatedJudge
		words = append(words, arm.ID)
	}
	if kept.Verdict != nil {
		row.Verdict = strings.ToUpper(string(kept.Verdict.State))
	}
	if experiment.CheckShown(r.Context(), v.DB, run) != nil {
		return row, words, nil
	}
	if row.TrendPoint, err = experiment.PointOf(r.Context(), v.DB, run, a); err != nil {
		return nil, nil, err
	}
	var ok bool
	if row.comparison, row.Difference, ok = report.Headline(a); ok {
		row.Pair = row.comparison.A + " − " + row.comparison.B
	}
	return row, append(words, row.Tags...), nil
}

// draw places the differences of the runs of a study on one axis, so that their list shows how they
// changed.
func draw(rows []*runRow) {
	type key struct{ study, a, b, metric string }
	of := func(row *runRow) key {
		return key{row.Study, row.comparison.A, row.comparison.B, row.comparison.Metric}
	}
	numbers := func(row *runRow) (list []float64) {
		for _, n := range []analyse.Number{row.comparison.Diff, row.comparison.Low, row.comparison.High} {
			if n.Defined() {
				list = append(list, float64(n))
			}
		}
		return list
	}
	axes := map[key][2]float64{}
	for _, row := range rows {
		if row.Pair != "" {
			axis, all := axes[of(row)], numbers(row) // 0 is on every axis
			axes[of(row)] = [2]float64{min(axis[0], slices.Min(append(all, 0))), max(axis[1], slices.Max(append(all, 0)))}
		}
	}
	for _, row := range rows {
		c, axis := row.comparison, axes[of(row)]
		if row.Pair == "" || !c.Diff.Defined() || axis[0] == axis[1] {
			continue
		}
		at := func(x float64) float64 { return math.Round(1000*(x-axis[0])/(axis[1]-axis[0])) / 10 }
		row.Drawn = &drawn{at(0), at(float64(c.Diff)), at(float64(c.Diff)), at(float64(c.Diff))}
		if c.Low.Defined() && c.High.Defined() {
			row.Drawn.Low, row.Drawn.High = at(float64(c.Low)), at(float64(c.High))
		}
	}
}

// mostStreams is how many pages can follow progress at a time.
const mostStreams = 8

// pollEvery is how often a stream looks whether the store changed, which takes
// microseconds.
const pollEvery = 500 * time.Millisecond

// events streams the counts of all runs: at once, and whenever a process changed the
// store.
func (v *Viewer) events(w http.ResponseWriter, r *http.Request) {
	select {
	case v.streams <- struct{}{}:
		defer func() { <-v.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d pages follow the store already: reload this one to see its state", mostStreams), http.StatusServiceUnavailable)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	last := int64(-1)
	told := map[string]progress{}
	for beat := 0; ; beat++ {
		version, err := v.version(r.Context())
		if err != nil {
			return
		}
		began, news := time.Now(), ""
		if version != last {
			last = version
			if news, err = v.news(r.Context(), told); err != nil {
				return
			}
		}
		if news == "" && beat%30 == 0 { // notices a browser that has gone
			news = ": here\n\n"
		}
		if news != "" {
			_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.WriteString(w, news); err != nil || out.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-v.ctx.Done():
			return
		case <-time.After(max(pollEvery, 4*time.Since(began))): // counting a large run takes a while
		}
	}
}

// news are the counts of the runs that differ from those told before, as events.
func (v *Viewer) news(ctx context.Context, told map[string]progress) (string, error) {
	runs, err := v.DB.Runs(ctx)
	var b strings.Builder
	for _, run := range runs {
		now, err := v.tally(ctx, run)
		if err != nil {
			return "", err
		}
		if before, ok := told[run.ID]; ok && before == now {
			continue
		}
		told[run.ID] = now
		data, err := json.Marshal(struct {
			Run string `json:"run"`
			progress
			Said string `json:"said"`
		}{run.ID, now, now.Said()})
		if err != nil {
			return "", err
		}
		b.WriteString("data: " + string(data) + "\n\n")
	}
	return b.String(), err
}

// A standing is what an unfinished run has so far.
type standing struct {
	Metrics []string
	Arms    []experiment.Interim
	Done    int // trials of which it is
	Without int // of them, those that have no score
	Missing string
}

// standings keeps the last standing of each run. Scoring reads all answers, so it is done in the
// background, and rests for a while after it.
type standings struct {
	mu   sync.Mutex
	last map[string]standing
	next map[string]time.Time // when to compute it again
	busy map[string]chan struct{}
}

// waitFor is how long a page waits for a standing.
const waitFor = time.Second

// standing returns the last standing of an unfinished run, computed again if it is old. ok is false
// if there is none yet.
func (v *Viewer) standing(ctx context.Context, run *store.Run) (now standing, ok bool) {
	s := &v.standings
	s.mu.Lock()
	done := s.busy[run.ID]
	if done == nil && time.Now().After(s.next[run.ID]) {
		done = make(chan struct{})
		s.busy[run.ID] = done
		go func() {
			began := time.Now()
			now := v.score(run)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.last[run.ID], s.next[run.ID] = now, time.Now().Add(pollEvery+4*time.Since(began))
			delete(s.busy, run.ID)
			close(done)
		}()
	}
	s.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-time.After(waitFor):
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, ok = s.last[run.ID]
	return now, ok
}

// score computes the standing of a run.
func (v *Viewer) score(run *store.Run) (s standing) {
	defer func() {
		if p := recover(); p != nil { // data that the store has and the study no longer knows
			s = standing{Missing: fmt.Sprint("the answers cannot be scored: ", p)}
		}
	}()
	l := v.study(run)
	err := cmp.Or(experiment.CheckShown(v.ctx, v.DB, run), l.err)
	if err == nil {
		s.Metrics, s.Arms, err = l.run.Interims(v.ctx)
	}
	if err != nil {
		return standing{Missing: err.Error()}
	}
	for _, arm := range s.Arms {
		s.Done, s.Without = s.Done+arm.Done, s.Without+arm.Failed+arm.Unscored
	}
	return s
}
