package view

import (
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/experiment"
	"github.com/scruple-eval/scruple/internal/report"
	"github.com/scruple-eval/scruple/internal/store"
	"github.com/scruple-eval/scruple/internal/text"
)

// A runRow is a run in the list of runs.
type runRow struct {
	*store.Run
	store.Tally
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
		row.Tally, err = v.tally(r.Context(), run)
		return row, words, err
	}
	a := kept.Analysis
	row.Tally = store.Tally{Trials: a.Run.Planned, Done: a.Run.Done, Failed: a.Run.Failed}
	row.Question, row.Cost = text.Shorten(a.Study.Description, longestQuestion), report.Spent(a)
	words = append(words, a.Study.Description)
	for _, arm := range a.Arms {
		row.Simulated = row.Simulated || arm.Simulated
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
