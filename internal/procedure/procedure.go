// Package procedure gives the methods of package stats names, documented
// options and plain data: what `scruple stats` runs on a case file or a CSV
// table. It decodes JSON and columns into typed inputs, calls stats, and
// makes a [Result] of what it found, which JSON and text show. It computes nothing itself, and
// knows no study, no store and no model. An answer is an [attempt]: it ends at its first error.
package procedure

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
)

// A Procedure is one statistical method that can be asked for by name.
type Procedure struct {
	Name    string            `json:"name"`    // as in cases and on the command line
	Title   string            `json:"title"`   // for people: "Paired t-test"
	Summary string            `json:"summary"` // its question and assumptions, in one to three sentences
	Source  string            `json:"source"`  // papers, reference implementation
	Columns []Role            `json:"columns"` // what --csv takes; none: cases only
	Params  []Param           `json:"options" yaml:"params"`
	Hide    []string          `json:"-" yaml:"hide"`   // keys of the result that only --json shows
	Labels  map[string]string `json:"-" yaml:"labels"` // what to show for keys that do not explain themselves

	method method
}

// A method computes a procedure's result. It returns an error for invalid input.
type method interface {
	run(params, input jsontext.Value, notes bool) (Result, error)
	columns(params jsontext.Value) ([]string, error)
	kind(params jsontext.Value, column string) (Kind, error)
}

// typed is a method with its own types of params and input. Tags name their
// fields. A list or pointer without omitempty is required.
type typed[P, I any] struct {
	defaults P
	answer   func(P, I) Result
	uses     func(P) []string     // the columns where --cols is left out; nil: it must be given
	reads    func(P, string) Kind // how the params read a column of kind Either
}

// none is the type of empty params.
type none struct{}

// given are the params over their defaults.
func (m typed[P, I]) given(params jsontext.Value, notes bool) P {
	p := m.defaults
	decodeParams(params, &p, notes)
	return p
}

func (m typed[P, I]) run(params, input jsontext.Value, notes bool) (_ Result, err error) {
	defer catch(&err)
	p := m.given(params, notes)
	var in I
	decode("input", input, &in)
	return settled(m.answer(p, in)).(Result), nil
}

func (m typed[P, I]) columns(params jsontext.Value) (_ []string, err error) {
	defer catch(&err)
	refuse(m.uses == nil, "--cols is missing")
	return m.uses(m.given(params, false)), nil
}

func (m typed[P, I]) kind(params jsontext.Value, column string) (_ Kind, err error) {
	defer catch(&err)
	return m.reads(m.given(params, false), column), nil
}

// Run answers the case. Its params may hold notes.
func (c Case) Run() (Result, error) {
	p, err := Find(c.Method)
	if err != nil {
		return nil, err
	}
	return p.method.run(c.Params, c.Input, true)
}

// Run computes the result of params and input, JSON objects.
func (p Procedure) Run(params, input jsontext.Value) (Result, error) {
	return p.method.run(params, input, false)
}

// DefaultColumns are the columns a table is read for where none were named.
func (p Procedure) DefaultColumns(params jsontext.Value) ([]string, error) {
	columns, err := p.method.columns(params)
	if err != nil {
		return nil, fmt.Errorf("%w: %s takes %s", err, p.Name, roleNames(p.Columns))
	}
	return columns, nil
}

// A Role is the use of a column of a table.
type Role struct {
	Name     string `json:"name"`
	Kind     Kind   `json:"kind"`
	Doc      string `json:"doc"`
	Optional bool   `json:"optional,omitempty"`                       // may be left out
	Many     bool   `json:"many,omitempty"`                           // takes all columns that are left: one column a rater, a model, …
	ByRow    bool   `json:"-" yaml:"by_row"`                          // several columns are passed as one list per row, not per column
	Named    bool   `json:"-" yaml:"named"`                           // many columns go in under their own names
	Missing  bool   `json:"missing_allowed,omitempty" yaml:"missing"` // empty cells are allowed, and become null
	Names    string `json:"-" yaml:"names"`                           // key of the input that takes the names of many columns
}

// A Kind says how the cells of a column are read.
type Kind int

const (
	Numeric Kind = iota // numbers
	Label               // unparsed text
	Binary              // 0/1, true/false, yes/no, pass/fail
	Either              // as the params say, or else numbers if there is one, or text
)

// UnmarshalText reads a kind as the catalog has it.
func (k *Kind) UnmarshalText(b []byte) error {
	i := slices.Index([]string{"number", "label", "binary", "either"}, string(b))
	if i < 0 {
		return fmt.Errorf("unknown kind %q", b)
	}
	*k = Kind(i)
	return nil
}

// String says how cells are read, for people.
func (k Kind) String() string { return [...]string{"number", "label", "0/1", "number"}[k] }

// MarshalText writes it so.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Usage is the role's name as a synopsis has it: [optional], many….
func (r Role) Usage() string {
	name := r.Name
	if r.Many {
		name += "…"
	}
	if r.Optional {
		name = "[" + name + "]"
	}
	return name
}

func roleNames(roles []Role) string {
	var names []string
	for _, r := range roles {
		names = append(names, r.Usage())
	}
	return strings.Join(names, ",")
}

// A Param is an option of a procedure.
type Param struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// catalog documents the procedures.
//
//go:embed catalog.yaml
var catalog []byte

// All lists the procedures in the order they are documented in.
var All = sync.OnceValue(func() []Procedure {
	var all []Procedure
	if err := yaml.UnmarshalWithOptions(catalog, &all, yaml.Strict()); err != nil {
		panic("procedure: catalog.yaml: " + err.Error())
	}
	for i := range all {
		p := &all[i]
		p.Columns, p.Params, p.method = append([]Role{}, p.Columns...), append([]Param{}, p.Params...), methods[p.Name]
	}
	return all
})

// Names lists the names of all procedures, sorted.
func Names() []string { return slices.Sorted(maps.Keys(methods)) }

// Find gives the procedure of a name.
func Find(name string) (Procedure, error) {
	all := All()
	i := slices.IndexFunc(all, func(p Procedure) bool { return p.Name == name })
	if i < 0 {
		return Procedure{}, fmt.Errorf("unknown statistical method %q: see `scruple stats --list`", name)
	}
	return all[i], nil
}

// conf95 is the default level of intervals.
var conf95 = level{0.95}

// methods are what answers each procedure of the catalog, with the defaults that it documents.
var methods = map[string]method{
	"paired_t_test":        typed[level, pairs]{defaults: conf95, answer: pairedT},
	"wilcoxon_signed_rank": typed[alternativeParams, pairs]{defaults: alternativeParams{level: conf95}, answer: wilcoxon},
	"sign_flip_exact":      typed[none, differences]{answer: signFlipExact},
	"sign_flip_montecarlo": typed[drawParams, differences]{defaults: drawParams{20000, 1, 1}, answer: signFlipRandom},
	"tost":                 typed[equivalenceParams, equivalenceInput]{answer: equivalence},

	"cluster_bootstrap_random":          typed[bootstrapParams, clustered]{defaults: bootstrapParams{drawParams{10000, 1, 1}, 0.95}, answer: bootstrapped},
	"cluster_bootstrap_fixed_resamples": typed[resampleParams, resampledInput]{defaults: resampleParams{Conf: 0.95}, answer: resampled},
	"ols_clustered_se":                  typed[robustOptions, modelData]{defaults: robustOptions{leveled: leveled{level: conf95}}, answer: runRobust, uses: robustOptions.columns, reads: robustOptions.kind},
	"lmm_random_intercepts":             typed[mixedOptions, modelData]{defaults: mixedOptions{leveled: leveled{level: conf95}}, answer: runMixed, uses: mixedOptions.columns, reads: func(p mixedOptions, name string) Kind { return p.kind(name) }},
	"logistic_glmm_laplace":             typed[leveled, modelData]{defaults: leveled{level: conf95}, answer: runLogistic, uses: leveled.columns, reads: passKind},

	"binomial_interval":  byCase(conf95, proportion.intervals),
	"two_proportion_z":   typed[proportionParams, twoProportions]{defaults: proportionParams{level: conf95, Pooled: true}, answer: compared},
	"mcnemar":            typed[level, outcomes]{defaults: conf95, answer: mcnemar},
	"cochran_q":          typed[none, arms]{answer: cochran},
	"chi2_independence":  typed[chiSquaredParams, crossTable]{answer: chiSquared},
	"fisher_exact":       typed[none, crossTable]{answer: fisher},
	"cohen_kappa":        typed[kappaParams, raters]{defaults: kappaParams{level: conf95}, answer: kappa},
	"fleiss_kappa":       typed[fleissParams, subjects]{defaults: fleissParams{conf95, defaultRedraw, "raters"}, answer: fleiss},
	"gwet_ac1":           typed[kappaParams, givenLabels]{defaults: kappaParams{level: conf95}, answer: gwet},
	"krippendorff_alpha": typed[krippendorffParams, ratings]{defaults: krippendorffParams{defaultRedraw, 0.95, "nominal"}, answer: krippendorff, reads: krippendorffParams.kind},

	"calibration":         typed[calibrationParams, confidences]{defaults: calibrationParams{conf95, defaultRedraw, 10, false}, answer: calibrated},
	"auroc":               typed[level, scores]{defaults: conf95, answer: auroc},
	"ppi_mean":            typed[level, judged]{defaults: conf95, answer: poweredMean},
	"ppi_difference":      typed[level, judgedArms]{defaults: conf95, answer: poweredDifference},
	"confidence_sequence": typed[sequenceParams, differences]{defaults: sequenceParams{-1, 1, 0.95}, answer: sequence},
	"p_adjust":            typed[adjustParams, pValues]{defaults: adjustParams{0.05}, answer: adjusted},
	"power_paired_t":      byCase(none{}, pairedDesign.answer),
	"power_mcnemar":       byCase(none{}, mcnemarDesign.answer),
	"power_clustered":     byCase(none{}, clusteredDesign.answer),
	"ir_metrics":          typed[rankingParams, queries]{defaults: rankingParams{level: conf95, redraw: defaultRedraw}, answer: rankingMeasures},
	"distribution_tails":  typed[none, questions]{answer: answers},
}
