package analyse

import (
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
	"github.com/scruple-eval/scruple/stats"
)

// A contest is a pair on one metric, with the scores of both arms.
type contest struct {
	pair   Pair
	metric int
	first  bool // the pair's first metric, which is also compared by stratum
	a, b   armScores
}

// noise bounds the rounding error of the score of an item, which sums the scores of its
// units: equal scores that were added up in another order are a tie.
const noise = 1e-12

// matched is the data of one comparison: the scores of the items that both arms
// have, the cluster of each, and their fractions added up by cluster. Of a pooled metric
// an arm can have no score on an item, but not both.
type matched struct {
	xs, ys                 []float64
	cluster                []int32
	numA, denA, numB, denB []float64
	parts                  int // of an item, by replicates
}

// partsOf is the number of parts into which replicates divide an item, of which some may have
// fewer: 6 for three. From seven on these are more than limits are computed for, and all count.
func partsOf(replicates int) int {
	if replicates > 6 {
		return replicates
	}
	return [...]int{0, 1, 2, 6, 12, 60, 60}[max(0, replicates)]
}

// clustered reports whether there are fewer clusters than items.
func (m matched) clustered() bool {
	n := 0
	for k := range m.denA {
		if m.denA[k] > 0 || m.denB[k] > 0 {
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
	return matched{m.xs, m.ys, own, m.xs, one, m.ys, one, m.parts}
}

// occupied keeps the clusters with a denominator in one of the arms: those of another
// stratum must not be resampled.
func (m matched) occupied() matched {
	var of matched
	for k := range m.denA {
		if m.denA[k] > 0 || m.denB[k] > 0 {
			of.numA, of.denA = append(of.numA, m.numA[k]), append(of.denA, m.denA[k])
			of.numB, of.denB = append(of.numB, m.numB[k]), append(of.denB, m.denB[k])
		}
	}
	return of
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

// proportions compares scores of items that pass or fail, or do so in a part of their
// replicates.
func (m matched) proportions(level float64) (stats.PairedProportions, error) {
	clusters := len(m.numA)
	b, c, n := make([]float64, clusters), make([]float64, clusters), make([]int, clusters)
	for i, k := range m.cluster {
		n[k]++
		b[k], c[k] = b[k]+max(0, m.xs[i]-m.ys[i]), c[k]+max(0, m.ys[i]-m.xs[i])
	}
	return m.compare(b, c, n, level)
}

func (m matched) compare(b, c []float64, n []int, level float64) (stats.PairedProportions, error) {
	r, err := stats.ComparePairedProportions(b, c, n, level)
	r.Parts = m.parts
	return r, err
}

// paired compares scores that pass or fail, of items or of the same opportunities, of which
// the net differences of clusters are known.
func (m matched) paired(pooling eval.Pooling, level float64) (stats.PairedProportions, error) {
	if pooling == eval.MeanOfItems {
		return m.proportions(level)
	}
	b, c, n := make([]float64, len(m.numA)), make([]float64, len(m.numA)), make([]int, len(m.numA))
	for k := range n {
		n[k] = int(m.denA[k])
		b[k], c[k] = max(0, m.numA[k]-m.numB[k]), max(0, m.numB[k]-m.numA[k])
	}
	return m.compare(b, c, n, level)
}

// binary reports whether every score is 0 or 1.
func (m matched) binary() bool {
	other := func(x float64) bool { return x != 0 && x != 1 }
	return !slices.ContainsFunc(m.xs, other) && !slices.ContainsFunc(m.ys, other)
}

// occupied returns the clusters with a denominator: clusters of another stratum
// must not be resampled.
func occupied(num, den []float64) (n, d []float64) {
	for k := range den {
		if den[k] > 0 {
			n, d = append(n, num[k]), append(d, den[k])
		}
	}
	return n, d
}

func total(xs []float64) float64 {
	var s float64
	for _, x := range xs {
		s += x
	}
	return s
}
