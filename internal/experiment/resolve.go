package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/effort"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
	"github.com/scruple-eval/scruple/internal/plan"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/text"
)

// mostPlanned is the number of trials that a run may have.
const mostPlanned = 1_000_000_000

// resolve validates the arms and metrics of the study against the suite.
func (x *Experiment) resolve() error {
	s, arms := x.Study, x.Bench.Arms()
	var problems []error
	var err error
	if x.Plan, err = plan.New(x.Items(), plan.Questions(s, arms), s.Execution.Replicates, s.Execution.Seed); err != nil {
		problems = append(problems, err)
	}
	if cells := len(x.Items()) * len(arms); cells > mostPlanned/max(1, s.Execution.Replicates) {
		problems = append(problems, x.File.Errorf("execution.replicates", "%d items, %d arms and %d replicates are more than %d trials: want fewer", len(x.Items()), len(arms), s.Execution.Replicates, mostPlanned))
	}
	if x.Plan != nil {
		x.Plan.Reads, x.Plan.Depends, x.Plan.Judges = x.Suite.Reads, x.Bench.Basis, plan.Judges(s, arms)
	}
	problems = append(problems, x.resolveMetrics()...)
	factors, _ := x.strata()
	for i, name := range s.Statistics.Random {
		if !slices.Contains(factors, name) {
			problems = append(problems, x.File.Errorf(fmt.Sprintf("statistics.random[%d]", i), "items have no stratum %q%s; the strata are %s",
				name, text.DidYouMean(name, factors), strings.Join(factors, ", ")))
		}
	}
	var unpaired, uncrossed error
	x.Pairs, unpaired = analyse.Pairs(s.Comparisons, arms)
	x.Across, uncrossed = analyse.Interactions(s.Comparisons, arms, factors)
	for _, err := range []error{unpaired, uncrossed} {
		if e := (*study.Error)(nil); errors.As(err, &e) {
			problems = append(problems, x.File.Errorf(e.Path, "%w", e.Err))
		}
	}
	problems = append(problems, x.dropTwice()...)
	x.addContrasts()
	problems = append(problems, x.checkAssumptions()...)
	if len(problems) == 0 {
		problems = x.compileRules()
	}
	x.treatment = plan.Treatment(s, arms)
	return errors.Join(append(problems, x.checkBudget(), x.checkJudge())...)
}

// checkJudge refuses a judge model that judges no arm. In a kit it is the study's, and the outsider's
// data may have nothing to judge.
func (x *Experiment) checkJudge() error {
	judge := x.Study.JudgeModel
	if judge == "" || x.env.Kit || slices.ContainsFunc(x.Bench.Arms(), func(arm eval.Arm) bool { return slices.Contains(arm.Judges, judge) }) {
		return nil
	}
	return x.File.Errorf("judge_model", "no arm of this %s study is judged: remove judge_model", x.Study.Suite)
}

// addMetrics adds the metrics of the study to those of the suite. By default the suite's are
// the primary ones, and the first of the study if it has none of them.
func (x *Experiment) addMetrics() error {
	var problems []error
	suite := &x.Suite.Suite
	if metrics := x.Bench.Capabilities().Metrics; metrics != nil {
		suite.Metrics = metrics()
	}
	suite.Metrics = slices.Clone(suite.Metrics)
	named := x.namedMetrics()
	for _, m := range given(x.Bench.Capabilities().Offered) {
		if !x.offer(m, named) {
			x.effort.Unnamed = append(x.effort.Unnamed, m.Name)
		}
	}
	lacks := func(name string) bool { _, ok := suite.Metric(name); return !ok }
	suite.Primary = slices.DeleteFunc(slices.Clone(suite.Primary), lacks)
	suite.Secondary = slices.DeleteFunc(slices.Clone(suite.Secondary), lacks)
	for i, own := range x.Study.Metrics.Own {
		m := kit.OwnMetric(own)
		switch listed, ok := suite.Metric(m.Name); {
		case !ok:
			m.Judge = eval.ByScorer
			suite.Metrics = append(suite.Metrics, m)
		case listed.Source != m.Source:
			problems = append(problems, x.File.Errorf(fmt.Sprintf("metrics.own[%d].name", i), "%q is a metric of the suite: choose another name", m.Name))
		}
		if len(suite.Primary) == 0 && m.Kind == eval.Scoring {
			suite.Primary = []string{m.Name}
		} else if !slices.Contains(x.Study.Metrics.Primary, m.Name) {
			suite.Secondary = append(suite.Secondary, m.Name)
		}
	}
	if len(suite.Primary) == 0 {
		problems = append(problems, x.File.Errorf("metrics.own", "no metric of the study can decide: one must not have explains: true"))
	}
	x.addEffort(named)
	return errors.Join(problems...)
}

// namedMetrics are the metrics that the study names: in its metrics, comparisons, assumptions or rules.
func (x *Experiment) namedMetrics() []string {
	s := x.Study
	named := slices.Concat(s.Metrics.Primary, s.Metrics.Secondary, gate.Metrics(s.Decide))
	for _, m := range s.Metrics.Own {
		named = append(named, m.Name)
	}
	for _, c := range s.Comparisons {
		named = append(named, c.Metrics...)
	}
	for _, a := range s.Assume {
		for _, score := range a.Scores {
			named = append(named, score.Metric)
		}
	}
	return named
}

// offer adds a metric to those of the suite if it is among the named ones. It is a secondary one
// if it is not primary.
func (x *Experiment) offer(m eval.Metric, named []string) bool {
	x.offered = append(x.offered, m.Name)
	if !slices.Contains(named, m.Name) {
		return false
	}
	if x.Suite.Metrics = append(x.Suite.Metrics, m); !slices.Contains(x.Study.Metrics.Primary, m.Name) {
		x.named = append(x.named, m.Name)
	}
	return true
}

// addEffort adds the metrics of effort that the study names.
func (x *Experiment) addEffort(named []string) {
	s, suite := x.Study, &x.Suite.Suite
	for _, name := range slices.Concat(s.Metrics.Primary, suite.Primary) {
		if m, ok := suite.Metric(name); ok {
			x.effort.Primary = m
			break
		}
	}
	for _, m := range effort.Offered(x.effort.Primary, s.Execution.Replicates) {
		if _, own := suite.Metric(m.Name); own {
			continue
		}
		if x.offer(m, named) {
			x.effort.Metrics = append(x.effort.Metrics, m)
		}
	}
}

// resolveMetrics selects the metrics to report and checks every name.
func (x *Experiment) resolveMetrics() []error {
	m := x.Study.Metrics
	x.Primary, x.Secondary = x.chosen(m)
	problems := append(x.checkMetrics("metrics.primary", m.Primary, true), x.checkMetrics("metrics.secondary", m.Secondary, false)...)
	for i, c := range x.Study.Comparisons {
		problems = append(problems, x.checkMetrics(fmt.Sprintf("comparisons[%d].metrics", i), c.Metrics, true)...)
	}
	return problems
}

// chosen returns the metrics that settings of a study choose.
func (x *Experiment) chosen(m study.Metrics) (primary, secondary []string) {
	if primary = m.Primary; len(primary) == 0 {
		primary = x.Suite.Primary
	}
	if secondary = m.Secondary; len(secondary) == 0 {
		secondary = x.Suite.Secondary
	}
	for _, name := range x.named {
		if !slices.Contains(secondary, name) {
			secondary = append(slices.Clip(secondary), name)
		}
	}
	return primary, secondary
}

// checkAssumptions reports unknown arms and metrics of the assumptions for plan, and values
// that a metric cannot have.
func (x *Experiment) checkAssumptions() []error {
	var problems []error
	for i, a := range x.Study.Assume {
		for k, s := range a.Scores {
			at := fmt.Sprintf("assume[%d].scores[%d]", i, k)
			if m, ok := x.Suite.Metric(s.Metric); !ok {
				problems = append(problems, x.unknownMetric(at+".metric", s.Metric, true))
			} else if !(m.Min <= s.Value && s.Value <= m.Max) {
				problems = append(problems, x.File.Errorf(at+".value", "%v is outside of %v to %v, the values of %s", s.Value, m.Min, m.Max, m.Name))
			}
			known := slices.ContainsFunc(x.Bench.Arms(), func(arm eval.Arm) bool {
				return arm.Role != eval.RoleCalibration && (arm.ID == s.Arm || slices.ContainsFunc(arm.Levels, func(l eval.Level) bool { return l.Value == s.Arm }))
			})
			if !known {
				problems = append(problems, x.File.Errorf(at+".arm", "unknown arm %q%s; the arms are %s", s.Arm, text.DidYouMean(s.Arm, x.contestants()), strings.Join(x.contestants(), ", ")))
			}
		}
	}
	return problems
}

// checkMetrics reports unknown metrics in a list of the study, and in one that decides those that cannot.
func (x *Experiment) checkMetrics(path string, names []string, deciding bool) (problems []error) {
	for i, name := range names {
		at := fmt.Sprintf("%s[%d]", path, i)
		if m, ok := x.Suite.Metric(name); !ok {
			problems = append(problems, x.unknownMetric(at, name, deciding))
		} else if deciding && m.Kind == eval.Analysis {
			problems = append(problems, x.File.Errorf(at, "%s is an analysis metric: it explains results and cannot decide them; report it with metrics.secondary", name))
		}
	}
	return problems
}

// unknownMetric names the metrics that there are, those that can decide for a place that decides.
func (x *Experiment) unknownMetric(path, name string, deciding bool) error {
	var known []string
	for _, m := range x.Suite.Metrics {
		if !deciding || m.Kind == eval.Scoring {
			known = append(known, m.Name)
		}
	}
	known = append(known, x.offered...)
	return x.File.Errorf(path, "unknown metric %q%s; the metrics are %s", name, text.DidYouMean(name, known), strings.Join(known, ", "))
}

// addContrasts adds the suite's contrasts to the comparisons of the study.
func (x *Experiment) addContrasts() {
	for _, k := range given(x.Bench.Capabilities().Contrasts) {
		if !slices.ContainsFunc(x.Pairs, func(p analyse.Pair) bool { return p.Of(k.A, k.B) }) {
			x.Pairs = append(x.Pairs, analyse.Pair{A: k.A, B: k.B, Metrics: k.Metrics, Contrast: true})
		}
	}
}

// dropTwice leaves out of a comparison the metrics on which another compares the same arms, which
// would count as tests of their own: the primary comparison has them, or the first. Two primary
// ones on a primary metric are refused.
func (x *Experiment) dropTwice() (problems []error) {
	var at []string // of each pair, its place in the study
	for i := range x.Study.Comparisons {
		of, _ := analyse.Pairs(x.Study.Comparisons[i:i+1], x.Bench.Arms())
		at = append(at, slices.Repeat([]string{fmt.Sprintf("comparisons[%d]", i)}, len(of))...)
	}
	var kept []analyse.Pair
	for i, p := range x.Pairs {
		var rest, twice []string
		other := i
		for _, m := range x.metricsOf(p) {
			has := func(q analyse.Pair) bool { return q.Of(p.A, p.B) && slices.Contains(x.metricsOf(q), m) }
			keeper := slices.IndexFunc(x.Pairs, func(q analyse.Pair) bool { return q.Primary && has(q) })
			if keeper < 0 {
				keeper = slices.IndexFunc(x.Pairs, has)
			}
			switch {
			case keeper == i:
				rest = append(rest, m)
			case p.Primary && slices.Contains(x.Primary, m):
				problems = append(problems, x.File.Errorf(at[i], "%s and %s are compared on %s in %s too: keep one of the two comparisons", p.A, p.B, m, at[keeper]))
			default:
				twice, other = append(twice, m), keeper
			}
		}
		if len(twice) > 0 {
			x.twice = append(x.twice, fmt.Sprintf("%s: %s compares %s and %s on %s too, which counts once", at[i], at[other], p.A, p.B, strings.Join(twice, ", ")))
			p.Metrics = rest
		}
		if alike := slices.DeleteFunc(slices.Clone(x.Pairs), func(q analyse.Pair) bool { return !q.Of(p.A, p.B) }); len(alike) > 1 {
			first := func(m string) bool {
				return slices.ContainsFunc(alike, func(q analyse.Pair) bool { return slices.Index(x.metricsOf(q), m) == 0 })
			}
			p.Strata = slices.DeleteFunc(slices.Clone(rest), func(m string) bool { return !first(m) })
		}
		if len(rest) > 0 {
			kept = append(kept, p)
		}
	}
	x.Pairs = kept
	return problems
}

func (x *Experiment) compileRules() []error {
	names := gate.Names{Arms: x.contestants(), Metrics: x.Suite.Metrics, Compared: x.compared}
	names.Factors, names.Strata = x.strata()
	for _, across := range x.Across {
		metrics := across.Metrics
		if len(metrics) == 0 {
			metrics = x.Primary
		}
		for _, metric := range metrics {
			names.Across = append(names.Across, [4]string{across.A, across.B, metric, across.Factor})
		}
	}
	names.Tasks = mapped(x.Study.Annotation, func(t study.Task) string { return t.Name })
	rules, wrong := gate.Compile(x.Study.Decide, names)
	x.rules = rules
	return mapped(wrong, func(w *study.Error) error { return x.File.Errorf(w.Path, "%w", w.Err) })
}

// strata lists the names of the strata of the study's data, and the strata. Those of
// another split are among them: rules are the same for both.
func (x *Experiment) strata() (factors, strata []string) {
	seen := map[eval.Level]bool{}
	for _, it := range x.Bench.Items() {
		for _, l := range it.Strata {
			if seen[l] {
				continue
			}
			seen[l] = true
			strata = append(strata, l.Name+"="+l.Value)
			if !slices.Contains(factors, l.Name) {
				factors = append(factors, l.Name)
			}
		}
	}
	slices.Sort(strata)
	return factors, strata
}

// compared reports whether the analysis will compare two arms on a metric.
func (x *Experiment) compared(a, b, metric string) bool {
	return slices.ContainsFunc(x.Pairs, func(p analyse.Pair) bool {
		return p.Of(a, b) && slices.Contains(x.metricsOf(p), metric)
	})
}

// compares returns the metric if the analysis will compare two arms on it.
func (x *Experiment) compares(a, b, metric string) (m eval.Metric, is bool) {
	m, is = x.Suite.Metric(metric)
	return m, is && x.compared(a, b, metric)
}

// metricsOf lists the metrics on which the analysis compares a pair.
func (x *Experiment) metricsOf(p analyse.Pair) []string { return x.among(p, x.Primary, x.Secondary) }

// among lists the metrics of a pair where the study has these.
func (x *Experiment) among(p analyse.Pair, primary, secondary []string) []string {
	if len(p.Metrics) > 0 {
		return p.Metrics
	}
	return slices.DeleteFunc(slices.Concat(primary, secondary), func(name string) bool {
		m, _ := x.Suite.Metric(name)
		return m.Kind == eval.Analysis
	})
}

// checkBudget rejects a cost limit if the price of a model is unknown.
func (x *Experiment) checkBudget() error {
	if x.Study.Execution.MaxCost <= 0 {
		return nil
	}
	used := x.UsedModels()
	for _, m := range x.Study.Models {
		if _, known := x.env.Price(m); used[m.ID] && !known {
			return x.File.Errorf("execution.max_cost", "the price of model %s (%s %s) is unknown, so its cost cannot be limited: give it with price: {input, output}, in US dollars per million tokens", m.ID, m.Provider, m.Name)
		}
	}
	if m := x.Study.Output.Embeddings; m != nil && m.Price == nil {
		return x.File.Errorf("execution.max_cost", "the price of the embedding model %s is unknown, so its cost cannot be limited: give it with output.embeddings.price, in US dollars per million tokens", m.Name)
	}
	return nil
}
