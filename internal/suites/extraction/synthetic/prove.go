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
		g, t, labels := &d.Truth[i], typeOf(f.Kind), w.labelled(d.Text, f.Name)
		fault := func(format string, args ...any) error {
			return fmt.Errorf("field %s: %s", g.Field, fmt.Sprintf(format, args...))
		}
		away := slices.IndexFunc(g.Candidates, func(c string) bool { return !strings.Contains(d.Text, c) })
		shown := g.Acceptable[max(0, len(g.Acceptable)-1):] // as in the text
		switch {
		case g.Field != f.Name:
			return fault("gold is of field %s", f.Name)
		case g.Ambiguous && (len(g.Candidates) < 2 || text.Equal(t, g.Candidates[0], g.Candidates[1])):
			return fault("the candidates %q are not different", g.Candidates)
		case g.Ambiguous && away >= 0:
			return fault("candidate %q is not in the text", g.Candidates[away])
		case g.Ambiguous:
		case !g.Exists && labels > 0:
			return fault("it is missing, but %d lines have its label", labels)
		case !g.Exists:
		case !strings.Contains(d.Text, g.Quote) || !index.BeginsOn(g.Quote, g.Page):
			return fault("quote %q is not on page %d", g.Quote, g.Page)
		case !strings.Contains(g.Quote, shown[0]) || !text.Equal(t, shown[0], g.Correct):
			return fault("quote %q does not show %q", g.Quote, g.Correct)
		case labels > 1:
			return fault("%d lines have its label", labels)
		}
	}
	return nil
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
