package report

import (
	"strings"

	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/internal/text"
)

// A medium is a format of text: a terminal or Markdown. It lays out plain text and escapes it.
type medium interface {
	heading(level int, text string) // 1 for the title, 2 for a section
	para(t tone, texts ...string)   // each on lines of its own
	list(mark string, items []string)
	table(t *table)
	rules(v *verdict)
	verbatim(title, text string)
}

// renderContent writes a report, with the blocks that a medium shows. It returns how many tables
// it left out.
func renderContent(m medium, c content, shows ...shown) (left int) {
	m.heading(1, strings.TrimSpace(c.Title+" "+c.Version))
	m.para(muted, nonEmpty(c.Suite, c.Question)...)
	for _, line := range c.Banner {
		m.para(loud, line)
	}
	m.para(muted, strings.Join(told(c.Facts, ": "), "; "))
	m.list("-", told(c.Record, ": "))
	for _, s := range c.Sections {
		left += renderSection(m, s, shows...)
	}
	return left
}

func renderSection(m medium, s section, shows ...shown) (left int) {
	blocks, left := s.visible(shows...)
	if len(blocks) > 0 {
		m.heading(2, s.Title)
	}
	for _, b := range blocks {
		renderBlock(m, b)
	}
	return left
}

func renderBlock(m medium, b block) {
	switch {
	case b.Heading != "":
		m.heading(3, b.Heading)
	case b.Prose != "":
		m.para(plain, b.Prose)
	case b.Verdict != nil:
		renderVerdict(m, b.Verdict)
	case b.Warning != nil:
		m.para(unsure, "Warnings")
		m.list("!", b.Warning)
	case b.Table != nil:
		m.table(b.Table)
	case b.Figure != nil:
		m.table(b.Figure.Table)
	case b.Samples != nil:
		for _, x := range b.Samples.List {
			renderSample(m, x)
		}
	}
	for _, a := range b.Answers {
		m.para(a.Tone, tagged(say.PlainLine, a.cell()))
		m.list("!", a.Notes)
	}
	for _, p := range b.Prompts {
		const longest = 3000 // code points; HTML and JSON have more
		m.verbatim(p.Title, text.Shorten(p.Text, longest))
	}
	var metrics []string
	for _, d := range b.Metrics {
		metrics = append(metrics, d.sentence())
	}
	m.list("-", append(metrics, b.List...))
}

func renderVerdict(m medium, v *verdict) {
	m.para(v.Tone, v.line())
	m.list("", nonEmpty(v.Advice))
	m.list("-", v.Reasons)
	m.list("!", v.Warnings)
	m.list("-", evidence(v.Verdict))
	m.rules(v)
}

// renderSample writes a trial without its source pages.
func renderSample(m medium, x sample) {
	m.heading(3, tagged(say.PlainLine, x.Arm)+": "+x.Title)
	m.para(muted, strings.Join(append(nonEmpty(x.Score, "item "+x.Item), told(x.Facts, ": ")...), "; "))
	m.para(plain, nonEmpty(strings.Split(x.Lead, "\n")...)...)
	m.para(bad, nonEmpty(x.Why)...)
	if x.Why == "" || len(x.Rows.Rows) > 0 {
		m.table(x.Rows)
	}
	for _, step := range x.Steps {
		m.verbatim(step.Name, step.Text)
	}
	if x.Raw != "" {
		m.verbatim("Raw answer", x.Raw)
	}
}

// plainLines lists the lines of a text, safe to print and with their white space. A tab takes
// four columns.
func plainLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, say.PlainText(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")))
	}
	return lines
}
