package report

import (
	"encoding/json"
	"io"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/gate"
)

// A Format is one way to render a report to a file.
type Format struct {
	Name   string
	Ext    string // file extension, with the dot
	Render func(io.Writer, Report) error
}

// Formats lists the formats of report files. The terminal format is plain and 80
// columns wide; [Terminal] takes options.
func Formats() []Format {
	return []Format{
		{"markdown", ".md", Markdown},
		{"json", ".json", JSON},
		{"html", ".html", HTML},
		{"terminal", ".txt", func(w io.Writer, r Report) error {
			return Terminal(w, r, TerminalOptions{})
		}},
	}
}

// JSON writes the analysis and the verdict as one indented object, or a list of
// trials. The verdict is null for a study without rules.
func JSON(w io.Writer, r Report) error {
	if err := r.check(); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // for readability: it is not HTML
	var whole any = struct {
		Analysis *analyse.Analysis `json:"analysis"`
		Verdict  *gate.Verdict     `json:"verdict"`
	}{r.Analysis, r.Verdict}
	if r.Trials {
		shown := []eval.Exhibit{}
		for _, x := range r.Analysis.Samples {
			shown = append(shown, x.Show)
		}
		whole = shown
	}
	return written("the report as JSON", enc.Encode(whole))
}

// A Document is a text with tables, such as an appendix.
type Document struct {
	Title string
	Parts []Part
}

// A Part is a heading with paragraphs, texts that stay as they are written, a table, a figure, or
// what was asked of arms and judges. Each may be empty.
type Part struct {
	Heading  string
	Prose    []string
	Verbatim string
	Written  string // Markdown of people
	Table    *eval.Table
	Figure   *eval.Figure // written as its table
	Asked    []analyse.Party
}

// WriteDocument writes a document as Markdown. alpha is that of the study of its figures.
func WriteDocument(w io.Writer, d Document, alpha float64) error {
	b := newBuilder(Report{Analysis: &analyse.Analysis{Study: analyse.Study{Alpha: alpha}}})
	var m markdown
	m.heading(1, d.Title)
	for _, p := range d.Parts {
		if p.Heading != "" {
			m.heading(2, p.Heading)
		}
		m.para(plain, p.Prose...)
		if p.Verbatim != "" {
			m.verbatim("", p.Verbatim)
		}
		if p.Written != "" {
			m.b.WriteString(p.Written + "\n\n")
		}
		if p.Table != nil {
			m.table(suiteTable(*p.Table, alpha))
		}
		switch f := p.Figure; {
		case f == nil:
		case f.Cells != nil:
			m.table(b.grid(*f))
		default:
			renderBlock(&m, block{Figure: b.figure(*f)}) // none without points
		}
		if len(p.Asked) > 0 {
			m.table(b.partyTable(p.Asked))
			for _, x := range promptsOf(p.Asked) {
				m.verbatim(x.Title, x.Text)
			}
		}
	}
	return put(w, d.Title, m.b.String())
}
