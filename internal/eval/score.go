package eval

// A Score is a fraction: accuracy is x/1, a rate is hits/opportunities, micro
// F1 is 2TP/(2TP+FP+FN). Aggregates, cluster resamples and intervals need only
// sums of fractions and no knowledge of the suite. For a metric with an estimator
// it is a row of observations instead. An answer without an entry of a metric has nothing
// to count, 0/0: it neither helps nor harms its arm. What is not known must be an entry
// that is unscored.
type Score struct {
	// Replicate is the scored trial; 0 scores the whole case, such as the majority
	// of its replicates.
	Replicate int     `json:"-"`
	Unit      string  `json:"unit,omitzero"` // field, edge, claim, span; "" for the whole trial
	Metric    string  `json:"metric"`
	Num       float64 `json:"num"`
	Den       float64 `json:"den"` // > 0, except for a row
	Row       Row     `json:"-"`   // nil for a fraction
	// Unscored is the reason for a missing score. Such entries are counted but not
	// averaged: rules must hold whatever these scores are. Den is how many opportunities
	// have no score; 0 stands for as many as other answers to the item have.
	Unscored string `json:"unscored,omitzero"`
	// Least and Most are the rows that the entry would add to those of an estimator if it
	// were the lowest and the highest possible. Without them no rule can read the metric.
	Least, Most Row `json:"-"`
}

// A Fraction is a sum of scores.
type Fraction struct{ Num, Den float64 }

// Plus adds a score.
func (f Fraction) Plus(num, den float64) Fraction { return Fraction{f.Num + num, f.Den + den} }

// JudgeFailed is the reason for scores that are missing because the judge failed its
// calibration.
const JudgeFailed = "the judge failed its calibration"

// A Row is one observation of an estimator, such as the labels of two raters
// for one unit, or a probability and whether the event happened. The metric
// defines the columns; NaN is a missing value. Labels are numbers.
type Row []float64

// Scored is a case with its scores: first those of each replicate that did not
// fail, in the order of the case's trials, then those of the whole case. If it
// comes from a sequence, Scores is valid only until the next iteration.
type Scored struct {
	Case
	Scores []Score
}

// Kind distinguishes metrics that may decide from metrics that only explain.
type Kind string

// The kinds of metric. An analysis metric in a gate is a configuration error.
const (
	Scoring  Kind = "scoring"
	Analysis Kind = "analysis"
)

// Pooling is how a metric's fractions become one number for an arm.
type Pooling string

// The kinds of pooling.
const (
	// MeanOfItems: each item's ratio of sums first, then the mean over items,
	// so that an item counts once however many units it has.
	MeanOfItems Pooling = "mean of items"
	// RatioOfSums: all numerators over all denominators.
	RatioOfSums Pooling = "ratio of sums"
	// ByEstimator: the metric's Estimate of all rows.
	ByEstimator Pooling = "estimator"
)

// JudgeUse is how a metric depends on the verdicts of an arm's judges, if it has any, or on the
// scorer of the study.
type JudgeUse string

// The ways to depend on a judge. What a metric counts of units that were judged is
// corrected by what people say of them.
const (
	NoJudge   JudgeUse = ""
	JudgeYes  JudgeUse = "yes"    // a judged unit counts if the judge says yes
	JudgeNo   JudgeUse = "no"     // a judged unit counts if the judge says no
	JudgeElse JudgeUse = "other"  // in another way
	ByScorer  JudgeUse = "scorer" // no judge: the scorer of the study or a file of the arm gives it
)

// Judged reports whether the metric depends on judges.
func (u JudgeUse) Judged() bool { return u != NoJudge && u != ByScorer }

// A Metric includes its documentation, from which help, schema and reports are
// generated.
type Metric struct {
	Name           string
	Title          string
	Doc            string // one or two sentences
	Formula        string
	Source         string // paper, standard or specification
	Min, Max       float64
	HigherIsBetter bool
	NoDirection    bool // neither higher nor lower is better: it describes
	Kind           Kind
	Pooling        Pooling
	Judge          JudgeUse
	Binary         bool   // every fraction counts yes-or-no outcomes, k of n: intervals are those of proportions
	Unit           string // what the units of its scores are, such as "edge", if they are the same for many items and are added up
	Emits          bool   // the denominator counts what an answer says: it may have some where others have none
	Priced         bool   // it counts US dollars by the prices of models
	Counts         bool   // every score is a number of events without a bound: upper limits allow for several in a case
	// Estimate computes the metric from rows (kappa, AUROC, calibration error);
	// nil for fractions. It is pure, must not keep or change the rows, and
	// returns NaN if undefined. Its interval resamples clusters of items.
	// It depends on how often each row occurs, not on their order.
	Estimate func(rows []Counted) float64
	// Parts is the number of numbers in a part of a row, if the estimate depends only on how often
	// parts occur, in whatever rows; 0: a row is one part.
	Parts int
	// Whole says that the estimate also depends on which parts all the data have: it is given those
	// that a resample lacks, with an N of 0.
	Whole bool
}

// A Counted is a row, or a part of one, with the number of times that it occurs in a resample, and
// in all the data.
type Counted struct {
	Row
	N, All float64
}

// Once lists the parts of rows, of so many numbers each or of all, each once.
func Once(rows []Row, parts int) (list []Counted) {
	for _, r := range rows {
		width := parts
		if width == 0 {
			width = len(r)
		}
		for ; len(r) >= width && len(r) > 0; r = r[width:] {
			list = append(list, Counted{r[:width], 1, 1})
		}
	}
	return list
}
