package procedure

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/stats"
)

// modelOptions are the params of a model.
type modelOptions struct {
	Formula  string              `json:"formula"`
	Response string              `json:"response"` // instead of a formula
	Fixed    []string            `json:"fixed"`
	Random   []string            `json:"random_intercepts"`
	Levels   map[string][]string `json:"factor_levels"`
	Factors  []string            `json:"factors"`
}

// leveled are the options of a model with the level of its intervals.
type leveled struct {
	modelOptions
	level
}

// mixedOptions are those of a linear mixed model.
type mixedOptions struct {
	leveled
	Means string `json:"emmeans_factor"`
}

// modelData are columns by name, as JSON: whether one is of numbers or of
// labels depends on the params.
type modelData map[string]jsontext.Value

// columns are those in the formula.
func (p modelOptions) columns() []string { return columnNames(p.formula()) }

// formula reads the formula, as text or as its parts.
func (p modelOptions) formula() stats.Formula {
	if p.Formula != "" {
		return must(stats.ParseFormula(p.Formula))
	}
	refuse(p.Response == "",
		"params.formula is missing: want one such as score ~ kernel + (1|document)")
	return stats.Formula{Response: p.Response, Fixed: p.Fixed, Random: p.Random}
}

// kind is how a column of the formula, or more, is read.
func (p modelOptions) kind(name string, more ...string) Kind {
	f := p.formula()
	switch {
	case name == f.Response:
		return Numeric
	case p.Levels[name] != nil || slices.Contains(slices.Concat(p.Factors, factorNames(f.Random), more), name):
		return Label
	}
	return Either
}

// frame builds a frame of the columns in a formula, and more. A column is a factor
// if the params say so, if it is a grouping factor, or if it contains text.
func (p modelOptions) frame(f stats.Formula, in modelData, more ...string) *stats.Frame {
	var frame *stats.Frame
	for _, name := range columnNames(f, more...) {
		raw := in[name]
		if frame == nil {
			frame = stats.NewFrame(len(decodeList[[]jsontext.Value]("input."+name, raw)))
		}
		// Only text has quotes.
		factor := p.kind(name, more...) == Label || bytes.ContainsRune(raw, '"')
		if factor && name != f.Response {
			fail(frame.AddFactor(name, decodeList[[]string]("input."+name, raw), p.Levels[name]))
		} else {
			fail(frame.AddNumbers(name, decodeList[[]float64]("input."+name, raw)))
		}
	}
	return frame
}

// factorNames are the columns of grouping expressions such as "a:b".
func factorNames(groups []string) []string {
	var out []string
	for _, g := range groups {
		out = append(out, stats.GroupColumns(g)...)
	}
	return out
}

func columnNames(f stats.Formula, more ...string) []string {
	out := []string{f.Response}
	for _, name := range slices.Concat(f.Fixed, factorNames(f.Random), more) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// runMixed fits by REML. What is computed besides is null if it fails, with a
// warning: it must not take the fit with it.
func runMixed(p mixedOptions, in modelData) Result {
	p.check()
	formula := p.formula()
	frame := p.frame(formula, in)
	reml := must(stats.FitMixed(frame, formula, stats.MixedOptions{}))
	warnings := without(reml.Warnings)
	r := Result{{"formula", formula.String()}, {"n_obs", reml.N}, {"n_groups", groups(reml.Random)}}.
		with("reference_levels", references(frame, reml.Formula))
	r = append(r, Row{"reml", fitted(reml, p.Conf)})
	var ml *stats.Mixed
	mlFit := warnings.unless("ml (the fit by maximum likelihood)", func() any {
		ml = must(stats.FitMixed(frame, formula, stats.MixedOptions{ML: true}))
		return fitted(ml, p.Conf)
	})
	r = append(r, Row{"ml", mlFit}).with("dropped_columns", reml.Dropped).with("anova_satterthwaite_reml", reml.Anova())
	r = append(r, ratios(reml, ml, &warnings)...)
	factor := p.Means
	if i := slices.IndexFunc(reml.Formula.Fixed, reml.IsFactor); factor == "" && i >= 0 {
		factor = reml.Formula.Fixed[i]
	} else {
		unknown := factor != "" && !reml.IsFactor(factor)
		refuse(unknown,
			"params.emmeans_factor is %q, expected a factor among the fixed effects", factor)
	}
	if factor != "" && len(reml.Dropped) == 0 {
		r = append(r, Row{"emmeans_factor", factor})
		more := warnings.unless("emmeans and pairwise of "+factor, func() any { return contrasts(reml, factor, p.Conf) })
		if more != nil {
			r = append(r, more.(Result)...)
		}
	}
	return r.with(warningsKey, []string(warnings)).at(p.Conf)
}

// without are warnings, also of by-products that could not be computed.
type without []string

// unless is a by-product, or nil with a warning if it cannot be computed.
func (w *without) unless(what string, compute func() any) any {
	computed := func() (x any, err error) {
		defer catch(&err)
		return compute(), nil
	}
	x, err := computed()
	if err != nil {
		*w = append(*w, fmt.Sprintf("no %s: %s", what, strings.TrimPrefix(err.Error(), "stats: ")))
	}
	return x
}

// references are the first levels of the fixed factors, which the coefficients of
// the others are compared with.
func references(frame *stats.Frame, f stats.Formula) map[string]string {
	out := map[string]string{}
	for _, name := range f.Fixed {
		if factor, err := frame.Factor(name); err == nil { // else it has numbers
			out[name] = factor.Levels[0]
		}
	}
	return out
}

// groups are the numbers of levels of the random terms.
func groups(random []stats.RandomTerm) map[string]int {
	n := map[string]int{}
	for _, t := range random {
		n[t.Name] = len(t.Levels)
	}
	return n
}

func fitted(m *stats.Mixed, conf float64) Result {
	variance, sd := map[string]float64{"Residual": m.Sigma * m.Sigma}, map[string]float64{"Residual": m.Sigma}
	theta, modes := map[string]float64{}, map[string]map[string]float64{}
	for _, t := range m.Random {
		variance[t.Name], sd[t.Name], theta[t.Name] = t.Variance, t.SD, t.Theta
		modes[t.Name] = map[string]float64{}
		for k, level := range t.Levels {
			modes[t.Name][level] = t.Modes[k]
		}
	}
	return Result{{"coefficients", must(m.Coefficients(conf))}, {"vcov", m.Vcov}, {"variance", variance}, {"sd", sd}, {"sigma", m.Sigma},
		{"theta", theta}, {"criterion", m.Criterion}, {"log_lik", m.LogLik}, {"n_parameters", m.Parameters},
		{"aic", m.AIC}, {"bic", m.BIC}, {"singular", m.Singular}}.with("blups", modes)
}

// ratios compares with models without a term. ml may be nil.
func ratios(reml, ml *stats.Mixed, warnings *without) (r Result) {
	if fixed := reml.Formula.Fixed; len(fixed) > 0 && len(reml.Dropped) == 0 && ml != nil {
		r = append(r, Row{"lrt_ml", warnings.unless("lrt_ml (without "+fixed[0]+")", func() any {
			l := must(ml.WithoutFixed(fixed[0]))
			return append(Result{{"dropped_term", l.Dropped}, {"null_log_lik", l.LogLikNull}}, tested(l)...)
		})})
	}
	var random []Result
	for _, name := range reml.Formula.Random {
		nan := math.NaN()
		l := stats.LikelihoodRatio{Dropped: name, LogLikNull: nan, Chi2: nan, DF: nan, P: nan}
		warnings.unless("random_lrt_reml (without (1|"+name+"))", func() any {
			l = must(reml.WithoutRandom(name))
			return nil
		})
		random = append(random, Result{{"term", l.Dropped}, {"log_lik_without", l.LogLikNull}, {"chi2", l.Chi2}, {"df", l.DF}, {"p_naive_chi2", l.P}})
	}
	return r.with("random_lrt_reml", random)
}

func tested(l stats.LikelihoodRatio) Result {
	return Result{{"chi2", l.Chi2}, {"df", l.DF}, {"p", l.P}}
}

// contrasts are the marginal means of a factor's levels, and all their differences.
func contrasts(m *stats.Mixed, factor string, conf float64) Result {
	var means, pairs []Result
	for _, e := range must(m.MarginalMeans(factor, conf)) {
		means = append(means, Result{{"level", e.Name}, {"estimate", e.Value}, {"se", e.SE}, {"df", e.DF}, {"ci95", e.CI}})
	}
	for _, e := range must(m.Pairwise(factor, conf)) {
		pairs = append(pairs, Result{{"a", e.A}, {"b", e.B}, {"estimate", e.Value}, {"se", e.SE}, {"df", e.DF}, {"t", e.T}, {"p", e.P},
			{"p_holm", e.PHolm}, {"p_bonferroni", e.PBonferroni}, {"ci95_unadjusted", e.CI}})
	}
	return Result{}.with("emmeans", means).with("pairwise", pairs)
}

// passKind reads the response of a logistic model as outcomes.
func passKind(p leveled, name string) Kind {
	if kind := p.kind(name); kind != Numeric {
		return kind
	}
	return Binary
}

func runLogistic(p leveled, in modelData) Result {
	p.check()
	formula := p.formula()
	frame := p.frame(formula, in)
	m := must(stats.FitLogistic(frame, formula))
	var effects []Result
	for c, name := range m.Names {
		ci := stats.Wald(m.Beta[c], m.SE[c], p.Conf)
		odds := stats.Interval{Low: math.Exp(ci.Low), High: math.Exp(ci.High), Level: ci.Level}
		effects = append(effects, Result{{"name", name}, {"estimate", m.Beta[c]}, {"se", m.SE[c]}, {"z", m.Z[c]}, {"p", m.P[c]}, {"ci95", ci},
			{"odds_ratio", math.Exp(m.Beta[c])}, {"odds_ratio_ci95", odds}})
	}
	sd := Result{}
	for _, t := range m.Random {
		sd = append(sd, Row{t.Name, t.SD})
	}
	r := Result{{"formula", formula.String()}, {"n_obs", m.N}, {"n_groups", groups(m.Random)}}.with("reference_levels", references(frame, formula))
	r = append(r, Row{"coefficients", effects}, Row{"sd", sd}, Row{"log_lik", m.LogLik}, Row{"singular", m.Singular})
	warnings := without(m.Warnings)
	if len(formula.Fixed) > 0 {
		key := "lrt_" + formula.Fixed[0]
		test := func() any { return tested(must(m.WithoutFixed(formula.Fixed[0]))) }
		r = append(r, Row{key, warnings.unless(key, test)})
	}
	return r.with(reasonKey, m.Undefined).with(warningsKey, []string(warnings)).at(p.Conf)
}

type robustOptions struct {
	leveled
	Cluster string `json:"cluster"`
}

func (p robustOptions) formula() stats.Formula {
	f := p.modelOptions.formula()
	refuse(p.Cluster == "", "params.cluster is missing: the column that says cluster of each row")
	return f
}

func (p robustOptions) columns() []string { return columnNames(p.formula(), p.Cluster) }

func (p robustOptions) kind(name string) Kind { return p.modelOptions.kind(name, p.Cluster) }

func runRobust(p robustOptions, in modelData) Result {
	p.check()
	f := p.formula()
	frame := p.frame(f, in, p.Cluster)
	r := must(stats.FitRobust(frame, f, p.Cluster))
	named := func(xs []float64) Result {
		o := Result{}
		for c, name := range r.Names {
			o = append(o, Row{name, xs[c]})
		}
		return o
	}
	var tests []Result
	for c, name := range r.Names {
		tests = append(tests, Result{{"name", name}, {"t", r.T[c]}, {"df", r.DF[c]}, {"p", r.P[c]}, {"ci95", r.Interval(c, p.Conf)}})
	}
	out := Result{{"formula", f.String()}, {"n_obs", r.N}, {"n_clusters", r.Clusters}}.with("reference_levels", references(frame, f))
	out = append(out, Result{{"coefficients", named(r.Beta)}, {"se_classical", named(r.Classical)},
		{"se_cr0", named(r.CR0)}, {"se_cr1", named(r.CR1)}, {"se_cr1s", named(r.CR1S)}, {"se_cr2", named(r.CR2)}, {"se_cr3", named(r.CR3)},
		{"vcov_cr2", r.VcovCR2}, {"cr2_satterthwaite", tests}}...)
	return out.with("dropped_columns", r.Dropped).with(warningsKey, r.Warnings).at(p.Conf)
}
