package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/text"
)

// Columns are the columns of a table by the names that a reader knows.
type Columns struct {
	Table *Table

	at    map[string]int // by known name
	other []int          // the columns that the reader does not know
}

// Names say how the known columns are called in a file.
type Names struct {
	Known []string
	Keys  []string // known ones that [Table.Gaps] looks at
	// File has the name in the file by the known name, where they differ; "" says that
	// the file does not have the column.
	File map[string]string
	// Remedy says what to do about a column whose name is like a known one.
	Remedy func(known, found string) string
}

// Bind finds the known columns. A name of the file that it does not have is a fault, with
// the known name; so is, with "", a column with nearly the name of a known one that would
// else be ignored, and a value of a known column that is no text, number, boolean or list.
func (t *Table) Bind(n Names, fault func(known string, err error)) *Columns {
	c := &Columns{Table: t, at: map[string]int{}}
	taken := map[int]bool{}
	var missing []string // known ones that the file may have under another name
	for _, known := range n.Known {
		name, named := n.File[known]
		if named && name == "" {
			continue
		}
		if !named {
			name = known
		}
		i := slices.Index(t.Header, name)
		switch {
		case i >= 0:
			c.at[known], taken[i] = i, true
		case named:
			fault(known, fmt.Errorf("%s has no column %q%s; the columns are %s", t.File, name, text.DidYouMean(name, t.Header), text.Shorten(strings.Join(t.Header, ", "), 400)))
		default:
			missing = append(missing, known)
		}
	}
	for i, name := range t.Header {
		if taken[i] {
			continue
		}
		c.other = append(c.other, i)
		if k := slices.IndexFunc(missing, func(known string) bool { return like(name, known) }); k >= 0 {
			fault("", fmt.Errorf("%s: column %q is not %q: %s", t.headerPlace(i), name, missing[k], n.Remedy(missing[k], name)))
		}
	}
	var keys []string
	for _, known := range n.Keys {
		if i, ok := c.at[known]; ok {
			keys = append(keys, t.Header[i])
		}
	}
	if err := t.Gaps(keys, nil); err != nil {
		fault("", err)
	}
	for _, r := range t.Rows {
		for _, known := range n.Known {
			if i, ok := c.at[known]; ok && r.Cells[i].kind == nested {
				want := "a string, number, boolean or list, not an object"
				if strings.HasPrefix(r.Cells[i].Text, "[") {
					want = "a list of strings, numbers or booleans"
				}
				fault("", t.Errorf(r, i, "%s: want %s", known, want))
			}
		}
	}
	return c
}

// like reports whether a name is nearly that of a known column. Short names have too many
// neighbours.
func like(name, known string) bool {
	const short = 3
	_, near := text.Nearest(name, []string{known})
	return Letters(name) == Letters(known) || near && len(known) > short
}

// Letters are those of a name without case and separators.
func Letters(name string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
}

// Top says where the header is, or the file for JSON, which has none.
func (t *Table) Top() string { return t.headerPlace(-1) }

func (t *Table) headerPlace(column int) string {
	if t.top.Line == 0 { // JSON
		return t.File
	}
	return t.Place(t.top, column)
}

// Gap reports whether a text is what programs write where a value is missing.
func Gap(s string) bool {
	return slices.Contains([]string{"", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null"}, s)
}

// Gaps is an error about columns whose values are names, such as those of clusters, or labels, such as
// gold, if CSV or a workbook has marks of missing values in them: all rows with one would have the same
// name. JSON has null for that. None, of Python, is a word that labels have.
func (t *Table) Gaps(names, labels []string) error {
	if t.text != nil && t.comma == 0 {
		return nil
	}
	var errs []error
	for i, name := range t.Header {
		isName := slices.Contains(names, name)
		if !isName && !slices.Contains(labels, name) {
			continue
		}
		var first Row
		more := -1
		for _, r := range t.Rows {
			if s := r.Text(i); s != "" && (Gap(s) || isName && s == "None") {
				if more++; more == 0 {
					first = r
				}
			}
		}
		if more < 0 {
			continue
		}
		also := ""
		if more > 0 {
			also = " (and in " + text.Plural(more, "row more", "rows more") + ")"
		}
		errs = append(errs, t.Errorf(first, i, `%s is %q, as programs write a missing value%s: empty the cell, in R with write.csv(…, na = ""); if %[2]q is meant, rename it, or use JSON Lines`, name, first.Text(i), also))
	}
	return errors.Join(errs...)
}

// Has reports whether the table has a known column.
func (c *Columns) Has(known string) bool { _, ok := c.at[known]; return ok }

// Cell returns the value of a known column, which is empty if the table does not have it.
func (c *Columns) Cell(r Row, known string) Cell {
	if i, ok := c.at[known]; ok {
		return r.Cells[i]
	}
	return Cell{}
}

// Text returns the value of a known column as text: a list of JSON has its items between
// commas.
func (c *Columns) Text(r Row, known string) string {
	cell := c.Cell(r, known)
	if cell.kind == list {
		return strings.Join(c.Table.List(cell), ",")
	}
	return cell.Text
}

// ID returns the value of a known column as an id: that of a number of JSON is a [dataset.ID].
func (c *Columns) ID(r Row, known string) string {
	cell := c.Cell(r, known)
	if cell.kind != number {
		return c.Text(r, known)
	}
	var id dataset.ID
	_ = id.UnmarshalJSON([]byte(cell.Text)) // a number is one
	return string(id)
}

// Errorf is an error about the value of a known column, or about the row.
func (c *Columns) Errorf(r Row, known, format string, args ...any) error {
	i, ok := c.at[known]
	if !ok {
		i = -1
	}
	return c.Table.Errorf(r, i, format, args...)
}

// A Value is a value of a column that the reader does not know.
type Value struct{ Column, Text string }

// Others returns the values of the other columns of a row that are not empty.
func (c *Columns) Others(r Row) (list []Value) {
	for _, i := range c.other {
		if s := r.Text(i); s != "" {
			list = append(list, Value{c.Table.Header[i], s})
		}
	}
	return list
}

// OtherNames lists the columns that the reader does not know.
func (c *Columns) OtherNames() (names []string) {
	for _, i := range c.other {
		names = append(names, c.Table.Header[i])
	}
	return names
}
