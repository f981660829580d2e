package analyse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// The columns of a mixed model's frame.
const (
	scoreColumn   = "score"
	armColumn     = "arm"
	itemColumn    = "item"
	clusterColumn = "cluster"
)

// A fit is a mixed model of one metric over the arms compared on it.
type fit struct {
	pairs  map[[2]string]stats.PairEstimate
	reason string // why the fit failed
}

// fitMixed fits score ~ arm + (1|item) + (1|stratum) … for a metric, with
// (1|cluster) + (1|cluster:arm) where items are clustered. It has one row per arm
// and item, so fields of a document do not count as independent. A failed fit has no
// model and a reason.
func (c *Collector) fitMixed(q Question, metric int, arms []string) (*fit, Model) {
	name := c.suite.Metrics[metric].Name
	report := Model{Metric: name, Residual: Undefined(), F: Undefined(), NumDF: Undefined(), DenDF: Undefined(), P: Undefined()}
	frame, formula, err := c.frame(q, metric, arms)
	var m *stats.Mixed
	if err == nil {
		m, err = stats.FitMixed(frame, formula, stats.MixedOptions{})
	}
	f := &fit{pairs: map[[2]string]stats.PairEstimate{}}
	if err == nil {
		report, err = describe(report, m, q.level())
	}
	if err == nil {
		var pairs []stats.PairEstimate
		pairs, err = m.Pairwise(armColumn, q.level())
		for _, p := range pairs {
			f.pairs[[2]string{p.A, p.B}] = p
		}
	}
	if err != nil {
		f.reason = "no mixed model: " + err.Error()
		report.Formula = formula.String()
		report.Warnings = append(report.Warnings, f.reason)
	}
	return f, report
}

// frame builds one row per arm and item.
func (c *Collector) frame(q Question, metric int, arms []string) (*stats.Frame, stats.Formula, error) {
	formula := stats.Formula{Response: scoreColumn, Fixed: []string{armColumn}, Random: []string{itemColumn}}
	if c.clusters.n < len(c.items) {
		// What an arm does to a whole cluster is not evidence from each of its items.
		formula.Random = append(formula.Random, clusterColumn, clusterColumn+":"+armColumn)
	}
	columns := map[string]string{} // of strata
	for _, s := range c.randomStrata(q) {
		columns[s] = s
		if slices.Contains([]string{scoreColumn, armColumn, itemColumn, clusterColumn}, s) {
			columns[s] = "stratum " + s
		}
		formula.Random = append(formula.Random, columns[s])
	}
	var scores []float64
	factors := map[string][]string{}
	add := func(column, value string) { factors[column] = append(factors[column], value) }
	for _, arm := range arms {
		for i, v := range c.values(&c.a, c.armIdx[arm], metric) {
			if !(v.den > 0) {
				continue
			}
			scores = append(scores, v.num/v.den)
			add(armColumn, arm)
			add(itemColumn, c.items[i].ID)
			add(clusterColumn, fmt.Sprint(c.clusters.of[i]))
			for stratum, column := range columns {
				add(column, eval.LevelOf(c.items[i].Strata, stratum))
			}
		}
	}
	f := stats.NewFrame(len(scores))
	err := cmp.Or(f.AddNumbers(scoreColumn, scores), f.AddFactor(armColumn, factors[armColumn], slices.Clone(arms)))
	delete(factors, armColumn)
	for _, name := range slices.Sorted(maps.Keys(factors)) {
		err = cmp.Or(err, f.AddFactor(name, factors[name], nil))
	}
	return f, formula, err
}

// randomStrata returns the strata that are random intercepts: those the study
// names, or all with more than one value and fewer values than items.
func (c *Collector) randomStrata(q Question) []string {
	if q.Study.Random != nil {
		return q.Study.Random
	}
	values := map[string]map[string]bool{}
	var names []string
	for _, it := range c.items {
		for _, l := range it.Strata {
			if values[l.Name] == nil {
				values[l.Name] = map[string]bool{}
				names = append(names, l.Name)
			}
			values[l.Name][l.Value] = true
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return len(values[name]) < 2 || len(values[name]) >= len(c.items) })
}

// describe returns a fitted model as reports show it.
func describe(r Model, m *stats.Mixed, level float64) (Model, error) {
	r.Formula, r.Rows, r.Residual, r.Warnings = m.Formula.String(), m.N, Number(m.Sigma), m.Warnings
	for _, t := range m.Random {
		r.Groups = append(r.Groups, Group{t.Name, len(t.Levels), Number(t.SD)})
	}
	if tests := m.Anova(); len(tests) > 0 {
		r.F, r.NumDF, r.DenDF, r.P = Number(tests[0].F), Number(tests[0].NumDF), Number(tests[0].DenDF), Number(tests[0].P)
	}
	means, err := m.MarginalMeans(armColumn, level)
	for _, e := range means {
		r.Means = append(r.Means, Mean{e.Name, Number(e.Value), Number(e.CI.Low), Number(e.CI.High), Number(e.DF)})
	}
	return r, err
}

// reading is the difference of two arms by the model. It is the model's estimate,
// which includes items that only one of the arms has. ok is false if the model has no such difference.
func (f *fit) reading(a, b string) (_ reading, ok bool) {
	sign := 1.0
	p, ok := f.pairs[[2]string{a, b}]
	if !ok {
		sign = -1
		p, ok = f.pairs[[2]string{b, a}]
	}
	out := untested("linear mixed model, REML, Satterthwaite", Undefined())
	if !ok {
		out.warnings = []string{"no test: " + cmp.Or(f.reason, "one of the arms has no scores")}
		return out, false
	}
	out.diff, out.t, out.df, out.P = Number(sign*p.Value), Number(sign*p.T), Number(p.DF), p.P
	out.Interval = func(level float64) stats.Interval {
		ci := p.Interval(level)
		if sign < 0 {
			ci.Low, ci.High = -ci.High, -ci.Low
		}
		return ci
	}
	return out, true
}
