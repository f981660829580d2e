package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// PPI is a prediction-powered estimate of a mean: a judge's labels of all items,
// corrected by human labels of some items.
type PPI struct {
	Labelled        int      `json:"n_labelled"`
	Unlabelled      int      `json:"n_unlabelled"`
	Clusters        int      `json:"n_clusters_labelled"` // that have a human label
	Estimate        float64  `json:"estimate"`
	SE              float64  `json:"se"`
	CI              Interval `json:"ci95"`
	T               float64  `json:"t"` // of a mean of 0
	DF              float64  `json:"df"`
	P               float64  `json:"p"`
	Lambda          float64  `json:"lambda"`     // weight of the judge, 0 to 1
	HumanMean       float64  `json:"human_mean"` // of the labelled items alone
	Human           Interval `json:"human_ci"`
	JudgeMean       float64  `json:"judge_mean"` // of all items, uncorrected: biased as the judge is
	Judge           Interval `json:"judge_ci"`
	Bias            float64  `json:"judge_bias"`       // judge minus human on the labelled items
	BiasCI          Interval `json:"judge_bias_ci"`    // like the others, undefined where nothing varies between clusters
	Correlation     float64  `json:"correlation"`      // of judge and human on them; NaN where one does not vary
	EffectiveLabels float64  `json:"effective_labels"` // human labels needed for this interval without a judge; NaN if they do not vary
	Undefined       string   `json:"undefined_reason,omitzero"`
	Warnings        []string `json:"warnings,omitempty"`
}

// PredictionPowered estimates the mean human label of items; judge[i] is known for
// all and human[i] for a random sample, else NaN. The estimate is consistent for any
// judge, and a good judge makes the interval shorter. The items with human labels
// must be drawn at random.
//
// With n labelled and N unlabelled items it is
//
//	mean(human − λ·judge | labelled) + λ·mean(judge | unlabelled),
//	λ = cov(human, judge | labelled) / ((1 + n/N) · var(judge | labelled)), cut to [0, 1].
//
// Two things differ from the authors' ppi_py, so that intervals hold for small
// samples. ppi_py combines the variance of all judge labels with the covariance of
// a sample: with 60 human labels and a perfect judge, its 90 % intervals cover the
// truth in 87.7 %, here in 90.3 %. And the quantile is that of t, with one degree
// of freedom less for the mean and one for the weight.
//
// The interval holds in large samples, and rare events make a sample small: a judge
// that errs on 1 item in 50 agrees with 50 human labels in every third study, and
// the variance of its observed errors is then 0. Where fewer than 20 labelled items
// are exceptions, the variance is increased, with a warning, by
//
//	λ²·F where the exceptions are disagreements of judge and human, and
//	(1−λ)²·F where they are human labels other than the most frequent,
//	F = 3·(1 − k/20)·r²/n² for k exceptions,
//
// the variance of three more exceptions (the rule of three), each of size r, the
// range of the labels; λ is then the weight that minimises the sum. The limit of 20
// is lowered to half of the labelled items. With 20 or more of both kinds nothing
// changes. In simulations of 0/1 labels (20 to 300 human ones, judges that err on 0
// to 10 % of items, means of 0.5 to 0.95) intervals of 95 % cover the mean in at
// least 94 % of the data sets that have one; without the increase in 60 % in the
// worst case of 20 human labels, and in 76 % of 50. For other labels r bounds the
// size of an error, and the interval is conservative.
// Where the judge has no weight (constant labels of it, or a human one for every item), the
// interval is that of t of the human labels, without the increase: 20 of a mean of 0.84
// cover it in 88 %. Where all human labels are the same, the variance is that of three
// exceptions, F with λ = 0 and k = 0, of which r is 1 for labels of 0 and 1 even if none differs.
//
// With fewer than two human labels, or where no label of judge or human differs from another and
// they are not 0 or 1, it is undefined. Values that are not numbers, unequal lengths and empty
// input are errors.
//
// Source: Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient
// Prediction-Powered Inference.
func PredictionPowered(judge, human []float64, level float64) (PPI, error) {
	return PredictionPoweredClusters[int](judge, human, nil, level)
}

// PredictionPoweredClusters is [PredictionPowered] for clustered items, such as
// fields of a document: items with the same cluster[i] may be correlated, and the
// variance is that of the sums over clusters. Clusters should be labelled at
// random, whole or in part; n and N in the weight remain numbers of items. How rare
// errors correlate cannot be observed: F and its limit of 20 are multiplied by the
// design effect of a correlation of 1/2. A nil cluster means independent items.
func PredictionPoweredClusters[C comparable](judge, human []float64, cluster []C, level float64) (PPI, error) {
	if len(judge) != len(human) {
		return PPI{}, fmt.Errorf("stats: judge and human labels need equal lengths (NaN where there is no human label), got %d and %d", len(judge), len(human))
	}
	if err := checkClusters(len(judge), cluster, level); err != nil {
		return PPI{}, err
	}
	if err := cmp.Or(checkFinite("judge", judge), checkGapped("human", human)); err != nil {
		return PPI{}, err
	}
	return newLabelled(judge, human, cluster, spreadOf(judge, human)).estimate(level)
}

func checkClusters[C comparable](items int, cluster []C, level float64) error {
	if err := checkLevel(level); err != nil {
		return err
	}
	if cluster != nil && len(cluster) != items {
		return fmt.Errorf("stats: every item needs a cluster, got %d of %d", len(cluster), items)
	}
	if items == 0 {
		return errEmpty
	}
	return nil
}

// spreadOf is the larger range of the judge's labels and of the human ones, gaps
// left out. That of 0 and 1 is 1, even if one of them does not occur.
func spreadOf(judge, human []float64) float64 {
	other := func(x float64) bool { return !math.IsNaN(x) && x != 0 && x != 1 }
	if !slices.ContainsFunc(judge, other) && !slices.ContainsFunc(human, other) {
		return 1
	}
	var r float64
	for _, xs := range [][]float64{judge, human} {
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range xs {
			if !math.IsNaN(x) {
				low, high = math.Min(low, x), math.Max(high, x)
			}
		}
		r = math.Max(r, high-low)
	}
	return r
}

// checkGapped refuses infinities; NaN is a gap.
func checkGapped(name string, xs []float64) error {
	for i, x := range xs {
		if math.IsInf(x, 0) {
			return fmt.Errorf("stats: %s[%d] is %v", name, i, x)
		}
	}
	return nil
}

// PredictionPoweredDiff estimates the mean difference of two arms on the same
// items, with the judge's labels of both arms on all items and human labels on
// some. An item is labelled if both arms are. A nil cluster means independent
// items. Where judge and human rarely disagree, the size of an error is that of one
// label: 1 for labels of 0 and 1, although their difference is from −1 to 1.
func PredictionPoweredDiff[C comparable](judgeA, judgeB, humanA, humanB []float64, cluster []C, level float64) (PPI, error) {
	n := len(judgeA)
	if len(judgeB) != n || len(humanA) != n || len(humanB) != n {
		return PPI{}, errors.New("stats: both arms need the same items, one label each (NaN where there is no human label)")
	}
	if err := checkClusters(n, cluster, level); err != nil {
		return PPI{}, err
	}
	if err := errors.Join(checkFinite("judgeA", judgeA), checkFinite("judgeB", judgeB), checkGapped("humanA", humanA), checkGapped("humanB", humanB)); err != nil {
		return PPI{}, err
	}
	judge, human := make([]float64, n), make([]float64, n)
	for i := range n {
		judge[i], human[i] = judgeA[i]-judgeB[i], humanA[i]-humanB[i]
	}
	if err := checkFinite("judge", judge); err != nil {
		return PPI{}, err // a difference that overflows
	}
	s := newLabelled(judge, human, cluster, math.Max(spreadOf(judgeA, humanA), spreadOf(judgeB, humanB)))
	constant := func(own []float64) bool {
		var both []float64 // of items labelled in both arms
		for i, h := range human {
			if !math.IsNaN(h) {
				both = append(both, own[i])
			}
		}
		return len(both) > 0 && exceptions(both, s.size) == 0
	}
	if constant(humanA) && constant(humanB) {
		s.constant = 2
	}
	return s.estimate(level)
}

// labelled are items taken apart: y and f are people's and the judge's labels
// of the labelled ones, rest the judge's of the others.
type labelled struct {
	all, y, f, rest []float64
	// Clusters, numbered in order of appearance.
	clusters            int
	ofAll, ofY, ofOther []int

	size     float64 // of an error
	constant float64 // number of arms that each have a variance that no label shows
}

func newLabelled[C comparable](judge, human []float64, cluster []C, size float64) labelled {
	s := labelled{all: judge, size: size, constant: 1}
	s.ofAll, s.clusters = numbered(cluster, len(judge))
	for i, h := range human {
		if g := s.ofAll[i]; math.IsNaN(h) {
			s.rest, s.ofOther = append(s.rest, judge[i]), append(s.ofOther, g)
		} else {
			s.y, s.f, s.ofY = append(s.y, h), append(s.f, judge[i]), append(s.ofY, g)
		}
	}
	return s
}

func (s labelled) estimate(level float64) (PPI, error) {
	nan, none := math.NaN(), undefinedInterval(level)
	r := PPI{Labelled: len(s.y), Unlabelled: len(s.rest), Estimate: nan, SE: nan, T: nan, DF: nan, P: nan, CI: none,
		HumanMean: nan, Human: none, Bias: nan, BiasCI: none, Correlation: nan, EffectiveLabels: nan}
	judge, err := s.ratio(s.all, s.ofAll, level)
	if err != nil {
		return PPI{}, err
	}
	r.JudgeMean, r.Judge = judge.Value, judge.CI
	if len(s.y) < 2 {
		r.Undefined = fmt.Sprintf("%d human labels are too few to correct a judge", len(s.y))
		return r, nil
	}
	own, err := s.ratio(s.y, s.ofY, level)
	if err != nil {
		return PPI{}, err
	}
	off := make([]float64, len(s.y))
	for i := range off {
		off[i] = s.f[i] - s.y[i]
	}
	bias, err := s.ratio(off, s.ofY, level)
	if err != nil {
		return PPI{}, err
	}
	r.HumanMean, r.Human, r.Clusters = own.Value, own.CI, own.Clusters
	r.Bias, r.BiasCI = bias.Value, bias.CI
	my, mf := mean(s.y), mean(s.f)
	if a, b := sumSquares(s.y, my), sumSquares(s.f, mf); a > 0 && b > 0 {
		r.Correlation = coefficient(s.y, s.f, my, mf, a, b)
	}
	if len(s.rest) == 0 {
		r.Warnings = append(r.Warnings, "every item has a human label: the judge adds nothing")
	}
	if r.Clusters < FewClusters {
		what := "human labels"
		if r.Clusters < len(s.y) {
			what = "clusters with human labels"
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf("only %d %s: below %d, the correction is rough", r.Clusters, what, FewClusters))
	}
	rare := s.rare(off)
	if r.Lambda = s.weight(rare); r.Lambda > 0 {
		r.Warnings = append(r.Warnings, rare.warnings(len(s.y))...)
		if rare.disagreement > 0 && r.Clusters > 1 {
			r.BiasCI = tInterval(r.Bias, math.Sqrt(bias.SE*bias.SE+rare.disagreement), float64(r.Clusters-1), level)
		}
	}
	r.correct(s, rare, own.SE, level)
	return r, nil
}

// rareEvents are what the variance of labelled items does not show: exceptions
// that are too few among them to be measured.
type rareEvents struct {
	disagreements, labels int     // number of exceptions
	disagreement, label   float64 // variance to be added for them
}

const (
	fewExceptions    = 20 // below it their variance is increased
	unseenExceptions = 3  // rule of three: 0 of n are observed in 5 % if 3 of n are expected
)

// rare counts the exceptions among the labelled items; off is judge minus human.
func (s labelled) rare(off []float64) rareEvents {
	n := float64(len(s.y))
	var rows float64 // in the cluster of a labelled item, summed
	size := make([]float64, s.clusters)
	for _, g := range s.ofY {
		size[g]++
	}
	for _, m := range size {
		rows += m * m
	}
	design := (1 + rows/n) / 2
	added := func(exceptions int) float64 {
		few := math.Min(fewExceptions*design, n/2)
		return unseenExceptions * design * math.Max(0, 1-float64(exceptions)/few) * (s.size / n) * (s.size / n)
	}
	e := rareEvents{disagreements: exceptions(off, s.size), labels: exceptions(s.y, s.size)}
	e.disagreement, e.label = added(e.disagreements), added(e.labels)
	return e
}

// exceptions counts the values other than the most frequent one. Values that
// differ by rounding, relative to the size given, are equal.
func exceptions(xs []float64, size float64) int {
	sorted := slices.Sorted(slices.Values(xs))
	most, start := 0, 0
	for i, x := range sorted {
		if x-sorted[start] > 1e-9*size {
			start = i
		}
		most = max(most, i-start+1)
	}
	return len(xs) - most
}

func (e rareEvents) warnings(labels int) []string {
	var out []string
	if e.disagreement > 0 {
		out = append(out, fmt.Sprintf("judge and human disagree on %d of %d items, too few to measure the judge's errors: the interval allows for more", e.disagreements, labels))
	}
	if e.label > 0 {
		out = append(out, fmt.Sprintf("%d of %d human labels are not the most frequent one, too few for the variance of the sample: the interval allows for more", e.labels, labels))
	}
	return out
}

// correct fills in the estimate and what follows from it.
func (r *PPI) correct(s labelled, rare rareEvents, alone, level float64) {
	r.Estimate = mean(s.y)
	r.DF = float64(r.Clusters - 1)
	if r.Lambda > 0 {
		r.Estimate += r.Lambda * (mean(s.rest) - mean(s.f))
		r.DF--
	}
	if r.DF < 1 {
		r.Undefined = fmt.Sprintf("%d clusters with human labels vary too little for a correction", r.Clusters)
		r.DF = math.NaN()
		return
	}
	r.SE = math.Sqrt(float64(r.Clusters) / r.DF * squares(s.contributions(r.Lambda)))
	if math.IsNaN(r.SE) || math.IsInf(r.SE, 0) {
		r.SE, r.Estimate, r.Lambda = math.NaN(), math.NaN(), math.NaN()
		r.Undefined = tooLarge
		return
	}
	if negligible(r.SE, math.Max(math.Abs(r.HumanMean), math.Abs(r.JudgeMean))) {
		unseen := s.constant * s.rare(make([]float64, len(s.y))).disagreement
		if r.SE = math.Sqrt(unseen); r.SE == 0 {
			r.Undefined = "all labels are the same"
			return
		}
		if exceptions(s.y, s.size) > 0 {
			r.Warnings = append(r.Warnings, "clusters do not vary in their human labels: the interval allows for some that do")
		} else {
			r.Warnings = append(r.Warnings, rareEvents{label: unseen}.warnings(len(s.y))...)
		}
	} else if r.Lambda > 0 {
		w := r.Lambda
		r.SE = math.Sqrt(r.SE*r.SE + w*w*rare.disagreement + (1-w)*(1-w)*rare.label)
	}
	r.CI = tInterval(r.Estimate, r.SE, r.DF, level)
	r.T = r.Estimate / r.SE
	r.P = 2 * tCDF(-math.Abs(r.T), r.DF)
	if alone > 0 {
		r.EffectiveLabels = float64(len(s.y)) * alone * alone / (r.SE * r.SE)
	}
}

// ratio returns the mean of values with a cluster-robust interval, which is
// undefined if they do not vary: labels need not be proportions.
func (s labelled) ratio(values []float64, of []int, level float64) (Ratio, error) {
	num, den := sumByCode(values, nil, of, s.clusters)
	r, err := RatioOfSums(num, den, level)
	if !(r.SE > 0) {
		r.CI = undefinedInterval(level)
	}
	return r, err
}

// weight is the judge's λ that makes the variance smallest. With fewer than two
// unlabelled items, or three labelled ones, or constant labels, there is nothing to
// gain.
func (s labelled) weight(rare rareEvents) float64 {
	n, rest := float64(len(s.y)), float64(len(s.rest))
	if n < 3 || rest < 2 {
		return 0
	}
	my, mf := mean(s.y), mean(s.f)
	spread := sumSquares(s.f, mf)
	if negligible(math.Sqrt(spread), mf) || negligible(math.Sqrt(sumSquares(s.y, my)), my) {
		return 0
	}
	slope := covariation(s.y, s.f, my, mf) / spread
	disagreement, label := rare.disagreement*n*n/spread, rare.label*n*n/spread
	return math.Max(0, math.Min(1, (slope+label)/(1+n/rest+disagreement+label)))
}

// contributions are those of the clusters to the error of the estimate, in order of
// appearance.
func (s labelled) contributions(lambda float64) []float64 {
	parts := make([]float64, s.clusters)
	n := float64(len(s.y))
	corrected := make([]float64, len(s.y))
	for i := range corrected {
		corrected[i] = s.y[i] - lambda*s.f[i]
	}
	m := mean(corrected)
	for i, g := range s.ofY {
		parts[g] += (corrected[i] - m) / n
	}
	if lambda > 0 {
		m, rest := mean(s.rest), float64(len(s.rest))
		for i, g := range s.ofOther {
			parts[g] += lambda * (s.rest[i] - m) / rest
		}
	}
	return parts
}
