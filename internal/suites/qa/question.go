package qa

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
)

// The ways an answer is matched.
const (
	matchExact      = "exact"
	matchNormalized = "normalized"
	matchNumeric    = "numeric"
	matchChoice     = "choice"
	matchRegex      = "regex"
	matchRubric     = "rubric"
)

var matches = []string{matchExact, matchNormalized, matchNumeric, matchChoice, matchRegex, matchRubric}

// columns are the default column names in files.
var columns = []string{"id", "question", "answer", "match", "choices", "tolerance", "rubric", "group", "cluster", "split"}

// A question is one item.
type question struct {
	id, text              string
	match                 string
	answers               []string // right answers; letters for matchChoice
	choices               []string
	tolerance             float64 // absolute, for matchNumeric
	rubric                string
	group, cluster, split string

	numbers  []float64        // the answers, for matchNumeric
	patterns []*regexp.Regexp // the answers, for matchRegex
}

// cells are the values of one record by column: one value, or those of a list.
type cells map[string][]string

func (c cells) one(column string) string { return strings.TrimSpace(strings.Join(c[column], ", ")) }

// A table is a file of records.
type table struct {
	path    string
	header  []string // column names; nil for JSON Lines
	lines   []int    // of each record
	records []cells
}

func (t *table) errorf(i int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{t.path, t.lines[i]}, args...)...)
}

// readTable reads a file: CSV if its name ends in .csv, else JSON Lines.
func readTable(path string) (*table, error) {
	if strings.HasSuffix(strings.ToLower(path), ".csv") {
		return readCSV(path)
	}
	t := &table{path: path}
	var errs []error
	_, err := dataset.Scan(path, func(line int, text []byte, err error) {
		var record map[string]json.RawMessage
		if err == nil {
			err = dataset.DecodeStrict(text, &record)
		}
		row := cells{}
		for _, name := range slices.Sorted(maps.Keys(record)) {
			values, bad := scalars(record[name])
			if bad != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", name, bad))
			}
			row[name] = values
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", path, line, err))
			return
		}
		t.lines, t.records = append(t.lines, line), append(t.records, row)
	})
	return t, errors.Join(append(errs, err)...)
}

// scalars decodes a JSON string, number or boolean, or an array of them, to
// strings.
func scalars(value json.RawMessage) ([]string, error) {
	switch value[0] {
	case 'n':
		return nil, nil
	case '{':
		return nil, errors.New("want a string, number, boolean or list, not an object")
	case '"':
		var s string
		err := json.Unmarshal(value, &s)
		return []string{s}, err
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, err
		}
		var all []string
		for _, v := range list {
			if v[0] == '[' || v[0] == '{' || v[0] == 'n' {
				return nil, errors.New("want a list of strings, numbers or booleans")
			}
			one, err := scalars(v)
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	}
	return []string{string(value)}, nil
}

func readCSV(path string) (*table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	records, err := dataset.CSV(path, data)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s is empty: want a header with the names of the columns, then one question per record", path)
	}
	t := &table{path: path}
	for _, f := range records[0] {
		name := strings.TrimSpace(f.Text)
		if slices.Contains(t.header, name) {
			return nil, fmt.Errorf("%s:%d: duplicate column %q", path, f.Line, name)
		}
		t.header = append(t.header, name)
	}
	for _, fields := range records[1:] {
		line := fields[0].Line
		if len(fields) != len(t.header) {
			return nil, fmt.Errorf("%s:%d: the record has %d fields, the header %d: put fields that contain the separator in quotes", path, line, len(fields), len(t.header))
		}
		row := cells{}
		for i, f := range fields {
			if f.Text == "" {
				continue
			}
			row[t.header[i]] = []string{f.Text}
			if f.Text[0] == '[' { // a list, as in JSON Lines
				if list, err := scalars(json.RawMessage(f.Text)); err == nil {
					row[t.header[i]] = list
				}
			}
		}
		t.lines, t.records = append(t.lines, line), append(t.records, row)
	}
	return t, nil
}

// rename changes column names to those of the suite. It returns the ignored
// columns, sorted.
func (t *table) rename(names map[string]string) (ignored []string) {
	oursOf := map[string]string{} // the suite's name by the file's
	for _, ours := range columns {
		oursOf[cmp.Or(names[ours], ours)] = ours
	}
	unread := map[string]bool{}
	for i, record := range t.records {
		row := cells{}
		for name, values := range record {
			if ours, ok := oursOf[name]; ok {
				row[ours] = values
			} else {
				unread[name] = true
			}
		}
		t.records[i] = row
	}
	return slices.Sorted(maps.Keys(unread))
}

// parse makes a question of a record. The error joins all errors.
func parse(c cells, number int, match string) (question, error) {
	q := question{id: c.one("id"), text: c.one("question"), answers: c["answer"], choices: c["choices"], rubric: c.one("rubric"),
		group: c.one("group"), cluster: c.one("cluster"), split: c.one("split")}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if q.id == "" {
		q.id = fmt.Sprintf("q%d", number)
	}
	if q.text == "" {
		fault("question is missing")
	}
	switch q.match = c.one("match"); {
	case q.match != "":
	case len(q.choices) > 0:
		q.match = matchChoice
	case q.rubric != "":
		q.match = matchRubric
	default:
		q.match = match
	}
	if !slices.Contains(matches, q.match) {
		fault("unknown match %q: want one of %s%s", q.match, strings.Join(matches, ", "), kit.DidYouMean(q.match, matches))
	}
	if q.split != "" && q.split != "dev" && q.split != "test" {
		fault("split %q: want dev or test", q.split)
	}
	if (q.match == matchRubric) != (q.rubric != "") {
		fault("rubric: required for match rubric and not allowed for others")
	}
	if (q.match == matchChoice) != (len(q.choices) > 0) {
		fault("choices: required for match choice and not allowed for others")
	}
	if len(q.answers) == 0 && q.match != matchRubric {
		fault("answer is missing")
	}
	if text := c.one("tolerance"); text != "" {
		var err error
		if q.tolerance, err = strconv.ParseFloat(text, 64); err != nil || !(q.tolerance >= 0) || q.match != matchNumeric {
			fault("tolerance %q: want a number of at least 0, and match numeric", text)
		}
	}
	for i, a := range q.answers {
		if err := q.admit(i, a); err != nil {
			errs = append(errs, fmt.Errorf("answer %q: %w", a, err))
		}
	}
	return q, errors.Join(errs...)
}

// admit validates a right answer and converts it for matching.
func (q *question) admit(i int, a string) error {
	switch q.match {
	case matchNumeric:
		x, ok := lastNumber(a)
		if !ok {
			return errors.New("want a number")
		}
		q.numbers = append(q.numbers, x)
	case matchRegex:
		re, err := regexp.Compile(a)
		if err != nil {
			return err
		}
		q.patterns = append(q.patterns, re)
	case matchChoice:
		if len(q.choices) > 26 {
			return errors.New("more than 26 choices")
		}
		letter, ok := q.choice(a)
		if !ok {
			return fmt.Errorf("want one of the choices or its letter, A to %c", 'A'+len(q.choices)-1)
		}
		q.answers[i] = letter
	default:
		if normalize(a) == "" && strings.TrimSpace(a) == "" {
			return errors.New("the answer is empty")
		}
	}
	return nil
}

// shown is the text of the question with its choices, for prompts.
func (q *question) shown() string {
	if len(q.choices) == 0 {
		return q.text
	}
	var b strings.Builder
	b.WriteString(q.text + "\n")
	for i, c := range q.choices {
		fmt.Fprintf(&b, "\n%c. %s", 'A'+i, c)
	}
	b.WriteString("\n\nAnswer with the letter of one choice.")
	return b.String()
}

// item is the question as an item.
func (q *question) item() eval.Item {
	it := eval.Item{ID: q.id, Split: q.split, Cluster: q.cluster, Strata: []eval.Level{{Name: "match", Value: q.match}},
		Input: kit.Hash(append([]string{q.text}, q.choices...)...),
		Gold:  kit.Hash(append([]string{q.match, q.rubric, strconv.FormatFloat(q.tolerance, 'g', -1, 64)}, q.answers...)...)}
	if q.group != "" {
		it.Strata = append(it.Strata, eval.Level{Name: "group", Value: q.group})
	}
	return it
}
