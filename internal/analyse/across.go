package analyse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/stats"
)

// An Across asks whether the difference of two arms is the same at all levels of a
// factor. That one level shows a difference and another does not is not an answer: the
// differences themselves are compared.
type Across struct {
	A, B    string // as the study names them, or ids of arms
	Factor  string // of the arms, or a stratum of the items
	Metrics []string
	// Levels are those of a factor of arms, each with its pair. Without them the factor is
	// a stratum, and A and B are compared in each.
	Levels []AcrossLevel
}

// An AcrossLevel is the pair of arms at a level of a factor.
type AcrossLevel struct{ Name, A, B string }

// An Interaction is how the difference of two arms depends on a factor.
type Interaction struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Metric string `json:"metric"`
	Factor string `json:"factor"`
	// Levels are the differences at each level, and Pairs the differences of those.
	Levels []LevelDiff  `json:"levels"`
	Pairs  []DiffOfDiff `json:"pairs"`
	// P is that of the hypothesis that the difference is the same at all levels: the
	// smallest adjusted p-value of the pairs.
	P        Number   `json:"p"`
	Level    Number   `json:"level"` // of the intervals of pairs, which hold together
	Method   string   `json:"method,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// A LevelDiff is the difference at one level.
type LevelDiff struct {
	Name  string `json:"name"`
	Diff  Number `json:"diff"`
	Items int    `json:"items"`
}

// A DiffOfDiff is the difference at the first level minus that at the second.
type DiffOfDiff struct {
	First    string `json:"first"`
	Second   string `json:"second"`
	Reading         // its p-value is corrected by Holm's method, over the pairs of levels
	Items    int    `json:"items"`
	Clusters int    `json:"clusters"`
}

// Interactions resolves the factors across which the study compares differences. strata
// are the names of the strata of its items. An error is a [*study.Error] without a position.
func Interactions(compare []study.Compare, arms []eval.Arm, strata []string) ([]Across, error) {
	var list []Across
	for i, c := range compare {
		if len(c.Across) == 0 {
			continue
		}
		pairs, err := Pairs([]study.Compare{c}, arms)
		if err != nil {
			continue // reported with the comparisons
		}
		for k, factor := range c.Across {
			at := fmt.Sprintf("comparisons[%d].across[%d]", i, k)
			if slices.Contains(strata, factor) {
				for _, p := range pairs {
					list = append(list, Across{A: p.A, B: p.B, Factor: factor, Metrics: c.Metrics})
				}
				continue
			}
			x := Across{A: c.A, B: c.B, Factor: factor, Metrics: c.Metrics}
			for _, p := range pairs {
				a, b := levelOf(arms, p.A, factor), levelOf(arms, p.B, factor)
				if a == "" || a != b {
					continue
				}
				if slices.ContainsFunc(x.Levels, func(l AcrossLevel) bool { return l.Name == a }) {
					return nil, &study.Error{Path: at, Err: fmt.Errorf("several pairs of %s and %s have %s %s: compare the arms by their ids", c.A, c.B, factor, a)}
				}
				x.Levels = append(x.Levels, AcrossLevel{a, p.A, p.B})
			}
			if len(x.Levels) < 2 {
				return nil, &study.Error{Path: at, Err: fmt.Errorf("%q is neither a stratum of the items (%s) nor a factor with two or more levels of %s and %s: a kernel needs two or more models to be compared across model",
					factor, strings.Join(strata, ", "), c.A, c.B)}
			}
			list = append(list, x)
		}
	}
	return list, nil
}

func levelOf(arms []eval.Arm, id, factor string) string {
	arm, _ := find(arms, func(a eval.Arm) bool { return a.ID == id })
	return eval.LevelOf(arm.Levels, factor)
}

// interactions compares differences across levels, by the first metric of each
// comparison that is a mean of items.
func (c *Collector) interactions(a *Analysis, q Question, selections []selection) error {
	for _, x := range q.Across {
		metrics := x.Metrics
		if len(metrics) == 0 {
			metrics = q.Primary
		}
		for _, name := range metrics {
			m, ok := c.metric[name]
			if !ok {
				return fmt.Errorf("analyse: comparing differences by %s: no such metric", name)
			}
			r, err := c.interaction(x, m, q, selections)
			if err != nil {
				return fmt.Errorf("comparing the differences of %s and %s across %s by %s: %w", x.A, x.B, x.Factor, name, err)
			}
			a.Interactions = append(a.Interactions, r)
		}
	}
	return nil
}

// gaps are the differences of two arms at a level on the items that have both, by item.
type gaps struct {
	LevelDiff
	by []float64 // NaN where an arm has no score
}

func (c *Collector) gaps(l AcrossLevel, metric int, items []int) (gaps, error) {
	a, okA := c.armIdx[l.A]
	b, okB := c.armIdx[l.B]
	if !okA || !okB {
		return gaps{}, fmt.Errorf("the study has no arm %s or %s", l.A, l.B)
	}
	g := gaps{LevelDiff{Name: l.Name, Diff: Undefined()}, slices.Repeat([]float64{math.NaN()}, len(c.items))}
	xs, ys := c.values(&c.a, a, metric), c.values(&c.b, b, metric)
	sum := 0.0
	for _, i := range items {
		if x, y := xs[i], ys[i]; x.den > 0 && y.den > 0 {
			g.by[i] = x.num/x.den - y.num/y.den
			sum += g.by[i]
			g.Items++
		}
	}
	if g.Items > 0 {
		g.Diff = Number(sum / float64(g.Items))
	}
	return g, nil
}

func (c *Collector) interaction(x Across, metric int, q Question, selections []selection) (Interaction, error) {
	m := c.suite.Metrics[metric]
	r := Interaction{A: x.A, B: x.B, Metric: m.Name, Factor: x.Factor, P: Undefined(), Level: Undefined()}
	if m.Pooling != eval.MeanOfItems || m.Estimate != nil {
		r.Warnings = append(r.Warnings, "no test: "+m.Name+" is not a mean of items")
		return r, nil
	}
	var levels []gaps
	add := func(l AcrossLevel, items []int) error {
		g, err := c.gaps(l, metric, items)
		levels, r.Levels = append(levels, g), append(r.Levels, g.LevelDiff)
		return err
	}
	for _, l := range x.Levels {
		if err := add(l, selections[0].items); err != nil {
			return r, err
		}
	}
	for _, s := range selections[1:] {
		if len(x.Levels) == 0 && s.stratum.Name == x.Factor {
			if err := add(AcrossLevel{s.stratum.Value, x.A, x.B}, s.items); err != nil {
				return r, err
			}
		}
	}
	if q.Run.Exploratory() {
		return r, nil
	}
	err := c.compareLevels(&r, x, levels, q)
	return r, err
}

// compareLevels compares the differences of all pairs of levels. Those of a factor of arms
// are on the same items, which are paired; those of strata are on different ones.
func (c *Collector) compareLevels(r *Interaction, x Across, levels []gaps, q Question) error {
	count := len(levels) * (len(levels) - 1) / 2
	if count == 0 {
		r.Warnings = append(r.Warnings, "no test: fewer than two levels")
		return nil
	}
	level := 1 - q.Study.Alpha/float64(count)
	r.Level = Number(level)
	t := tester{q: q, level: level}
	method := "cluster-robust t"
	paired := len(x.Levels) > 0
	binary := !paired && c.suite.Metrics[c.metric[r.Metric]].Binary
	if binary {
		method += ", no narrower than few wins and losses allow"
	}
	r.Method = "differences of differences, " + method + "; p by Holm over the pairs of levels"
	var ps []float64
	few := false
	for i, first := range levels {
		for _, second := range levels[i+1:] {
			d := DiffOfDiff{First: first.Name, Second: second.Name}
			numA, denA := make([]float64, c.clusters.n), make([]float64, c.clusters.n)
			numB, denB := make([]float64, c.clusters.n), make([]float64, c.clusters.n)
			for item, of := range c.clusters.of {
				x, y := first.by[item], second.by[item]
				hasX, hasY := !math.IsNaN(x), !math.IsNaN(y)
				if paired && !(hasX && hasY) {
					continue
				}
				if hasX {
					numA[of], denA[of] = numA[of]+x, denA[of]+1
				}
				if hasY {
					numB[of], denB[of] = numB[of]+y, denB[of]+1
				}
				if hasX || hasY {
					d.Items++
				}
			}
			robust, err := stats.RatioDifference(numA, denA, numB, denB, level)
			if err != nil {
				return err
			}
			reading := readingOf(method, robust, robust.Reading())
			if binary && robust.Undefined == "" {
				a, errA := c.proportions(first, q)
				b, errB := c.proportions(second, q)
				if err := cmp.Or(errA, errB); err != nil {
					return err
				}
				reading = readingOf(reading.method, robust, reading.Apart(a, b)).beyond(robust)
			}
			if robust.Undefined != "" { // differences that are all equal are no evidence that others are
				reading = untested("", reading.diff)
				r.warn(fmt.Sprintf("no test of %s against %s: %s", first.Name, second.Name, robust.Undefined))
			} else if robust.Fewest < stats.FewClusters {
				few = true
			}
			d.Clusters, d.Reading = robust.Clusters, t.result(reading)
			d.Method = "" // that of all
			r.Pairs, ps = append(r.Pairs, d), append(ps, float64(d.P))
		}
	}
	if few {
		r.warn(fmt.Sprintf("some levels have fewer than %d items or clusters: only large differences are detectable", stats.FewClusters))
	}
	adjusted, err := corrected("holm", ps)
	for i, p := range adjusted {
		r.Pairs[i].PAdjusted = Number(p)
		if Number(p).Defined() && (!r.P.Defined() || Number(p) < r.P) {
			r.P = Number(p)
		}
	}
	return err
}

// proportions are those of a level's items that only one arm passes.
func (c *Collector) proportions(g gaps, q Question) (stats.PairedProportions, error) {
	m := matched{numA: make([]float64, c.clusters.n), parts: partsOf(q.Run.Replicates)}
	for item, of := range c.clusters.of {
		if d := g.by[item]; !math.IsNaN(d) {
			m.xs, m.ys, m.cluster = append(m.xs, d), append(m.ys, 0), append(m.cluster, of)
		}
	}
	return m.proportions(1 - q.Study.Alpha)
}

func (r *Interaction) warn(text string) { r.Warnings = append(r.Warnings, text) }

// Spread returns the smallest interval around 0 that has the equivalence intervals of all
// pairs of levels: the differences differ by less than its end.
func (r Interaction) Spread() Number {
	most := Number(0)
	for _, d := range r.Pairs {
		if !d.EquivLow.Defined() || !d.EquivHigh.Defined() {
			return Undefined()
		}
		most = max(most, -d.EquivLow, d.EquivHigh)
	}
	if len(r.Pairs) == 0 {
		return Undefined()
	}
	return most
}

// Interaction finds how a difference depends on a factor.
func (a *Analysis) Interaction(armA, armB, metric, factor string) (Interaction, bool) {
	return find(a.Interactions, func(r Interaction) bool { // neither p nor the spread depends on the order of the arms
		return r.Metric == metric && r.Factor == factor && (r.A == armA && r.B == armB || r.A == armB && r.B == armA)
	})
}

// Pairs resolves the comparisons of a study to pairs of arms. A name that is not
// an arm's id selects every arm that has it as a level: a kernel that runs on
// three models selects three arms. Arms selected by two such names are paired if
// they differ in nothing else; an arm without a model pairs with each. An error is
// a [*study.Error] without a position.
func Pairs(compare []study.Compare, arms []eval.Arm) ([]Pair, error) {
	var pairs []Pair
	for i, c := range compare {
		if c.A == study.AllArms && c.B == study.AllArms {
			pairs = append(pairs, allPairs(c, arms)...)
			continue
		}
		as, err := named(c.A, arms)
		if err != nil {
			return nil, &study.Error{Path: fmt.Sprintf("comparisons[%d].a", i), Err: err}
		}
		bs, err := named(c.B, arms)
		if err != nil {
			return nil, &study.Error{Path: fmt.Sprintf("comparisons[%d].b", i), Err: err}
		}
		before := len(pairs)
		for _, a := range as {
			for _, b := range bs {
				if a.ID != b.ID && alike(a, b, c) {
					pairs = append(pairs, Pair{A: a.ID, B: b.ID, Primary: c.Primary, Family: c.Family, Metrics: c.Metrics})
				}
			}
		}
		if len(pairs) == before {
			return nil, &study.Error{Path: fmt.Sprintf("comparisons[%d]", i), Err: fmt.Errorf("no arm of %s and arm of %s use the same model: give the ids of the arms", c.A, c.B)}
		}
	}
	return pairs, nil
}

// allPairs compares each arm with those before it. A baseline, which many suites add by
// themselves, is compared where the study names it.
func allPairs(c study.Compare, arms []eval.Arm) (pairs []Pair) {
	arms = slices.DeleteFunc(slices.Clone(arms), func(a eval.Arm) bool { return a.Role != eval.RoleArm })
	for i, b := range arms {
		for _, a := range arms[i+1:] {
			pairs = append(pairs, Pair{A: a.ID, B: b.ID, Primary: c.Primary, Family: c.Family, Metrics: c.Metrics})
		}
	}
	return pairs
}

func named(name string, arms []eval.Arm) ([]eval.Arm, error) {
	var found []eval.Arm
	var ids []string
	for _, a := range arms {
		if a.Role == eval.RoleCalibration {
			continue
		}
		if a.ID == name {
			return []eval.Arm{a}, nil
		}
		ids = append(ids, a.ID)
		for _, l := range a.Levels {
			if l.Value == name {
				found = append(found, a)
				break
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("unknown arm %q; the arms are %s", name, strings.Join(ids, ", "))
	}
	return found, nil
}

// alike reports whether two arms differ only in the compared factor, or one of
// them has no model.
func alike(a, b eval.Arm, c study.Compare) bool {
	if a.ID == c.A && b.ID == c.B || a.Model == "" || b.Model == "" {
		return true
	}
	return !slices.ContainsFunc(a.Levels, func(l eval.Level) bool { return l.Value != c.A && eval.LevelOf(b.Levels, l.Name) != l.Value })
}
