package analyse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// byIndex is the order of the list, found by an index.
type byIndex struct{ *eval.ItemIndex }

func (o byIndex) Position(item string) (int, bool) { return o.Find(item) }
func (byIndex) At(position int) int                { return position }

// rated is an analysis of n items with a row each: of right and all.
func rated(t testing.TB, n int) analyse.Estimate {
	items := make([]eval.Item, n)
	for i := range items {
		items[i].ID = fmt.Sprintf("i%06d", i)
	}
	r := rand.New(rand.NewPCG(5, 6))
	c := analyse.NewCollector(&kinds, items, []eval.Arm{{ID: "x"}}, byIndex{eval.IndexItems(items)})
	for _, it := range items {
		all := float64(1 + r.IntN(3))
		c.Add(scored(it.ID, "x", eval.OK, eval.Score{Metric: "estimated", Row: eval.Row{float64(r.IntN(int(all) + 1)), all}}))
	}
	q := analyse.Question{Study: analyse.Study{Alpha: 0.05, Method: "auto", Resamples: 1000}, Primary: []string{"estimated"}, Overall: true,
		Run: analyse.Run{Items: n, Replicates: 1, Planned: n}}
	a, err := c.Analyse(q, analyse.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := a.Estimate("x", "estimated")
	return e
}

// TestManyClusters: groups of clusters have the interval of the clusters, about as wide as that
// of the delta method.
func TestManyClusters(t *testing.T) {
	few, many := rated(t, 10_000), rated(t, 40_000)
	if strings.Contains(few.Method, "groups") || !strings.Contains(many.Method, "2000 groups of clusters") || many.Clusters != 40_000 {
		t.Errorf("%q, %q of %d clusters", few.Method, many.Method, many.Clusters)
	}
	if ratio := float64(few.High-few.Low) / float64(many.High-many.Low); !(math.Abs(ratio-2) <= 0.25) {
		t.Errorf("four times the clusters have an interval narrower by %.2f, want 2", ratio)
	}
}

// BenchmarkRows: the time for an item is no longer for more of them.
func BenchmarkRows(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				rated(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
		})
	}
}
