package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Bonferroni adjusts p-values for the number of questions asked. Here and
// below, undefined p-values (NaN) stay undefined and do not count.
func Bonferroni(p []float64) []float64 {
	m := float64(len(definedOrder(p)))
	out := make([]float64, len(p))
	for i, x := range p {
		out[i] = math.Min(1, x*m)
	}
	return out
}

// Holm is the step-down procedure of Holm (1979): never less powerful than
// Bonferroni, under any dependence.
func Holm(p []float64) []float64 {
	order := definedOrder(p)
	out := slices.Clone(p)
	running := 0.0
	for rank, i := range order {
		running = math.Max(running, math.Min(1, p[i]*float64(len(order)-rank)))
		out[i] = running
	}
	return out
}

// Hochberg is the step-up procedure of Hochberg (1988); it needs independent
// or positively dependent tests.
func Hochberg(p []float64) []float64 {
	return stepUp(p, func(rank, m int) float64 { return float64(m - rank) })
}

// BH controls the false discovery rate (Benjamini & Hochberg 1995) under
// independent or positively dependent tests.
func BH(p []float64) []float64 {
	return stepUp(p, func(rank, m int) float64 { return float64(m) / float64(rank+1) })
}

// BY controls the false discovery rate under any dependence (Benjamini &
// Yekutieli 2001).
func BY(p []float64) []float64 {
	var harmonic float64
	for k := range definedOrder(p) {
		harmonic += 1 / float64(k+1)
	}
	return stepUp(p, func(rank, m int) float64 { return harmonic * float64(m) / float64(rank+1) })
}

// stepUp goes from the largest p-value down, keeping the smallest adjusted one
// so far; factor is what the p-value of a rank (from 0) of m is multiplied by.
func stepUp(p []float64, factor func(rank, m int) float64) []float64 {
	order := definedOrder(p)
	out := slices.Clone(p)
	running := 1.0
	for rank := len(order) - 1; rank >= 0; rank-- {
		i := order[rank]
		running = math.Min(running, p[i]*factor(rank, len(order)))
		out[i] = running
	}
	return out
}

// Adjust corrects by name: none, bonferroni, holm, hochberg, bh or by.
func Adjust(method string, p []float64) ([]float64, error) {
	switch method {
	case "", "none":
		return slices.Clone(p), nil
	case "bonferroni":
		return Bonferroni(p), nil
	case "holm":
		return Holm(p), nil
	case "hochberg":
		return Hochberg(p), nil
	case "bh":
		return BH(p), nil
	case "by":
		return BY(p), nil
	}
	return nil, fmt.Errorf("stats: unknown correction %q: want none, bonferroni, holm, hochberg, bh or by", method)
}

// definedOrder lists the indices of defined p-values, smallest first.
func definedOrder(p []float64) []int {
	var order []int
	for i, x := range p {
		if !math.IsNaN(x) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	return order
}
