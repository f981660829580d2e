package stats

import (
	"fmt"
	"math"
)

// Correlation is a correlation coefficient of paired observations.
type Correlation struct {
	N         int      `json:"n"`
	R         float64  `json:"r"`
	T         float64  `json:"t"` // of R = 0
	DF        float64  `json:"df"`
	P         float64  `json:"p"`    // two-sided
	CI        Interval `json:"ci95"` // Fisher's z
	Undefined string   `json:"undefined_reason,omitzero"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Pearson is the linear correlation. It is undefined for fewer than 3 pairs
// and where one side is constant. A perfect one has no test and no interval,
// 3 pairs have no interval. Reference: R cor.test.
func Pearson(a, b []float64, level float64) (Correlation, error) {
	if err := checkLevel(level); err != nil {
		return Correlation{}, err
	}
	if _, err := Differences(a, b); err != nil {
		return Correlation{}, err
	}
	nan := math.NaN()
	n := float64(len(a))
	r := Correlation{N: len(a), R: nan, T: nan, DF: n - 2, P: nan, CI: undefinedInterval(level)}
	ma, mb := mean(a), mean(b)
	ssA, ssB := sumSquares(a, ma), sumSquares(b, mb)
	switch {
	case len(a) < 3:
		r.Undefined = fmt.Sprintf("%d pairs are too few for a correlation", len(a))
		return r, nil
	case negligible(math.Sqrt(ssA/n), ma), negligible(math.Sqrt(ssB/n), mb):
		r.Undefined = "one side is constant"
		return r, nil
	case math.IsInf(ssA+ssB, 0), math.IsNaN(ssA + ssB):
		r.Undefined = tooLarge
		return r, nil
	}
	r.R = coefficient(a, b, ma, mb, ssA, ssB)
	if math.Abs(r.R) == 1 {
		r.Warnings = append(r.Warnings, "no test and no interval for a perfect correlation")
		return r, nil
	}
	r.T = r.R * math.Sqrt(r.DF/(1-r.R*r.R))
	r.P = 2 * tCDF(-math.Abs(r.T), r.DF)
	if len(a) < 4 {
		r.Warnings = append(r.Warnings, "no interval for the correlation of 3 pairs")
		return r, nil
	}
	half := zQuantile((1-level)/2) / math.Sqrt(n-3)
	z := math.Atanh(r.R)
	r.CI = Interval{math.Tanh(z - half), math.Tanh(z + half), level}
	return r, nil
}

// coefficient returns the correlation of two series with these means and nonzero
// sums of squares. One that rounding alone keeps from ±1 is ±1.
func coefficient(a, b []float64, ma, mb, ssA, ssB float64) float64 {
	r := covariation(a, b, ma, mb) / math.Sqrt(ssA) / math.Sqrt(ssB)
	if 1-math.Abs(r) <= 1e-15*(8+math.Sqrt(float64(len(a)))) {
		return math.Copysign(1, r)
	}
	return r
}

// covariation is Σ(aᵢ − ma)(bᵢ − mb).
func covariation(a, b []float64, ma, mb float64) float64 {
	var s float64
	for i := range a {
		s += (a[i] - ma) * (b[i] - mb)
	}
	return s
}

// tooLarge is the error for numbers around 1e200.
const tooLarge = "the squares of these numbers overflow float64"

// Spearman is the correlation of ranks, ties by average ranks; its p-value is
// that of the t approximation, its interval Fisher's z on ranks, which is
// rough.
func Spearman(a, b []float64, level float64) (Correlation, error) {
	if _, err := Differences(a, b); err != nil {
		return Correlation{}, err
	}
	ra, _ := averageRanks(a)
	rb, _ := averageRanks(b)
	return Pearson(ra, rb, level)
}
