package soundness

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/table"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Sample is reports of which a fragment was taken, for a corpus (schema 1).
type Sample struct {
	Header []string
	ID     string // the column that names a report
	Rows   []Taken
	// Columns has names of the header by the columns of the schema, where they differ more
	// than [Sample.Corpus] sees.
	Columns map[string]string
}

// Taken is a report of which a fragment was taken.
type Taken struct {
	Cells []string
	Date  string // ISO
	Note  string
}

// A Corpus is the rows of a corpus file, its header first.
type Corpus struct {
	Rows    [][]string
	Added   int
	Changed bool // there is something to write
	// Empty counts the rows without a value, by column, in the order of the schema.
	Empty []eval.Level
	// Without are columns of the schema for which the sample has none.
	Without []string
	// Untaken are the ids of rows of reports of which no fragment is taken, such as one whose record
	// was corrected, and Redrawn those of rows whose notes name another fragment than was drawn since.
	Untaken, Redrawn []string
}

// drawn matches in [Taken.Note] which fragment was drawn.
var drawn = regexp.MustCompile(`fragment \d+ of \d+`)

// personal are the columns that the sample cannot have: people fill them from the fragment.
var personal = []string{columnID, columnCriterion, columnText, columnParagraphs, "extraction_date", "extraction_notes"}

// Corpus adds rows to a corpus, nil for a new one: what is known of a report, and nothing of
// the fragment. Rows and columns that are there stay, but for an empty number of paragraphs,
// which is counted. Columns that the schema does not have come behind it.
func (s Sample) Corpus(was *table.Table) (c Corpus, err error) {
	from, err := s.columns()
	if err != nil {
		return c, err
	}
	header := []string{}
	for _, column := range schemas.Data {
		header = append(header, column.Name)
		if _, ok := from[column.Name]; !ok && !slices.Contains(personal, column.Name) {
			c.Without = append(c.Without, column.Name)
		}
	}
	more := map[string]int{}
	for i, name := range s.Header {
		if !usedBy(from, i) {
			if _, near := text.Nearest(name, header); near {
				name = "sample_" + name // the loader would take it for a slip
			}
			more[name], header = i, append(header, name)
		}
	}
	rows := [][]string{}
	if was != nil {
		for _, column := range schemas.Data {
			if !slices.Contains(was.Header, column.Name) {
				return c, fmt.Errorf("%s has no column %q, so it is no corpus: add it, or name another file", was.File, column.Name)
			}
		}
		header = was.Header
		for _, r := range was.Rows {
			cells := make([]string, len(header))
			for i, cell := range r.Cells {
				cells[i] = cell.Text
			}
			rows = append(rows, cells)
		}
	}
	at := func(name string) int { return slices.Index(header, name) }
	have, last := map[string]bool{}, 0
	for _, r := range rows {
		report := strings.TrimSpace(r[at(columnReport)])
		have[report] = true
		i := slices.IndexFunc(s.Rows, func(t Taken) bool { return t.Cells[from[columnReport]] == report })
		if i < 0 {
			c.Untaken = append(c.Untaken, r[at(columnID)])
		} else if was := drawn.FindAllString(r[at("extraction_notes")], -1); len(was) > 0 && !slices.Contains(was, drawn.FindString(s.Rows[i].Note)) {
			c.Redrawn = append(c.Redrawn, r[at(columnID)])
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(r[at(columnID)]), "F_")); err == nil {
			last = max(last, n)
		}
		if words := r[at(columnText)]; strings.TrimSpace(r[at(columnParagraphs)]) == "" && strings.TrimSpace(words) != "" {
			r[at(columnParagraphs)], c.Changed = strconv.Itoa(paragraphs(words)), true
		}
	}
	for _, t := range s.Rows {
		if have[t.Cells[from[columnReport]]] {
			continue
		}
		row := make([]string, len(header))
		for _, column := range schemas.Data {
			if k, ok := from[column.Name]; ok {
				row[at(column.Name)] = written(t.Cells[k], column.Kind)
			}
		}
		for name, k := range more {
			if j := at(name); j >= 0 { // or people removed the column
				row[j] = t.Cells[k]
			}
		}
		last++ // an id is never given twice
		row[at(columnID)], row[at("extraction_date")], row[at("extraction_notes")] = fmt.Sprintf("F_%03d", last), t.Date, t.Note
		rows = append(rows, row)
		c.Added, c.Changed = c.Added+1, true
	}
	for _, column := range schemas.Data {
		n := 0
		for _, r := range rows {
			if strings.TrimSpace(r[at(column.Name)]) == "" {
				n++
			}
		}
		if n > 0 {
			c.Empty = append(c.Empty, eval.Level{Name: column.Name, Value: strconv.Itoa(n)})
		}
	}
	c.Rows = append([][]string{header}, rows...)
	return c, nil
}

func usedBy(from map[string]int, i int) bool {
	return slices.Contains(slices.Collect(maps.Values(from)), i)
}

// columns finds the columns of the schema in the header: by the names that were given, by
// their own, or without the words report and evaluation.
func (s Sample) columns() (map[string]int, error) {
	from := map[string]int{}
	for known, name := range s.Columns {
		if i := slices.IndexFunc(schemas.Data, func(c column) bool { return c.Name == known }); i < 0 || slices.Contains(personal, known) {
			return nil, fmt.Errorf("--column %s=%s: the corpus takes no column %q from a sample", known, name, known)
		}
		i := slices.Index(s.Header, name)
		if i < 0 {
			return nil, fmt.Errorf("--column %s=%s: the sample has no column %q; its columns are %s", known, name, name, strings.Join(s.Header, ", "))
		}
		from[known] = i
	}
	from[columnReport] = slices.Index(s.Header, s.ID)
	for _, c := range schemas.Data {
		if slices.Contains(personal, c.Name) {
			continue
		}
		short := strings.TrimSuffix(strings.TrimPrefix(c.Name, "report_"), "_evaluation")
		for _, name := range []string{c.Name, short} {
			i := slices.IndexFunc(s.Header, func(h string) bool { return plainName(h) == name })
			if _, ok := from[c.Name]; !ok && i >= 0 && !usedBy(from, i) {
				from[c.Name] = i
			}
		}
	}
	return from, nil
}

// plainName is the name of a column as schemas write it.
func plainName(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "_")
}

// written is a value as the schema wants it.
func written(cell string, kind string) string {
	if kind == "boolean" {
		switch strings.ToLower(cell) {
		case "yes", "y", "1":
			return boolean(true)
		case "no", "n", "0":
			return boolean(false)
		}
	}
	return cell
}
