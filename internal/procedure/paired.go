package procedure

import (
	"fmt"
	"math"
	"reflect"

	"github.com/scruple-eval/scruple/stats"
)

// pairs are two series of the same items.
type pairs struct {
	A []float64 `json:"a"`
	B []float64 `json:"b"`
}

// aMinusB says which way the differences of two arms go.
var aMinusB = Row{"direction", "a - b"}

func pairedT(p level, in pairs) Result {
	t := must(stats.PairedT(in.A, in.B, p.Conf))
	return explain(t).after("n", aMinusB).
		after("ci95", Row{"ci90", t.Interval(0.90)}). // that of two one-sided tests
		after("cohen_dz", Row{"cohen_dz_ci95_noncentral_t", t.EffectInterval(p.Conf)}).at(p.Conf)
}

type alternativeParams struct {
	level
	Alternative string `json:"alternative"`
}

// alternative is which side a test looks at.
func alternative(path, word string) stats.Alternative {
	if word != "" {
		choice(path, word, "two_sided", "two.sided", "greater", "less")
	}
	return map[string]stats.Alternative{"greater": stats.Greater, "less": stats.Less}[word] // else two-sided
}

func wilcoxon(p alternativeParams, in pairs) Result {
	r := must(stats.WilcoxonSignedRank(in.A, in.B, alternative("params.alternative", p.Alternative), p.Conf))
	var warnings []string
	if r.Zeros > 0 && r.Used > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d differences are 0: the test, the Hodges-Lehmann estimate and its interval are about the others", r.Zeros, r.N))
	}
	if r.Used > 0 && math.IsNaN(r.HLNormal.Low) && math.IsNaN(r.HLCI.Low) {
		warnings = append(warnings, fmt.Sprintf("no interval: the test rejects no shift of %d differences at this level", r.Used))
	}
	if r.HLNormal.Low == r.HLNormal.High {
		warnings = append(warnings, "most differences are equal: there is no exact interval, and that of the normal approximation has no width")
	}
	return explain(r, warnings...).after("n", aMinusB).at(p.Conf)
}

// differences are those of pairs, or pairs to take them of.
type differences struct {
	Diff []float64 `json:"diff,omitempty" way:"diff"`
	A    []float64 `json:"a,omitempty" way:"a and b"`
	B    []float64 `json:"b,omitempty" way:"a and b"`
}

func (in differences) of() []float64 {
	if in.Diff != nil {
		return in.Diff
	}
	refuse(in.A == nil, "input.diff is missing")
	refuse(in.B == nil, "input.b is missing")
	return must(stats.Differences(in.A, in.B))
}

func signFlipExact(_ none, in differences) Result {
	return rowsOf(must(stats.SignFlipExact(in.of())))
}

// drawParams say how to draw at random.
type drawParams struct {
	Resamples int `json:"resamples"`
	Seed      int `json:"seed"`
	Workers   int `json:"workers"`
}

// maxResamples is the maximum number of resamples in a case.
const maxResamples = 10_000_000

func (p drawParams) check() {
	within("params.resamples", p.Resamples, 1, maxResamples)
	within("params.seed", p.Seed, 0, math.MaxInt)
	within("params.workers", p.Workers, 1, 256)
}

func signFlipRandom(p drawParams, in differences) Result {
	diff := in.of()
	p.check()
	return rowsOf(must(stats.SignFlipRandom(diff, p.Resamples, uint64(p.Seed), p.Workers)))
}

type equivalenceParams struct {
	Margin *float64 `json:"margin"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Alpha  *float64 `json:"alpha"`
}

// limits are ±margin, or each limit by itself; one that is left out is not
// tested.
func (p equivalenceParams) limits() (low, high float64) {
	margin := given(p.Margin, math.Inf(1))
	low, high = given(p.Low, -margin), given(p.High, margin)
	refuse(math.IsInf(low, -1) && math.IsInf(high, 1),
		"params.margin is missing: equivalence needs limits")
	return low, high
}

// equivalenceInput is pairs, or an estimate with its standard error.
type equivalenceInput struct {
	A        []float64 `json:"a,omitempty" way:"a and b"`
	B        []float64 `json:"b,omitempty" way:"a and b"`
	Estimate *float64  `json:"estimate,omitempty" way:"estimate"`
	SE       *float64  `json:"se,omitempty" way:"estimate"`
	DF       *float64  `json:"df,omitempty" way:"estimate"`
}

func equivalence(p equivalenceParams, in equivalenceInput) Result {
	low, high := p.limits()
	alpha := given(p.Alpha, 0.05)
	if in.Estimate == nil {
		missing("input", reflect.ValueOf(pairs{in.A, in.B}), false)
		r := must(stats.PairedTOST(in.A, in.B, low, high, alpha))
		return append(Result{{"n", len(in.A)}, aMinusB}, explain(r)...)
	}
	refuse(in.SE == nil || in.DF == nil, "input.estimate needs se and df")
	return explain(must(stats.TOST(*in.Estimate, *in.SE, *in.DF, low, high, alpha)))
}
