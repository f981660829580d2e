package extraction

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/text"
)

// Units are the fields of the document's schema, those without gold included.
func (b *Bench) Units(item string) ([]string, error) {
	d, err := b.read(item, false)
	if err != nil {
		return nil, err
	}
	return d.schema.names(), nil
}

// Gold makes a line of a gold file, see [Documents]. The value and the quote must be
// valid as gold of the document.
func (b *Bench) Gold(item string, of []eval.UnitGold) ([]byte, error) {
	d, err := b.read(item, false)
	if err != nil {
		return nil, err
	}
	made := Document{ID: item, Schema: d.Schema, Text: d.Text}
	for _, u := range of {
		exists := !u.Missing
		g := Gold{Field: u.Unit, Exists: &exists, Quote: u.Quote, Page: u.Page}
		switch {
		case len(u.Values) > 1:
			g.Ambiguous = true
			for _, v := range u.Values {
				g.Candidates = append(g.Candidates, literal(v))
			}
		case len(u.Values) == 1:
			g.Correct = literal(u.Values[0])
		}
		made.Truth = append(made.Truth, g)
	}
	if err := made.check(d.schema, func(string) {}); err != nil {
		return nil, err
	}
	return json.Marshal(goldLine{item, made.Truth}, jsontext.EscapeForHTML(false))
}

// Same reports whether two people say the same values of a field, compared as the
// field's type.
func (b *Bench) Same(item string, x, y eval.UnitGold) (bool, error) {
	d, err := b.read(item, false)
	if err != nil {
		return false, err
	}
	i := d.schema.field(x.Unit)
	if i < 0 || x.Unit != y.Unit {
		return false, fmt.Errorf("document %s has no field %q", item, x.Unit)
	}
	if x.Missing || y.Missing {
		return x.Missing == y.Missing, nil
	}
	in := func(values []string) func(string) bool {
		return func(v string) bool {
			return slices.ContainsFunc(values, func(w string) bool { return text.Equal(d.schema.Fields[i].Type, v, w) })
		}
	}
	covers := func(values, other []string) bool {
		return !slices.ContainsFunc(values, func(v string) bool { return !in(other)(v) })
	}
	return covers(x.Values, y.Values) && covers(y.Values, x.Values), nil
}

// A goldLine is a line of a gold file: gold of a document that replaces its own.
type goldLine struct {
	ID    string `json:"document_id"`
	Truth []Gold `json:"ground_truth"`
}

// An overlay is the documents of a source that a gold file names, with its gold.
type overlay struct {
	source
	path  string
	lines *dataset.Lines
	at    []int // index in the source
	line  []int // index in the gold file
}

// overlaid reads the gold file and finds its documents in the source.
func overlaid(src source, path string) (*overlay, error) {
	gold, err := dataset.OpenLines(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data.gold: %s does not exist: people make it with `scruple annotate`, and its --lock writes it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("data.gold: %w", err)
	}
	o := &overlay{source: src, path: path, lines: gold}
	lineOf := map[string]int{}
	var buf []byte
	for i := range gold.Len() {
		var g goldLine
		if buf, err = gold.Read(i, buf); err == nil {
			err = dataset.DecodeStrict(buf, &g)
		}
		if _, twice := lineOf[g.ID]; twice && err == nil {
			err = fmt.Errorf("duplicate document_id %q", g.ID)
		}
		if err != nil {
			return nil, gold.Locate(i, err)
		}
		lineOf[g.ID] = i
	}
	for i := range src.Len() {
		d := Document{}
		if buf, err = src.read(i, buf, &d, withoutGold); err != nil {
			return nil, err
		}
		if line, ok := lineOf[d.ID]; ok {
			o.at, o.line = append(o.at, i), append(o.line, line)
			delete(lineOf, d.ID)
		}
	}
	if len(lineOf) > 0 {
		id := slices.Min(slices.Collect(maps.Keys(lineOf)))
		return nil, gold.Locate(lineOf[id], fmt.Errorf("the documents have no %q", id))
	}
	return o, nil
}

func (o *overlay) Len() int { return len(o.at) }

func (o *overlay) Locate(i int, err error) error { return o.source.Locate(o.at[i], err) }

func (o *overlay) Close() error {
	o.lines.Close()
	return o.source.Close()
}

func (o *overlay) read(i int, buf []byte, d *Document, options json.Options) ([]byte, error) {
	buf, err := o.source.read(o.at[i], buf, d, withoutGold)
	if err != nil {
		return buf, err
	}
	line, err := o.lines.Read(o.line[i], nil)
	if err != nil {
		return buf, err
	}
	g := goldLine{Truth: d.Truth[:0]}
	if err := dataset.DecodeStrict(line, &g, options); err != nil {
		return buf, o.lines.Locate(o.line[i], err)
	}
	d.Truth = g.Truth
	return buf, nil
}

// Ratings returns what the judge says of each quote that it was asked about: whether
// it shows the claimed value. Of several quotes for a field, all must.
func (b *Bench) Ratings(c eval.Case) []eval.Rating {
	d, err := b.document(c.Item)
	if err != nil {
		return nil
	}
	d = d.ready()
	var list []eval.Rating
	for t := range c.Answered() {
		from := len(list)
		ask := b.judge(t.Verdicts)
		b.assessWith(d, &t.Outcome, trustedJudge, func(p *point, c claim) opinion {
			o := ask(p, c)
			if o.failed != "" {
				return o
			}
			i := slices.IndexFunc(list[from:], func(r eval.Rating) bool { return r.Unit == p.field.Name })
			if i < 0 {
				list = append(list, eval.Rating{Trial: t.Trial, Unit: p.field.Name, Type: string(p.field.Type), Yes: o.score == 1})
			} else {
				list[from+i].Yes = list[from+i].Yes && o.score == 1
			}
			return o
		})
	}
	return list
}
