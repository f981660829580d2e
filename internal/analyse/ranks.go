package analyse

import (
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
)

// ranks is the table of ranks by the first primary metric of a study that compares every pair
// of its arms, nil for others and for fewer than three arms. Arms that a comparison shows to
// be better or worse, after Holm's correction for all pairs, bound the rank of an arm: the
// intervals hold for all arms together with the probability 1 − α.
//
// Source: Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for Ranks, Review of Economic
// Studies 91, with paired tests for their differences.
func (a *Analysis) ranks(q Question) *eval.Table {
	if len(q.Primary) == 0 || q.Run.Exploratory() {
		return nil
	}
	metric, _ := a.Metric(q.Primary[0])
	var arms []Arm
	for _, arm := range a.Arms {
		if e, ok := a.Estimate(arm.ID, metric.Name); ok && e.Value.Defined() {
			arms = append(arms, arm)
		}
	}
	var pairs []Comparison
	var p []float64
	for _, c := range a.Comparisons {
		if c.Stratum == nil && c.Metric == metric.Name && c.Primary && !math.IsNaN(float64(c.Diff)) {
			pairs, p = append(pairs, c), append(p, c.doubt())
		}
	}
	if len(arms) < 3 || len(pairs) != len(arms)*(len(arms)-1)/2 {
		return nil
	}
	p, err := corrected("holm", p)
	if err != nil {
		return nil
	}
	better, worse := map[string]int{}, map[string]int{}
	for i, c := range pairs {
		if p[i] >= q.Study.Alpha {
			continue
		}
		if (c.Diff > 0) != metric.HigherIsBetter {
			c.A, c.B = c.B, c.A
		}
		better[c.B]++
		worse[c.A]++
	}
	value := func(id string) Number { e, _ := a.Estimate(id, metric.Name); return e.Value }
	slices.SortStableFunc(arms, func(x, y Arm) int {
		switch vx, vy := value(x.ID), value(y.ID); {
		case vx == vy:
			return 0
		case (vx > vy) == metric.HigherIsBetter:
			return -1
		}
		return 1
	})
	t := &eval.Table{Name: "ranks", Title: "Ranks by " + metric.Title, Columns: []string{"arm", "value", "rank", "from", "to"},
		Note: fmt.Sprintf("Ranks that the comparisons of all pairs allow, for all arms together at %g %% (Holm).", 100*(1-q.Study.Alpha))}
	rank := 1
	for i, arm := range arms {
		if i > 0 && value(arm.ID) != value(arms[i-1].ID) {
			rank = i + 1
		}
		t.Row(eval.Text(arm.ID), eval.Quantity(value(arm.ID)), eval.Count(rank), eval.Count(1+better[arm.ID]), eval.Count(len(arms)-worse[arm.ID]))
	}
	return t
}

// doubt is the p-value of a comparison whatever its missing scores are: 1 if they could turn
// it or it is not known.
func (c *Comparison) doubt() float64 {
	p := float64(c.P)
	for _, bound := range []*Comparison{c.Least, c.Most} {
		if bound == nil {
			continue
		}
		if p = max(p, float64(bound.P)); (bound.Diff > 0) != (c.Diff > 0) {
			p = 1
		}
	}
	if math.IsNaN(p) {
		return 1
	}
	return p
}
