package stats

import (
	"cmp"
	"math"
	"slices"
)

// Bonferroni adjusts p-values for the number of questions asked. Undefined p-values (NaN) stay undefined and do not count.
func Bonferroni(p []float64) []float64 {
	m := 0
	for _, x := range p {
		if !math.IsNaN(x) {
			m++
		}
	}
	out := make([]float64, len(p))
	for i, x := range p {
		out[i] = math.Min(1, x*float64(m))
		if math.IsNaN(x) {
			out[i] = x
		}
	}
	return out
}

// Holm is the step-down procedure of Holm (1979): never less powerful than
// Bonferroni, under any dependence.
func Holm(p []float64) []float64 {
	order := definedOrder(p)
	out := make([]float64, len(p))
	copy(out, p)
	running := 0.0
	for rank, i := range order {
		running = math.Max(running, math.Min(1, p[i]*float64(len(order)-rank)))
		out[i] = running
	}
	return out
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
