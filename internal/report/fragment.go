package report

import (
	"bytes"
	"html/template"
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

// The parts of reports that a viewer puts into its own pages. They have no styles of
// their own: the page must load [Style].

// Style is the style sheet of reports.
func Style() string { return reportStyle }

// Body returns a report as a part of a page, without the samples. The short form has
// what a terminal shows, and the drawings: no details, no breakdown, no methods.
func Body(r Report, short bool) (template.HTML, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	c := newContent(r)
	c.Sections = slices.DeleteFunc(c.Sections, func(s section) bool {
		return s.ID == "samples" || short && slices.Contains([]string{"breakdown", "methods", "asked"}, s.ID)
	})
	for i, s := range c.Sections {
		if short {
			drawings := 0
			c.Sections[i].Blocks = filter(s.Blocks, func(b block) bool {
				if b.Figure != nil {
					drawings++
				}
				return b.In == everywhere || b.In == drawn || b.Figure != nil && drawings == 1
			})
		}
	}
	return fragment("body", c)
}

// Trial returns a trial as a part of a page: its document with marks beside gold, answer
// and scores. The metrics give scores their titles.
func Trial(x eval.Exhibit, metrics []analyse.Metric) (template.HTML, error) {
	b := newBuilder(Report{Analysis: &analyse.Analysis{Metrics: metrics}})
	s := b.sample(analyse.Sample{Show: x}, 1)
	return fragment("trial", s)
}

// Judges returns the accuracy of the judges of an analysis as a part of a page, or "".
func Judges(a *analyse.Analysis) (template.HTML, error) {
	if len(a.Judges) == 0 {
		return "", nil
	}
	b := newBuilder(Report{Analysis: a})
	return fragment("table", b.judges())
}

// Compared returns what an analysis says of the difference x − y of two arms in a metric, as a
// part of a page, or "" if it does not compare them.
func Compared(a *analyse.Analysis, x, y, metric string) (template.HTML, error) {
	c, ok := a.Comparison(x, y, metric)
	if !ok {
		return "", nil
	}
	only := *a
	only.Comparisons = []analyse.Comparison{c}
	b := newBuilder(Report{Analysis: &only})
	return fragment("answers", []answer{b.sentence(c)})
}

// Headline is the first primary difference of an analysis on a primary metric, and how a list
// writes it; ok is false without one.
func Headline(a *analyse.Analysis) (c analyse.Comparison, said string, ok bool) {
	b := newBuilder(Report{Analysis: a})
	list := b.primaryComparisons()
	if len(list) == 0 {
		return c, "", false
	}
	c = list[0]
	scale := b.metric(c.Metric).Scale()
	said = scale.Value(c.Diff, true)
	if c.Low.Defined() && c.High.Defined() {
		said += " (" + scale.Interval(c.Low, c.High, true) + ")"
	}
	return c, said, true
}

// Spent is what the calls of a run cost, "" without calls.
func Spent(a *analyse.Analysis) string {
	if a.Total == nil || a.Total.Calls+a.Total.JudgeCalls == 0 {
		return ""
	}
	return atLeast(a.Total.CostUSD+a.Total.JudgeCostUSD, a.Total.Unpriced+a.Total.JudgeUnpriced)
}

// Other is the kind of a mark of another answer than the one that is shown.
const Other = "other"

// Marked returns the pages of a text with the marks of the answers A and B, whose marks are of
// the kind [Other], as a part of a page, "" without pages.
func Marked(pages []eval.ExhibitPage) (template.HTML, error) {
	if len(pages) == 0 {
		return "", nil
	}
	b := newBuilder(Report{Analysis: &analyse.Analysis{}})
	s := b.sample(analyse.Sample{Show: eval.Exhibit{Pages: pages}}, 1)
	s.TwoAnswers = true
	return fragment("document", s)
}

func fragment(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := page().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), written("a part of a report", err) // escaped by the template
}
