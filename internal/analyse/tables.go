package analyse

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// maxUnsolved limits the rows of the table of items that no arm solved.
const maxUnsolved = 20

// unsolved lists the items that no contestant solved by the first primary metric, with the
// most frequent answer: the cause is often wrong gold. Only outcomes of yes or no solve an
// item. It is nil if every item is solved.
func (c *Collector) unsolved(q Question, from Sources) (*eval.Table, error) {
	if len(q.Primary) == 0 || from.Show == nil || from.Cases == nil {
		return nil, nil
	}
	metric, ok := c.metric[q.Primary[0]]
	if m := &c.suite.Metrics[metric]; !ok || !m.Binary || !m.HigherIsBetter || m.Pooling != eval.MeanOfItems {
		return nil, nil
	}
	tried, solved := make([]bool, len(c.items)), make([]bool, len(c.items))
	for i, arm := range c.arms {
		if arm.Role != eval.RoleArm {
			continue
		}
		for item, v := range c.values(&c.a, i, metric) {
			tried[item], solved[item] = tried[item] || v.den > 0, solved[item] || v.num > 0
		}
	}
	n, shown := 0, map[string]*unsolvedItem{}
	for i := range c.items {
		if tried[i] && !solved[i] {
			if n++; n <= maxUnsolved {
				shown[c.items[i].ID] = &unsolvedItem{answers: map[string]int{}}
			}
		}
	}
	if n == 0 {
		return nil, nil
	}
	for of, err := range from.Cases {
		if err != nil {
			return nil, err
		}
		item, ok := shown[of.Item]
		if i, known := c.armIdx[of.Arm]; !ok || !known || c.arms[i].Role != eval.RoleArm {
			continue
		}
		for t := range of.Answered() {
			x, err := from.Show(t.Trial)
			if err != nil {
				return nil, fmt.Errorf("showing %v: %w", t.Trial, err)
			}
			item.add(x, t.Outcome.Reason)
		}
	}
	table := &eval.Table{Name: "unsolved", Title: "Items that no arm solved", Columns: []string{"item", "text", "right answer", "most frequent answer", "times"},
		Note: fmt.Sprintf("%d of %s, by %s. Check the right answers first.", n, text.Plural(len(c.items), "item", "items"), q.Primary[0])}
	if n > maxUnsolved {
		table.Note += fmt.Sprintf(" The first %d are shown.", maxUnsolved)
	}
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		item := shown[id]
		answer := ""
		for _, said := range slices.Sorted(maps.Keys(item.answers)) {
			if item.answers[said] > item.answers[answer] {
				answer = said
			}
		}
		table.Row(append(eval.Texts(id, text.Shorten(item.text, 60), text.Shorten(item.gold, 40), text.Shorten(answer, 40)), eval.Count(item.answers[answer]))...)
	}
	return table, nil
}

// An unsolvedItem is what the answers to an item show of it.
type unsolvedItem struct {
	text, gold string
	answers    map[string]int
}

// add adds an answer: that of the first row with gold, or why there is none.
func (u *unsolvedItem) add(x eval.Exhibit, reason string) {
	u.text = cmp.Or(u.text, strings.TrimSpace(x.Lead))
	if len(x.Pages) > 0 {
		u.text = cmp.Or(u.text, x.Pages[0].Text)
	}
	for _, r := range x.Rows {
		if r.Gold != "" {
			u.gold = r.Gold
			u.answers[cmp.Or(reason, r.Answer)]++
			return
		}
	}
}

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
		if !metric.HigherIsBetter {
			x, y = y, x
		}
		return cmp.Compare(value(y.ID), value(x.ID))
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
