package procedure

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/table"
)

// A column is one column's cells as text.
type column struct {
	role  string
	name  string
	cells []string
	place func(row int) string
}

// asInput makes the input of a case of columns: each role's column, or list of
// columns, under the role's name.
func asInput(columns []column, roles []Role) (jsontext.Value, error) {
	input := map[string]any{}
	for _, role := range roles {
		var values [][]jsontext.Value
		for _, c := range columns {
			if c.role != role.Name {
				continue
			}
			v, err := c.values(role)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
			if role.Named {
				input[c.name] = v
			}
		}
		if role.Names != "" && values != nil {
			input[role.Names] = columnsOf(columns, role)
		}
		switch {
		case role.Named || values == nil:
		case role.ByRow:
			input[role.Name] = transposed(values)
		case role.Many:
			input[role.Name] = values
		default:
			input[role.Name] = values[0]
		}
	}
	return json.Marshal(input)
}

func columnsOf(columns []column, role Role) []string {
	var names []string
	for _, c := range columns {
		if c.role == role.Name {
			names = append(names, c.name)
		}
	}
	return names
}

func transposed[T any](columns [][]T) [][]T {
	rows := make([][]T, len(columns[0]))
	for i := range rows {
		for _, c := range columns {
			rows[i] = append(rows[i], c[i])
		}
	}
	return rows
}

// values are a column's cells as JSON.
func (c column) values(role Role) ([]jsontext.Value, error) {
	kind := role.Kind
	if kind == Either {
		kind = Label
		v, err := c.values(Role{Kind: Numeric, Missing: role.Missing})
		if err == nil {
			return v, nil
		}
		if c.commas() {
			return nil, err
		}
	}
	values := make([]jsontext.Value, len(c.cells))
	for i, s := range c.cells {
		if role.Missing && (s == "" || s == "NA") {
			values[i] = jsontext.Value("null")
			continue
		}
		v, expected := kind.value(s)
		if expected != "" {
			if role.Missing {
				expected += " or nothing"
			}
			return nil, fmt.Errorf("%s: column %q is %s, expected %s", c.place(i), c.name, quoted(s), expected)
		}
		values[i] = v
	}
	return values, nil
}

// commas reports whether all cells are numbers, some with decimal commas: they are
// not labels.
func (c column) commas() bool {
	some := false
	for _, s := range c.cells {
		if decimalComma.MatchString(s) {
			some = true
			continue
		}
		if _, err := strconv.ParseFloat(s, 64); err != nil && s != "" && s != "NA" {
			return false
		}
	}
	return some
}

// value converts a cell to JSON, or returns what was expected.
func (k Kind) value(s string) (v jsontext.Value, expected string) {
	switch k {
	case Binary:
		b, ok := binaryWords[textLabel(s)]
		if !ok {
			return nil, "0 or 1"
		}
		return strconv.AppendBool(nil, b), ""
	case Label:
		v, err := jsontext.AppendQuote(nil, textLabel(s))
		if err != nil || s == "" {
			return nil, "a label"
		}
		return v, ""
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		if decimalComma.MatchString(s) {
			return nil, "a number: " + commaRemedy
		}
		return nil, "a number"
	}
	return strconv.AppendFloat(nil, x, 'g', -1, 64), ""
}

// decimalComma is a number with commas, whose meaning is not guessed: 1,234 may be
// less than 2 or more than a thousand.
var decimalComma = regexp.MustCompile(`^[-+−]?[0-9.]*[0-9],[0-9][0-9,.]*$`)

// asciiMinus writes a number with the minus sign of programs, since numbers pasted
// from reports have the typographic one (U+2212).
func asciiMinus(s string) string {
	if !strings.Contains(s, "−") {
		return s
	}
	plain := strings.ReplaceAll(s, "−", "-")
	if _, err := strconv.ParseFloat(plain, 64); err != nil {
		return s
	}
	return plain
}

const commaRemedy = "write it with a decimal point and without separators of thousands"

// readTable reads the columns a procedure needs. cols assigns them: "role=column", or
// column names in the order of the roles.
func readTable(r io.Reader, file string, roles []Role, cols []string) ([]column, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	t, err := table.Parse(file, "", data)
	if err != nil {
		return nil, err
	}
	bound, err := bind(t.Header, t.Top(), roles, cols)
	if err != nil {
		return nil, err
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("%s: no rows under the header", file)
	}
	columns := make([]column, len(bound))
	for k, b := range bound {
		c := column{role: b.role, name: t.Header[b.column], cells: make([]string, len(t.Rows)), place: func(i int) string { return t.Place(t.Rows[i], b.column) }}
		for i, row := range t.Rows {
			c.cells[i] = asciiMinus(row.Text(b.column))
		}
		columns[k] = c
	}
	return columns, nil
}

// A binding is one column of the file and the role it was given.
type binding struct {
	role   string
	column int
}

func bind(header []string, top string, roles []Role, cols []string) ([]binding, error) {
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
				return nil, fmt.Errorf("--cols: unexpected column %q: the method takes %s", name, roleNames(roles))
			}
			role = roles[next].Name
		}
		i := slices.IndexFunc(roles, func(r Role) bool { return r.Name == role })
		if i < 0 {
			return nil, fmt.Errorf("--cols: unknown role %q: the method takes %s", role, roleNames(roles))
		}
		if taken[role] && !roles[i].Many {
			return nil, fmt.Errorf("--cols: two columns for %q", role)
		}
		taken[role] = true
		k := slices.Index(header, strings.TrimSpace(name))
		if k < 0 {
			return nil, fmt.Errorf("%s: no column %q; the columns are %q", top, name, header)
		}
		bound = append(bound, binding{role, k})
	}
	for _, r := range roles {
		if !taken[r.Name] && !r.Optional {
			return nil, fmt.Errorf("--cols: missing column for %q (%s); the method takes %s", r.Name, r.Doc, roleNames(roles))
		}
	}
	return bound, nil
}

// RunTable computes the result of params and the columns of a table, as
// [readTable] reads them. The result begins with the column of each role, so that
// a reader need not guess which of two arms a difference is in favour of.
func (p Procedure) RunTable(r io.Reader, file string, cols []string, params jsontext.Value) (Result, error) {
	columns, err := readTable(r, file, p.Columns, cols)
	if err != nil {
		return nil, err
	}
	input, err := asInput(columns, p.Columns)
	if err != nil {
		return nil, err
	}
	result, err := p.Run(params, input)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", p.Name, file, err)
	}
	roles := Result{}
	for _, role := range p.Columns {
		names := columnsOf(columns, role)
		switch {
		case role.Named || names == nil:
		case role.Many:
			roles = append(roles, Row{role.Name, enumeration(names)})
		default:
			roles = append(roles, Row{role.Name, names[0]})
		}
	}
	if len(roles) == 0 { // columns that keep their names in the result
		return result, nil
	}
	return append(Result{{"roles", roles}}, result...), nil
}
