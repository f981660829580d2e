package analyse

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// matched is the data of one comparison: the scores of the items that both arms
// have, the cluster of each, and their fractions added up by cluster.
type matched struct {
	xs, ys                 []float64
	cluster                []int32
	numA, denA, numB, denB []float64
}

// clustered reports whether there are fewer clusters than items.
func (m matched) clustered() bool {
	n := 0
	for _, d := range m.denA {
		if d > 0 {
			n++
		}
	}
	return n < len(m.xs)
}

// unclustered makes every item a cluster of its own.
func (m matched) unclustered() matched {
	one := slices.Repeat([]float64{1}, len(m.xs))
	own := make([]int32, len(m.xs))
	for i := range own {
		own[i] = int32(i)
	}
	return matched{m.xs, m.ys, own, m.xs, one, m.ys, one}
}

// units counts the units of a test: clusters or items.
func (m matched) units(n int) string {
	if m.clustered() {
		return text.Plural(n, "cluster", "clusters")
	}
	return text.Plural(n, "item", "items")
}

// differences returns the sum of differences of each cluster.
func (m matched) differences() []float64 {
	a, _ := occupied(m.numA, m.denA)
	b, _ := occupied(m.numB, m.denB)
	for k := range a {
		a[k] -= b[k]
	}
	return a
}

// proportions compares scores that are 0 or 1.
func (m matched) proportions(level float64) (stats.PairedProportions, error) {
	clusters := len(m.numA)
	b, c, n := make([]int, clusters), make([]int, clusters), make([]int, clusters)
	for i, k := range m.cluster {
		n[k]++
		switch {
		case m.xs[i] > m.ys[i]:
			b[k]++
		case m.xs[i] < m.ys[i]:
			c[k]++
		}
	}
	return stats.ComparePairedProportions(b, c, n, level)
}

// binary reports whether every score is 0 or 1.
func (m matched) binary() bool {
	other := func(x float64) bool { return x != 0 && x != 1 }
	return !slices.ContainsFunc(m.xs, other) && !slices.ContainsFunc(m.ys, other)
}

// constantA gives the first arm the same score on every item.
func (m matched) constantA(score float64) matched {
	m.xs, m.numA = slices.Repeat([]float64{score}, len(m.xs)), scaled(m.denA, score)
	return m
}

// reversed exchanges the arms.
func (m matched) reversed() matched {
	return matched{m.ys, m.xs, m.cluster, m.numB, m.denB, m.numA, m.denA}
}

func scaled(xs []float64, by float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = by * x
	}
	return out
}
