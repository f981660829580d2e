package rerank

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
)

// Contrasts pair every attacked arm with the same arm on clean data, so that
// what an attack costs has an interval.
func (b *Bench) Contrasts() []eval.Contrast {
	clean := b.cleanArms()
	var list []eval.Contrast
	for _, a := range b.arms {
		if a.attack != nil {
			list = append(list, eval.Contrast{A: a.ID, B: clean[a.cleanKey()], Metrics: []string{hits(1)}})
		}
	}
	return list
}

// cleanKey is the key of the same arm without its attack.
func (a *arm) cleanKey() lineKey {
	k := a.key()
	k.attack = "clean"
	return k
}

func (b *Bench) cleanArms() map[lineKey]string {
	clean := map[lineKey]string{}
	for _, a := range b.arms {
		if a.attack == nil {
			clean[a.key()] = a.ID
		}
	}
	return clean
}

// Figures are the scaling curve, Hits@1 by the place of gold, what attacks
// cost, and quality against effort.
func (b *Bench) Figures(r eval.Results) []eval.Figure {
	var list []eval.Figure
	if len(b.sizes) > 1 {
		list = append(list, b.scalingCurve(r))
	}
	list = append(list, b.positionCurve(r))
	if slices.ContainsFunc(b.arms, func(a *arm) bool { return a.attack != nil }) {
		list = append(list, b.attackGrid(r))
	}
	return append(list, b.pareto(r))
}

// series gathers points by method, in the order of the study.
func (b *Bench) series(point func(a *arm) ([]eval.Point, bool)) []eval.Series {
	var keys []lineKey
	at := map[lineKey]int{}
	var list []eval.Series
	for _, a := range b.arms {
		points, ok := point(a)
		if !ok {
			continue
		}
		k := a.key()
		k.size = 0
		i, known := at[k]
		if !known {
			i = len(keys)
			at[k] = i
			keys = append(keys, k)
			list = append(list, eval.Series{Name: k.title()})
		}
		list[i].Points = append(list[i].Points, points...)
	}
	return list
}

func (b *Bench) scalingCurve(r eval.Results) eval.Figure {
	return eval.Figure{Name: "scaling", Title: "Hits@1 by number of candidates", XTitle: "candidates", YTitle: "Hits@1", Joined: true,
		Note: "Clean data, nested sets, the same requests at every number. Intervals in brackets.",
		Series: b.series(func(a *arm) ([]eval.Point, bool) {
			m, ok := r.Estimate(a.ID, hits(1))
			return []eval.Point{{X: float64(a.size), Measured: m}}, ok && a.attack == nil
		})}
}

func (b *Bench) positionCurve(r eval.Results) eval.Figure {
	f := eval.Figure{Name: "position", Title: "Hits@1 by the place of gold", XTitle: "third of the list in which gold stands", YTitle: "Hits@1", Joined: true, Ticks: thirds}
	var metrics, tests []string
	for _, third := range thirds {
		metrics = append(metrics, hitsIn(third))
	}
	f.Series = b.series(func(a *arm) ([]eval.Point, bool) {
		if a.attack != nil || a.size != slices.Min(b.sizes) {
			return nil, false
		}
		var points []eval.Point
		for i, metric := range metrics {
			if m, ok := r.Estimate(a.ID, metric); ok {
				points = append(points, eval.Point{X: float64(i), Measured: m})
			}
		}
		if p := r.Level(a.ID, metrics); !math.IsNaN(p) {
			tests = append(tests, fmt.Sprintf("%s p = %.2g", a.ID, p))
		}
		return points, len(points) > 0
	})
	f.Note = "Clean data at the smallest number of candidates. A method without position bias is level. Test of position bias (Fisher's exact test over the thirds, not corrected for the number of arms): " +
		strings.Join(tests, "; ") + "."
	return f
}

func (b *Bench) attackGrid(r eval.Results) eval.Figure {
	f := eval.Figure{Name: "attacks", Title: "What attacks cost: change of Hits@1 against the clean data", YTitle: "method", Bad: -brokenDrop, Good: -robustDrop,
		Note: "Paired differences on the same requests with their intervals. Robust loses less than 0.10, broken more than 0.20."}
	clean := b.cleanArms()
	rows := map[lineKey]int{}
	for _, a := range b.arms {
		if a.attack == nil {
			continue
		}
		if !slices.Contains(f.Columns, a.attack.Name) {
			f.Columns = append(f.Columns, a.attack.Name)
		}
	}
	for _, a := range b.arms {
		if a.attack == nil {
			continue
		}
		k := a.cleanKey()
		i, ok := rows[k]
		if !ok {
			i = len(f.Rows)
			rows[k] = i
			f.Rows = append(f.Rows, clean[k])
			f.Cells = append(f.Cells, undefined(len(f.Columns)))
		}
		if m, ok := r.Difference(a.ID, clean[k], hits(1)); ok {
			f.Cells[i][slices.Index(f.Columns, a.attack.Name)] = m
		}
	}
	return f
}

func undefined(n int) []eval.Measured {
	return slices.Repeat([]eval.Measured{{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}}, n)
}

// pareto sets quality against effort, on clean data at each size.
func (b *Bench) pareto(r eval.Results) eval.Figure {
	f := eval.Figure{Name: "pareto", Title: "Quality against effort", YTitle: "Hits@1", Note: "Up and to the left is better: more hits for less."}
	f.Series = b.series(func(a *arm) ([]eval.Point, bool) {
		m, ok := r.Estimate(a.ID, hits(1))
		effort, unit := r.Effort(a.ID)
		if a.method != nil && a.method.Asks || f.XTitle == "" {
			f.XTitle = unit
		}
		return []eval.Point{{X: effort, Measured: m}}, ok && a.attack == nil
	})
	return f
}
