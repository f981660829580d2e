package procedure

import (
	"fmt"
	"math"

	"github.com/scruple-eval/scruple/stats"
)

var pairColumns = []Role{
	{Name: "a", Doc: "scores of the first arm, one item a row"},
	{Name: "b", Doc: "scores of the second arm, of the same items"},
}

func paired() []Procedure {
	return []Procedure{{
		Name: "paired_t_test", Title: "Paired t-test",
		Summary: "Whether two arms differ in their mean on the same items. Assumes that items are independent and their differences roughly normal or many. With Cohen's d for pairs and its exact interval.",
		Source:  "R stats::t.test, effectsize; d_z by the non-central t",
		Columns: pairColumns, Run: runPairedT,
	}, {
		Name: "wilcoxon_signed_rank", Title: "Wilcoxon signed-rank test",
		Summary: "Whether two arms differ on the same items, by ranks: robust to outliers. Assumes independent items and symmetric differences. Exact with ties; zeros are dropped (pratt: ranked, then dropped).",
		Source:  "R stats::wilcox.test, exactRankTests, coin",
		Columns: pairColumns, Params: []Param{{"alternative", "two_sided", "two_sided, greater or less"}}, Run: runWilcoxon,
	}, {
		Name: "sign_flip_exact", Title: "Sign-flip permutation test, exact",
		Summary: "Whether paired differences have the mean 0, by counting all patterns of signs; up to 40 differences. Where differences come in clusters, give one sum a cluster.",
		Source:  "Fisher (1935); enumeration",
		Columns: []Role{{Name: "diff", Doc: "differences, one item or cluster a row"}}, Run: runSignFlipExact,
	}, {
		Name: "sign_flip_montecarlo", Title: "Sign-flip permutation test, drawn",
		Summary: "The same with patterns drawn at random, for any number of differences; p = (count + 1)/(resamples + 1).",
		Source:  "Phipson & Smyth (2010)",
		Columns: []Role{{Name: "diff", Doc: "differences, one item or cluster a row"}},
		Params:  []Param{{"resamples", "20000", "patterns drawn"}, {"seed", "1", "of the draws"}, {"workers", "1", "goroutines; the result does not depend on it"}},
		Run:     runSignFlipRandom,
	}, {
		Name: "tost", Title: "Equivalence of paired means (TOST)",
		Summary: "Whether two arms differ by less than a margin on the same items: two one-sided t-tests. Not finding a difference shows nothing of the kind. With the lower limit alone it is a test of non-inferiority. A case may give estimate, se and df in place of a and b.",
		Source:  "Schuirmann (1987); R TOSTER",
		Columns: pairColumns,
		Params: []Param{{"margin", "", "largest difference that does not matter, either way"}, {"low", "-margin", "lower limit, where the limits are not alike; without margin and high: non-inferiority"},
			{"high", "margin", "upper limit"}, {"alpha", "0.05", "level of each test"}},
		Run: runTOST,
	}, {
		Name: "correlation", Title: "Correlation",
		Summary: "How two series of numbers of the same items go together: Pearson's and Spearman's coefficientOf.",
		Source:  "R stats::cor.test",
		Columns: pairColumns, Run: runCorrelation,
	}}
}

// pairs reads the two series of a case.
func pairs(input Object) (a, b []float64, err error) {
	if a, err = input.Numbers("a"); err == nil {
		b, err = input.Numbers("b")
	}
	return a, b, err
}

type pairedResult struct {
	N           int    `json:"n"`
	MeanA       Number `json:"mean_a"`
	MeanB       Number `json:"mean_b"`
	MeanDiff    Number `json:"mean_diff"`
	SDDiff      Number `json:"sd_diff"`
	SE          Number `json:"se"`
	T           Number `json:"t"`
	DF          Number `json:"df"`
	P           Number `json:"p_two_sided"`
	PGreater    Number `json:"p_greater"`
	PLess       Number `json:"p_less"`
	CI          Limits `json:"ci95"`
	CI90        Limits `json:"ci90"`
	DZ          Number `json:"cohen_dz"`
	DZCI        Limits `json:"cohen_dz_ci95_noncentral_t"`
	GZ          Number `json:"hedges_gz"`
	DAv         Number `json:"cohen_dav"`
	Correlation Number `json:"correlation"`
	undefined
}

// undefined is what a result without numbers has in it.
type undefined struct {
	Undefined bool     `json:"undefined,omitempty"`
	Reason    string   `json:"undefined_reason,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

func because(reason string, warnings ...string) undefined {
	return undefined{reason != "", reason, warnings}
}

func runPairedT(_, input Object) (any, error) {
	a, b, err := pairs(input)
	if err != nil {
		return nil, err
	}
	t, err := stats.PairedT(a, b, 0.95)
	if err != nil {
		return nil, err
	}
	return pairedResult{t.N, Number(t.MeanA), Number(t.MeanB), Number(t.MeanDiff), Number(t.SDDiff), Number(t.SE), Number(t.T), Number(t.DF),
		Number(t.P), Number(t.PGreater), Number(t.PLess), Span(t.CI), Span(t.Interval(0.90)), Number(t.DZ), Span(t.EffectInterval(0.95)), Number(t.GZ), Number(t.DAv),
		Number(t.Correlation), because(t.Undefined)}, nil
}

type wilcoxonResult struct {
	N             int    `json:"n"`
	Zeros         int    `json:"n_zero"`
	Used          int    `json:"n_used"`
	WPlus         Number `json:"w_plus"`
	WMinus        Number `json:"w_minus"`
	Ties          bool   `json:"has_ties"`
	PExact        Number `json:"p_exact"`
	PContinuity   Number `json:"p_normal_continuity"`
	PNormal       Number `json:"p_normal"`
	Z             Number `json:"z"`
	RankBiserial  Number `json:"rank_biserial"`
	PrattZ        Number `json:"pratt_z"`
	PrattP        Number `json:"pratt_p_normal"`
	HodgesLehmann Number `json:"hodges_lehmann"`
	HLCI          Limits `json:"hodges_lehmann_ci95_exact"`
	undefined
}

// alternative reads which side a test looks at.
func alternative(params Object) (stats.Alternative, error) {
	word, err := params.Choice("alternative", "two_sided", "two.sided", "greater", "less")
	switch word {
	case "greater":
		return stats.Greater, err
	case "less":
		return stats.Less, err
	}
	return stats.TwoSided, err
}

func runWilcoxon(params, input Object) (any, error) {
	a, b, err := pairs(input)
	if err != nil {
		return nil, err
	}
	side, err := alternative(params)
	if err != nil {
		return nil, err
	}
	r, err := stats.WilcoxonSignedRank(a, b, side, 0.95)
	if err != nil {
		return nil, err
	}
	return wilcoxonResult{r.N, r.Zeros, r.Used, Number(r.WPlus), Number(r.WMinus), r.Ties, Number(r.PExact), Number(r.PContinuity), Number(r.PNormal),
		Number(r.Z), Number(r.RankBiserial), Number(r.PrattZ), Number(r.PrattP), Number(r.HodgesLehmann), Span(r.HLCI), because(r.Undefined, r.Warnings...)}, nil
}

type signFlipResult struct {
	N         int     `json:"n"`
	Statistic Number  `json:"statistic"`
	Patterns  *Number `json:"n_patterns,omitempty"`
	Resamples int     `json:"resamples,omitempty"`
	P         Number  `json:"p_two_sided"`
	PGreater  Number  `json:"p_greater"`
	PLess     Number  `json:"p_less"`
}

// flipDifferences reads differences, or pairs to take them of.
func flipDifferences(input Object) ([]float64, error) {
	if input.Has("diff") || !input.Has("a") {
		return input.Numbers("diff")
	}
	a, b, err := pairs(input)
	if err != nil {
		return nil, err
	}
	return stats.Differences(a, b)
}

func signFlipped(r stats.SignFlip, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	out := signFlipResult{N: r.N, Statistic: Number(r.Statistic), Resamples: r.Resamples, P: Number(r.P), PGreater: Number(r.PGreater), PLess: Number(r.PLess)}
	if r.Exact {
		patterns := Number(r.Patterns)
		out.Patterns = &patterns
	}
	return out, nil
}

func runSignFlipExact(_, input Object) (any, error) {
	diff, err := flipDifferences(input)
	if err != nil {
		return nil, err
	}
	return signFlipped(stats.SignFlipExact(diff))
}

// maxResamples bounds what a case can ask for.
const maxResamples = 10_000_000

func runSignFlipRandom(params, input Object) (any, error) {
	diff, err := flipDifferences(input)
	if err != nil {
		return nil, err
	}
	resamples, err := params.IntIn("resamples", 20000, 1, maxResamples)
	if err != nil {
		return nil, err
	}
	seed, err := params.IntIn("seed", 1, 0, math.MaxInt)
	if err != nil {
		return nil, err
	}
	workers, err := params.IntIn("workers", 1, 1, 256)
	if err != nil {
		return nil, err
	}
	return signFlipped(stats.SignFlipRandom(diff, resamples, uint64(seed), workers))
}

type tostResult struct {
	N          int    `json:"n,omitempty"`
	MeanDiff   Number `json:"mean_diff"`
	SE         Number `json:"se"`
	DF         Number `json:"df"`
	Low        Number `json:"low"`
	High       Number `json:"high"`
	PLow       Number `json:"p_above_lower_limit"`
	PHigh      Number `json:"p_below_upper_limit"`
	P          Number `json:"p"`
	CI         Limits `json:"ci_1_minus_2_alpha"`
	Equivalent bool   `json:"equivalent"`
	undefined
}

func runTOST(params, input Object) (any, error) {
	low, high, err := equivalenceLimits(params)
	if err != nil {
		return nil, err
	}
	alpha, err := params.Number("alpha", 0.05)
	if err != nil {
		return nil, err
	}
	r, n, err := equivalence(input, low, high, alpha)
	if err != nil {
		return nil, err
	}
	return tostResult{n, Number(r.Estimate), Number(r.SE), Number(r.DF), Number(low), Number(high), Number(r.PLow), Number(r.PHigh), Number(r.P),
		Span(r.CI), r.Equivalent, because(r.Undefined)}, nil
}

// equivalenceLimits are ±margin, or each limit by itself; one that is left out
// is not tested.
func equivalenceLimits(params Object) (low, high float64, err error) {
	margin, err := params.Number("margin", math.Inf(1))
	if err != nil {
		return 0, 0, err
	}
	if low, err = params.Number("low", -margin); err != nil {
		return 0, 0, err
	}
	high, err = params.Number("high", margin)
	if err == nil && math.IsInf(low, -1) && math.IsInf(high, 1) {
		err = fmt.Errorf("params.margin is missing: equivalence is within limits")
	}
	return low, high, err
}

// equivalence tests pairs, or an estimate with its standard error.
func equivalence(input Object, low, high, alpha float64) (r stats.Equivalence, n int, err error) {
	if input.Has("estimate") {
		v, err := numbersOf(input, "estimate", "se", "df")
		if err == nil && (math.IsNaN(v["se"]) || math.IsNaN(v["df"])) {
			err = fmt.Errorf("%s comes with se and df, one of which is missing", input.path("estimate"))
		}
		if err != nil {
			return r, 0, err
		}
		r, err = stats.TOST(v["estimate"], v["se"], v["df"], low, high, alpha)
		return r, 0, err
	}
	a, b, err := pairs(input)
	if err != nil {
		return r, 0, err
	}
	r, err = stats.PairedTOST(a, b, low, high, alpha)
	return r, len(a), err
}

type correlationResult struct {
	N        int           `json:"n"`
	Pearson  coefficientOf `json:"pearson"`
	Spearman coefficientOf `json:"spearman"`
	undefined
}

type coefficientOf struct {
	R  Number `json:"r"`
	P  Number `json:"p"`
	CI Limits `json:"ci95"`
}

func runCorrelation(_, input Object) (any, error) {
	a, b, err := pairs(input)
	if err != nil {
		return nil, err
	}
	p, err := stats.Pearson(a, b, 0.95)
	if err != nil {
		return nil, err
	}
	s, err := stats.Spearman(a, b, 0.95)
	if err != nil {
		return nil, err
	}
	return correlationResult{p.N, coefficientOf{Number(p.R), Number(p.P), Span(p.CI)}, coefficientOf{Number(s.R), Number(s.P), Span(s.CI)}, because(p.Undefined, p.Warnings...)}, nil
}
