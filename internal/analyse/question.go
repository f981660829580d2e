package analyse

import (
	"iter"
	"runtime"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/stats"
)

// A Question holds the study's settings for the analysis.
type Question struct {
	Study       Study
	Run         Run // counts are filled in
	Primary     []string
	Secondary   []string
	Comparisons []Pair
	Across      []Across // differences that are compared between levels of a factor
	Late        []string // arms added or changed after results had been shown
	Rejudged    []string // arms whose judge alone was changed after that
	// Unplanned are the arms and metrics of comparisons that were added, or made primary, after that.
	Unplanned [][3]string
	// Restratified is whether items came into other strata after that, and Regrouped whether into
	// other clusters or another split.
	Restratified, Regrouped bool
	// JudgesDiffer says how the judges of two arms differ, as the runs that the arms are of know.
	JudgesDiffer map[[2]string]string
	// ScorersDiffer says it likewise of the programs that score by metrics of the study.
	ScorersDiffer map[[2]string]string
	Calibration   *eval.Calibration
	// Family are the comparisons that are corrected together: two arms and a metric of
	// each, any of which would do for the rules. Nil, without rules, is the primary
	// comparisons on primary metrics.
	Family [][3]string
	// Limits are, by two arms and a metric, the values beside 0 that rules ask the interval of a
	// difference to exclude. NaN is one that is not known.
	Limits  map[[3]string][]float64
	Samples int // number of best and of worst trials shown per arm
	// A simulated study needs less. Overall leaves out results by stratum, NoEffect
	// the intervals of d.
	Overall, NoEffect bool
}

// Corrected reports whether a comparison is corrected together with others.
func (q Question) Corrected(p Pair, metric string) bool {
	if q.Family == nil {
		return p.Primary && slices.Contains(q.Primary, metric)
	}
	return slices.Contains(q.Family, [3]string{p.A, p.B, metric}) || slices.Contains(q.Family, [3]string{p.B, p.A, metric})
}

// beyond is the largest p-value of the hypotheses that the difference of a comparison is one of the
// limits of rules; 0 without limits. Values that are not below alpha are 1.
func (q Question) beyond(a, b, metric string, f stats.Reading) (p float64) {
	at := func(limit float64) {
		from := func(level float64) stats.Interval {
			ci := f.Interval(level)
			return stats.Interval{Low: ci.Low - limit, High: ci.High - limit, Level: level}
		}
		if ci := from(1 - q.Study.Alpha); !(ci.Low > 0 || ci.High < 0) {
			p = 1
		} else if p < 1 {
			p = max(p, stats.Excluding(from))
		}
	}
	for _, limit := range q.Limits[[3]string{a, b, metric}] {
		at(limit)
	}
	for _, limit := range q.Limits[[3]string{b, a, metric}] {
		at(-limit)
	}
	return p
}

// level is that of an interval that is not corrected for others.
func (q Question) level() float64 { return 1 - q.Study.Alpha }

// draws are those of a bootstrap, of which each result has its own.
func (q Question) draws(level float64, stratum *eval.Level, names ...string) stats.BootstrapOptions {
	return stats.BootstrapOptions{Resamples: q.Study.Resamples, Level: level, Seed: seed(q.Run.Seed, stratum, names...), Workers: runtime.GOMAXPROCS(0)}
}

// A Pair is two arms to compare.
type Pair struct {
	A, B    string
	Primary bool
	Family  string   // of primary pairs that are corrected together
	Metrics []string // empty: the primary and secondary ones
	Strata  []string // metrics that are compared by stratum too; nil: the first
	// Contrast marks a pair chosen by the suite, which is compared over all items
	// and not by stratum.
	Contrast bool
}

// Of reports whether the pair is of two arms, either way round.
func (p Pair) Of(a, b string) bool { return p.A == a && p.B == b || p.A == b && p.B == a }

// Sources holds what an analysis needs beyond the fractions.
type Sources struct {
	Calls    []eval.ArmCalls
	Cuts     []eval.ArmCuts
	Mixed    []eval.ArmSettings // of arms whose answers are to requests with different settings, in order
	Versions []eval.ArmVersion
	Models   map[string][]string // by arm, the names of the models that answered, as the requests had them
	JudgedBy []eval.ArmVersion   // the versions of the judges' models
	Prices   []eval.ArmPrice     // of calls, by arm, model and price
	// Latencies of the arms that made calls; nil omits them.
	Latencies []eval.ArmLatency
	// Show returns the exhibit of a trial.
	Show  func(eval.Trial) (eval.Exhibit, error)
	Asked *Asked
	NoRun []string // arms that take the answers of a tag which no run had
	// Ratings are those of a judge that people measured; nil: none.
	Ratings *Ratings
	Cases   iter.Seq2[eval.Case, error]
	Report  func(eval.Results) ([]eval.Block, error) // nil: the suite has no tables or figures
	// Pick picks the samples; nil: the best and worst by the first primary metric.
	Pick func(cases iter.Seq2[eval.Case, error], few int) ([]eval.Picked, error)
}
