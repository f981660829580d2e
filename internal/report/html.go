package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/say"
)

//go:embed report.tmpl
var reportTemplate string

//go:embed report.css
var reportStyle string

//go:embed report.js
var reportScript string

// page is parsed at first use, not at program start.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"show":    say.Visible,
		"exact":   say.Exactly,
		"prose":   prose,
		"percent": percent,
		"place":   coordinate,
		"outline": graphOutline,
		"state":   graphState,
		"states":  func() []string { return graphStates },
		"align":   align,
		"spoken":  spoken,
		"folded":  func(b block) bool { return b.In == inFull },
		"inHTML":  func(b block) bool { return b.In != inText && b.In != briefly },
	}).Parse(reportTemplate))
})

// A run of prose is words, or code.
type run struct {
	Text string
	Code bool
}

// ourCommand is a command in a sentence of ours. Other backticks belong to data, which
// must not make elements.
var ourCommand = regexp.MustCompile("`(scruple [^`]*)`")

// prose divides a sentence at commands between backticks.
func prose(s string) (list []run) {
	at := 0
	for _, m := range ourCommand.FindAllStringSubmatchIndex(s, -1) {
		list = append(list, run{Text: s[at:m[0]]}, run{s[m[2]:m[3]], true})
		at = m[1]
	}
	return append(list, run{Text: s[at:]})
}

// figureSpace is as wide as a digit.
const figureSpace = "\u2007"

// HTML writes the whole report as one self-contained page: no other file, no
// network, and one small script to filter samples, without which the page also
// works.
func HTML(w io.Writer, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	c := newContent(r)
	b, err := pageOf(c)
	if err == nil && len(b) > maxHTML && !r.Trials && lighten(&c, len(b)) { // requested trials are shown whole
		b, err = pageOf(c)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	return written("the report as HTML", err)
}

// maxHTML is the size above which a page shows less of its samples: a browser opens it
// at once, and it can be sent by mail.
const maxHTML = 3_000_000

// pageOf renders a page.
func pageOf(c content) ([]byte, error) {
	var b bytes.Buffer
	err := page().Execute(&b, struct {
		content
		Style  template.CSS
		Script template.JS
		Policy string
	}{c, template.CSS(reportStyle), template.JS(reportScript), policy()})
	return b.Bytes(), err
}

// lighten leaves out of the samples of a page what takes the most room: first the pages as a
// whole, of which excerpts stay, and then every second sample of each arm. However large the
// rest of the page is, samples have a quarter of maxHTML. It reports whether it left out any.
func lighten(c *content, page int) (done bool) {
	for _, s := range c.Sections {
		for _, b := range s.Blocks {
			if b.Samples == nil {
				continue
			}
			size := b.Samples.size()
			room := max(maxHTML-(page-size), maxHTML/4)
			for ; size > room && len(b.Samples.List) > 0; size = b.Samples.size() {
				done = true
				if b.Samples.withoutWhole() {
					s.Blocks[0].Prose += " Whole pages are left out to keep this file small: the command shows them too."
					continue
				}
				b.Samples.half()
				left := "Some"
				if len(b.Samples.List) == 0 {
					left = "All"
				}
				s.Blocks[0].Prose = left + " samples are left out to keep this file small. `scruple show STUDY ITEM ARM` shows any trial."
			}
		}
	}
	return done
}

// policy allows only the page's own styles and script, so that text is harmless
// even if escaping fails.
func policy() string {
	hash := sha256.Sum256([]byte(reportScript))
	return "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; form-action 'none'"
}

// align pads the numbers of a table to align their decimal points.
func align(t *table) *table {
	for j, c := range t.Columns {
		if c.Align != point {
			continue
		}
		rows := filter(t.Rows, func(r row) bool { return r.Cells != nil })
		for i, lacking := range say.Tails(mapped(rows, func(r row) string { return r.Cells[j].Text })) {
			rows[i].Cells[j].lacking = lacking
		}
	}
	return t
}

// Long reports whether the title has a word that must be broken to fit, such as the name
// of an arm.
func (c column) Long() bool {
	return slices.ContainsFunc(strings.Fields(c.Title), func(word string) bool { return utf8.RuneCountInString(word) > 15 })
}

// Many reports whether a table has so many columns that they must be narrow.
func (t *table) Many() bool { return len(t.Columns) > 8 }

// Pad returns the text after a number that aligns it.
func (c cell) Pad() string { return strings.Repeat(figureSpace, c.lacking) }

// spoken describes a row of a chart for readers who do not see it.
func spoken(r row, t *table) string {
	parts := []string{tagged(say.Visible, r.Cells[0])}
	for j, c := range r.Cells[1:] {
		parts = append(parts, t.Columns[j+1].Title+" "+c.Text)
	}
	return strings.Join(parts, ", ")
}

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
	return fragment("trial", b.sample(analyse.Sample{Show: x}, 1))
}

// Judges returns the accuracy of the judges of an analysis as a part of a page, or "".
func Judges(a *analyse.Analysis) (template.HTML, error) {
	if len(a.Judges) == 0 {
		return "", nil
	}
	return fragment("table", newBuilder(Report{Analysis: a}).judges())
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
	return fragment("answers", []answer{newBuilder(Report{Analysis: &only}).sentence(c)})
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
	s := newBuilder(Report{Analysis: &analyse.Analysis{}}).sample(analyse.Sample{Show: eval.Exhibit{Pages: pages}}, 1)
	s.TwoAnswers = true
	return fragment("document", s)
}

func fragment(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := page().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), written("a part of a report", err) // escaped by the template
}

// graphStates are the states of nodes and edges, in the order of the key.
var graphStates = []string{"found", "missing", "spurious", "wrong type", "broken"}

// graphState is the class of a state.
func graphState(state string) string {
	if !slices.Contains(graphStates, state) {
		return "g-other"
	}
	return "g-" + strings.ReplaceAll(state, " ", "-")
}

// graphOutline describes a graph for readers who do not see it.
func graphOutline(g *eval.Graph) string {
	nodes, edges := map[string]int{}, map[string]int{}
	for _, n := range g.Nodes {
		nodes[n.State]++
	}
	for _, e := range g.Edges {
		edges[e.State]++
	}
	tally := func(counts map[string]int) string {
		var parts []string
		for _, s := range graphStates {
			if counts[s] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
			}
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprintf("Graph of %s (%s) and %s (%s)", say.Plural(len(g.Nodes), "atom", "atoms"), tally(nodes), say.Plural(len(g.Edges), "edge", "edges"), tally(edges))
}
