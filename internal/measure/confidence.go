package measure

import (
	"cmp"
	"math"
	"slices"
)

// A Stated counts the cases with one stated confidence.
type Stated struct {
	Confidence float64
	Right      float64
	Wrong      float64
}

// MergeStated sorts counts by confidence and adds up those of one. Confidences that are not
// numbers are left out.
func MergeStated(counts []Stated) []Stated {
	slices.SortFunc(counts, func(a, b Stated) int { return cmp.Compare(a.Confidence, b.Confidence) })
	merged := counts[:0]
	for _, c := range counts {
		switch last := len(merged) - 1; {
		case math.IsNaN(c.Confidence):
		case last >= 0 && merged[last].Confidence == c.Confidence:
			merged[last].Right += c.Right
			merged[last].Wrong += c.Wrong
		default:
			merged = append(merged, c)
		}
	}
	return merged
}

// A Reliability is one bin of a reliability curve.
type Reliability struct {
	Low, High  float64 // borders
	N          float64
	Confidence float64 // mean
	Accuracy   float64 // share of right cases
}

// ReliabilityCurve sorts cases into equally wide bins (low, high] of [0, 1], the first one
// closed. Empty bins are left out.
func ReliabilityCurve(counts []Stated, bins int) []Reliability {
	var curve []Reliability
	last := -1
	for _, c := range counts {
		n := c.Right + c.Wrong
		if n == 0 {
			continue
		}
		k := min(max(int(math.Ceil(c.Confidence*float64(bins)))-1, 0), bins-1)
		switch { // the product may be rounded past a border, as that of 0.29 and 100 is
		case k+1 < bins && float64(k+1)/float64(bins) < c.Confidence:
			k++
		case k > 0 && float64(k)/float64(bins) >= c.Confidence:
			k--
		}
		if k != last {
			curve = append(curve, Reliability{Low: float64(k) / float64(bins), High: float64(k+1) / float64(bins)})
			last = k
		}
		b := &curve[len(curve)-1]
		b.N += n
		b.Confidence += float64(n * c.Confidence) // not fused: one number on all processors
		b.Accuracy += c.Right
	}
	for i := range curve {
		curve[i].Confidence /= curve[i].N
		curve[i].Accuracy /= curve[i].N
	}
	return curve
}

// CalibrationError is the expected calibration error over bins of equal width (Guo
// et al. 2017); NaN without cases.
func CalibrationError(counts []Stated, bins int) float64 {
	sum, n := 0.0, 0.0
	for _, b := range ReliabilityCurve(counts, bins) {
		sum += float64(b.N * math.Abs(b.Confidence-b.Accuracy))
		n += b.N
	}
	return sum / n
}

// AUROC is the probability that a right case has a higher confidence than a wrong
// one, ties counting one half; NaN without cases of both kinds.
func AUROC(counts []Stated) float64 {
	below, area, right := 0.0, 0.0, 0.0 // below: wrong cases with lower confidence
	for _, c := range counts {
		area += c.Right * (below + c.Wrong/2)
		below += c.Wrong
		right += c.Right
	}
	return area / (right * below)
}

// Kappa is Cohen's kappa, for suites, which may not import stats and need no interval; that is
// stats.CohenKappa. It is of two raters from a 2 × 2 table: both yes, only the
// first, only the second, neither. It is NaN if it is undefined.
func Kappa(both, first, second, neither float64) float64 {
	n := both + first + second + neither
	agree := (both + neither) / n
	chance := ((both+first)*(both+second) + (second+neither)*(first+neither)) / n / n
	return (agree - chance) / (1 - chance)
}
