package stats

import (
	"fmt"
	"math"
)

// Equivalence is a pair of one-sided t-tests that a difference lies within
// limits (TOST), or, with one limit infinite, a test of non-inferiority.
type Equivalence struct {
	Estimate   float64  `json:"mean_diff"`
	SE         float64  `json:"se"`
	DF         float64  `json:"df"`
	Low        float64  `json:"low"` // the limits
	High       float64  `json:"high"`
	PLow       float64  `json:"p_above_lower_limit"` // H1: the difference is above Low; NaN where that is infinite
	PHigh      float64  `json:"p_below_upper_limit"` // H1: it is below High; likewise
	P          float64  `json:"p"`                   // the larger of those that were tested
	CI         Interval `json:"ci_1_minus_2_alpha"`  // within the limits where P < α
	Equivalent bool     `json:"equivalent"`
	Undefined  string   `json:"undefined_reason,omitzero"`
}

// TOST tests whether a difference lies within (low, high), from its estimate,
// standard error and degrees of freedom. An infinite limit is not tested:
// (−m, ∞) is non-inferiority by m.
//
// Source: Schuirmann (1987); R TOSTER.
func TOST(estimate, se, df, low, high, alpha float64) (Equivalence, error) {
	switch {
	case !(alpha > 0 && alpha < 0.5):
		return Equivalence{}, fmt.Errorf("stats: alpha of an equivalence test must lie between 0 and 0.5, got %v", alpha)
	case !(low < high) || math.IsInf(low, 1) || math.IsInf(high, -1) || (math.IsInf(low, -1) && math.IsInf(high, 1)):
		return Equivalence{}, fmt.Errorf("stats: equivalence limits must differ and one must be finite, got %v and %v", low, high)
	case math.IsNaN(estimate) || math.IsInf(estimate, 0):
		return Equivalence{}, fmt.Errorf("stats: the estimate is %v", estimate)
	case se < 0:
		return Equivalence{}, fmt.Errorf("stats: se is %v, expected 0 or more", se)
	case se >= 0 && df <= 0:
		return Equivalence{}, fmt.Errorf("stats: df is %v, expected more than 0", df)
	}
	nan := math.NaN()
	r := Equivalence{Estimate: estimate, SE: se, DF: df, Low: low, High: high, PLow: nan, PHigh: nan, P: nan, CI: undefinedInterval(1 - 2*alpha)}
	if !(se > 0) || math.IsInf(se, 1) || !(df > 0) {
		r.Undefined = "the difference has no standard error"
		return r, nil
	}
	if !math.IsInf(low, -1) {
		r.PLow = tCDF(-(estimate-low)/se, df)
		r.P = r.PLow
	}
	if !math.IsInf(high, 1) {
		r.PHigh = tCDF((estimate-high)/se, df)
		r.P = r.PHigh
	}
	if r.PLow > r.PHigh {
		r.P = r.PLow
	}
	half := tQuantile(alpha, df) * se
	r.CI = Interval{estimate - half, estimate + half, 1 - 2*alpha}
	r.Equivalent = r.P < alpha
	return r, nil
}

// PairedTOST tests whether the mean of paired differences lies within limits.
func PairedTOST(a, b []float64, low, high, alpha float64) (Equivalence, error) {
	t, err := PairedT(a, b, 0.95)
	if err != nil {
		return Equivalence{}, err
	}
	r, err := TOST(t.MeanDiff, t.SE, t.DF, low, high, alpha)
	if err == nil && t.Undefined != "" {
		r.Undefined = t.Undefined
	}
	return r, err
}
