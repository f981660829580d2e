package report

import (
	"bytes"
	"html/template"
	"slices"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

// The parts of reports that a viewer puts into its own pages. They have no styles of
// their own: the page must load [Style].

// Style is the style sheet of reports.
func Style() string { return reportStyle }

// Visible prepares a text for a page: it replaces control characters, and those that
// reorder text, by visible symbols.
func Visible(s string) string { return say.Visible(s) }

// Body returns a report as a part of a page, without the samples. The short form has
// what a terminal shows: no details, no breakdown, no methods.
func Body(r Report, short bool) (template.HTML, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	c := newContent(r)
	c.Sections = slices.DeleteFunc(c.Sections, func(s section) bool {
		return s.ID == "samples" || short && slices.Contains([]string{"breakdown", "methods", "asked"}, s.ID)
	})
	for i := range c.Sections {
		if short {
			c.Sections[i].Blocks = slices.DeleteFunc(c.Sections[i].Blocks, func(b block) bool { return b.Detail })
		}
	}
	return fragment("body", aligned(c))
}

// Trial returns a trial as a part of a page: its document with marks beside gold, answer
// and scores. The metrics give scores their titles.
func Trial(x eval.Exhibit, metrics []analyse.Metric) (template.HTML, error) {
	b := newBuilder(Report{Analysis: &analyse.Analysis{Metrics: metrics}})
	s := b.sample(analyse.Sample{Show: x}, 1)
	alignTable(s.Rows)
	type unitSegment struct {
		segment
		Units string // labels of all marks that cover it, a line each
	}
	type page struct {
		Number   int
		Segments []unitSegment
	}
	var pages []page
	for _, p := range x.Pages {
		shown, at := page{Number: p.Number}, 0
		marks := within(p.Text, p.Marks)
		for _, s := range split(p.Text, p.Marks) {
			u := unitSegment{segment: s}
			for _, m := range marks {
				if s.Marked() && m.Start <= at && at+len(s.Text) <= m.End && m.Label != "" {
					u.Units += m.Label + "\n"
				}
			}
			at += len(s.Text)
			shown.Segments = append(shown.Segments, u)
		}
		pages = append(pages, shown)
	}
	return fragment("trial", struct {
		sample
		Pages []page
	}{s, pages})
}

// Judges returns the accuracy of the judges of an analysis as a part of a page, or "".
func Judges(a *analyse.Analysis) (template.HTML, error) {
	if len(a.Judges) == 0 {
		return "", nil
	}
	b := newBuilder(Report{Analysis: a})
	t := b.judges()
	alignTable(t)
	return fragment("table", t)
}

// Compared returns the comparisons of an analysis on one metric as a part of a page, or
// "". Those of other arms are left out.
func Compared(a *analyse.Analysis, x, y, metric string) (template.HTML, error) {
	only := *a
	only.Comparisons = filter(a.Comparisons, func(c analyse.Comparison) bool {
		return c.Metric == metric && c.Stratum == nil && (c.A == x && c.B == y || c.A == y && c.B == x)
	})
	if len(only.Comparisons) == 0 {
		return "", nil
	}
	b := newBuilder(Report{Analysis: &only})
	var list []answer
	for _, c := range only.Comparisons {
		list = append(list, b.sentence(c))
	}
	return fragment("answers", list)
}

func fragment(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := page().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), written("a part of a report", err) // escaped by the template
}
