package analyse

import (
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// A Figure is a suite's own figure; see [eval.Figure].
type Figure struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Note    string     `json:"note,omitempty"`
	XTitle  string     `json:"x_title,omitempty"`
	YTitle  string     `json:"y_title,omitempty"`
	Ticks   []string   `json:"ticks,omitempty"`
	Joined  bool       `json:"joined,omitempty"`
	Series  []Series   `json:"series,omitempty"`
	Rows    []string   `json:"rows,omitempty"`
	Columns []string   `json:"columns,omitempty"`
	Cells   [][]Spread `json:"cells,omitempty"`
	Bad     Number     `json:"bad"`
	Good    Number     `json:"good"`
}

// A Series is the points of one name.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// A Point is a number over an x.
type Point struct {
	X Number `json:"x"`
	Spread
}

// A Spread is a number with its interval.
type Spread struct {
	Value Number `json:"value"`
	Low   Number `json:"low"`
	High  Number `json:"high"`
}

func spread(m eval.Measured) Spread { return Spread{Number(m.Value), Number(m.Low), Number(m.High)} }

func figures(list []eval.Figure) []Figure {
	var out []Figure
	for _, f := range list {
		g := Figure{Name: f.Name, Title: f.Title, Note: f.Note, XTitle: f.XTitle, YTitle: f.YTitle, Ticks: f.Ticks, Joined: f.Joined,
			Rows: f.Rows, Columns: f.Columns, Bad: Number(f.Bad), Good: Number(f.Good)}
		for _, s := range f.Series {
			t := Series{Name: s.Name}
			for _, p := range s.Points {
				t.Points = append(t.Points, Point{Number(p.X), spread(p.Measured)})
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
	return eval.Measured{Value: float64(e.Value), Low: float64(e.Low), High: float64(e.High)}, ok && e.Value.Defined()
}

func (r results) Difference(a, b, metric string) (eval.Measured, bool) {
	c, ok := r.a.Comparison(a, b, metric)
	return eval.Measured{Value: float64(c.Diff), Low: float64(c.Low), High: float64(c.High)}, ok && c.Diff.Defined()
}

func (r results) Level(arm string, metrics []string) float64 {
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
	for _, a := range r.a.Arms {
		trials := float64(a.OK + a.Malformed + a.Refused)
		if a.ID != arm || trials == 0 {
			continue
		}
		if a.CostUSD.Defined() && (a.CostUSD > 0 || a.Calls == 0) {
			return float64(a.CostUSD) / trials, "US$ a trial"
		}
		return float64(a.Calls) / trials, "calls a trial"
	}
	return 0, "calls a trial"
}
