package procedure

import (
	"errors"
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

func pairedT(p level, in pairs) (Result, error) {
	t, err := stats.PairedT(in.A, in.B, p.Conf)
	return explain(t).after("n", aMinusB).
		after("ci95", Row{"ci90", t.Interval(0.90)}). // that of two one-sided tests
		after("cohen_dz", Row{"cohen_dz_ci95_noncentral_t", t.EffectInterval(p.Conf)}).at(p.Conf), err
}

type alternativeParams struct {
	level
	Alternative string `json:"alternative"`
}

// alternative is which side a test looks at.
func alternative(path, word string) (stats.Alternative, error) {
	switch word {
	case "greater":
		return stats.Greater, nil
	case "less":
		return stats.Less, nil
	case "":
		return stats.TwoSided, nil
	}
	return stats.TwoSided, choice(path, word, "two_sided", "two.sided", "greater", "less")
}

func wilcoxon(p alternativeParams, in pairs) (Result, error) {
	side, err := alternative("params.alternative", p.Alternative)
	if err != nil {
		return nil, err
	}
	r, err := stats.WilcoxonSignedRank(in.A, in.B, side, p.Conf)
	var warnings []string
	if r.Zeros > 0 && r.Used > 0 {
		warnings = append(warnings, fmt.Sprintf("%d of %d differences are 0: the test, the Hodges-Lehmann estimate and its interval are about the others", r.Zeros, r.N))
	}
	if r.Used > 0 && math.IsNaN(r.HLNormal.Low) && math.IsNaN(r.HLCI.Low) {
		warnings = append(warnings, fmt.Sprintf("no interval: the test rejects no shift of %d differences at this level", r.Used))
	}
	return explain(r, warnings...).after("n", aMinusB).at(p.Conf), err
}

// differences are those of pairs, or pairs to take them of.
type differences struct {
	Diff []float64 `json:"diff,omitempty"`
	A    []float64 `json:"a,omitempty"`
	B    []float64 `json:"b,omitempty"`
}

func (in differences) of() ([]float64, error) {
	switch {
	case in.Diff != nil:
		return in.Diff, nil
	case in.A == nil:
		return nil, errors.New("input.diff is missing")
	case in.B == nil:
		return nil, errors.New("input.b is missing")
	}
	return stats.Differences(in.A, in.B)
}

func signFlipExact(_ none, in differences) (Result, error) {
	diff, err := in.of()
	if err != nil {
		return nil, err
	}
	r, err := stats.SignFlipExact(diff)
	return rowsOf(r), err
}

// drawParams say how to draw at random.
type drawParams struct {
	Resamples int `json:"resamples"`
	Seed      int `json:"seed"`
	Workers   int `json:"workers"`
}

// maxResamples is the maximum number of resamples in a case.
const maxResamples = 10_000_000

func (p drawParams) check() error {
	return errors.Join(within("params.resamples", p.Resamples, 1, maxResamples), within("params.seed", p.Seed, 0, math.MaxInt),
		within("params.workers", p.Workers, 1, 256))
}

func signFlipRandom(p drawParams, in differences) (Result, error) {
	diff, err := in.of()
	if err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	r, err := stats.SignFlipRandom(diff, p.Resamples, uint64(p.Seed), p.Workers)
	return rowsOf(r), err
}

type equivalenceParams struct {
	Margin *float64 `json:"margin"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Alpha  *float64 `json:"alpha"`
}

// limits are ±margin, or each limit by itself; one that is left out is not
// tested.
func (p equivalenceParams) limits() (low, high float64, err error) {
	margin := given(p.Margin, math.Inf(1))
	low, high = given(p.Low, -margin), given(p.High, margin)
	if math.IsInf(low, -1) && math.IsInf(high, 1) {
		err = errors.New("params.margin is missing: equivalence needs limits")
	}
	return low, high, err
}

// equivalenceInput is pairs, or an estimate with its standard error.
type equivalenceInput struct {
	A        []float64 `json:"a,omitempty"`
	B        []float64 `json:"b,omitempty"`
	Estimate *float64  `json:"estimate,omitempty"`
	SE       *float64  `json:"se,omitempty"`
	DF       *float64  `json:"df,omitempty"`
}

func equivalence(p equivalenceParams, in equivalenceInput) (Result, error) {
	low, high, err := p.limits()
	if err != nil {
		return nil, err
	}
	alpha := given(p.Alpha, 0.05)
	var r stats.Equivalence
	pairs, rows := pairs{in.A, in.B}, Result{}
	switch {
	case in.Estimate == nil:
		if err := missing("input", reflect.ValueOf(pairs), false); err != nil {
			return nil, err
		}
		rows = Result{{"n", len(in.A)}, aMinusB}
		r, err = stats.PairedTOST(in.A, in.B, low, high, alpha)
	case in.SE == nil || in.DF == nil:
		err = errors.New("input.estimate needs se and df")
	default:
		r, err = stats.TOST(*in.Estimate, *in.SE, *in.DF, low, high, alpha)
	}
	return append(rows, explain(r)...), err
}

func correlation(params level, in pairs) (Result, error) {
	p, err := stats.Pearson(in.A, in.B, params.Conf)
	if err != nil {
		return nil, err
	}
	s, err := stats.Spearman(in.A, in.B, params.Conf)
	row := func(c stats.Correlation) Result { return Result{{"r", c.R}, {"p", c.P}, {"ci95", c.CI}} }
	return Result{{"n", p.N}, {"pearson", row(p)}, {"spearman", row(s)}}.undefined(p.Undefined).
		with(warningsKey, p.Warnings).at(params.Conf), err
}
