package procedure

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A Table is the columns of a CSV file that a procedure was given, by role.
type Table struct {
	columns map[string][]Column
}

// A Column is one column's cells as text.
type Column struct {
	Name  string
	file  string
	cells []string
	lines []int32 // where each cell stood
}

// Column gives the column of a role, or false where it was left out.
func (t Table) Column(role string) (Column, bool) {
	cs := t.columns[role]
	if len(cs) == 0 {
		return Column{}, false
	}
	return cs[0], true
}

// Columns gives the columns of a role that takes many.
func (t Table) Columns(role string) []Column { return t.columns[role] }

// Len is the number of rows.
func (c Column) Len() int { return len(c.cells) }

func (c Column) wrong(i int, expected string) error {
	return fmt.Errorf("%s:%d: column %q is %s, expected %s", c.file, c.lines[i], c.Name, quoted(c.cells[i]), expected)
}

// Numbers reads finite numbers.
func (c Column) Numbers() ([]float64, error) {
	return cells(c, func(s string) (float64, bool) {
		x, err := strconv.ParseFloat(s, 64)
		return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
	}, "a number")
}

// NumbersWithGaps reads numbers; empty cells and NA are NaN.
func (c Column) NumbersWithGaps() ([]float64, error) {
	return cells(c, func(s string) (float64, bool) {
		if noValue(s) {
			return math.NaN(), true
		}
		x, err := strconv.ParseFloat(s, 64)
		return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
	}, "a number or nothing")
}

// Ints reads whole numbers.
func (c Column) Ints() ([]int, error) {
	return cells(c, func(s string) (int, bool) {
		x, err := strconv.ParseFloat(s, 64)
		return int(x), err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53
	}, "a whole number")
}

// Binaries reads outcomes.
func (c Column) Binaries() ([]bool, error) {
	return cells(c, func(s string) (bool, bool) {
		b, ok := binaryWords[s]
		return b, ok
	}, "0 or 1")
}

// Labels reads text; an empty cell is refused.
func (c Column) Labels() ([]string, error) {
	return cells(c, func(s string) (string, bool) { return s, s != "" }, "a label")
}

// LabelsWithGaps reads text; empty cells and NA are "".
func (c Column) LabelsWithGaps() []string {
	out := slices.Clone(c.cells)
	for i, s := range out {
		if noValue(s) {
			out[i] = ""
		}
	}
	return out
}

// json writes the column as a list of numbers or, where text is allowed and not
// all cells are numbers, of labels.
func (c Column) json(gaps, text bool) (jsontext.Value, error) {
	numbers := c.Numbers
	if gaps {
		numbers = c.NumbersWithGaps
	}
	xs, err := numbers()
	switch {
	case err == nil:
		return encode(xs)
	case !text:
		return nil, err
	case !gaps:
		labels, err := c.Labels()
		if err != nil {
			return nil, err
		}
		return encode(labels)
	}
	labels := make([]*string, c.Len())
	for i, l := range c.LabelsWithGaps() {
		if l != "" {
			labels[i] = &l
		}
	}
	return encode(labels)
}

func noValue(s string) bool { return s == "" || s == "NA" }

func cells[T any](c Column, read func(string) (T, bool), expected string) ([]T, error) {
	out := make([]T, len(c.cells))
	for i, s := range c.cells {
		var ok bool
		if out[i], ok = read(s); !ok {
			return nil, c.wrong(i, expected)
		}
	}
	return out, nil
}

// ReadTable reads the columns a procedure needs from CSV with a header. cols
// assigns them: "role=column", or column names in the order of the roles.
func ReadTable(r io.Reader, file string, roles []Role, cols []string) (Table, error) {
	d := csv.NewReader(r)
	d.ReuseRecord = true
	header, err := d.Read()
	if errors.Is(err, io.EOF) {
		return Table{}, fmt.Errorf("%s: empty; the first line must name the columns", file)
	}
	if err != nil {
		return Table{}, fmt.Errorf("%s: %w", file, err)
	}
	header = slices.Clone(header)
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if slices.Contains(header[:i], header[i]) {
			return Table{}, fmt.Errorf("%s:1: two columns are called %q", file, header[i])
		}
	}
	bound, err := bind(header, file, roles, cols)
	if err != nil {
		return Table{}, err
	}
	return readRows(d, file, header, bound)
}

// A binding is one column of the file and the role it was given.
type binding struct {
	role   string
	column int
}

func bind(header []string, file string, roles []Role, cols []string) ([]binding, error) {
	var bound []binding
	taken := map[string]bool{}
	next := 0
	for _, col := range cols {
		role, name, named := strings.Cut(col, "=")
		if !named {
			name = col
			for next < len(roles) && taken[roles[next].Name] && !roles[next].Many {
				next++
			}
			if next == len(roles) {
				return nil, fmt.Errorf("--cols: no use for column %q: the method takes %s", name, roleNames(roles))
			}
			role = roles[next].Name
		}
		i := slices.IndexFunc(roles, func(r Role) bool { return r.Name == role })
		if i < 0 {
			return nil, fmt.Errorf("--cols: %q is no role of this method, which takes %s", role, roleNames(roles))
		}
		if taken[role] && !roles[i].Many {
			return nil, fmt.Errorf("--cols: two columns for %q", role)
		}
		taken[role] = true
		k := slices.Index(header, strings.TrimSpace(name))
		if k < 0 {
			return nil, fmt.Errorf("%s:1: no column %q; there are %q", file, name, header)
		}
		bound = append(bound, binding{role, k})
	}
	for _, r := range roles {
		if !taken[r.Name] && !r.Optional {
			return nil, fmt.Errorf("--cols: no column for %q (%s); the method takes %s", r.Name, r.Doc, roleNames(roles))
		}
	}
	return bound, nil
}

func readRows(d *csv.Reader, file string, header []string, bound []binding) (Table, error) {
	columns := make([]Column, len(bound))
	for k, b := range bound {
		columns[k] = Column{Name: header[b.column], file: file}
	}
	var lines []int32
	seen := map[string]string{} // equal cells share their text
	for {
		record, err := d.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Table{}, fmt.Errorf("%s: %w", file, err)
		}
		at, _ := d.FieldPos(0)
		lines = append(lines, int32(at))
		for k, b := range bound {
			text := strings.TrimSpace(record[b.column])
			if !utf8.ValidString(text) {
				return Table{}, fmt.Errorf("%s:%d: column %q is not valid UTF-8", file, at, columns[k].Name)
			}
			kept, ok := seen[text]
			if !ok {
				kept = strings.Clone(text)
				if len(seen) < 1<<16 {
					seen[kept] = kept
				}
			}
			columns[k].cells = append(columns[k].cells, kept)
		}
	}
	if len(lines) == 0 {
		return Table{}, fmt.Errorf("%s: no rows under the header", file)
	}
	t := Table{map[string][]Column{}}
	for k, b := range bound {
		columns[k].lines = lines
		t.columns[b.role] = append(t.columns[b.role], columns[k])
	}
	return t, nil
}

// fill sets the fields of a struct from the columns of their roles.
func (t Table) fill(roles []Role, input reflect.Value) error {
	for _, role := range roles {
		c, ok := t.Column(role.Name)
		if !ok {
			continue
		}
		values, err := c.read(role)
		if err != nil {
			return err
		}
		field := input.FieldByIndex(fieldNamed(input.Type(), role.Name))
		field.Set(reflect.ValueOf(values).Convert(field.Type()))
	}
	return nil
}

func fieldNamed(t reflect.Type, name string) []int {
	for _, f := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key == name {
			return f.Index
		}
	}
	panic("procedure: no field " + name + " in " + t.String())
}

// read gives a column's values as its role wants them.
func (c Column) read(r Role) (any, error) {
	switch {
	case r.Kind == Label && r.Missing:
		return c.LabelsWithGaps(), nil
	case r.Kind == Label:
		return c.Labels()
	case r.Kind == Binary:
		return c.Binaries()
	case r.Missing:
		return c.NumbersWithGaps()
	}
	return c.Numbers()
}
