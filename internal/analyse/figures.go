package analyse

import (
	"iter"
	"math"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// results returns an analysis in the form that suites read.
type results struct {
	a     *Analysis
	cases iter.Seq2[eval.Case, error]
	panel
}

func (r results) Cases() iter.Seq2[eval.Case, error] { return r.cases }

func (r results) Estimate(arm, metric string) (eval.Measured, bool) {
	e, ok := r.a.Estimate(arm, metric)
	return measured(e), ok && e.Value.Defined()
}

func (r results) Sum(arm, metric string) eval.Fraction {
	e, _ := r.a.Estimate(arm, metric)
	return eval.Fraction{Num: float64(e.Num), Den: float64(e.Den)}
}

func (r results) ByUnit(arm, metric string) map[string]eval.Fraction {
	if a, ok := r.c.armIdx[arm]; ok {
		return r.c.units[a][metric]
	}
	return nil
}

func measured(e Estimate) eval.Measured {
	return eval.Measured{Value: e.Value, Low: e.Low, High: e.High, N: e.Items}
}

func (r results) EstimateIn(arm, metric string, stratum eval.Level) (eval.Measured, bool) {
	e, ok := r.a.EstimateIn(arm, metric, stratum)
	return measured(e), ok && e.Value.Defined()
}

func (r results) Difference(a, b, metric string) (eval.Measured, bool) {
	c, ok := r.a.Comparison(a, b, metric)
	return eval.Measured{Value: c.Diff, Low: c.Low, High: c.High, N: c.Pairs}, ok && c.Diff.Defined()
}

func (r results) SameRate(arms, metrics []string) []float64 {
	p := make([]float64, len(arms))
	for i, arm := range arms {
		p[i] = r.sameRate(arm, metrics)
	}
	return stats.Holm(p)
}

func (r results) sameRate(arm string, metrics []string) float64 {
	table := [][]int{nil, nil}
	for _, m := range metrics {
		e, ok := r.a.Estimate(arm, m)
		if !ok || !(e.Den > 0) {
			continue
		}
		hits, all := float64(e.Num), float64(e.Den)
		if hits != math.Trunc(hits) || all != math.Trunc(all) || all < hits || all > math.MaxInt32 {
			return math.NaN() // not counts
		}
		if n := float64(e.Items); all > n { // outcomes of an item, such as replicates, are not independent
			hits, all = math.Round(hits*n/all), n
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

func (r results) Associate(tables [][2][2]int) []eval.Association {
	list := make([]eval.Association, len(tables))
	p := make([]float64, len(tables))
	for i, t := range tables {
		n := float64(t[0][0] + t[0][1] + t[1][0] + t[1][1])
		row, column := float64(t[0][0]+t[0][1]), float64(t[0][0]+t[1][0])
		list[i].Lift = eval.Number(float64(t[0][0]) * n / (row * column)) // NaN without marks
		var err error
		if p[i], err = stats.Fisher([][]int{{t[0][0], t[0][1]}, {t[1][0], t[1][1]}}); err != nil || n == 0 {
			p[i] = math.NaN()
		}
		list[i].P, list[i].Paired = eval.Number(p[i]), eval.Undefined()
		if m, err := stats.McNemarTable(t, 1-r.a.Study.Alpha); err == nil {
			list[i].Paired = eval.Number(m.PExact)
		}
	}
	for i, q := range stats.Holm(p) {
		list[i].Adjusted = eval.Number(q)
	}
	return list
}

func (r results) Corrected(arm, metric string, known []eval.LabelledTwice) (eval.Measured, bool) {
	var judged []eval.Labelled
	for i, v := range r.c.values(&r.c.a, r.c.armIdx[arm], r.c.metric[metric]) {
		for k := range int(v.den) {
			l := eval.Labelled{Cluster: r.c.items[i].ClusterID()}
			if float64(k) < v.num {
				l.Judge = 1
			}
			judged = append(judged, l)
		}
	}
	return correctedByJudge(judged, known, 1-r.a.Study.Alpha)
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

// priced reports whether the price of every arm with calls is known and at least
// one is not free.
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
