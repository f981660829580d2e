package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/scruple-eval/scruple/internal/say"
)

// A Table is a suite's own table, as shown in reports.
type Table struct {
	Name    string   `json:"name"` // stable, for exports
	Title   string   `json:"title"`
	Note    string   `json:"note,omitempty"`
	Columns []string `json:"columns"`
	Rows    [][]Cell `json:"rows"`
	// Summary marks findings in brief, which a report shows with its answer.
	Summary bool `json:"summary,omitempty"`
}

// Tables reads the words of a suite's tables, which are JSON that is part of the program, at
// the first use. It returns a table of a name without rows; with has what stands for names in
// braces.
func Tables(words []byte) func(name string, with ...string) *Table {
	read := sync.OnceValue(func() (all []Table) {
		if err := json.Unmarshal(words, &all); err != nil {
			panic("eval: reading the words of tables: " + err.Error())
		}
		return all
	})
	return func(name string, with ...string) *Table {
		i := slices.IndexFunc(read(), func(t Table) bool { return t.Name == name })
		if i < 0 {
			panic("eval: the words of tables have no table " + name)
		}
		t := read()[i]
		fill := strings.NewReplacer(with...)
		t.Title, t.Note, t.Columns = fill.Replace(t.Title), fill.Replace(t.Note), slices.Clone(t.Columns)
		return &t
	}
}

// Row adds a row.
func (t *Table) Row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Add adds a row of texts, counts, cells, and lists of cells, each of which has several.
func (t *Table) Add(values ...any) {
	var row []Cell
	for _, v := range values {
		switch v := v.(type) {
		case string:
			row = append(row, Text(v))
		case int:
			row = append(row, Count(v))
		case []Cell:
			row = append(row, v...)
		default:
			row = append(row, v.(Cell))
		}
	}
	t.Row(row...)
}

// Strings returns the cells as text, row by row, with plain spaces.
func (t *Table) Strings() [][]string {
	rows := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		for _, c := range r {
			rows[i] = append(rows[i], strings.ReplaceAll(c.String(), say.NBSP, " "))
		}
	}
	return rows
}

// A CellKind says what a cell is, and so how reports write it.
type CellKind string

// The kinds of cells.
const (
	KindText       CellKind = "text"
	KindCount      CellKind = "count"
	KindShare      CellKind = "share"      // 0 to 1, written in per cent
	KindRatio      CellKind = "ratio"      // three decimals
	KindDifference CellKind = "difference" // of ratios, with its sign
	KindNumber     CellKind = "number"     // four significant digits
	KindP          CellKind = "p"
	KindVerdict    CellKind = "verdict" // true, false or null if it is not known
)

// How verdicts are written.
const (
	VerdictTrue    = "+"
	VerdictFalse   = "-"
	VerdictUnknown = "?"
)

// A Cell is a value of a table. Suites give values, and reports write all of one kind
// alike: in JSON a text is a string, and any other cell an object with its numbers.
type Cell struct {
	Kind  CellKind
	Text  string
	Value Number // of a verdict 1 or 0
	// Low and High are the ends of an interval, undefined if there is none.
	Low, High Number
	Of        int // a count of so many, 0 if it is not a part
	// Why says why a value is undefined.
	Why string
	// Parts are the numbers in a text.
	Parts []Cell
}

// Text is a cell of words.
func Text(s string) Cell { return Cell{Kind: KindText, Text: s} }

// Textf is a sentence. Cells among its arguments are kept as its numbers.
func Textf(format string, args ...any) Cell {
	c := Text(fmt.Sprintf(format, args...))
	for _, a := range args {
		if part, ok := a.(Cell); ok {
			if part.Kind == KindText {
				c.Parts = append(c.Parts, part.Parts...)
				continue
			}
			c.Parts = append(c.Parts, part)
		}
	}
	return c
}

func of(kind CellKind, value Number) Cell {
	return Cell{Kind: kind, Value: value, Low: Undefined(), High: Undefined()}
}

// Count is a number of things, and CountOf one of so many.
func Count(n int) Cell { return of(KindCount, Number(n)) }

// CountOf is a number of so many things: 3 of 12.
func CountOf(n, all int) Cell {
	c := Count(n)
	c.Of = all
	return c
}

// Share is a share from 0 to 1.
func Share(x Number) Cell { return of(KindShare, x) }

// ShareOf is the share of n in so many things, undefined of none.
func ShareOf(n, all int) Cell {
	if all == 0 {
		return Share(Undefined())
	}
	return Share(Number(n) / Number(all))
}

// Ratio is a number with three decimals, such as an F1, and Difference is one of two.
func Ratio(x Number) Cell      { return of(KindRatio, x) }
func Difference(x Number) Cell { return of(KindDifference, x) }

// Quantity is a number of any size, such as an effect.
func Quantity(x Number) Cell { return of(KindNumber, x) }

// P is a p-value.
func P(x Number) Cell { return of(KindP, x) }

// Missing is a cell without a value, and the reason if there is one to give.
func Missing(kind CellKind, why string) Cell {
	c := of(kind, Undefined())
	c.Why = why
	return c
}

// Is is a verdict.
func Is(holds bool) Cell {
	if holds {
		return of(KindVerdict, 1)
	}
	return of(KindVerdict, 0)
}

// Texts are cells of words.
func Texts(list ...string) []Cell {
	cells := make([]Cell, len(list))
	for i, s := range list {
		cells[i] = Text(s)
	}
	return cells
}

// Within gives a number its interval.
func (c Cell) Within(low, high Number) Cell {
	c.Low, c.High = low, high
	return c
}

// MeasuredShare and MeasuredRatio are numbers with their intervals, undefined if they were not
// found.
func MeasuredShare(m Measured, found bool) Cell { return measured(KindShare, m, found) }
func MeasuredRatio(m Measured, found bool) Cell { return measured(KindRatio, m, found) }

func measured(kind CellKind, m Measured, found bool) Cell {
	if !found {
		return of(kind, Undefined())
	}
	return of(kind, m.Value).Within(m.Low, m.High)
}

// Number writes the value without its interval. alpha is the level at which p-values are
// judged, 0 if there is none.
func (c Cell) Number(alpha float64) string {
	switch c.Kind {
	case KindText:
		return c.Text
	case KindVerdict:
		switch c.Value {
		case 1:
			return VerdictTrue
		case 0:
			return VerdictFalse
		}
		return VerdictUnknown
	}
	switch {
	case !c.Value.Defined():
		return say.Dash
	case c.Kind == KindP:
		return say.P(c.Value, alpha)
	case c.Kind == KindNumber:
		return say.Significant(float64(c.Value), 4)
	case c.Kind == KindCount && c.Of > 0:
		return say.Count(int(c.Value)) + " of " + say.Count(c.Of)
	case c.Kind == KindCount:
		return say.Count(int(c.Value))
	}
	return c.scale().Value(c.Value, c.Kind == KindDifference)
}

// Interval writes the interval, "" without one.
func (c Cell) Interval() string {
	switch {
	case !c.Value.Defined() || !c.Low.Defined() || !c.High.Defined() || c.Kind == KindText || c.Kind == KindVerdict:
		return ""
	case c.Kind == KindNumber:
		return say.Significant(float64(c.Low), 4) + " to " + say.Significant(float64(c.High), 4)
	}
	return c.scale().Interval(c.Low, c.High, c.Kind == KindDifference)
}

func (c Cell) scale() say.Scale {
	if c.Kind == KindShare {
		return say.Scale{Percent: true, Decimals: 1}
	}
	return say.Scale{Decimals: 3}
}

// String writes the value with its interval on one line.
func (c Cell) String() string {
	s := c.Number(0)
	switch i := c.Interval(); {
	case i != "":
		s += " (" + i + ")"
	case c.Why != "":
		s += " (" + c.Why + ")"
	}
	return s
}

// cellJSON is the layout of a cell that is not a plain text.
type cellJSON struct {
	Kind  CellKind `json:"kind"`
	Text  string   `json:"text,omitempty"`
	Value any      `json:"value,omitzero"`
	Low   *Number  `json:"low,omitempty"`
	High  *Number  `json:"high,omitempty"`
	Of    int      `json:"of,omitempty"`
	Why   string   `json:"undefined,omitempty"`
	Parts []Cell   `json:"parts,omitempty"`
}

// MarshalJSON writes a text as a string and any other cell as an object.
func (c Cell) MarshalJSON() ([]byte, error) {
	j := cellJSON{Kind: c.Kind, Text: c.Text, Of: c.Of, Why: c.Why, Parts: c.Parts}
	switch c.Kind {
	case KindText, "":
		if c.Parts == nil {
			return EncodeJSON(c.Text)
		}
	case KindVerdict:
		j.Value = map[Number]any{1: true, 0: false}[c.Value]
		if j.Value == nil {
			j.Value = json.RawMessage("null")
		}
	default:
		j.Value = c.Value
		if c.Low.Defined() && c.High.Defined() {
			j.Low, j.High = &c.Low, &c.High
		}
	}
	return EncodeJSON(j)
}

// EncodeJSON encodes as people write: <, > and & are not escaped, so that what is sent and
// stored reads as it was written, and there is no line break at the end.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Cell) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*c = Cell{Kind: KindText}
		return json.Unmarshal(b, &c.Text)
	}
	j := cellJSON{}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*c = of(j.Kind, Undefined())
	c.Text, c.Of, c.Why, c.Parts = j.Text, j.Of, j.Why, j.Parts
	switch v := j.Value.(type) {
	case float64:
		c.Value = Number(v)
	case bool:
		c.Value = Is(v).Value
	}
	if j.Low != nil && j.High != nil {
		c.Low, c.High = *j.Low, *j.High
	}
	if c.Kind == KindText {
		c.Value, c.Low, c.High = 0, 0, 0
	}
	return nil
}
