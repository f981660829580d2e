package synthetic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/text"
)

// typeOf is the type by which the shipped schemas compare values of a kind.
func typeOf(kind string) text.Type {
	switch kind {
	case "date", "later", "birth":
		return text.Date
	case "money", "till", "small":
		return text.Money
	case "id", "email", "phone":
		return text.ID
	}
	return text.String
}

// prove checks gold against the text: the quote of a present field is verbatim on its
// page and contains the value, and nothing else in the document has the label of the
// field; the candidates of an ambiguous field are different and in the text; the text
// has no label of a missing field.
func (w *writer) prove(d *Document) error {
	index, err := text.NewIndex(d.Text)
	if err != nil {
		return err
	}
	for i, f := range w.kind.Fields {
		g, t := &d.Truth[i], typeOf(f.Kind)
		fault := func(format string, args ...any) error {
			return fmt.Errorf("field %s: %s", g.Field, fmt.Sprintf(format, args...))
		}
		switch {
		case g.Field != f.Name:
			return fault("gold is of field %s", f.Name)
		case g.Ambiguous:
			if len(g.Candidates) < 2 || text.Equal(t, g.Candidates[0], g.Candidates[1]) {
				return fault("the candidates %q are not different", g.Candidates)
			}
			for _, c := range g.Candidates {
				if !strings.Contains(d.Text, c) {
					return fault("candidate %q is not in the text", c)
				}
			}
		case g.Exists:
			if !strings.Contains(pageOf(index, d.Text, g.Page), g.Quote) || !strings.Contains(d.Text, g.Quote) {
				return fault("quote %q is not on page %d", g.Quote, g.Page)
			}
			shown := g.Acceptable[len(g.Acceptable)-1]
			if !strings.Contains(g.Quote, shown) || !text.Equal(t, shown, g.Correct) {
				return fault("quote %q does not show %q", g.Quote, g.Correct)
			}
			if n := w.labelled(d.Text, f.Name); n > 1 {
				return fault("%d lines have its label", n)
			}
		default:
			if n := w.labelled(d.Text, f.Name); n > 0 {
				return fault("it is missing, but %d lines have its label", n)
			}
		}
	}
	return nil
}

func pageOf(x *text.Index, doc string, number int) string {
	i := slices.IndexFunc(x.Pages(), func(p text.Page) bool { return p.Number == number })
	if i < 0 {
		return ""
	}
	return doc[x.Pages()[i].Start:x.Pages()[i].End]
}

// labelled counts the lines that begin with a label of a field. Noise may hide some.
func (w *writer) labelled(doc, name string) int {
	var labels []string
	for _, template := range append(slices.Clone(w.kind.Templates), []string{w.kind.Again[name]}) {
		for _, line := range template {
			if before, _, ok := strings.Cut(line, "{"+name+"}"); ok && strings.TrimSpace(before) != "" {
				labels = append(labels, strings.ToLower(before))
			}
		}
	}
	n := 0
	for line := range strings.Lines(doc) {
		line = strings.ToLower(line)
		if slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(line, l) }) {
			n++
		}
	}
	return n
}
