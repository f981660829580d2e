package eval

// A Score is a fraction: accuracy is x/1, a rate is hits/opportunities, micro
// F1 is 2TP/(2TP+FP+FN). Sums of fractions aggregate, resample by cluster and
// get intervals without knowing the suite. Of a metric with an estimator it is
// a row of observations instead.
type Score struct {
	// Replicate is the trial that is scored; 0 scores the case as a whole, such
	// as the majority of its replicates.
	Replicate int    `json:"-"`
	Unit      string // field, edge, claim, span; "" for the whole trial
	Metric    string
	Num       float64
	Den       float64 // > 0, except for a row and for an unscored entry
	Row       Row     `json:"-"` // nil for a fraction
	// Unscored says why there is no score; such entries are counted, never
	// averaged.
	Unscored string
}

// A Row is one observation of an estimator, such as the labels of two raters
// for one unit, or a probability and whether the event happened. The metric
// says what its columns are; NaN is a missing value. Labels are numbers.
type Row []float64

// Scored is a case and what it scored: first the scores of each replicate that
// did not fail, in the order of the case's trials, then those of the case as a
// whole. Where it comes from a sequence, Scores is valid only until the next
// one.
type Scored struct {
	Case
	Scores []Score
}

// Kind tells metrics that may decide from metrics that may only explain.
type Kind string

// The kinds of metric. A gate that names an analysis metric is a
// configuration error.
const (
	Scoring  Kind = "scoring"
	Analysis Kind = "analysis"
)

// Pooling says how a metric's fractions become one number for an arm.
type Pooling string

// The ways to pool.
const (
	// MeanOfItems: each item's ratio of sums first, then the mean over items,
	// so that an item counts once however many units it has.
	MeanOfItems Pooling = "mean of items"
	// RatioOfSums: all numerators over all denominators.
	RatioOfSums Pooling = "ratio of sums"
	// ByEstimator: the metric's Estimate of all rows.
	ByEstimator Pooling = "estimator"
)

// A Metric documents itself; help, schema, reports and gates are made from it.
type Metric struct {
	Name           string
	Title          string
	Doc            string // one or two sentences
	Formula        string
	Source         string // the paper, standard or specification it comes from
	Min, Max       float64
	HigherIsBetter bool
	Kind           Kind
	Pooling        Pooling
	Binary         bool // every fraction is 0/1 or 1/1: intervals are those of proportions
	// Estimate computes the metric from rows (kappa, AUROC, calibration error);
	// nil for fractions. It is pure, must not keep or change the rows, and gives
	// NaN where it is undefined. Its interval resamples clusters of items.
	Estimate func(rows []Row) float64
}
