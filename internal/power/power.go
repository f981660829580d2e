// Package power says before a run what its rules need: whether any scores could
// meet them with the study's items, how many items they need if not, and how often
// they would be met if the arms had stated true scores. It simulates scores, and
// analyses and decides them with the code of a run, so it promises what the gate
// will do.
//
// The package must not know any suite, store or model. It performs no trials.
package power

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

// A Design is a study without its answers.
type Design struct {
	Suite    *eval.Suite
	Items    []eval.Item
	Arms     []eval.Arm
	Question analyse.Question
	Rules    *gate.Rules
}

// A Limit says what a rule needs.
type Limit struct {
	Rule      gate.Rule
	Reachable bool // some scores would meet it with the items of the design
	Needs     int  // items at which some would; 0 if not found up to [MostItems]
	// Same is the number of items at which it is met if all arms have only the best
	// scores, as non-inferiority and equivalence are; 0 if not found.
	Same int
}

// MostItems is the number of items up to which limits are searched. Rules that need
// more ask for margins of less than a thousandth.
const MostItems = 5000

// Limits returns what each rule needs. A design without rules has none. Of more than
// MostItems items the first ones stand for all.
func (d Design) Limits() ([]Limit, error) {
	rules := d.Rules.All()
	if len(rules) == 0 || len(d.Items) == 0 {
		return nil, nil
	}
	d = d.relevant()
	// What an interval can be at most does not depend on many resamples, nor on the
	// variances that a mixed model estimates.
	d.Question.Study.Resamples = min(d.Question.Study.Resamples, 1000)
	if d.Question.Study.Method == "mixed_effects" {
		d.Question.Study.Method = "paired_ttest"
	}
	worst, best := d.extremes(false), d.extremes(true)
	n := min(len(d.Items), MostItems)
	var limits []Limit
	for _, r := range rules {
		l := Limit{Rule: r}
		var err error
		if l.Needs, err = needed(n, func(n int) (bool, error) {
			a, err := worst(n)
			return err == nil && r.Reachable(a), err
		}); err != nil {
			return nil, err
		}
		l.Reachable = l.Needs == n || len(d.Items) > MostItems
		if l.Needs > 0 && len(r.Pairs) > 0 {
			if l.Same, err = least(n, MostItems, func(n int) (bool, error) {
				a, err := best(n)
				return err == nil && r.Holds(a), err
			}); err != nil {
				return nil, err
			}
		}
		limits = append(limits, l)
	}
	return limits, nil
}

// extremes analyses studies of n items in which every arm has the worst scores or the
// best. Scores that are not outcomes vary a little, as t intervals need.
func (d Design) extremes(best bool) func(n int) (*analyse.Analysis, error) {
	known := map[int]*analyse.Analysis{}
	return func(n int) (*analyse.Analysis, error) {
		if a := known[n]; a != nil {
			return a, nil
		}
		r := rand.New(rand.NewPCG(1, uint64(n)))
		resized := d.resized(n)
		resized.Question.NoReach = best // whether a rule holds does not depend on it
		a, err := resized.collect(newListed(resized.Items), func(metric, _, _ int) (num, den float64) {
			m := d.Suite.Metrics[metric]
			low := max(m.Min, -1e9) // a metric may have no bounds
			high := min(m.Max, low+1)
			x := low
			if m.HigherIsBetter == best {
				x = high
			}
			if !m.Binary {
				x += (0.5*(low+high) - x) * 0.01 * r.Float64()
			}
			return x, 1
		})
		known[n] = a
		return a, err
	}
}

// needed returns the smallest number of items from n at which a rule is reachable, 0
// if it is not up to MostItems.
func needed(n int, reachable func(n int) (bool, error)) (int, error) {
	for low, high := n, n; ; low, high = high, 2*high {
		ok, err := reachable(min(high, MostItems))
		switch {
		case err != nil:
			return 0, err
		case ok:
			return least(low, min(high, MostItems), reachable)
		case high >= MostItems:
			return 0, nil
		}
	}
}

// least returns the smallest number from low to high that has a property, if larger
// numbers have it too, and 0 if high has not.
func least(low, high int, has func(n int) (bool, error)) (int, error) {
	for _, n := range []int{low, high} {
		ok, err := has(n)
		switch {
		case err != nil:
			return 0, err
		case ok && n == low:
			return low, nil
		case !ok && n == high:
			return 0, nil
		}
	}
	for high-low > 1 {
		mid := (low + high) / 2
		ok, err := has(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

// relevant keeps what the rules read and what corrects it: the primary comparisons
// on the primary metrics.
func (d Design) relevant() Design {
	q := d.Question
	var arms []string
	metrics := slices.Clone(q.Primary)
	pairs := slices.DeleteFunc(slices.Clone(q.Comparisons), func(p analyse.Pair) bool { return !p.Primary })
	for i := range pairs {
		if len(pairs[i].Metrics) == 0 {
			pairs[i].Metrics = q.Primary
		}
	}
	for _, r := range d.Rules.All() {
		arms = append(arms, r.Arms...)
		for _, e := range r.Estimates {
			metrics = append(metrics, e[1])
		}
		for _, p := range r.Pairs {
			metrics = append(metrics, p[2])
			same := func(x analyse.Pair) bool {
				return slices.Contains(x.Metrics, p[2]) && (x.A == p[0] && x.B == p[1] || x.A == p[1] && x.B == p[0])
			}
			if !slices.ContainsFunc(pairs, same) {
				pairs = append(pairs, analyse.Pair{A: p[0], B: p[1], Metrics: []string{p[2]}})
			}
		}
	}
	for _, p := range pairs {
		arms, metrics = append(arms, p.A, p.B), append(metrics, p.Metrics...)
	}
	suite := *d.Suite
	suite.Metrics = slices.DeleteFunc(slices.Clone(suite.Metrics), func(m eval.Metric) bool { return !slices.Contains(metrics, m.Name) })
	d.Suite = &suite
	d.Arms = slices.DeleteFunc(slices.Clone(d.Arms), func(a eval.Arm) bool { return !slices.Contains(arms, a.ID) })
	q.Comparisons, q.Secondary, q.Samples, q.Calibration, q.Overall = pairs, nil, 0, nil, true
	q.NoEffect = !slices.ContainsFunc(d.Rules.All(), func(r gate.Rule) bool { return r.Effect })
	q.Run = analyse.Run{Items: len(d.Items), Replicates: 1, Planned: 0, Seed: q.Run.Seed, MaxFailed: 1}
	d.Question = q
	return d
}

// resized returns the design with n items: the first ones, or copies of all in new
// clusters.
func (d Design) resized(n int) Design {
	items := make([]eval.Item, n)
	for i := range items {
		it := d.Items[i%len(d.Items)]
		if round := i / len(d.Items); round > 0 {
			it.ID = fmt.Sprintf("%s copy %d", it.ID, round)
			if it.Cluster != "" {
				it.Cluster = fmt.Sprintf("%s copy %d", it.Cluster, round)
			}
		}
		items[i] = it
	}
	d.Items, d.Question.Run.Items = items, n
	return d
}

// A score returns the fraction of an arm's item.
type score func(metric, arm, item int) (num, den float64)

// listed is the order of a list of items.
type listed map[string]int

func newListed(items []eval.Item) listed {
	l := make(listed, len(items))
	for i, it := range items {
		l[it.ID] = i
	}
	return l
}

func (l listed) Position(item string) (int, bool) { i, ok := l[item]; return i, ok }

func (listed) At(position int) int { return position }

// collect analyses scores as those of a run.
func (d Design) collect(order listed, of score) (*analyse.Analysis, error) {
	c := analyse.NewCollector(d.Suite, d.Items, d.Arms, order)
	for a, arm := range d.Arms {
		for i, it := range d.Items {
			s := eval.Scored{Case: eval.Case{Item: it.ID, Arm: arm.ID}}
			for m, metric := range d.Suite.Metrics {
				if num, den := of(m, a, i); den > 0 && metric.Estimate == nil {
					s.Scores = append(s.Scores, eval.Score{Replicate: 1, Metric: metric.Name, Num: num, Den: den})
				}
			}
			c.Add(s)
		}
	}
	return c.Analyse(d.Question, analyse.Sources{})
}
