package procedure

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/goccy/go-yaml"
)

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
	for i, p := range all {
		all[i].method = methods[p.Name]
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
	"correlation":          typed[level, pairs]{defaults: conf95, answer: correlation},

	"cluster_bootstrap_random":          typed[bootstrapParams, clustered]{defaults: bootstrapParams{drawParams{10000, 1, 1}, 0.95}, answer: bootstrapped},
	"cluster_bootstrap_fixed_resamples": typed[resampleParams, resampledInput]{defaults: resampleParams{Conf: 0.95}, answer: resampled},
	"ols_clustered_se":                  typed[robustOptions, modelData]{answer: runRobust, uses: robustOptions.columns},
	"lmm_random_intercepts":             typed[mixedOptions, modelData]{defaults: mixedOptions{level: conf95}, answer: runMixed, uses: mixedOptions.columns},
	"logistic_glmm_laplace":             typed[modelOptions, modelData]{answer: runLogistic, uses: modelOptions.columns},

	"binomial_interval":  byCase(conf95, proportion.intervals),
	"two_proportion_z":   typed[proportionParams, twoProportions]{defaults: proportionParams{level: conf95, Pooled: true}, answer: compared},
	"mcnemar":            typed[level, outcomes]{defaults: conf95, answer: mcnemar},
	"cochran_q":          typed[none, arms]{answer: cochran},
	"chi2_independence":  typed[chiSquaredParams, crossTable]{answer: chiSquared},
	"fisher_exact":       typed[none, crossTable]{answer: fisher},
	"cohen_kappa":        typed[kappaParams, raters]{defaults: kappaParams{level: conf95}, answer: kappa},
	"fleiss_kappa":       typed[fleissParams, subjects]{defaults: fleissParams{conf95, defaultRedraw, "raters"}, answer: fleiss},
	"gwet_ac1":           typed[gwetParams, givenLabels]{defaults: gwetParams{level: conf95}, answer: gwet},
	"krippendorff_alpha": typed[krippendorffParams, ratings]{defaults: krippendorffParams{defaultRedraw, 0.95, "nominal"}, answer: krippendorff},

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
