package procedure

import (
	"bytes"
	"errors"
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

// mixedOptions are those of a linear model.
type mixedOptions struct {
	modelOptions
	level
	Means string `json:"emmeans_factor"`
}

// modelData are columns by name, as JSON: whether one is of numbers or of
// labels depends on the params.
type modelData map[string]jsontext.Value

// columns are those in the formula.
func (p modelOptions) columns() ([]string, error) {
	f, err := p.formula()
	return columnNames(f), err
}

// formula reads the formula, as text or as its parts.
func (p modelOptions) formula() (stats.Formula, error) {
	switch {
	case p.Formula != "":
		return stats.ParseFormula(p.Formula)
	case p.Response == "":
		return stats.Formula{}, errors.New("params.formula is missing: want one such as score ~ kernel + (1|document)")
	}
	return stats.Formula{Response: p.Response, Fixed: p.Fixed, Random: p.Random}, nil
}

// frame builds a frame of the columns in a formula, and more. A column is a factor
// if the params say so, if it is a grouping factor, or if it contains text.
func (p modelOptions) frame(f stats.Formula, in modelData, more ...string) (*stats.Frame, error) {
	var frame *stats.Frame
	factors := slices.Concat(p.Factors, factorNames(f.Random), more)
	for _, name := range columnNames(f, more...) {
		raw := in[name]
		if frame == nil {
			rows, err := decodeList[[]jsontext.Value]("input."+name, raw)
			if err != nil {
				return nil, err
			}
			frame = stats.NewFrame(len(rows))
		}
		// Only text has quotes.
		factor := p.Levels[name] != nil || slices.Contains(factors, name) || bytes.ContainsRune(raw, '"')
		if err := addColumn(frame, name, raw, factor && name != f.Response, p.Levels[name]); err != nil {
			return nil, err
		}
	}
	return frame, nil
}

func addColumn(frame *stats.Frame, name string, raw jsontext.Value, factor bool, levels []string) error {
	if !factor {
		xs, err := decodeList[[]float64]("input."+name, raw)
		if err != nil {
			return err
		}
		return frame.AddNumbers(name, xs)
	}
	labels, err := decodeList[[]string]("input."+name, raw)
	if err != nil {
		return err
	}
	return frame.AddFactor(name, labels, levels)
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
func runMixed(p mixedOptions, in modelData) (Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	formula, frame, err := p.model(in)
	if err != nil {
		return nil, err
	}
	reml, err := stats.FitMixed(frame, formula, stats.MixedOptions{})
	if err != nil {
		return nil, err
	}
	warnings := without(reml.Warnings)
	groups := map[string]int{}
	for _, t := range reml.Random {
		groups[t.Name] = len(t.Levels)
	}
	reference, err := references(frame, reml)
	if err != nil {
		return nil, err
	}
	fit, err := fitted(reml, p.Conf)
	if err != nil {
		return nil, err
	}
	r := Result{{"formula", formula.String()}, {"n_obs", reml.N}, {"n_groups", groups}}.with("reference_levels", reference)
	r = append(r, Row{"reml", fit})
	var mlFit any
	ml, err := stats.FitMixed(frame, formula, stats.MixedOptions{ML: true})
	if err == nil {
		mlFit, err = fitted(ml, p.Conf)
	}
	if err != nil {
		mlFit = nil
		warnings.add("ml (the fit by maximum likelihood)", err)
	}
	r = append(r, Row{"ml", mlFit}).with("dropped_columns", reml.Dropped).with("anova_satterthwaite_reml", reml.Anova())
	r = append(r, ratios(reml, ml, &warnings)...)
	factor := p.Means
	if i := slices.IndexFunc(reml.Formula.Fixed, reml.IsFactor); factor == "" && i >= 0 {
		factor = reml.Formula.Fixed[i]
	} else if factor != "" && !reml.IsFactor(factor) {
		return nil, fmt.Errorf("params.emmeans_factor is %q, expected a factor among the fixed effects", factor)
	}
	if factor != "" && len(reml.Dropped) == 0 {
		r = append(r, Row{"emmeans_factor", factor})
		more, err := contrasts(reml, factor, p.Conf)
		if err != nil {
			warnings.add("emmeans and pairwise of "+factor, err)
		} else {
			r = append(r, more...)
		}
	}
	return r.with(warningsKey, []string(warnings)).at(p.Conf), nil
}

// model reads the formula, and the columns that it and more name.
func (p modelOptions) model(in modelData, more ...string) (stats.Formula, *stats.Frame, error) {
	f, err := p.formula()
	if err != nil {
		return f, nil, err
	}
	frame, err := p.frame(f, in, more...)
	return f, frame, err
}

// without are warnings, also of by-products that could not be computed.
type without []string

func (w *without) add(what string, err error) {
	*w = append(*w, fmt.Sprintf("no %s: %s", what, strings.TrimPrefix(err.Error(), "stats: ")))
}

// references are the first levels of the fixed factors, which the coefficients of
// the others are compared with.
func references(frame *stats.Frame, m *stats.Mixed) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range m.Formula.Fixed {
		if !m.IsFactor(name) {
			continue
		}
		f, err := frame.Factor(name)
		if err != nil {
			return nil, err
		}
		out[name] = f.Levels[0]
	}
	return out, nil
}

func fitted(m *stats.Mixed, conf float64) (Result, error) {
	variance, sd := map[string]float64{"Residual": m.Sigma * m.Sigma}, map[string]float64{"Residual": m.Sigma}
	theta, modes := map[string]float64{}, map[string]map[string]float64{}
	for _, t := range m.Random {
		variance[t.Name], sd[t.Name], theta[t.Name] = t.Variance, t.SD, t.Theta
		modes[t.Name] = map[string]float64{}
		for k, level := range t.Levels {
			modes[t.Name][level] = t.Modes[k]
		}
	}
	coefficients, err := m.Coefficients(conf)
	return Result{{"coefficients", coefficients}, {"vcov", m.Vcov}, {"variance", variance}, {"sd", sd}, {"sigma", m.Sigma},
		{"theta", theta}, {"criterion", m.Criterion}, {"log_lik", m.LogLik}, {"n_parameters", m.Parameters},
		{"aic", m.AIC}, {"bic", m.BIC}, {"singular", m.Singular}}.with("blups", modes), err
}

// ratios compares with models without a term. ml may be nil.
func ratios(reml, ml *stats.Mixed, warnings *without) (r Result) {
	if fixed := reml.Formula.Fixed; len(fixed) > 0 && len(reml.Dropped) == 0 && ml != nil {
		l, err := ml.WithoutFixed(fixed[0])
		if err != nil {
			r = append(r, Row{"lrt_ml", nil})
			warnings.add("lrt_ml (without "+fixed[0]+")", err)
		} else {
			r = append(r, Row{"lrt_ml", Result{{"dropped_term", l.Dropped}, {"null_log_lik", l.LogLikNull}, {"chi2", l.Chi2}, {"df", l.DF}, {"p", l.P}}})
		}
	}
	var random []Result
	for _, name := range reml.Formula.Random {
		l, err := reml.WithoutRandom(name)
		if err != nil {
			nan := math.NaN()
			l = stats.LikelihoodRatio{Dropped: name, LogLikNull: nan, Chi2: nan, DF: nan, P: nan}
			warnings.add("random_lrt_reml (without (1|"+name+"))", err)
		}
		random = append(random, Result{{"term", l.Dropped}, {"log_lik_without", l.LogLikNull}, {"chi2", l.Chi2}, {"df", l.DF}, {"p_naive_chi2", l.P}})
	}
	return r.with("random_lrt_reml", random)
}

// contrasts are the marginal means of a factor's levels, and all their differences.
func contrasts(m *stats.Mixed, factor string, conf float64) (Result, error) {
	list, err := m.MarginalMeans(factor, conf)
	if err != nil {
		return nil, err
	}
	var means, pairs []Result
	for _, e := range list {
		means = append(means, Result{{"level", e.Name}, {"estimate", e.Value}, {"se", e.SE}, {"df", e.DF}, {"ci95", e.CI}})
	}
	differences, err := m.Pairwise(factor, conf)
	for _, e := range differences {
		pairs = append(pairs, Result{{"a", e.A}, {"b", e.B}, {"estimate", e.Value}, {"se", e.SE}, {"df", e.DF}, {"t", e.T}, {"p", e.P},
			{"p_holm", e.PHolm}, {"p_bonferroni", e.PBonferroni}, {"ci95_unadjusted", e.CI}})
	}
	return Result{}.with("emmeans", means).with("pairwise", pairs), err
}

func runLogistic(p modelOptions, in modelData) (Result, error) {
	formula, frame, err := p.model(in)
	if err != nil {
		return nil, err
	}
	m, err := stats.FitLogistic(frame, formula)
	if err != nil {
		return nil, err
	}
	var effects []Result
	for c, name := range m.Names {
		effects = append(effects, Result{{"name", name}, {"estimate", m.Beta[c]}, {"se", m.SE[c]}, {"z", m.Z[c]}, {"p", m.P[c]}, {"odds_ratio", math.Exp(m.Beta[c])}})
	}
	sd := Result{}
	for _, t := range m.Random {
		sd = append(sd, Row{t.Name, t.SD})
	}
	r := Result{{"formula", formula.String()}, {"n_obs", m.N}, {"coefficients", effects}, {"sd", sd}, {"log_lik", m.LogLik}, {"singular", m.Singular}}
	warnings := without(m.Warnings)
	if len(formula.Fixed) > 0 {
		key := "lrt_" + formula.Fixed[0]
		if l, err := m.WithoutFixed(formula.Fixed[0]); err != nil {
			r = append(r, Row{key, nil})
			warnings.add(key, err)
		} else {
			r = append(r, Row{key, Result{{"chi2", l.Chi2}, {"df", l.DF}, {"p", l.P}}})
		}
	}
	return r.with(reasonKey, m.Undefined).with(warningsKey, []string(warnings)), nil
}

type robustOptions struct {
	modelOptions
	Cluster string `json:"cluster"`
}

func (p robustOptions) formula() (stats.Formula, error) {
	f, err := p.modelOptions.formula()
	if err == nil && p.Cluster == "" {
		err = errors.New("params.cluster is missing: the column that says cluster of each row")
	}
	return f, err
}

func (p robustOptions) columns() ([]string, error) {
	f, err := p.formula()
	return columnNames(f, p.Cluster), err
}

func runRobust(p robustOptions, in modelData) (Result, error) {
	f, err := p.formula()
	if err != nil {
		return nil, err
	}
	frame, err := p.frame(f, in, p.Cluster)
	if err != nil {
		return nil, err
	}
	r, err := stats.FitRobust(frame, f, p.Cluster)
	if err != nil {
		return nil, err
	}
	named := func(xs []float64) Result {
		o := Result{}
		for c, name := range r.Names {
			o = append(o, Row{name, xs[c]})
		}
		return o
	}
	var tests []Result
	for c, name := range r.Names {
		tests = append(tests, Result{{"name", name}, {"t", r.T[c]}, {"df", r.DF[c]}, {"p", r.P[c]}})
	}
	out := Result{{"formula", f.String()}, {"n_obs", r.N}, {"n_clusters", r.Clusters}, {"coefficients", named(r.Beta)}, {"se_classical", named(r.Classical)},
		{"se_cr0", named(r.CR0)}, {"se_cr1", named(r.CR1)}, {"se_cr1s", named(r.CR1S)}, {"se_cr2", named(r.CR2)}, {"se_cr3", named(r.CR3)},
		{"vcov_cr2", r.VcovCR2}, {"cr2_satterthwaite", tests}}
	return out.with("dropped_columns", r.Dropped).with(warningsKey, r.Warnings), nil
}
