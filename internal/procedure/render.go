package procedure

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/scruple-eval/scruple/internal/say"
	"github.com/scruple-eval/scruple/stats"
)

// Render writes a result for reading: the method, then every number by name,
// lists of records as tables, and the warnings. Long lists are truncated with a
// note.
func Render(w io.Writer, p Procedure, result Result) error {
	fmt.Fprintf(w, "%s\n", p.Title)
	r := renderer{w: w, hide: p.Hide, labels: p.Labels}
	for _, row := range result {
		if conf, ok := row.Value.(float64); ok && row.Key == "conf" {
			r.level = strconv.FormatFloat(100*conf, 'g', 10, 64)
		}
	}
	r.object(result, "")
	for _, warning := range r.warnings {
		fmt.Fprintf(w, "\nnote: %s", warning)
	}
	if r.cut {
		fmt.Fprint(w, "\nnote: long lists are truncated; --json has them in full")
	}
	if len(p.Hide) > 0 {
		fmt.Fprintf(w, "\nnote: --json also has %s", strings.Join(p.Hide, ", "))
	}
	_, err := fmt.Fprintln(w)
	return err
}

type renderer struct {
	w        io.Writer
	hide     []string
	labels   map[string]string
	level    string // of the intervals, in percent
	warnings list
	cut      bool
}

// Rows of a table and entries of a map that are shown.
const (
	maxRows    = 60
	maxEntries = 24
)

// object formats scalars first, one per line, then tables.
func (r *renderer) object(o Result, indent string) {
	t := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', 0)
	var rest Result
	for _, row := range o {
		if slices.Contains(r.hide, row.Key) {
			continue
		}
		switch v := row.Value.(type) {
		case margin: // shown with the table
		case list:
			if row.Key == warningsKey {
				r.warnings = append(r.warnings, v...)
				continue
			}
			rest = append(rest, row)
		case Result:
			if row.Key != "roles" {
				rest = append(rest, row)
				continue
			}
			for _, role := range v {
				fmt.Fprintf(t, "%s  %s\tcolumn %s\n", indent, role.Key, r.scalar(role))
			}
		case crosstab:
			rest = append(rest, row)
		default:
			fmt.Fprintf(t, "%s  %s\t%s\n", indent, r.words(row.Key), r.scalar(row))
		}
	}
	t.Flush()
	for len(rest) > 0 {
		n := parallel(rest)
		if n > 1 {
			r.columns(rest[:n], indent)
		} else {
			n = 1
			r.block(rest[0], indent)
		}
		rest = rest[n:]
	}
}

// parallel counts the leading lists that have one length: they are columns.
func parallel(o Result) int {
	n := 0
	for _, row := range o {
		l, _ := row.Value.(list)
		if len(l) == 0 || !plain(l[0]) || (n > 0 && len(l) != len(o[0].Value.(list))) {
			break
		}
		n++
	}
	return n
}

func plain(v any) bool {
	switch v.(type) {
	case Result, list, stats.Interval:
		return false
	}
	return true
}

func (r *renderer) columns(o Result, indent string) {
	records := make([]Result, len(o[0].Value.(list)))
	for i := range records {
		records[i] = Result{{"#", i + 1}}
		for _, row := range o {
			records[i] = append(records[i], Row{row.Key, row.Value.(list)[i]})
		}
	}
	fmt.Fprintln(r.w)
	r.records(records, indent)
}

// block writes what takes more than a line.
func (r *renderer) block(row Row, indent string) {
	fmt.Fprintf(r.w, "\n%s%s\n", indent, r.words(row.Key))
	switch v := row.Value.(type) {
	case Result:
		if len(v) > maxEntries {
			r.cut = true
			v = v[:maxEntries]
		}
		r.object(v, indent)
	case crosstab:
		var rows [][]string
		for i, cells := range v.cells.(list) {
			rows = append(rows, []string{printed(v.rows[i])})
			for _, x := range cells.(list) {
				rows[i] = append(rows[i], printed(x))
			}
		}
		head := []string{""}
		for _, name := range v.columns {
			head = append(head, printed(name))
		}
		r.grid(head, rows, indent)
	case list:
		var records []Result
		for _, x := range v {
			switch x := x.(type) {
			case Result:
				records = append(records, x)
			case list:
				o := Result{}
				for i, cell := range x {
					o = append(o, Row{strconv.Itoa(i + 1), cell})
				}
				records = append(records, o)
			default:
				records = append(records, Result{{row.Key, x}})
			}
		}
		r.records(records, indent)
	}
}

// records writes records under the keys of the first one that has most.
func (r *renderer) records(records []Result, indent string) {
	var longest Result
	for _, o := range records {
		if len(o) > len(longest) {
			longest = o
		}
	}
	head := make([]string, len(longest))
	for i, row := range longest {
		head[i] = r.words(row.Key)
	}
	rows := make([][]string, len(records))
	for i, o := range records {
		rows[i] = make([]string, len(head))
		for k := range head {
			at := slices.IndexFunc(o, func(row Row) bool { return row.Key == longest[k].Key })
			if at >= 0 {
				rows[i][k] = r.scalar(o[at])
			}
		}
	}
	r.grid(head, rows, indent)
}

func (r *renderer) grid(head []string, rows [][]string, indent string) {
	shown := min(len(head), maxEntries)
	r.cut = r.cut || len(rows) > maxRows || len(head) > maxEntries
	t := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s  %s\n", indent, strings.Join(head[:shown], "\t"))
	for _, row := range rows[:min(len(rows), maxRows)] {
		fmt.Fprintf(t, "%s  %s\n", indent, strings.Join(row[:shown], "\t"))
	}
	t.Flush()
}

// scalar writes a value in a line.
func (r *renderer) scalar(row Row) string {
	switch v := row.Value.(type) {
	case enumeration:
		return printed(strings.Join(v, ", "))
	case list:
		return fmt.Sprintf("(%d values)", len(v))
	case Result:
		var parts []string
		for _, x := range v {
			parts = append(parts, r.words(x.Key)+" "+r.scalar(x))
		}
		return strings.Join(parts, ", ")
	case float64:
		if v == 0 && r.isP(row.Key) { // too small for a float64
			return "< 1e-300"
		}
	}
	return printed(row.Value)
}

// isP reports whether a key is that of a p-value: one with a label of its own is not.
func (r *renderer) isP(key string) bool {
	words := strings.Split(key, "_")
	return r.labels[key] == "" && slices.Contains(words, "p")
}

// words makes a label of a key, unless the procedure has one: "p_two_sided" is "p
// two sided", "ci95" is "95 % interval".
func (r *renderer) words(key string) string {
	if label := cmp.Or(r.labels[key], labels[key]); label != "" {
		return label
	}
	return interval.ReplaceAllStringFunc(printed(strings.ReplaceAll(key, "_", " ")), func(ci string) string {
		if ci != "ci95" || r.level == "" {
			return ci[len("ci"):] + " % interval"
		}
		return r.level + " % interval"
	})
}

// labels are of keys that many results have.
var labels = map[string]string{"direction": "differences are", "conf": "confidence level"}

// interval matches what the keys of intervals have: ci95 is at the level of conf,
// whatever that is; another number is the level.
var interval = regexp.MustCompile(`\bci[0-9]+\b`)

// printed writes a number with five significant digits. Labels of a user's file cannot
// move the cursor or the columns.
func printed(v any) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case float64:
		switch {
		case math.IsNaN(v):
			return "undefined"
		case math.IsInf(v, 1):
			return "∞"
		case math.IsInf(v, -1):
			return "-∞"
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'g', 5, 64)
	case stats.Interval:
		return printed(v.Low) + " to " + printed(v.High)
	case string:
		return say.PlainText(v)
	}
	return fmt.Sprint(v)
}
