package extraction

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/extraction/synthetic"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// Units are the fields of the document's schema, those without gold included. Those of a list
// are one unit: its records.
func (b *bench) Units(item string) ([]string, error) {
	d, err := b.document(item)
	if err != nil {
		return nil, err
	}
	var units []string
	for _, name := range d.schema.names() {
		list, leaf, _ := strings.Cut(name, "[]")
		switch {
		case inList(leaf):
			return nil, fmt.Errorf("document %s: schema %s has lists in lists (%s), which people cannot fill in: write gold into the data, or let people judge the answers with a task of kind claim", item, d.schema.Name, name)
		case inList(name):
			name = list + "[]"
		}
		if !slices.Contains(units, name) {
			units = append(units, name)
		}
	}
	return units, nil
}

// Leaves are the fields of the records of a list.
func (b *bench) Leaves(item, unit string) (leaves []string, ok bool) {
	d, err := b.document(item)
	if err != nil || !strings.HasSuffix(unit, "[]") {
		return nil, false
	}
	for _, name := range d.schema.names() {
		if leaf, inside := strings.CutPrefix(name, unit+"."); inside {
			leaves = append(leaves, leaf)
		}
	}
	return leaves, len(leaves) > 0 || d.schema.field(unit) >= 0
}

// fieldOf returns a field of a document's schema; of lists, that of all their records.
func (b *bench) fieldOf(item, unit string) (Field, error) {
	d, err := b.document(item)
	if err != nil {
		return Field{}, err
	}
	i := d.schema.field(pattern(unit))
	if i < 0 {
		return Field{}, fmt.Errorf("document %s has no field %q", item, unit)
	}
	return d.schema.Fields[i], nil
}

// examples are values of types in the form that is read everywhere.
var examples = map[text.Type]string{text.Number: "1234.5", text.Integer: "12", text.Money: "USD 1234.50", text.Date: "2024-03-15", text.Boolean: "true"}

// About is what prompts say of a field, with an example.
func (b *bench) About(item, unit string) string {
	leaves, list := b.Leaves(item, unit)
	if len(leaves) > 0 {
		about := "A list, in any order. Each of its records has:"
		for _, leaf := range leaves {
			about += "\n" + leaf + ": " + strings.ReplaceAll(b.About(item, eval.Leaf(unit, leaf)), "\n", " ")
		}
		return about
	}
	f, err := b.fieldOf(item, unit)
	if err != nil {
		return ""
	}
	kind := string(f.Type)
	if len(f.Enum) > 0 {
		kind += ", one of " + strings.Join(f.Enum, " | ")
	} else if example := examples[f.Type]; example != "" {
		kind += ", such as " + example
	}
	about := strings.TrimLeft(f.Description+"\nType: "+kind, "\n")
	if list {
		about = "A list, in any order. Each of its values:\n" + about
	}
	return about
}

// Fits refuses a value that answers could only match as text.
func (b *bench) Fits(item, unit, value string) error {
	f, err := b.fieldOf(item, unit)
	if err != nil {
		return err
	}
	if wrong := text.Check(f.Type, value); wrong != nil {
		return fmt.Errorf("%q is no value of type %s (%w): write it such as %s; the passage keeps the words of the text", value, f.Type, wrong, examples[f.Type])
	}
	if len(f.Enum) > 0 && !slices.ContainsFunc(f.Enum, func(e string) bool { return text.Equal(f.Type, e, value) }) {
		return fmt.Errorf("%q is none of the values of the field: %s", value, strings.Join(f.Enum, ", "))
	}
	return nil
}

// Gold makes a line of a gold file, see [Documents]. The value and the quote must be
// valid as gold of the document.
func (b *bench) Gold(item string, of []eval.UnitGold) ([]byte, error) {
	d, err := b.document(item)
	if err != nil {
		return nil, err
	}
	made := Document{ID: item, Schema: d.Schema, Text: d.Text}
	for _, u := range b.flat(item, of) {
		exists := !u.Missing
		g := Gold{Field: u.Unit, Exists: &exists, Ambiguous: u.Ambiguous, Quote: u.Quote, Page: u.Page}
		switch {
		case u.Ambiguous:
			for _, v := range u.Values {
				g.Candidates = append(g.Candidates, literal(v))
			}
		case len(u.Values) == 1:
			g.Correct = literal(u.Values[0])
		}
		made.Truth = append(made.Truth, g)
	}
	if err := made.check(d.schema, goldRules{mayBeEmpty: len(of) > 0, plain: b.plain}, func(string) {}); err != nil { // a list can be empty
		return nil, err
	}
	return json.Marshal(goldLine{dataset.ID(item), made.Truth}, jsontext.EscapeForHTML(false))
}

// flat has a unit for each leaf of each record of lists. What a record has not, does not exist.
func (b *bench) flat(item string, of []eval.UnitGold) (list []eval.UnitGold) {
	for _, u := range of {
		leaves, ok := b.Leaves(item, u.Unit)
		if !ok {
			list = append(list, u)
			continue
		}
		if len(leaves) == 0 {
			leaves = []string{""}
		}
		for n, record := range u.Records {
			for _, leaf := range leaves {
				g := eval.UnitGold{Missing: true}
				if i := slices.IndexFunc(record, func(v eval.UnitGold) bool { return v.Unit == leaf }); i >= 0 {
					g = record[i]
				}
				g.Unit = eval.Leaf(fmt.Sprintf("%s[%d]", strings.TrimSuffix(u.Unit, "[]"), n), leaf)
				list = append(list, g)
			}
		}
	}
	return list
}

// Same reports whether two people say the same values of a field, compared as the
// field's type.
func (b *bench) Same(item string, x, y eval.UnitGold) (bool, error) {
	if _, list := b.Leaves(item, x.Unit); list && x.Unit == y.Unit {
		return b.sameRecords(item, x, y), nil
	}
	f, err := b.fieldOf(item, x.Unit)
	if err == nil && x.Unit != y.Unit {
		err = fmt.Errorf("the fields %q and %q are not the same", x.Unit, y.Unit)
	}
	if err != nil {
		return false, err
	}
	if x.Missing || y.Missing || x.Ambiguous != y.Ambiguous {
		return x.Missing && y.Missing, nil
	}
	covers := func(values, other []string) bool {
		set := text.NewSet(f.Type)
		for _, v := range other {
			set.Add(v)
		}
		return !slices.ContainsFunc(values, func(v string) bool { return !set.Has(v) })
	}
	return covers(x.Values, y.Values) && covers(y.Values, x.Values), nil
}

// sameRecords finds a partner for each record.
func (b *bench) sameRecords(item string, x, y eval.UnitGold) bool {
	left := slices.Clone(y.Records)
	for _, record := range x.Records {
		i := slices.IndexFunc(left, func(other []eval.UnitGold) bool {
			return len(other) == len(record) && !slices.ContainsFunc(record, func(v eval.UnitGold) bool {
				return !slices.ContainsFunc(other, func(o eval.UnitGold) bool {
					f, err := b.fieldOf(item, eval.Leaf(x.Unit, v.Unit))
					return err == nil && o.Unit == v.Unit && text.Equal(f.Type, v.Values[0], o.Values[0])
				})
			})
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// The columns of a checklist. A second person answers each point with yes or no; an
// empty cell is not checked yet.
var (
	checklistPoints = []string{"values_correct", "quotes_verbatim", "missing_absent", "ambiguous_valid", "pages_correct"}
	checklistHeader = slices.Concat([]string{"document_id", "type", "difficulty"}, checklistPoints, []string{"note"})
)

// writeChecklist writes an empty checklist.
func writeChecklist(w io.Writer, documents []*synthetic.Document) error {
	rows := [][]string{checklistHeader}
	for _, d := range documents {
		rows = append(rows, append([]string{d.ID, d.Schema, d.Difficulty}, make([]string, len(checklistPoints)+1)...))
	}
	data, err := table.CSV(rows)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// A verification is a filled-in row of a checklist.
type verification [5]byte // for each point 'y', 'n' or 0

// counts returns the points that were confirmed and those that were checked.
func (v verification) counts() (confirmed, checked int) {
	for _, point := range v {
		if point != 0 {
			checked++
		}
		if point == 'y' {
			confirmed++
		}
	}
	return confirmed, checked
}

// answers are what a point of a checklist can say.
var answers = map[string]byte{"": 0, "y": 'y', "yes": 'y', "n": 'n', "no": 'n'}

// readChecklist reads a checklist by document, or what people answered to its points as a
// task, exported as a table. The error lists all errors.
func readChecklist(t *table.Table, err error) (map[string]verification, error) {
	if err != nil {
		return nil, err
	}
	var errs []error
	// The answers that people export have other columns, too, and the document is the item.
	c := t.Bind(table.Names{Known: append([]string{"document_id", "item"}, checklistPoints...), Remedy: func(string, string) string { return "rename it" }},
		func(_ string, err error) { errs = append(errs, err) })
	document := "document_id"
	if !c.Has(document) {
		document = "item"
	}
	if !c.Has(document) || slices.ContainsFunc(checklistPoints, func(point string) bool { return !c.Has(point) }) {
		return nil, fmt.Errorf("%s: the columns are %q, want %q", t.Top(), strings.Join(t.Header, ","), strings.Join(checklistHeader, ","))
	}
	rows := map[string]verification{}
	for _, r := range t.Rows {
		id := c.Text(r, document)
		if _, dup := rows[id]; dup {
			errs = append(errs, t.Errorf(r, -1, "duplicate document %q", id))
		}
		var v verification
		for i, point := range checklistPoints {
			cell, ok := strings.ToLower(strings.TrimSpace(c.Text(r, point))), false
			if v[i], ok = answers[cell]; !ok {
				errs = append(errs, t.Errorf(r, -1, "%s is %q: write yes or no, or leave it empty until it is checked", point, clip(cell)))
			}
		}
		rows[id] = v
	}
	return rows, errors.Join(errs...)
}
