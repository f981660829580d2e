// Package stats implements inference on plain slices: estimates with intervals, and
// tests with documented assumptions. Functions are pure; randomness comes from a
// seed. The package imports nothing else of Scruple and can be used without it.
//
// Functions and results copy the slices that they keep. Methods of results may be
// called from several goroutines, except those that add data ([Frame.AddNumbers],
// [Frame.AddFactor], [Sequence.Add]).
//
// # Map
//
//	two arms, same items    PairedT, WilcoxonSignedRank, SignFlipExact, -Random and -Interval, PairedTOST, TOST
//	d with missing scores   RangeOfEffect
//	passes, same items      McNemarTable, McNemarOutcomes, Tango, NewcombePaired, ComparePairedProportions
//	                        (in clusters), CochranQ
//	rates over clusters     SumByCluster; RatioOfSums, ProportionOfSums, RatioDifference, SquareAndAdd
//	bootstrap of clusters   ClusterBootstrap, ClusterBootstrapDiff, ResampleClusters
//	regression              ParseFormula, Frame; FitRobust (clustered standard errors),
//	                        FitMixed, FitLogistic (random intercepts)
//	proportions             Wilson, ClopperPearson, Jeffreys, AgrestiCoull, CompareProportions
//	tables of counts        ChiSquared, RowPairs, Fisher
//	agreement of raters     KappaTable, CohenKappa, FleissKappa, KrippendorffAlpha, GwetAC1
//	confidences, scores     CalibrationCurve, ROC
//	bootstrap of measures   FleissBootstrap, KrippendorffBootstrap, KrippendorffClusterBootstrap,
//	                        CalibrationBootstrap, BootstrapClusters
//	judges and people       PredictionPowered, PredictionPoweredClusters, PredictionPoweredDiff
//	watched runs            Sequence, ConfidenceSequence
//	many tests              Adjust; Bonferroni, Holm, Hochberg, BH, BY
//	planning                PairedPower, PairedSize, PairedEffect, McNemarDesign, ClusteredDesign
//
// Package [github.com/scruple-eval/scruple/stats/dist] has the distributions.
//
// # Errors and undefined results
//
// Functions return an error for invalid input (empty, unequal lengths, NaN,
// impossible counts), for options out of range, and for problems without a
// solution; the result is then meaningless.
//
// A number that the data do not determine is NaN, and an interval NaN at both ends;
// never 0, 1 or an infinity. An infinity is a value, such as the odds ratio of 5 to
// 0. The field Undefined is the reason if the estimate or its test is missing, else
// empty. If only a part is missing, see Warnings or the comment on the field. Methods without an error result, and
// the intervals of a count (Wilson and others), return an undefined interval for an
// impossible level or count.
//
// Tags of the results are the names in JSON; encoding/json rejects NaN. A name with ci95 is that of
// an interval at the level that was asked for, which the interval has as Level.
package stats

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/scruple-eval/scruple/stats/dist"
)

// Interval is a two-sided confidence interval.
type Interval struct {
	Low, High float64
	Level     float64 // coverage, such as 0.95
}

func undefinedInterval(level float64) Interval {
	return Interval{math.NaN(), math.NaN(), level}
}

// Clamp cuts the interval off at the range its quantity can have.
func (iv Interval) Clamp(low, high float64) Interval {
	iv.Low = math.Min(math.Max(iv.Low, low), high)
	iv.High = math.Min(math.Max(iv.High, low), high)
	return iv
}

var (
	errLevel = errors.New("stats: confidence level must lie between 0 and 1")
	errEmpty = errors.New("stats: no observations")
)

func checkLevel(level float64) error {
	if !(level > 0 && level < 1) {
		return fmt.Errorf("%w, got %v", errLevel, level)
	}
	return nil
}

// A RowError is a fault of one row of the input: a unit, a subject or an observation.
type RowError struct {
	Row     int    // from 0
	Problem string // "has the confidence 1.2, expected 0 to 1"
}

// Error counts rows from 1.
func (e *RowError) Error() string { return fmt.Sprintf("stats: row %d %s", e.Row+1, e.Problem) }

func rowError(row int, format string, args ...any) error {
	return &RowError{row, fmt.Sprintf(format, args...)}
}

// checkFinite refuses NaN and infinities, naming the first.
func checkFinite(name string, xs []float64) error {
	for i, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("stats: %s[%d] is %v", name, i, x)
		}
	}
	return nil
}

// tCDF is P(T ≤ t) of Student's t with df degrees of freedom. Upper tails are
// taken as tCDF(−t), which keeps relative accuracy for small p-values.
func tCDF(t, df float64) float64 {
	return dist.StudentT{DF: df}.CDF(t)
}

// tQuantile is the upper quantile: P(T > q) = tail. Simulations and resamples ask for
// the same few again and again, and each is found by iteration.
func tQuantile(tail, df float64) float64 {
	slot := &tQuantiles[(math.Float64bits(tail)*31+math.Float64bits(df))*0x9e3779b97f4a7c15>>(64-tQuantileBits)]
	if known := slot.Load(); known != nil && known.tail == tail && known.df == df {
		return known.q
	}
	q := dist.StudentT{DF: df}.UpperQuantile(tail)
	slot.Store(&quantile{tail, df, q})
	return q
}

// A quantile is a result of tQuantile.
type quantile struct{ tail, df, q float64 }

const tQuantileBits = 8

// tQuantiles keeps the last result of each slot.
var tQuantiles [1 << tQuantileBits]atomic.Pointer[quantile]

// zQuantile is the upper quantile of the standard normal.
func zQuantile(tail float64) float64 { return dist.Normal{Mean: 0, SD: 1}.UpperQuantile(tail) }

// tInterval is value ± t·se, and zInterval the same with the quantile of the normal.
func tInterval(value, se, df, level float64) Interval {
	return around(value, tQuantile((1-level)/2, df)*se, level)
}

func zInterval(value, se, level float64) Interval {
	return around(value, zQuantile((1-level)/2)*se, level)
}

func around(centre, half, level float64) Interval {
	return Interval{centre - half, centre + half, level}
}

// sum adds with Neumaier's compensation, so that the result does not depend on
// how large partial sums get.
func sum(xs []float64) float64 {
	var s, c float64
	for _, x := range xs {
		t := s + x
		if math.Abs(s) >= math.Abs(x) {
			c += (s - t) + x
		} else {
			c += (x - t) + s
		}
		s = t
	}
	return s + c
}

func mean(xs []float64) float64 { return sum(xs) / float64(len(xs)) }

// sumSquares is Σ(x−m)², corrected for the rounding of m.
func sumSquares(xs []float64, m float64) float64 {
	var ss, dev float64
	for _, x := range xs {
		d := x - m
		ss += d * d
		dev += d
	}
	return math.Max(0, ss-dev*dev/float64(len(xs)))
}

// negligible reports whether a standard error is rounding noise relative to its
// mean: in decimal data, equal differences have a computed spread of about 1e-17,
// which would give a t of 1e15.
func negligible(se, m float64) bool {
	const eps = 2.220446049250313e-16
	return se < 10*eps*math.Abs(m) || se == 0
}
