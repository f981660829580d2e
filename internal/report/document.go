package report

import (
	"io"

	"github.com/scruple-eval/scruple/internal/analyse"
	"github.com/scruple-eval/scruple/internal/eval"
)

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
	Table    *eval.Table
	Figure   *eval.Figure // written as its table
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
		if p.Table != nil {
			m.table(suiteTable(*p.Table, alpha))
		}
		switch f := p.Figure; {
		case f == nil:
		case f.Cells != nil:
			m.table(b.grid(*f))
		default:
			m.table(b.seriesTable(*f))
		}
	}
	_, err := io.WriteString(w, m.b.String())
	return written(d.Title, err)
}
