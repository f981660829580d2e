package soundness

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/table"
)

// A Sample is reports of which a fragment was taken, for a corpus (schema 1).
type Sample struct {
	Header []string
	ID     string // the column that names a report
	Rows   []Taken
}

// Taken is a report of which a fragment was taken.
type Taken struct {
	Cells []string
	Date  string // ISO
	Note  string
}

// A Corpus is the rows of a corpus file, its header first.
type Corpus struct {
	Rows  [][]string
	Added int
	// Without are columns of the corpus for which the sample has none.
	Without []string
	// Stale are the ids of rows of reports of which no fragment is taken any more, or another one.
	Stale []string
}

// drawn matches in [Taken.Note] which fragment was drawn.
var drawn = regexp.MustCompile(`fragment \d+ of \d+`)

// personal are the columns that the sample cannot have: people fill them from the fragment.
var personal = []string{columnID, columnCriterion, columnText, columnParagraphs, "extraction_date", "extraction_notes"}

// Corpus adds rows to a corpus, nil for a new one: what is known of a report in columns of the same
// name, and nothing of the fragment. Rows that are there stay.
func (s Sample) Corpus(was *table.Table) (c Corpus, err error) {
	var header []string
	for _, column := range schemas.Data {
		if was != nil && !slices.Contains(was.Header, column.Name) {
			return c, fmt.Errorf("%s has no column %q, so it is no corpus: add it, or name another file", was.File, column.Name)
		}
		header = append(header, column.Name)
	}
	rows := [][]string{}
	if was != nil {
		header = was.Header
		for _, r := range was.Rows {
			cells := make([]string, len(header)) // as people wrote them
			for i, cell := range r.Cells {
				cells[i] = cell.Text
			}
			rows = append(rows, cells)
		}
	}
	from := map[string]int{}
	for _, name := range header {
		from[name] = slices.IndexFunc(s.Header, func(h string) bool { return plainName(h) == plainName(name) })
		if from[name] < 0 && name != columnReport && !slices.Contains(personal, name) {
			c.Without = append(c.Without, name)
		}
	}
	from[columnReport] = slices.Index(s.Header, s.ID)
	report, id, notes := slices.Index(header, columnReport), slices.Index(header, columnID), slices.Index(header, "extraction_notes")
	have, last := map[string]bool{}, 0
	for _, r := range rows {
		name := strings.TrimSpace(r[report])
		have[name] = true
		i := slices.IndexFunc(s.Rows, func(t Taken) bool { return t.Cells[from[columnReport]] == name })
		if i < 0 || drawn.MatchString(r[notes]) && !slices.Contains(drawn.FindAllString(r[notes], -1), drawn.FindString(s.Rows[i].Note)) {
			c.Stale = append(c.Stale, r[id])
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(r[id]), "F_")); err == nil {
			last = max(last, n)
		}
	}
	for _, t := range s.Rows {
		if have[t.Cells[from[columnReport]]] {
			continue
		}
		last++ // an id is never given twice
		row := make([]string, len(header))
		for i, name := range header {
			switch k := from[name]; {
			case name == columnID:
				row[i] = fmt.Sprintf("F_%03d", last)
			case name == "extraction_date":
				row[i] = t.Date
			case name == "extraction_notes":
				row[i] = t.Note
			case k >= 0 && !slices.Contains(personal, name):
				row[i] = t.Cells[k]
			}
		}
		rows = append(rows, row)
		c.Added++
	}
	c.Rows = append([][]string{header}, rows...)
	return c, nil
}

// plainName is the name of a column as schemas write it.
func plainName(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "_")
}
