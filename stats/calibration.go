package stats

import (
	"fmt"
	"math"
	"slices"
)

// Calibration compares stated confidences with outcomes.
type Calibration struct {
	N        int              `json:"n"`
	ECE      float64          `json:"ece"`   // expected calibration error over the bins
	MCE      float64          `json:"mce"`   // the largest one
	Brier    float64          `json:"brier"` // mean squared difference of confidence and outcome
	Bins     []CalibrationBin `json:"curve"`
	Warnings []string         `json:"warnings,omitempty"`
}

// CalibrationOptions say how confidences are sorted into bins.
type CalibrationOptions struct {
	Bins        int
	EqualCounts bool    // bins hold equally many, instead of being equally wide
	Level       float64 // of the intervals
}

// A CalibrationBin is one step of a reliability curve.
type CalibrationBin struct {
	Low        float64  `json:"low"` // of confidences in it
	High       float64  `json:"high"`
	N          int      `json:"n"`
	Confidence float64  `json:"confidence"`    // mean
	Accuracy   float64  `json:"accuracy"`      // share that came true
	CI         Interval `json:"accuracy_ci95"` // Wilson
}

// CalibrationCurve sorts confidences in [0, 1] into bins and compares each
// bin's mean with the share of its outcomes that came true. Bins are equally
// wide, or hold equally many (equal confidences stay together). Empty bins are
// left out. The expected calibration error depends on the bins, and is biased
// upwards in small samples.
//
// Source: Guo et al. (2017); Nixon et al. (2019) for equal counts.
func CalibrationCurve(confidence []float64, outcome []bool, o CalibrationOptions) (Calibration, error) {
	bins, level := o.Bins, o.Level
	if err := checkLevel(level); err != nil {
		return Calibration{}, err
	}
	if err := checkScores(confidence, outcome); err != nil {
		return Calibration{}, err
	}
	if bins < 1 || bins > 10000 {
		return Calibration{}, fmt.Errorf("stats: a reliability curve needs 1 to 10000 bins, got %d", bins)
	}
	for i, c := range confidence {
		if c < 0 || c > 1 {
			return Calibration{}, rowError(i, "has the confidence %v, expected 0 to 1", c)
		}
	}
	order := ascending(confidence)
	n := len(order)
	r := Calibration{N: n}
	for lo := 0; lo < n; {
		hi := lo
		if o.EqualCounts {
			hi = nextBoundary(lo, n, bins)
			for hi < n && confidence[order[hi]] == confidence[order[hi-1]] {
				hi++
			}
		} else {
			bin := binOf(confidence[order[lo]], bins)
			for hi < n && binOf(confidence[order[hi]], bins) == bin {
				hi++
			}
		}
		r.Bins = append(r.Bins, binned(confidence, outcome, order[lo:hi], level))
		lo = hi
	}
	for _, b := range r.Bins {
		gap := math.Abs(b.Confidence - b.Accuracy)
		r.ECE += gap * float64(b.N) / float64(n)
		r.MCE = math.Max(r.MCE, gap)
	}
	for i, c := range confidence {
		d := c - truth(outcome[i])
		r.Brier += d * d / float64(n)
	}
	if n < 10*bins {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d outcomes in %d bins: the expected calibration error is biased upwards", n, bins))
	}
	return r, nil
}

// nextBoundary is the first of the places k·n/bins beyond lo. Ties may have
// gone past some of them.
func nextBoundary(lo, n, bins int) int {
	k := lo*bins/n + 1
	for k*n/bins <= lo {
		k++
	}
	return min(n, k*n/bins)
}

// binOf is the bin (k/bins, (k+1)/bins] of a confidence, the first one closed, as in Guo
// et al. and scikit-learn's calibration_curve. The product may be rounded past a boundary,
// as that of 0.29 and 100 is.
func binOf(c float64, bins int) int {
	k := int(math.Ceil(c*float64(bins))) - 1
	switch {
	case float64(k+1)/float64(bins) < c:
		k++
	case float64(k)/float64(bins) >= c:
		k--
	}
	return max(k, 0)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func binned(confidence []float64, outcome []bool, members []int, level float64) CalibrationBin {
	b := CalibrationBin{Low: confidence[members[0]], High: confidence[members[len(members)-1]], N: len(members)}
	right := 0
	for _, i := range members {
		b.Confidence += confidence[i] / float64(len(members))
		if outcome[i] {
			right++
		}
	}
	b.Accuracy = float64(right) / float64(b.N)
	b.CI = Wilson(right, b.N, level)
	return b
}

func checkScores(scores []float64, outcome []bool) error {
	if len(scores) != len(outcome) {
		return fmt.Errorf("stats: scores and outcomes need equal lengths, got %d and %d", len(scores), len(outcome))
	}
	if len(scores) == 0 {
		return errEmpty
	}
	return checkFinite("scores", scores)
}

// AUROC is the probability that a positive case scores above a negative one.
type AUROC struct {
	Positives int      `json:"n_positive"`
	Negatives int      `json:"n_negative"`
	Value     float64  `json:"auroc"`
	SE        float64  `json:"se"`
	CI        Interval `json:"ci95"` // normal, clipped to [0, 1]
	Undefined string   `json:"undefined_reason,omitzero"`
	Warnings  []string `json:"warnings,omitempty"`
}

// ROC computes the area under the receiver operating characteristic, ties
// counting one half, and its standard error after DeLong, DeLong &
// Clarke-Pearson (1988), in the fast form of Sun & Xu (2014). It is undefined
// without cases of both kinds; with one of a kind it has no standard error.
//
// Reference: R pROC::ci.auc.
func ROC(scores []float64, positive []bool, level float64) (AUROC, error) {
	if err := checkLevel(level); err != nil {
		return AUROC{}, err
	}
	if err := checkScores(scores, positive); err != nil {
		return AUROC{}, err
	}
	var pos, neg []float64
	for i, s := range scores {
		if positive[i] {
			pos = append(pos, s)
		} else {
			neg = append(neg, s)
		}
	}
	r := AUROC{Positives: len(pos), Negatives: len(neg), Value: math.NaN(), SE: math.NaN(), CI: undefinedInterval(level)}
	if len(pos) == 0 || len(neg) == 0 {
		r.Undefined = "all cases are of one class"
		return r, nil
	}
	all, _ := averageRanks(append(slices.Clone(pos), neg...))
	own, _ := averageRanks(pos)
	others, _ := averageRanks(neg)
	m, n := float64(len(pos)), float64(len(neg))
	var positives, negatives []float64 // placements of DeLong's variance, by case
	for i := range pos {
		positives = append(positives, (all[i]-own[i])/n)
	}
	for j := range neg {
		negatives = append(negatives, 1-(all[len(pos)+j]-others[j])/m)
	}
	r.Value = mean(positives)
	if len(pos) < 2 || len(neg) < 2 {
		r.Warnings = append(r.Warnings, "only one case of a class: no interval")
		return r, nil
	}
	r.SE = math.Sqrt(sumSquares(positives, r.Value)/(m-1)/m + sumSquares(negatives, mean(negatives))/(n-1)/n)
	switch {
	case r.SE > 0:
	case r.Value == 0.5:
		r.Warnings = append(r.Warnings, "all scores are the same: no interval")
		return r, nil
	default:
		r.Warnings = append(r.Warnings, "perfect separation: no interval")
		return r, nil
	}
	r.CI = zInterval(r.Value, r.SE, level).Clamp(0, 1)
	return r, nil
}
