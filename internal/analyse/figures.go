package analyse

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// A Figure is a suite's own figure; see [eval.Figure].
type Figure struct {
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	Note        string     `json:"note,omitempty"`
	XTitle      string     `json:"x_title,omitempty"`
	YTitle      string     `json:"y_title,omitempty"`
	Ticks       []string   `json:"ticks,omitempty"`
	Joined      bool       `json:"joined,omitempty"`
	Frontier    bool       `json:"frontier,omitempty"`
	Series      []Series   `json:"series,omitempty"`
	Rows        []string   `json:"rows,omitempty"`
	Columns     []string   `json:"columns,omitempty"`
	Cells       [][]Spread `json:"cells,omitempty"`
	Differences bool       `json:"differences,omitempty"`
	Bad         Number     `json:"bad"`
	Good        Number     `json:"good"`
	Words       [3]string  `json:"words,omitzero"` // bad, between, good
}

// A Series is the points of one name.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// A Point is a number over an x.
type Point struct {
	X     Number `json:"x"`
	Label string `json:"label,omitempty"`
	Spread
}

// A Spread is a number with its interval.
type Spread struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
	N     int    `json:"n,omitempty"` // items it rests on
}

func spread(m eval.Measured) Spread {
	return Spread{Number(m.Value), Number(m.Low), Number(m.High), m.N}
}

func figures(list []eval.Figure) []Figure {
	var out []Figure
	for _, f := range list {
		g := Figure{Name: f.Name, Title: f.Title, Note: f.Note, XTitle: f.XTitle, YTitle: f.YTitle, Ticks: f.Ticks, Joined: f.Joined, Frontier: f.Frontier,
			Rows: f.Rows, Columns: f.Columns, Differences: f.Differences, Bad: Number(f.Bad), Good: Number(f.Good), Words: f.Words}
		for _, s := range f.Series {
			t := Series{Name: s.Name}
			for _, p := range s.Points {
				t.Points = append(t.Points, Point{Number(p.X), p.Label, spread(p.Measured)})
			}
			g.Series = append(g.Series, t)
		}
		for _, row := range f.Cells {
			var cells []Spread
			for _, m := range row {
				cells = append(cells, spread(m))
			}
			g.Cells = append(g.Cells, cells)
		}
		out = append(out, g)
	}
	return out
}

// results shows an analysis to a suite.
type results struct{ a *Analysis }

func (r results) Estimate(arm, metric string) (eval.Measured, bool) {
	e, ok := r.a.Estimate(arm, metric)
	return eval.Measured{Value: float64(e.Value), Low: float64(e.Low), High: float64(e.High), N: e.Items}, ok && e.Value.Defined()
}

func (r results) Difference(a, b, metric string) (eval.Measured, bool) {
	c, ok := r.a.Comparison(a, b, metric)
	return eval.Measured{Value: float64(c.Diff), Low: float64(c.Low), High: float64(c.High), N: c.Pairs}, ok && c.Diff.Defined()
}

func (r results) Level(arms, metrics []string) []float64 {
	p := make([]float64, len(arms))
	for i, arm := range arms {
		p[i] = r.level(arm, metrics)
	}
	return stats.Holm(p)
}

func (r results) level(arm string, metrics []string) float64 {
	table := [][]int{nil, nil}
	for _, m := range metrics {
		e, ok := r.a.Estimate(arm, m)
		if !ok || !(e.Den > 0) {
			continue
		}
		hits, all := float64(e.Num), float64(e.Den)
		if hits != math.Trunc(hits) || all != math.Trunc(all) || all < hits || all > math.MaxInt32 {
			return math.NaN() // no counts
		}
		table[0], table[1] = append(table[0], int(hits)), append(table[1], int(all-hits))
	}
	if len(table[0]) < 2 {
		return math.NaN()
	}
	p, err := stats.Fisher(table)
	if err != nil {
		return math.NaN()
	}
	return p
}

func (r results) Effort(arm string) (perTrial float64, unit string) {
	priced := r.priced()
	unit = "calls a trial"
	if priced {
		unit = "US$ a trial"
	}
	for _, a := range r.a.Arms {
		trials := float64(a.OK + a.Malformed + a.Refused)
		switch {
		case a.ID != arm || trials == 0:
		case priced && a.Calls > 0:
			return float64(a.CostUSD) / trials, unit
		default:
			return float64(a.Calls) / trials, unit
		}
	}
	return 0, unit
}

// priced reports whether the price of every arm that asks is known, and not
// nothing for all of them.
func (r results) priced() bool {
	some := false
	for _, a := range r.a.Arms {
		if a.Calls > 0 && !a.CostUSD.Defined() {
			return false
		}
		some = some || a.CostUSD > 0
	}
	return some
}
