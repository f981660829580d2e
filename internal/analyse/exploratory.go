package analyse

import (
	"math"
	"slices"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/study"
	"github.com/scruple-eval/scruple/stats"
)

// Exploratory reports whether the results of the run only describe, because prompts are
// changed until they look good on its items, or on some of them in a study without a split.
// Everything that shows or uses results asks this method.
func (r Run) Exploratory() bool { return r.Split == study.SplitDev || r.Split == "" && r.Dev > 0 }

// OnDev reports whether the run is on the split DEV: it decides nothing. A run without a
// split that has items of DEV decides what needs no test.
func (r Run) OnDev() bool { return r.Split == study.SplitDev }

// Retry is the command that asks failed trials again. Those of TEST, whose results are
// shown, need a reason.
func (r Run) Retry() string {
	const command = "scruple run --retry-failed"
	if r.Split == study.SplitTest {
		return command + ` --unblind "…"`
	}
	return command
}

// Descriptive is the method of the comparisons of an exploratory run.
const Descriptive = "descriptive: DEV is for exploring, so no test is made"

// describe compares two arms without a test.
func (r *Comparison) describe(m matched, metric *eval.Metric) error {
	const level = 0.95 // no interval is kept
	robust, err := stats.RatioDifference(m.numA, m.denA, m.numB, m.denB, level)
	if err != nil {
		return err
	}
	r.MeanA, r.MeanB, r.Diff, r.Clusters = Number(robust.A), Number(robust.B), Number(robust.Diff), robust.Clusters
	if metric.Pooling == eval.RatioOfSums {
		return nil
	}
	items, err := stats.PairedT(m.xs, m.ys, level)
	r.D = Number(items.DZ)
	return err
}

// onlyDescribe removes from an exploratory analysis whatever could be read as a test.
func (a *Analysis) onlyDescribe() {
	u := Undefined()
	for i := range a.Comparisons {
		c := &a.Comparisons[i]
		c.Reading = Unread(c.Diff, Descriptive)
		c.Level, c.T, c.DF, c.DLow, c.DHigh, c.Beside = u, u, u, u, u, nil
	}
	a.Models = nil
}

// describing are the results of an exploratory run for a suite: they have no tests, and are no
// [eval.Panel] or [eval.Associator].
type describing struct{ eval.Results }

func (d describing) SameRate(arms, _ []string) []float64 {
	return slices.Repeat([]float64{math.NaN()}, len(arms))
}
