package qa

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/kit"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
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
var columns = []string{"id", "question", "answer", "match", "choices", "tolerance", "rubric", "wrong", "group", "cluster", "split"}

// A question is one item.
type question struct {
	id, text              string
	match                 string
	answers               []string // right answers; letters for matchChoice
	choices               []string
	tolerance             float64 // absolute, for matchNumeric
	rubric                string
	wrong                 []string // answers that the rubric must fail, to measure the judge
	group, cluster, split string
	strata, others        []eval.Level // of columns that the suite does not know

	numbers  []float64        // the answers, for matchNumeric
	patterns []*regexp.Regexp // the answers, for matchRegex
}

// cells are the values of one record by column: one value, or those of a list.
type cells map[string][]string

func (c cells) one(column string) string { return strings.TrimSpace(strings.Join(c[column], ", ")) }

// cellsOf are the known values of a row. The error is of those that look like a list, which
// only a pattern may.
func cellsOf(t *table.Table, known *table.Columns, r table.Row) (c cells, bare error) {
	c = cells{}
	for _, name := range columns {
		cell := known.Cell(r, name)
		list := t.List(cell)
		if list == nil {
			continue
		}
		if name == "id" && slices.Equal(list, []string{cell.Text}) {
			list = []string{known.ID(r, name)}
		}
		c[name] = list
		if (name == "answer" || name == "wrong") && slices.Equal(list, []string{cell.Text}) && unlisted.MatchString(cell.Text) {
			bare = errors.Join(bare, fmt.Errorf("%s %q: it looks like a list and is none: %s, or %s if it is one text", name, cell.Text, asJSON, kit.PlainJSON(list)))
		}
	}
	return c, bare
}

// unlisted matches one value that is meant to be a list and is not written as JSON.
var unlisted = regexp.MustCompile(`(?s)^\s*\[\s*["'].*\]\s*$`)

// asJSON is the remedy for a value that should be a list.
const asJSON = `write a list of JSON, such as ["Bern", "Berne"]`

// parse makes a question of a record. Its id may be empty. The error joins all errors.
func parse(c cells, match string) (question, error) {
	q := question{id: c.one("id"), text: c.one("question"), answers: c["answer"], choices: c["choices"], rubric: c.one("rubric"), wrong: c["wrong"],
		group: c.one("group"), cluster: c.one("cluster"), split: c.one("split")}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
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
		fault("unknown match %q: want one of %s%s", q.match, strings.Join(matches, ", "), text.DidYouMean(q.match, matches))
	}
	if q.split != "" && q.split != "dev" && q.split != "test" {
		fault("split %q: want dev or test; {split: ''} in data.columns says that it is something else", q.split)
	}
	if (q.match == matchRubric) != (q.rubric != "") {
		fault("rubric: required for match rubric and not allowed for others")
	}
	if len(q.wrong) > 0 && q.match != matchRubric {
		fault("wrong: known wrong answers measure the judge, so they are for match rubric only")
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
	if len(q.choices) == 1 {
		fault("choices %q: one choice only: %s", q.choices[0], asJSON)
	}
	for i, a := range q.answers {
		if err := q.admit(i, a); err != nil {
			errs = append(errs, fmt.Errorf("answer %q: %w", a, err))
		}
	}
	return q, errors.Join(errs...)
}

// solved stands before the answer in the solutions of GSM8K.
const solved = "####"

// admit validates a right answer and converts it for matching.
func (q *question) admit(i int, a string) error {
	switch q.match {
	case matchNumeric:
		if at := strings.LastIndex(a, solved); at >= 0 {
			a = a[at+len(solved):]
		}
		switch all := numbers(a); len(all) {
		case 0:
			return errors.New("want a number")
		case 1:
			q.numbers = append(q.numbers, all[0])
		default:
			return fmt.Errorf("it has %d numbers: give one number, such as 0.5 for 1/2", len(all))
		}
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
		same := func(choice string) bool { return strings.TrimSpace(choice) == strings.TrimSpace(a) }
		if k := slices.IndexFunc(q.choices, same); k >= 0 && !same(q.choices[letter[0]-'A']) {
			own := string(rune('A' + k))
			return fmt.Errorf("it is the text of choice %s and the letter of another: write (%s) or (%s)", own, own, letter)
		}
		q.answers[i] = letter
	default:
		if strings.TrimSpace(a) == "" {
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
	if len(q.choices) > 0 {
		it.Material = kit.Hash(append([]string{"question", q.text}, slices.Sorted(slices.Values(q.choices))...)...)
	}
	if q.group != "" {
		it.Strata = append(it.Strata, eval.Level{Name: "group", Value: q.group})
	}
	it.Strata = append(it.Strata, q.strata...)
	return it
}
