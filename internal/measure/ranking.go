// Package measure holds measures of rankings, sets and graphs: pure functions of
// results and gold. It must not know any suite, and computes no intervals; package
// stats does.
package measure

import (
	"cmp"
	"math"
	"slices"
)

// Rank returns the place of the gold item in a ranking, from 1; 0 if it is not
// ranked.
func Rank(ranking []string, gold string) int { return slices.Index(ranking, gold) + 1 }

// Hit is 1 where the gold item is among the first k, else 0.
func Hit(rank, k int) float64 {
	if rank >= 1 && rank <= k {
		return 1
	}
	return 0
}

// ReciprocalRank is 1/rank, 0 where the gold item is not among the first k;
// k ≤ 0 looks at the whole ranking.
func ReciprocalRank(rank, k int) float64 {
	if rank < 1 || (k > 0 && rank > k) {
		return 0
	}
	return 1 / float64(rank)
}

// A Gain is the gain of a document with some relevance.
type Gain func(relevance float64) float64

// The two gains in use: the relevance itself, and 2^relevance − 1.
var (
	Linear      Gain = func(relevance float64) float64 { return relevance }
	Exponential Gain = func(relevance float64) float64 { return math.Exp2(relevance) - 1 }
)

// NDCG is the discounted cumulative gain of the first k of a ranking over that
// of the best ranking of all judged documents (Järvelin & Kekäläinen 2002),
// with discount 1/log₂(rank + 1). Documents that were not judged gain nothing.
// It is NaN where no document is relevant.
func NDCG(ranking []string, relevance map[string]float64, k int, gain Gain) float64 {
	ideal := make([]float64, 0, len(relevance))
	for _, rel := range relevance {
		ideal = append(ideal, rel)
	}
	slices.SortFunc(ideal, func(a, b float64) int { return cmp.Compare(b, a) })
	best := DCG(ideal, k, gain)
	if !(best > 0) {
		return math.NaN()
	}
	found := make([]float64, len(ranking))
	for i, id := range ranking {
		found[i] = relevance[id]
	}
	return DCG(found, k, gain) / best
}

// DCG is the discounted cumulative gain of the first k of a ranking's relevances.
func DCG(relevance []float64, k int, gain Gain) float64 {
	var sum float64
	for i, rel := range relevance[:min(max(k, 0), len(relevance))] {
		if rel > 0 {
			sum += gain(rel) / math.Log2(float64(i)+2)
		}
	}
	return sum
}
