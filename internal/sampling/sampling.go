// Package sampling draws reports at random from a list and tracks what people take
// from them.
//
// A sample is drawn without repeats from the rows that pass the filters, and its order
// is the order in which reports are to be read. The draw depends only on the seed and
// the number of rows, so that anyone can repeat it; see [Draw]. The work on a sample is
// a file of package ledger beside it: each line says what came of one report.
//
// The package must not know what the columns of a list mean, apart from the one that
// names the reports.
package sampling

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/stable"
	"github.com/scruple-eval/scruple/internal/table"
)

// A Filter keeps or removes rows by the value of a column.
type Filter struct {
	Column string `json:"column"`
	Value  string `json:"value"`
}

// ParseFilter parses COLUMN=VALUE.
func ParseFilter(s string) (Filter, error) {
	column, value, ok := strings.Cut(s, "=")
	if !ok || strings.TrimSpace(column) == "" {
		return Filter{}, fmt.Errorf("filter %q: want COLUMN=VALUE, such as type=Impact", s)
	}
	return Filter{strings.TrimSpace(column), strings.TrimSpace(value)}, nil
}

// A Plan says what to draw.
type Plan struct {
	ID string `json:"id_column"`
	// Include keeps rows with one of the values of each column that it names; Exclude
	// removes rows with any of its values.
	Include []Filter `json:"include"`
	Exclude []Filter `json:"exclude"`
	N       int      `json:"drawn"`
	Seed    int64    `json:"seed"`
}

// A Record is what is written down of a draw.
type Record struct {
	Plan
	List   string `json:"list"`
	Sheet  string `json:"sheet,omitempty"`
	SHA256 string `json:"list_sha256"`
	Rows   int    `json:"rows"` // of the list
	Of     int    `json:"of"`   // rows that passed the filters
	Left   []Left `json:"left_out"`
	// Sample is the SHA-256 of the CSV file of the sample.
	Sample    string `json:"sample_sha256"`
	Algorithm string `json:"algorithm"`
}

// Left counts the rows that a filter left out, each row once.
type Left struct {
	Why  string `json:"why"`
	Rows int    `json:"rows"`
}

// A Sample is the filtered list and the drawn rows of it.
type Sample struct {
	Record
	header []string
	main   []table.Row
	order  []int // indexes of main
	id     int
}

const algorithm = "positions = first n of math/rand/v2 Perm(N) with PCG(a, b); a, b = first 16 bytes, big-endian, of SHA-256 of `SEED [\"sample\"]`"

// Draw filters a list and draws from it. list is the content of the file. The error
// lists every row without an id or with that of another row.
func Draw(t *table.Table, list []byte, p Plan) (*Sample, error) {
	s := &Sample{header: t.Header}
	s.Record = Record{Plan: p, List: t.File, Sheet: t.Sheet, SHA256: dataset.SHA256(list), Rows: len(t.Rows), Algorithm: algorithm}
	id, errID := t.Column(p.ID)
	keep, errFilter := s.filters(t)
	if err := cmp.Or(errID, errFilter); err != nil {
		return nil, err
	}
	s.id = id
	first := map[string]table.Row{}
	var errs []error
	left := map[string]int{}
	for _, r := range t.Rows {
		id := r.Text(s.id)
		if other, twice := first[id]; twice {
			errs = append(errs, fmt.Errorf("%s: duplicate id %q, also at %s", t.Place(r, s.id), id, t.Place(other, s.id)))
		}
		if id == "" {
			errs = append(errs, fmt.Errorf("%s: the report has no id", t.Place(r, s.id)))
			continue
		}
		first[id] = r
		if why := keep(r); why != "" {
			left[why]++
			continue
		}
		s.main = append(s.main, r)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.Left, s.Of = leftOf(left), len(s.main)
	if p.N < 1 || p.N > s.Of {
		return nil, fmt.Errorf("drawing %d of %d reports that pass the filters: want 1 to %d", p.N, s.Of, s.Of)
	}
	s.order = stable.Random(p.Seed, "sample").Perm(s.Of)[:p.N]
	data, err := s.CSV()
	s.Sample = dataset.SHA256(data)
	return s, err
}

// leftOf lists counts by reason.
func leftOf(counts map[string]int) []Left {
	list := []Left{}
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, Left{why, counts[why]})
	}
	return list
}

// filters returns a function that says why a row is left out, or "". A filter for a
// value that no row has is an error, since it is probably misspelt.
func (s *Sample) filters(t *table.Table) (func(table.Row) string, error) {
	by := [2]map[int][]string{{}, {}} // included and excluded values, by column
	for side, list := range [2][]Filter{s.Include, s.Exclude} {
		for _, f := range list {
			flag := fmt.Sprintf("--%s %s=%s", [2]string{"include", "exclude"}[side], f.Column, f.Value)
			column, err := t.Column(f.Column)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", flag, err)
			}
			if !slices.ContainsFunc(t.Rows, func(r table.Row) bool { return r.Text(column) == f.Value }) {
				return nil, fmt.Errorf("%s: no row has this value; the values are %s", flag, values(t, column))
			}
			by[side][column] = append(by[side][column], f.Value)
		}
	}
	return func(r table.Row) string {
		for i, name := range t.Header {
			value := r.Text(i)
			switch included := by[0][i]; {
			case slices.Contains(by[1][i], value):
				return fmt.Sprintf("%s is %s", name, value)
			case included != nil && !slices.Contains(included, value):
				return fmt.Sprintf("%s is %s, which is not included", name, cmp.Or(value, "empty"))
			}
		}
		return ""
	}, nil
}

func values(t *table.Table, column int) string {
	const few = 20
	var list []string
	for _, r := range t.Rows {
		if v := cmp.Or(r.Text(column), "empty"); !slices.Contains(list, v) {
			list = append(list, v)
		}
		if len(list) > few {
			return strings.Join(list[:few], ", ") + " and others"
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// Workbook has the filtered list, the draw, and the drawn rows, in tabs of these names.
// Positions count the rows of Main from 1.
func (s *Sample) Workbook() ([]byte, error) {
	main, randomizer := [][]string{s.header}, [][]string{{"order", "position", s.header[s.id], "seed " + strconv.FormatInt(s.Seed, 10), fmt.Sprintf("%d of %d", s.N, s.Of)}}
	for _, r := range s.main {
		main = append(main, r.Texts())
	}
	for k, i := range s.order {
		randomizer = append(randomizer, []string{strconv.Itoa(k + 1), strconv.Itoa(i + 1), s.main[i].Text(s.id)})
	}
	return table.Write(table.Sheet{Name: "Main", Rows: main}, table.Sheet{Name: "Randomizer", Rows: randomizer}, table.Sheet{Name: "Sample", Rows: s.rows()})
}

// orderColumn is the first column of a sample. A list that is a sample itself has it too,
// and the new one gets a number.
const orderColumn = "sample_order"

func (s *Sample) rows() [][]string {
	order := orderColumn
	for n := 2; slices.ContainsFunc(s.header, func(h string) bool { return strings.EqualFold(h, order) }); n++ {
		order = fmt.Sprintf("%s_%d", orderColumn, n)
	}
	rows := [][]string{append([]string{order}, s.header...)}
	for k, i := range s.order {
		rows = append(rows, append([]string{strconv.Itoa(k + 1)}, s.main[i].Texts()...))
	}
	return rows
}

// CSV is the drawn rows in the order of the draw.
func (s *Sample) CSV() ([]byte, error) { return table.CSV(s.rows()) }

// JSON is the record of the draw.
func (s *Sample) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(s.Record, "", "  ")
	return append(data, '\n'), err
}
