package procedure

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Render formats a result for reading: the method, then every number by name,
// lists of records as tables, and the warnings. Long lists are truncated with a
// note.
func Render(w io.Writer, p Procedure, result jsontext.Value) error {
	v, err := parse(result)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", p.Title)
	r := renderer{w: w, hide: p.Hide, labels: p.Labels}
	if o, ok := v.(Ordered); ok {
		r.object(o, "")
	} else {
		r.value("result", v, "")
	}
	for _, warning := range r.warnings {
		fmt.Fprintf(w, "\nnote: %s", warning)
	}
	if r.cut {
		fmt.Fprint(w, "\nnote: long lists are truncated; --json has them in full")
	}
	if len(p.Hide) > 0 {
		fmt.Fprintf(w, "\nnote: --json also has %s", strings.Join(p.Hide, ", "))
	}
	_, err = fmt.Fprintln(w)
	return err
}

// A numeral is a number as JSON writes it.
type numeral string

// parse reads JSON with objects in their order.
func parse(raw jsontext.Value) (any, error) {
	switch raw.Kind() {
	case '{':
		o, err := members(raw)
		for i := range o {
			if err == nil {
				o[i].Value, err = parse(o[i].Value.(jsontext.Value))
			}
		}
		return o, err
	case '[':
		var values []jsontext.Value
		err := json.Unmarshal(raw, &values, jsontext.AllowDuplicateNames(true))
		list := make([]any, len(values))
		for i := range values {
			if err == nil {
				list[i], err = parse(values[i])
			}
		}
		return list, err
	case '0':
		return numeral(raw), nil
	}
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err
}

type renderer struct {
	w        io.Writer
	hide     []string
	labels   map[string]string
	warnings []string
	cut      bool
}

// Rows of a table and entries of a map that are shown.
const (
	maxRows    = 60
	maxEntries = 24
)

// object formats scalars first, one per line, then tables.
func (r *renderer) object(o Ordered, indent string) {
	t := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', 0)
	var rest Ordered
	for _, e := range o {
		if slices.Contains(r.hide, e.Key) {
			continue
		}
		switch v := e.Value.(type) {
		case Ordered:
			if e.Key != "roles" {
				rest = append(rest, e)
				continue
			}
			for _, role := range v {
				fmt.Fprintf(t, "%s  %s\tcolumn %s\n", indent, role.Key, listed(role.Value))
			}
		case []any:
			switch {
			case isAxis(o, e.Key): // shown with the table
			case e.Key == "labels" && len(v) <= maxEntries && !slices.ContainsFunc(v, func(x any) bool { return !plain(x) }):
				fmt.Fprintf(t, "%s  %s\t%s\n", indent, r.words(e.Key), listed(v))
			case e.Key == "warnings":
				for _, x := range v {
					r.warnings = append(r.warnings, fmt.Sprint(x))
				}
			case isInterval(e.Key, v):
				fmt.Fprintf(t, "%s  %s\t%s\n", indent, r.words(e.Key), interval(v))
			default:
				rest = append(rest, e)
			}
		default:
			fmt.Fprintf(t, "%s  %s\t%s\n", indent, r.words(e.Key), r.number(e.Key, v))
		}
	}
	t.Flush()
	rows, columns := axes(o)
	for len(rest) > 0 {
		if n := parallel(rest); n > 1 {
			r.columns(rest[:n], indent)
			rest = rest[n:]
			continue
		}
		if cells, ok := rest[0].Value.([]any); ok && crosses(cells, rows, columns) {
			r.crossTable(rest[0].Key, cells, rows, columns, indent)
		} else {
			r.value(rest[0].Key, rest[0].Value, indent)
		}
		rest = rest[1:]
	}
}

// axes are the labels of the rows and columns of an object's tables: those of
// raters are the same.
func axes(o Ordered) (rows, columns []any) {
	for _, e := range o {
		list, _ := e.Value.([]any)
		switch e.Key {
		case "rows":
			rows = list
		case "columns":
			columns = list
		case "labels":
			rows, columns = list, list
		}
	}
	return rows, columns
}

// isAxis reports whether the key's list labels a table of the object.
func isAxis(o Ordered, key string) bool {
	if key != "rows" && key != "columns" && key != "labels" {
		return false
	}
	rows, columns := axes(o)
	return slices.ContainsFunc(o, func(e Entry) bool {
		cells, ok := e.Value.([]any)
		return ok && crosses(cells, rows, columns)
	})
}

// crosses reports whether a list is a table with these rows and columns.
func crosses(cells, rows, columns []any) bool {
	if len(cells) == 0 || len(cells) != len(rows) {
		return false
	}
	return !slices.ContainsFunc(cells, func(row any) bool {
		list, ok := row.([]any)
		return !ok || len(list) != len(columns)
	})
}

func (r *renderer) crossTable(key string, cells, rows, columns []any, indent string) {
	fmt.Fprintf(r.w, "\n%s%s\n", indent, r.words(key))
	records := make([]Ordered, len(cells))
	for i, row := range cells {
		records[i] = Ordered{{"", rows[i]}}
		for j, cell := range row.([]any) {
			records[i] = append(records[i], Entry{scalar(columns[j]), cell})
		}
	}
	r.grid(records, indent)
}

// parallel counts the leading lists that have one length: they are columns.
func parallel(o Ordered) int {
	n := 0
	for _, e := range o {
		l, ok := e.Value.([]any)
		if !ok || len(l) == 0 || !plain(l[0]) || (n > 0 && len(l) != len(o[0].Value.([]any))) {
			break
		}
		n++
	}
	return n
}

func plain(v any) bool {
	switch v.(type) {
	case Ordered, []any:
		return false
	}
	return true
}

func (r *renderer) columns(o Ordered, indent string) {
	records := make([]Ordered, len(o[0].Value.([]any)))
	for i := range records {
		records[i] = Ordered{{"#", numeral(strconv.Itoa(i + 1))}}
		for _, e := range o {
			records[i] = append(records[i], Entry{e.Key, e.Value.([]any)[i]})
		}
	}
	fmt.Fprintln(r.w)
	r.table(records, indent)
}

func (r *renderer) value(key string, v any, indent string) {
	switch v := v.(type) {
	case Ordered:
		fmt.Fprintf(r.w, "\n%s%s\n", indent, r.words(key))
		if len(v) > maxEntries {
			r.cut = true
			v = v[:maxEntries]
		}
		r.object(v, indent)
	case []any:
		r.list(key, v, indent)
	default:
		fmt.Fprintf(r.w, "%s  %s  %s\n", indent, r.words(key), scalar(v))
	}
}

func (r *renderer) list(key string, v []any, indent string) {
	fmt.Fprintf(r.w, "\n%s%s\n", indent, r.words(key))
	var records []Ordered
	for _, x := range v {
		switch x := x.(type) {
		case Ordered:
			records = append(records, x)
		case []any:
			o := Ordered{}
			for i, cell := range x {
				o = append(o, Entry{strconv.Itoa(i + 1), cell})
			}
			records = append(records, o)
		default:
			records = append(records, Ordered{{key, x}})
		}
	}
	r.table(records, indent)
}

// table writes records under the keys of the first one that has most.
func (r *renderer) table(records []Ordered, indent string) {
	var keys []string
	for _, o := range records {
		if len(o) > len(keys) {
			keys = keys[:0]
			for _, e := range o {
				keys = append(keys, e.Key)
			}
		}
	}
	row := make([]string, len(keys))
	for i, k := range keys {
		row[i] = r.words(k)
	}
	r.rows(row, records, func(o Ordered, i int) string { return r.cell(o, keys[i]) }, indent)
}

// grid writes records of the same length, under the names of the first one as they
// are: they may be a user's labels, and duplicate.
func (r *renderer) grid(records []Ordered, indent string) {
	row := make([]string, len(records[0]))
	for i, e := range records[0] {
		row[i] = e.Key
	}
	r.rows(row, records, func(o Ordered, i int) string { return scalar(o[i].Value) }, indent)
}

func (r *renderer) rows(head []string, records []Ordered, cell func(o Ordered, i int) string, indent string) {
	if len(records) > maxRows {
		r.cut = true
		records = records[:maxRows]
	}
	if len(head) > maxEntries {
		r.cut = true
		head = head[:maxEntries]
	}
	t := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s  %s\n", indent, strings.Join(head, "\t"))
	row := make([]string, len(head))
	for _, o := range records {
		for i := range row {
			row[i] = cell(o, i)
		}
		fmt.Fprintf(t, "%s  %s\n", indent, strings.Join(row, "\t"))
	}
	t.Flush()
}

func (r *renderer) cell(o Ordered, key string) string {
	for _, e := range o {
		if e.Key != key {
			continue
		}
		if l, ok := e.Value.([]any); ok {
			if isInterval(key, l) {
				return interval(l)
			}
			return fmt.Sprintf("(%d values)", len(l))
		}
		if inner, ok := e.Value.(Ordered); ok {
			var parts []string
			for _, x := range inner {
				parts = append(parts, r.words(x.Key)+" "+scalar(x.Value))
			}
			return strings.Join(parts, ", ")
		}
		return r.number(key, e.Value)
	}
	return ""
}

// number writes a value; a p-value too small for a float64 is not 0. A key with a
// label of its own is not a p-value.
func (r *renderer) number(key string, v any) string {
	if n, ok := v.(numeral); ok && n == "0" && pValue.MatchString(key) && r.labels[key] == "" {
		return "< 1e-300"
	}
	return scalar(v)
}

// pValue matches the keys of p-values, but not p1, p10 or p_bar: those are
// proportions and probabilities.
var pValue = regexp.MustCompile(`^(p|p_(two_sided|greater|less|exact|mid|g|holm|bonferroni|fisher|continuity|normal|naive|chi2|yates|above|below).*|pratt_p_.*|pairwise_p_.*)$`)

func listed(v any) string {
	list, ok := v.([]any)
	if !ok {
		return scalar(v)
	}
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = scalar(x)
	}
	return strings.Join(parts, ", ")
}

var intervalKey = regexp.MustCompile(`(^|_)ci([\d.]*)($|_)|^(wilson|clopper_pearson|jeffreys|agresti_coull|percentile|basic|bca|normal_bias)`)

func isInterval(key string, v []any) bool {
	if len(v) != 2 || !intervalKey.MatchString(key) {
		return false
	}
	return plain(v[0]) && plain(v[1])
}

func interval(v []any) string { return scalar(v[0]) + " to " + scalar(v[1]) }

// words makes a label of a key, unless the procedure has one: "p_two_sided" is "p
// two sided", "ci95" is "95 % interval".
func (r *renderer) words(key string) string {
	if label := r.labels[key]; label != "" {
		return label
	}
	if label := labels[key]; label != "" {
		return label
	}
	s := strings.Map(printable, strings.ReplaceAll(key, "_", " "))
	return percent.ReplaceAllString(s, "$1 % interval")
}

// labels are of keys that many results have.
var labels = map[string]string{"direction": "differences are", "conf": "confidence level"}

var percent = regexp.MustCompile(`\bci(\d+(?:\.\d+)?)\b`)

// scalar writes a number with five significant digits.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case numeral:
		x, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return string(v)
		}
		if x == math.Trunc(x) && math.Abs(x) < 1e15 {
			return strconv.FormatFloat(x, 'f', -1, 64)
		}
		return strconv.FormatFloat(x, 'g', 5, 64)
	case string:
		switch v {
		case "Infinity":
			return "∞"
		case "-Infinity":
			return "-∞"
		}
		return strings.Map(printable, v)
	}
	return fmt.Sprint(v)
}

// printable keeps labels of a user's file from moving the cursor or the
// columns.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}
