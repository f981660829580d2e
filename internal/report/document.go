package report

import (
	"io"
	"strconv"

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
	Written  string // Markdown of people, without HTML
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
		if p.Written != "" {
			m.written(p.Written)
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

// WriteDocuments writes documents as one page of HTML, with alpha as in [WriteDocument].
func WriteDocuments(w io.Writer, title string, documents []Document, alpha float64) error {
	b := newBuilder(Report{Analysis: &analyse.Analysis{Study: analyse.Study{Alpha: alpha}}})
	c := content{Title: title}
	for i, d := range documents {
		s := section{ID: "document-" + strconv.Itoa(i), Title: d.Title}
		if i == 0 {
			s.ID = "answer" // the link at the top of every page
		}
		for _, p := range d.Parts {
			s.Blocks = append(s.Blocks, block{Heading: p.Heading})
			for _, text := range p.Prose {
				s.Blocks = append(s.Blocks, block{Prose: text})
			}
			s.Blocks = append(s.Blocks, block{Verbatim: p.Verbatim}, block{Written: p.Written})
			if p.Table != nil {
				s.Blocks = append(s.Blocks, block{Table: suiteTable(*p.Table, alpha)})
			}
			if p.Figure != nil {
				s.Blocks = append(s.Blocks, block{Figure: b.figure(*p.Figure)})
			}
		}
		c.Sections = append(c.Sections, s)
	}
	page, err := pageOf(c)
	if err == nil {
		_, err = w.Write(page)
	}
	return written(title, err)
}
