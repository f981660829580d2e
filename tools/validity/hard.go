package main

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// The cells of this file are those in which earlier versions passed too often: clusters,
// documents and texts of unequal size, scores that are missing where an arm is wrong, arms at
// the ceiling, rare bursts of errors, rare catastrophes, and looks at a growing study.

// unequal are numbers of items of clusters.
var unequal = map[string][]int{
	"half":  {18, 2, 2, 2, 2, 2, 2, 2, 2, 2}, // one cluster has half of the items
	"steps": {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10},
}

// hardCells lists them.
func hardCells() []cell {
	var list []cell
	for _, name := range []string{"half", "steps"} {
		sizes := unequal[name]
		d := design{name, len(sizes), sizes[0] + sizes[len(sizes)-1] - 2} // at least the largest
		for _, m := range measures {
			for _, of := range []struct {
				truth truth
				diff  float64
			}{{noDifference, 0}, {atMargin, -m.margin}, {effect, m.effect["8x5"]}} {
				c := m.cell("auto", d, of.truth, []float64{of.diff})
				whole := c.source
				c.source = func() source { return trimmed(whole(), sizes) }
				c.assume = ""
				list = append(list, c)
			}
		}
	}
	for _, d := range []design{eight, thirty, {"100x1", 100, 1}, {"30x20", 30, 20}} {
		const margin = 0.05
		list = append(list, cell{name: fmt.Sprintf("auto/%s/binary/1/ceiling", d.name), method: "auto", design: d, metric: passed, truth: atMargin,
			diffs: []float64{-margin}, margin: margin, compare: []string{"a"}, rule: better("", []string{"a"}, passed, margin),
			source: func() source { return ceiling(d, margin, icc) }})
	}
	for _, n := range []int{40, 100} {
		for _, b := range []burst{{0.03, 5}, {0.05, 3}, {0.1, 2}, {0.1, 1}} {
			d := design{fmt.Sprintf("n%d", n), n, 1}
			list = append(list, cell{name: fmt.Sprintf("counts/%s/%v-in-%v", d.name, b.size, b.share), design: d, metric: mistakes, truth: atLimit, rate: b.mean(),
				rule: fmt.Sprintf("high('a', 'mistakes') < %v", b.mean()), source: func() source { return bursts(n, b) }})
		}
	}
	for _, n := range []int{40, 100} {
		for _, icc := range []float64{0.1, 0.3} {
			const limit = 0.05
			d := design{fmt.Sprintf("n%d", n), n, 1}
			list = append(list, cell{name: fmt.Sprintf("documents/%s/icc-%v", d.name, icc), design: d, metric: rate, truth: atLimit, rate: limit,
				rule: fmt.Sprintf("high('a', 'rate') < %v", limit), source: func() source { return documents(n, limit, icc, falling) }})
		}
	}
	for _, lost := range []float64{0.04, 0.1, 0.5} { // of the wrong answers of one arm
		const n, right = 200, 0.56
		list = append(list, cell{name: fmt.Sprintf("missing/n%d/wrong-%v", n, lost), method: "auto", design: design{"n200", n, 1}, metric: passed,
			truth: noDifference, diffs: []float64{0}, compare: []string{"a"}, rule: better("", []string{"a"}, passed, 0), special: special{biased: true},
			source: func() source { return silent(n, right, lost) }})
	}
	for _, n := range []int{6, 10, 15, 30} {
		list = append(list, cell{name: fmt.Sprintf("f1/texts-%d/null", n), method: "auto", design: design{fmt.Sprintf("n%d", n), n, 1}, metric: f1,
			truth: noDifference, diffs: []float64{0}, compare: []string{"a"}, rule: better("", []string{"a"}, f1, 0), source: func() source { return texts(n) }})
	}
	for _, n := range []int{20, 40, 100} {
		list = append(list, cell{name: fmt.Sprintf("catastrophe/n%d", n), method: "auto", design: design{fmt.Sprintf("n%d", n), n, 1}, metric: score, special: special{biased: true, named: true},
			truth: noDifference, diffs: []float64{0}, compare: []string{"a"}, rule: better("", []string{"a"}, score, 0), source: func() source { return catastrophes(n) }})
	}
	for _, m := range measures {
		c := m.cell("auto", design{"n100", 100, 1}, noDifference, []float64{0})
		c.looks = 5
		c.name = fmt.Sprintf("looks-5/n100/%s/1/null", m.name)
		list = append(list, c)
	}
	return list
}

// trimmed keeps the first items of each cluster.
func trimmed(of source, sizes []int) source {
	return func(r *rand.Rand) []observation {
		var list []observation
		seen := map[string]int{}
		index := map[string]int{}
		for _, o := range of(r) {
			if _, ok := index[o.cluster]; !ok {
				index[o.cluster] = len(index)
			}
			if seen[o.cluster]++; seen[o.cluster] <= sizes[index[o.cluster]] {
				list = append(list, o)
			}
		}
		return list
	}
}

// falling are 1 + 60/k opportunities or spans: 61, 31, 21, 16 and so on to 1.
func falling(k int) int { return 1 + 60/(k+1) }

// ceiling draws items that the base always passes. The arm fails a share of them, which
// is beta-distributed over clusters.
func ceiling(d design, loss, icc float64) source {
	return clustered(d, func(r *rand.Rand) func() [][]float64 {
		p := drawRate(r, loss, icc)
		return func() [][]float64 { return [][]float64{{kit.Indicator(r.Float64() >= p)}, {1}} }
	})
}

// A burst is a number of errors that a share of the cases has.
type burst struct{ share, size float64 }

func (b burst) mean() float64 { return b.share * b.size }

func bursts(n int, b burst) source {
	return independent(n, func(r *rand.Rand, _ int) [][]float64 {
		return [][]float64{{b.size * kit.Indicator(r.Float64() < b.share)}}
	})
}

// silent draws two arms that are equally good. A share of the wrong answers of the first
// has no score, as if its judge gave no verdict.
func silent(n int, right, lost float64) source {
	return independent(n, func(r *rand.Rand, _ int) [][]float64 {
		a := kit.Indicator(r.Float64() < right)
		if a == 0 && r.Float64() < lost {
			a = noScore
		}
		return [][]float64{{a}, {kit.Indicator(r.Float64() < right)}}
	})
}

// texts have spans. Two equally good arms find most of them and add false ones, both more often on
// some texts. A span that is found counts twice, and each that is missed or false once, so that the
// mean of all is the micro F1.
func texts(n int) source {
	return independent(n, func(r *rand.Rand, k int) (scores [][]float64) {
		for range 2 {
			share := distuv.Beta{Alpha: 6, Beta: 2, Src: r}.Rand()
			var values []float64
			for range falling(k) {
				if r.Float64() < share {
					values = append(values, 1, 1)
				} else {
					values = append(values, 0)
				}
				if r.Float64() > share {
					values = append(values, 0)
				}
			}
			scores = append(scores, values)
		}
		return scores
	})
}

// catastrophes draw a gain of 0.025 on nearly every item, and a score of 0 on so many that the
// means are equal.
func catastrophes(n int) source {
	const base, gain = 0.7, 0.025
	return independent(n, func(r *rand.Rand, _ int) [][]float64 {
		b := base + 0.02*(2*r.Float64()-1)
		a := (b + gain) * kit.Indicator(r.Float64() < base/(base+gain))
		return [][]float64{{a}, {b}}
	})
}
