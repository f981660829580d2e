package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// A definition is the documentation of a metric.
type definition struct {
	analyse.Metric
	Facts []fact
}

// methods is the last section: definitions, methods and provenance for reviewers.
func (b *builder) methods() section {
	return section{ID: "methods", Title: "Methods", InTerm: never, Blocks: []block{
		{Heading: "Metrics"}, {Metrics: b.definitions()},
		{Heading: "Intervals and tests"}, {List: b.inference()},
		{Heading: "Counts"}, {List: b.counts()},
		{Heading: "Exclusions"}, {List: b.exclusions()},
		{Heading: "Reproduction"}, {List: b.provenance()}, {Code: b.commands()},
	}}
}

func (b *builder) definitions() []definition {
	var ds []definition
	for _, m := range b.metrics() {
		ds = append(ds, definition{m, []fact{
			{Name: "Range", Value: metricRange(m)},
			{Name: "Direction", Value: strings.ToLower(strings.TrimSuffix(direction(m), "."))},
			{Name: "Pooling", Value: cmp.Or(poolings[m.Pooling], string(m.Pooling))},
			{Name: "Rank", Value: strings.Join(nonEmpty(m.Rank, analysisOnly(m)), "; ")},
		}})
	}
	return ds
}

func metricRange(m analyse.Metric) string {
	end := func(n analyse.Number, otherwise string) string {
		if n.Defined() {
			return say.Short(float64(n))
		}
		return otherwise
	}
	return end(m.Min, "unbounded") + " to " + end(m.Max, "unbounded")
}

var poolings = map[eval.Pooling]string{
	eval.MeanOfItems: "mean of items: each item counts once, however many units it has",
	eval.RatioOfSums: "ratio of sums: all numerators over all denominators",
	eval.ByEstimator: "estimator of all rows of all items",
}

// analysisOnly describes metrics that no gate may name.
func analysisOnly(m analyse.Metric) string {
	if m.Kind == eval.Analysis {
		return "not for decisions"
	}
	return ""
}

// inference describes the methods for intervals and tests, as named by the
// analysis.
func (b *builder) inference() []string {
	const undefined = "A value or interval that is undefined is shown as " + say.Dash + " with the reason, never as 0. pp: percentage points."
	if b.a.Run.Exploratory() {
		return []string{"DEV is for exploring: no test is made, and differences have no interval. Intervals of single arms are " + b.ci + "s.", undefined}
	}
	lines := []string{
		"Significance level α = " + strconv.FormatFloat(b.a.Study.Alpha, 'f', -1, 64) + "; every interval is a " + b.ci + ".",
		"Method: " + cmp.Or(b.a.Study.Method, say.Dash) + beside(b.a.Study.Beside) + "; correction for the number of comparisons: " + cmp.Or(b.a.Study.Correction, say.Dash) + ".",
	}
	for _, method := range nonEmpty(factors(b.a.Estimates, func(e analyse.Estimate) string { return e.Method })...) {
		lines = append(lines, "Intervals of estimates: "+method+".")
	}
	for _, method := range nonEmpty(factors(b.a.Comparisons, func(c analyse.Comparison) string { return c.Method })...) {
		lines = append(lines, "Comparisons: "+method+".")
	}
	if i := slices.IndexFunc(b.a.Comparisons, b.simultaneous); i >= 0 {
		of := "Intervals of the primary comparisons on the primary metrics cover all their differences at once: each at "
		if b.a.Comparisons[i].Family != "" {
			of = "Intervals of the primary comparisons of a family, such as “" + b.a.Comparisons[i].Family + "”, cover all their differences at once: in it each at "
		}
		lines = append(lines, of+say.WithUnit(say.Short(100*float64(b.a.Comparisons[i].Level)), say.NBSP+"%")+".")
	}
	return append(lines, undefined,
		"“No evidence of a difference” does not mean that two arms are equal: the interval shows which differences are compatible with the data.")
}

func (b *builder) counts() []string {
	r := b.a.Run
	lines := []string{
		say.Plural(r.Items, "item", "items") + ", " + say.Plural(len(b.a.Arms), "arm", "arms") + ", " +
			say.Plural(r.Replicates, "replicate", "replicates") + "; " + say.Plural(r.Planned, "trial", "trials") + " planned, " + say.Count(r.Done) + " done, " + say.Count(r.Failed) + " failed.",
	}
	if len(r.Strata) > 0 {
		lines = append(lines, "Items by stratum: "+counted(r.Strata)+".")
	}
	for _, arm := range b.a.Arms {
		if len(arm.Versions) > 0 {
			lines = append(lines, "Model versions that answered in "+arm.ID+", as reported by the provider: "+counted(arm.Versions)+".")
		}
	}
	return lines
}

func (b *builder) exclusions() []string {
	r := b.a.Run
	lines := []string{"Failed trials: " + say.Count(r.Failed) + ". They have no answer and are not scored. The study does not decide if more than " +
		say.WithUnit(say.Shifted(r.MaxFailed, 2, 1), say.NBSP+"%") + " fail."}
	lines = append(lines, "Missing scores: a rule must hold whatever they are, and is undecided if more than "+
		say.WithUnit(say.Shifted(b.a.Study.MaxUnscored, 2, 1), say.NBSP+"%")+" of an arm and metric are missing.")
	for _, arm := range b.a.Arms {
		if arm.Failed > 0 {
			lines = append(lines, "Failed in "+arm.ID+": "+say.Count(arm.Failed)+" of "+say.Count(arm.Planned)+withReasons(arm)+".")
		}
	}
	for _, e := range b.a.Estimates {
		if e.Stratum == nil && e.Unscored > 0 {
			lines = append(lines, "Unscored: "+say.Plural(e.Unscored, "entry", "entries")+" of "+b.metric(e.Metric).Title+" in "+e.Arm+" ("+say.WithUnit(say.Shifted(float64(e.UnscoredShare), 2, 1), say.NBSP+"%")+"): "+counted(e.Reasons)+".")
		}
	}
	for _, c := range b.a.Comparisons {
		if c.Stratum == nil && c.Unpaired > 0 {
			lines = append(lines, "Unpaired: "+say.Plural(c.Unpaired, "item", "items")+" in "+c.A+minusBetween+c.B+" on "+
				b.metric(c.Metric).Title+", with a value for only one arm.")
		}
	}
	return lines
}

func withReasons(arm analyse.Arm) string {
	if len(arm.Reasons) == 0 {
		return ""
	}
	return " (reasons of all outcomes other than ok: " + counted(arm.Reasons) + ")"
}

func (b *builder) provenance() []string {
	study := "Study " + b.a.Study.Name
	if b.a.Study.Version != "" {
		study += ", version " + b.a.Study.Version
	}
	return []string{
		study + ", suite " + b.a.Study.Suite + ".",
		"Run " + b.a.Run.ID + ", seed " + strconv.FormatInt(b.a.Run.Seed, 10) + ", scruple " + b.a.Run.Version + ", format " + b.a.Format + ".",
		"STUDY.yaml is the study file. Only run calls models; the other commands use stored answers and cost nothing.",
	}
}

func (b *builder) commands() []string {
	return []string{
		"scruple validate STUDY.yaml",
		"scruple plan STUDY.yaml",
		"scruple run STUDY.yaml",
		"scruple score STUDY.yaml",
		"scruple gate STUDY.yaml",
		"scruple report STUDY.yaml",
	}
}

// beside names the tests that are shown and decide nothing.
func beside(tests []string) string {
	if len(tests) == 0 {
		return ""
	}
	return "; beside it " + strings.Join(tests, ", ")
}
