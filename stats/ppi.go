package stats

import (
	"errors"
	"fmt"
	"math"
)

// PPI is a prediction-powered estimate of a mean: a judge's labels of all
// items, corrected by what people said of some of them.
type PPI struct {
	Labelled, Unlabelled int
	Estimate, SE         float64
	CI                   Interval
	Lambda               float64 // weight of the judge, 0 to 1
	T, P                 float64 // of a mean of 0
	Human                Interval
	HumanMean            float64 // of the labelled items alone
	JudgeMean            float64 // of all items, uncorrected: biased as the judge is
	Bias                 float64 // judge minus human on the labelled items
	BiasCI               Interval
	Correlation          float64 // of judge and human on them
	EffectiveLabels      float64 // labels that people alone would need for this interval
	Undefined            string
	Warnings             []string
}

// PredictionPowered estimates the mean human label of items of which judge[i]
// is known for all and human[i] for a random sample, NaN elsewhere. However
// bad the judge is, the estimate is unbiased and its interval holds; a good
// judge makes it shorter. That needs people's items to be drawn at random.
//
// The weight of the judge is tuned to the data and clipped to [0, 1]: with
// n labelled, N unlabelled items and λ = cov(human, judge)/((1 + n/N) var(judge))
// on the labelled ones,
//
//	estimate = mean(human − λ·judge | labelled) + λ·mean(judge | unlabelled).
//
// For small samples the interval counts the weight as an estimated slope and
// takes a t quantile with n − 2 degrees of freedom, where the source takes the
// normal one.
//
// Source: Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient
// Prediction-Powered Inference.
func PredictionPowered(judge, human []float64, level float64) (PPI, error) {
	if err := checkLevel(level); err != nil {
		return PPI{}, err
	}
	if len(judge) != len(human) {
		return PPI{}, fmt.Errorf("stats: judge and human labels need equal lengths (NaN where there is no human label), got %d and %d", len(judge), len(human))
	}
	if len(judge) == 0 {
		return PPI{}, errEmpty
	}
	if err := checkFinite("judge", judge); err != nil {
		return PPI{}, err
	}
	var y, f, rest []float64
	for i, h := range human {
		switch {
		case math.IsNaN(h):
			rest = append(rest, judge[i])
		case math.IsInf(h, 0):
			return PPI{}, fmt.Errorf("stats: human[%d] is %v", i, h)
		default:
			y, f = append(y, h), append(f, judge[i])
		}
	}
	nan := math.NaN()
	r := PPI{Labelled: len(y), Unlabelled: len(rest), Estimate: nan, SE: nan, T: nan, P: nan, CI: undefinedInterval(level), Human: undefinedInterval(level),
		HumanMean: nan, JudgeMean: mean(judge), Bias: nan, BiasCI: undefinedInterval(level), Correlation: nan, EffectiveLabels: nan}
	if len(y) < 2 {
		r.Undefined = fmt.Sprintf("%d human labels cannot correct a judge", len(y))
		return r, nil
	}
	return r, r.estimate(y, f, rest, level)
}

func (r *PPI) estimate(y, f, rest []float64, level float64) error {
	n, big := float64(len(y)), float64(len(rest))
	own, err := PairedT(y, make([]float64, len(y)), level)
	if err != nil {
		return err
	}
	bias, err := PairedT(f, y, level)
	if err != nil {
		return err
	}
	r.HumanMean, r.Human = own.MeanDiff, own.CI
	r.Bias, r.BiasCI, r.Correlation = bias.MeanDiff, bias.CI, bias.Correlation
	r.Lambda = tuned(y, f, rest)
	corrected := make([]float64, len(y))
	for i := range y {
		corrected[i] = y[i] - r.Lambda*f[i]
	}
	m := mean(corrected)
	df := n - 1
	if r.Lambda > 0 {
		df = n - 2
	}
	variance := sumSquares(corrected, m) / df / n
	r.Estimate = m
	if r.Lambda > 0 {
		mr := mean(rest)
		r.Estimate += r.Lambda * mr
		variance += r.Lambda * r.Lambda * sumSquares(rest, mr) / (big - 1) / big
	}
	r.SE = math.Sqrt(variance)
	if len(rest) == 0 {
		r.Warnings = append(r.Warnings, "every item has a human label: the judge adds nothing")
	}
	if len(y) < FewClusters {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d human labels: fewer than %d are a rough correction", len(y), FewClusters))
	}
	if negligible(r.SE, r.Estimate) {
		r.Undefined = "all human labels are the same"
		r.SE = 0
		return nil
	}
	half := tQuantile((1-level)/2, df) * r.SE
	r.CI = Interval{r.Estimate - half, r.Estimate + half, level}
	r.T = r.Estimate / r.SE
	r.P = 2 * tCDF(-math.Abs(r.T), df)
	r.EffectiveLabels = sumSquares(y, r.HumanMean) / (n - 1) / variance
	return nil
}

// tuned is the weight of the judge that makes the variance smallest. With
// fewer than two unlabelled items there is nothing to gain.
func tuned(y, f, rest []float64) float64 {
	if len(rest) < 2 || len(y) < 3 {
		return 0
	}
	my, mf := mean(y), mean(f)
	spread := sumSquares(f, mf)
	if spread == 0 {
		return 0
	}
	slope := covariation(y, f, my, mf) / spread
	return math.Max(0, math.Min(1, slope/(1+float64(len(y))/float64(len(rest)))))
}

// PredictionPoweredDiff estimates the mean difference of two arms on the same
// items: the judge's labels of both arms on all of them, people's on some. An
// item counts as labelled where both of its arms are.
func PredictionPoweredDiff(judgeA, judgeB, humanA, humanB []float64, level float64) (PPI, error) {
	n := len(judgeA)
	if len(judgeB) != n || len(humanA) != n || len(humanB) != n {
		return PPI{}, errors.New("stats: both arms need the same items, one label each (NaN where there is no human label)")
	}
	judge, human := make([]float64, n), make([]float64, n)
	for i := range n {
		judge[i], human[i] = judgeA[i]-judgeB[i], humanA[i]-humanB[i]
	}
	return PredictionPowered(judge, human, level)
}
