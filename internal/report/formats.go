package report

import (
	"encoding/json"
	"io"
	"strconv"

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

// A Part is a heading with paragraphs, texts that stay as they are written, a table or a
// figure. Each may be empty.
type Part struct {
	Heading  string
	Prose    []string
	Verbatim string
	Written  string // Markdown of people, without HTML
	Table    *eval.Table
	Figure   *eval.Figure // written as its table
}

// section is a document as a part of a report.
func (d Document) section(id string, alpha float64) section {
	b := newBuilder(Report{Analysis: &analyse.Analysis{Study: analyse.Study{Alpha: alpha}}})
	s := section{ID: id, Title: d.Title}
	for _, p := range d.Parts {
		s.Blocks = append(s.Blocks, block{Heading: p.Heading})
		for _, text := range p.Prose {
			s.Blocks = append(s.Blocks, block{Prose: text})
		}
		s.Blocks = append(s.Blocks, block{Verbatim: p.Verbatim}, block{Written: p.Written})
		if p.Table != nil {
			s.Blocks = append(s.Blocks, block{Table: suiteTable(*p.Table, alpha)})
		}
		switch f := p.Figure; {
		case f == nil:
		case f.Cells != nil:
			s.Blocks = append(s.Blocks, block{Table: b.grid(*f)})
		default:
			s.Blocks = append(s.Blocks, block{Figure: b.figure(*f)})
		}
	}
	return s
}

// WriteDocument writes a document as Markdown. alpha is that of the study of its figures.
func WriteDocument(w io.Writer, d Document, alpha float64) error {
	var m markdown
	m.heading(1, d.Title)
	for _, b := range d.section("", alpha).Blocks {
		switch {
		case b.Heading != "":
			m.heading(2, b.Heading)
		case b.Verbatim != "":
			m.verbatim("", b.Verbatim)
		case b.Written != "":
			m.written(b.Written)
		default:
			renderBlock(&m, b)
		}
	}
	return put(w, d.Title, m.b.String())
}

// WriteDocuments writes documents as one page of HTML, with alpha as in [WriteDocument].
func WriteDocuments(w io.Writer, title string, documents []Document, alpha float64) error {
	c := content{Title: title}
	for i, d := range documents {
		id := "document-" + strconv.Itoa(i)
		if i == 0 {
			id = "answer" // the link at the top of every page
		}
		c.Sections = append(c.Sections, d.section(id, alpha))
	}
	page, err := pageOf(c)
	if err == nil {
		_, err = w.Write(page)
	}
	return written(title, err)
}
