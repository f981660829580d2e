package procedure

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scruple-eval/scruple/stats"
)

func mixed() []Procedure {
	return []Procedure{{
		Name:  "lmm_random_intercepts",
		Title: "Linear mixed model with random intercepts",
		Summary: "How a score depends on fixed effects when rows hang together by document, type, annotator and the like, crossed or nested. " +
			"REML and ML, tests with Satterthwaite's degrees of freedom, marginal means and all pairwise contrasts.",
		Source:      "R lme4 1.1-31, lmerTest 3.1-3, emmeans 1.8.4; Bates et al. (2015)",
		Columns:     modelColumns,
		Params:      modelParams,
		Hide:        []string{"vcov", "blups", "ml", "criterion", "theta", "n_parameters"},
		Run:         runMixed,
		Uses:        formulaColumns,
		FromColumns: modelInput,
	}, {
		Name:  "logistic_glmm_laplace",
		Title: "Logistic mixed model with random intercepts",
		Summary: "How the odds of passing depend on fixed effects when outcomes hang together by fragment, document and the like. " +
			"Maximum likelihood by Laplace's approximation, Wald tests.",
		Source:      "R lme4 1.1-31 glmer (nAGQ = 1)",
		Columns:     modelColumns,
		Params:      modelParams,
		Run:         runLogistic,
		Uses:        formulaColumns,
		FromColumns: modelInput,
	}}
}

var modelColumns = []Role{
	{Name: "columns", Doc: "the columns the formula names; those that are numbers throughout are numbers, others factors", Many: true},
}

var modelParams = []Param{
	{"formula", "", "such as score ~ kernel + (1|document) + (1|doc_type); or response, fixed and random_intercepts"},
	{"factor_levels", "sorted", "levels of each factor, the first is the reference: {\"kernel\": [\"literal\", \"ctn\"]}"},
	{"factors", "", "numeric columns to treat as factors"},
	{"emmeans_factor", "first fixed factor", "the factor whose means and pairs are estimated"},
}

// modelFormula reads the formula, as text or as its parts.
func modelFormula(params Object) (stats.Formula, error) {
	if params.Has("formula") {
		text, err := params.Text("formula", "")
		if err != nil {
			return stats.Formula{}, err
		}
		return stats.ParseFormula(text)
	}
	var f stats.Formula
	var err error
	if f.Response, err = params.Text("response", ""); err != nil {
		return f, err
	}
	if f.Response == "" {
		return f, errors.New("params.formula is missing: what depends on what, such as score ~ kernel + (1|document)")
	}
	if params.Has("fixed") {
		if f.Fixed, err = params.Labels("fixed"); err != nil {
			return f, err
		}
	}
	if params.Has("random_intercepts") {
		f.Random, err = params.Labels("random_intercepts")
	}
	return f, err
}

// formulaColumns are the columns a formula names.
func formulaColumns(params Object) ([]string, error) {
	f, err := modelFormula(params)
	if err != nil {
		return nil, err
	}
	return columnNames(f, nil), nil
}

// modelFrame makes a frame of the columns a formula names. A column is a
// factor where params.factor_levels or params.factors names it, where it
// groups, or where it is not numbers.
func modelFrame(f stats.Formula, params, input Object, more ...string) (*stats.Frame, error) {
	levels, err := params.Object("factor_levels")
	if err != nil {
		return nil, err
	}
	var factors []string
	if params.Has("factors") {
		if factors, err = params.Labels("factors"); err != nil {
			return nil, err
		}
	}
	var frame *stats.Frame
	grouping := append(factorNames(f.Random), more...)
	for _, name := range columnNames(f, more) {
		if frame == nil {
			n, err := input.Len(name)
			if err != nil {
				return nil, err
			}
			frame = stats.NewFrame(n)
		}
		if name != f.Response {
			if done, err := addFactor(frame, name, levels, input, slices.Contains(grouping, name) || slices.Contains(factors, name)); done || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		xs, err := input.Numbers(name)
		if err != nil {
			return nil, err
		}
		if err := frame.AddNumbers(name, xs); err != nil {
			return nil, err
		}
	}
	return frame, nil
}

// addFactor adds a column as a factor if it is to be one.
func addFactor(frame *stats.Frame, name string, levels, input Object, must bool) (bool, error) {
	if !must && !levels.Has(name) && !input.Textual(name) {
		return false, nil
	}
	labels, err := input.Labels(name)
	if err != nil {
		return true, err
	}
	var order []string
	if levels.Has(name) {
		if order, err = levels.Labels(name); err != nil {
			return true, err
		}
	}
	return true, frame.AddFactor(name, labels, order)
}

// factorNames are the columns of grouping expressions such as "a:b".
func factorNames(groups []string) []string {
	var out []string
	for _, g := range groups {
		out = append(out, stats.GroupColumns(g)...)
	}
	return out
}

func columnNames(f stats.Formula, more []string) []string {
	out := []string{f.Response}
	for _, name := range slices.Concat(f.Fixed, factorNames(f.Random), more) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// modelInput takes the columns under their own names.
func modelInput(t Table, _ Object) (Object, error) {
	fields := map[string]any{}
	for _, role := range modelColumns {
		for _, c := range t.Columns(role.Name) {
			if xs, err := c.Numbers(); err == nil {
				fields[c.Name] = xs
				continue
			}
			labels, err := c.Labels()
			if err != nil {
				return Object{}, err
			}
			fields[c.Name] = labels
		}
	}
	return NewObject("input", fields), nil
}

type mixedResult struct {
	Formula   string         `json:"formula"`
	NObs      int            `json:"n_obs"`
	NGroups   map[string]int `json:"n_groups"`
	REML      *mixedFit      `json:"reml"`
	ML        *mixedFit      `json:"ml"`
	Dropped   []string       `json:"dropped_columns,omitempty"`
	Anova     []termResult   `json:"anova_satterthwaite_reml,omitempty"`
	LRT       *lrtResult     `json:"lrt_ml,omitempty"`
	RandomLRT []randomLRT    `json:"random_lrt_reml,omitempty"`
	Means     []meanResult   `json:"emmeans,omitempty"`
	Pairs     []mixedPair    `json:"pairwise,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
}

type mixedFit struct {
	Coefficients []coefficient                `json:"coefficients"`
	Vcov         [][]Number                   `json:"vcov"`
	Variance     map[string]Number            `json:"variance"`
	SD           map[string]Number            `json:"sd"`
	Sigma        Number                       `json:"sigma"`
	Theta        map[string]Number            `json:"theta"`
	Criterion    Number                       `json:"criterion"`
	LogLik       Number                       `json:"log_lik"`
	Parameters   int                          `json:"n_parameters"`
	AIC          Number                       `json:"aic"`
	BIC          Number                       `json:"bic"`
	Singular     bool                         `json:"singular"`
	Modes        map[string]map[string]Number `json:"blups,omitempty"`
}

type coefficient struct {
	Name     string `json:"name"`
	Estimate Number `json:"estimate"`
	SE       Number `json:"se"`
	DF       Number `json:"df"`
	T        Number `json:"t"`
	P        Number `json:"p"`
	CI       Limits `json:"ci95"`
}

type termResult struct {
	Term  string `json:"term"`
	F     Number `json:"f"`
	NumDF Number `json:"num_df"`
	DenDF Number `json:"den_df"`
	P     Number `json:"p"`
}

type lrtResult struct {
	Dropped string `json:"dropped_term"`
	LogLik  Number `json:"null_log_lik"`
	Chi2    Number `json:"chi2"`
	DF      Number `json:"df"`
	P       Number `json:"p"`
}

type randomLRT struct {
	Term   string `json:"term"`
	LogLik Number `json:"log_lik_without"`
	Chi2   Number `json:"chi2"`
	DF     Number `json:"df"`
	P      Number `json:"p_naive_chi2"`
}

type meanResult struct {
	Level    string `json:"level"`
	Estimate Number `json:"estimate"`
	SE       Number `json:"se"`
	DF       Number `json:"df"`
	CI       Limits `json:"ci95"`
}

type mixedPair struct {
	A           string `json:"a"`
	B           string `json:"b"`
	Estimate    Number `json:"estimate"`
	SE          Number `json:"se"`
	DF          Number `json:"df"`
	T           Number `json:"t"`
	P           Number `json:"p"`
	PHolm       Number `json:"p_holm"`
	PBonferroni Number `json:"p_bonferroni"`
	CI          Limits `json:"ci95_unadjusted"`
}

func runMixed(params, input Object) (any, error) {
	formula, err := modelFormula(params)
	if err != nil {
		return nil, err
	}
	frame, err := modelFrame(formula, params, input)
	if err != nil {
		return nil, err
	}
	reml, err := stats.FitMixed(frame, formula, true)
	if err != nil {
		return nil, err
	}
	ml, err := stats.FitMixed(frame, formula, false)
	if err != nil {
		return nil, err
	}
	r := mixedResult{Formula: formula.String(), NObs: reml.N, NGroups: map[string]int{}, Dropped: reml.Dropped, Warnings: reml.Warnings}
	for _, t := range reml.Random {
		r.NGroups[t.Name] = len(t.Levels)
	}
	if r.REML, err = fitted(reml); err != nil {
		return nil, err
	}
	if r.ML, err = fitted(ml); err != nil {
		return nil, err
	}
	for _, a := range reml.Anova() {
		r.Anova = append(r.Anova, termResult{a.Term, Number(a.F), Number(a.NumDF), Number(a.DenDF), Number(a.P)})
	}
	if err := r.ratios(reml, ml); err != nil {
		return nil, err
	}
	factor, err := params.Text("emmeans_factor", firstFactor(reml))
	if err != nil {
		return nil, err
	}
	if factor != "" && len(reml.Dropped) == 0 {
		err = r.contrasts(reml, factor)
	}
	return r, err
}

// firstFactor is the first fixed effect that is a factor.
func firstFactor(m *stats.Mixed) string {
	for _, name := range m.Formula.Fixed {
		if m.IsFactor(name) {
			return name
		}
	}
	return ""
}

func fitted(m *stats.Mixed) (*mixedFit, error) {
	f := &mixedFit{Vcov: Matrix(m.Vcov), Variance: map[string]Number{}, SD: map[string]Number{}, Theta: map[string]Number{},
		Sigma: Number(m.Sigma), Criterion: Number(m.Criterion), LogLik: Number(m.LogLik), Parameters: m.Parameters,
		AIC: Number(m.AIC), BIC: Number(m.BIC), Singular: m.Singular, Modes: map[string]map[string]Number{}}
	coefficients, err := m.Coefficients(0.95)
	if err != nil {
		return nil, err
	}
	for _, e := range coefficients {
		f.Coefficients = append(f.Coefficients, coefficient{e.Name, Number(e.Value), Number(e.SE), Number(e.DF), Number(e.T), Number(e.P), Span(e.CI)})
	}
	for _, t := range m.Random {
		f.Variance[t.Name], f.SD[t.Name], f.Theta[t.Name] = Number(t.Variance), Number(t.SD), Number(t.Theta)
		modes := map[string]Number{}
		for k, level := range t.Levels {
			modes[level] = Number(t.Modes[k])
		}
		f.Modes[t.Name] = modes
	}
	f.Variance["Residual"], f.SD["Residual"] = Number(m.Sigma*m.Sigma), Number(m.Sigma)
	return f, nil
}

func (r *mixedResult) ratios(reml, ml *stats.Mixed) error {
	if fixed := reml.Formula.Fixed; len(fixed) > 0 && len(reml.Dropped) == 0 {
		l, err := ml.WithoutFixed(fixed[0])
		if err != nil {
			return err
		}
		r.LRT = &lrtResult{l.Dropped, Number(l.LogLikNull), Number(l.Chi2), Number(l.DF), Number(l.P)}
	}
	for _, name := range reml.Formula.Random {
		l, err := reml.WithoutRandom(name)
		if err != nil {
			return fmt.Errorf("without (1|%s): %w", name, err)
		}
		r.RandomLRT = append(r.RandomLRT, randomLRT{l.Dropped, Number(l.LogLikNull), Number(l.Chi2), Number(l.DF), Number(l.P)})
	}
	return nil
}

func (r *mixedResult) contrasts(m *stats.Mixed, factor string) error {
	means, err := m.MarginalMeans(factor, 0.95)
	if err != nil {
		return err
	}
	for _, e := range means {
		r.Means = append(r.Means, meanResult{e.Name, Number(e.Value), Number(e.SE), Number(e.DF), Span(e.CI)})
	}
	pairs, err := m.Pairwise(factor, 0.95)
	if err != nil {
		return err
	}
	for _, e := range pairs {
		r.Pairs = append(r.Pairs, mixedPair{e.A, e.B, Number(e.Value), Number(e.SE), Number(e.DF), Number(e.T), Number(e.P),
			Number(e.PHolm), Number(e.PBonferroni), Span(e.CI)})
	}
	return nil
}

type waldResult struct {
	Name      string `json:"name"`
	Estimate  Number `json:"estimate"`
	SE        Number `json:"se"`
	Z         Number `json:"z"`
	P         Number `json:"p"`
	OddsRatio Number `json:"odds_ratio"`
}

func runLogistic(params, input Object) (any, error) {
	formula, err := modelFormula(params)
	if err != nil {
		return nil, err
	}
	frame, err := modelFrame(formula, params, input)
	if err != nil {
		return nil, err
	}
	m, err := stats.FitLogistic(frame, formula)
	if err != nil {
		return nil, err
	}
	var effects []waldResult
	for c, name := range m.Names {
		effects = append(effects, waldResult{name, Number(m.Beta[c]), Number(m.SE[c]), Number(m.Z[c]), Number(m.P[c]), Number(math.Exp(m.Beta[c]))})
	}
	sd := Ordered{}
	for _, t := range m.Random {
		sd = append(sd, Entry{t.Name, Number(t.SD)})
	}
	r := Ordered{{"formula", formula.String()}, {"n_obs", m.N}, {"coefficients", effects}, {"sd", sd}, {"log_lik", Number(m.LogLik)}, {"singular", m.Singular}}
	if len(formula.Fixed) > 0 {
		l, err := m.WithoutFixed(formula.Fixed[0])
		if err != nil {
			return nil, err
		}
		r = append(r, Entry{"lrt_" + l.Dropped, Ordered{{"chi2", Number(l.Chi2)}, {"df", Number(l.DF)}, {"p", Number(l.P)}}})
	}
	if m.Undefined != "" {
		r = append(r, Entry{"undefined_reason", m.Undefined})
	}
	if len(m.Warnings) > 0 {
		r = append(r, Entry{"warnings", m.Warnings})
	}
	return r, nil
}
