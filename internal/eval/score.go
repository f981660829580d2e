package eval

// A Score is a fraction: accuracy is x/1, a rate is hits/opportunities, micro
// F1 is 2TP/(2TP+FP+FN). Sums of fractions aggregate, resample by cluster and
// get intervals without knowing the suite.
type Score struct {
	Unit   string // field, edge, claim, span; "" for the whole trial
	Metric string
	Num    float64
	Den    float64 // > 0, but for an unscored entry
	// Unscored says why there is no fraction; such entries are counted, never
	// averaged.
	Unscored string
}

// Scored is a trial, what came of it, and what it scored. A trial that failed
// has no scores. Where it comes from a sequence, Scores is good only until the
// next one.
type Scored struct {
	Trial   Trial
	Outcome Outcome
	Scores  []Score
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
	Binary         bool // every fraction is 0/1 or 1/1, a no or a yes: intervals are those of proportions
}
