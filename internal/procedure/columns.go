package procedure

import (
	"errors"
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
	"github.com/scruple-eval/scruple/stats"
)

// A column is one column's cells as text, in its role.
type column struct {
	Role
	name  string
	cells []string
	place func(row int) string // of a cell
	line  func(row int) string
}

// of are the columns of a role, and their names.
func of(role Role, columns []column) (own []column, names []string) {
	for _, c := range columns {
		if c.Name == role.Name {
			own, names = append(own, c), append(names, c.name)
		}
	}
	return own, names
}

// asInput makes the input of a case of columns: each role's column, or list of
// columns, under the role's name.
func asInput(columns []column, roles []Role) jsontext.Value {
	input := map[string]any{}
	for _, role := range roles {
		own, names := of(role, columns)
		var values [][]jsontext.Value
		for _, c := range own {
			v := must(c.values(c.Kind))
			values = append(values, v)
			if role.Named {
				input[c.name] = v
			}
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
		if role.Names != "" && values != nil {
			input[role.Names] = names
		}
	}
	return must(json.Marshal(input))
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

// values are a column's cells as JSON. A column of kind Either with a number is one of
// numbers: another cell in it is rather a gap or a typing error than a label.
func (c column) values(kind Kind) ([]jsontext.Value, error) {
	remedy := ""
	if kind == Either {
		kind = Label
		if slices.ContainsFunc(c.cells, func(s string) bool {
			_, expected := Numeric.value(s)
			return expected == "" || decimalComma.MatchString(s)
		}) {
			kind, remedy = Numeric, "; if its numbers are labels, name it in factors"
		}
	}
	values := make([]jsontext.Value, len(c.cells))
	for i, s := range c.cells {
		if c.Missing && (s == "" || s == "NA" || kind == Numeric && table.Gap(s)) {
			values[i] = jsontext.Value("null")
			continue
		}
		v, expected := kind.value(s)
		if expected != "" {
			if c.Missing && kind != Label {
				expected += " or nothing"
			}
			return nil, fmt.Errorf("%s: column %q is %s, expected %s%s", c.place(i), c.name, quoted(s), expected, remedy)
		}
		values[i] = v
	}
	return values, nil
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
		v, err := jsontext.AppendQuote(nil, s)
		if err != nil || table.Gap(s) {
			return nil, "a label: leave out rows without one, and rename one that is written so"
		}
		return v, ""
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) || strings.ContainsAny(s, "_xX") { // Go's own 1_000 and 0x1p4
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
func readTable(r io.Reader, file string, roles []Role, cols []string) []column {
	data, err := io.ReadAll(r)
	refuse(err != nil, "reading %s: %w", file, err)
	t := must(table.Parse(file, "", data))
	columns := bind(t, roles, cols)
	refuse(len(t.Rows) == 0, "%s: no rows under the header", file)
	return columns
}

// bind reads each column for the role that it was given.
func bind(t *table.Table, roles []Role, cols []string) (columns []column) {
	taken := map[string]bool{}
	next := 0
	for _, col := range cols {
		role, name, named := strings.Cut(col, "=")
		if !named {
			name = col
			for next < len(roles) && taken[roles[next].Name] && !roles[next].Many {
				next++
			}
			refuse(next == len(roles), "--cols: unexpected column %q: the method takes %s", name, roleNames(roles))
			role = roles[next].Name
		}
		i := slices.IndexFunc(roles, func(r Role) bool { return r.Name == role })
		refuse(i < 0, "--cols: unknown role %q: the method takes %s", role, roleNames(roles))
		refuse(taken[role] && !roles[i].Many, "--cols: two columns for %q", role)
		taken[role] = true
		k := slices.Index(t.Header, strings.TrimSpace(name))
		refuse(k < 0, "%s: no column %q; the columns are %q", t.Top(), name, t.Header)
		c := column{Role: roles[i], name: t.Header[k],
			place: func(i int) string { return t.Place(t.Rows[i], k) }, line: func(i int) string { return t.Place(t.Rows[i], -1) }}
		for _, row := range t.Rows {
			c.cells = append(c.cells, asciiMinus(row.Text(k)))
		}
		columns = append(columns, c)
	}
	for _, r := range roles {
		refuse(!taken[r.Name] && !r.Optional,
			"--cols: missing column for %q (%s); the method takes %s", r.Name, r.Doc, roleNames(roles))
	}
	return columns
}

// RunTable computes the result of params and the columns of a table, as
// [readTable] reads them. The result begins with the column of each role, so that
// a reader need not guess which of two arms a difference is in favour of.
func (p Procedure) RunTable(r io.Reader, file string, cols []string, params jsontext.Value) (_ Result, err error) {
	defer catch(&err)
	columns := readTable(r, file, p.Columns, cols)
	for i, c := range columns {
		if c.Kind == Either {
			columns[i].Kind, err = p.method.kind(params, c.name)
			refuse(err != nil, "%s of %s: %w", p.Name, file, err)
		}
	}
	result, err := p.Run(params, asInput(columns, p.Columns))
	if at, ok := errors.AsType[*stats.RowError](err); ok {
		err = fmt.Errorf("%s %s", columns[0].line(at.Row), at.Problem)
	}
	refuse(err != nil, "%s of %s: %w", p.Name, file, err)
	roles := Result{}
	for _, role := range p.Columns {
		_, names := of(role, columns)
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
