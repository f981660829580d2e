package extraction

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/extraction/synthetic"
	"github.com/scruple-eval/scruple/internal/text"
)

// The columns of a checklist. A second person answers each point with yes or no; an
// empty cell is not checked yet.
var (
	checklistDocument = []string{"document_id", "type", "difficulty"}
	checklistPoints   = []string{"values_correct", "quotes_verbatim", "missing_absent", "ambiguous_valid", "pages_correct"}
	checklistHeader   = slices.Concat(checklistDocument, checklistPoints, []string{"note"})
)

// writeChecklist writes an empty checklist.
func writeChecklist(w io.Writer, documents []*synthetic.Document) error {
	c := csv.NewWriter(w)
	c.Write(checklistHeader) // Error below reports the error
	for _, d := range documents {
		c.Write(append([]string{d.ID, d.Schema, d.Difficulty}, make([]string, len(checklistPoints)+1)...))
	}
	c.Flush()
	return c.Error()
}

// A verification is a filled-in row of a checklist.
type verification [5]byte // for each point 'y', 'n' or 0

// counts returns the points that were confirmed and those that were checked.
func (v verification) counts() (confirmed, checked int) {
	for _, point := range v {
		if point != 0 {
			checked++
		}
		if point == 'y' {
			confirmed++
		}
	}
	return confirmed, checked
}

// readChecklist reads a checklist by document, or what people answered to its points as a
// task, exported as CSV. The error lists all errors.
func readChecklist(file string, data []byte) (map[string]verification, error) {
	records, err := dataset.CSV(file, data)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("%s is empty: want the columns %s", file, strings.Join(checklistHeader, ","))
	}
	var header []string
	for _, f := range records[0] {
		header = append(header, f.Text)
	}
	document := max(slices.Index(header, checklistDocument[0]), slices.Index(header, "item"))
	at := make([]int, len(checklistPoints)) // the answers that people export have other columns, too
	for i, point := range checklistPoints {
		at[i] = slices.Index(header, point)
	}
	if document < 0 || slices.Contains(at, -1) {
		return nil, fmt.Errorf("%s:1: the columns are %q, want %q", file, strings.Join(header, ","), strings.Join(checklistHeader, ","))
	}
	rows := map[string]verification{}
	var errs []error
	for _, record := range records[1:] {
		line := record[0].Line
		if len(record) != len(header) {
			errs = append(errs, fmt.Errorf("%s:%d: the record has %d fields, the header %d", file, line, len(record), len(header)))
			continue
		}
		id := record[document].Text
		if _, dup := rows[id]; dup {
			errs = append(errs, fmt.Errorf("%s:%d: duplicate document %q", file, line, id))
		}
		var v verification
		for i, point := range checklistPoints {
			switch cell := strings.ToLower(strings.TrimSpace(record[at[i]].Text)); cell {
			case "":
			case "y", "yes":
				v[i] = 'y'
			case "n", "no":
				v[i] = 'n'
			default:
				errs = append(errs, fmt.Errorf("%s:%d: %s is %q: write yes or no, or leave it empty until it is checked", file, line, point, clip(cell)))
			}
		}
		rows[id] = v
	}
	return rows, errors.Join(errs...)
}

// openChecklist reads the study's checklist, if it has one.
func (s *Study) openChecklist(resolve func(string) string) (map[string]verification, error) {
	if s.Documents.Verification == "" {
		return nil, nil
	}
	file := resolve(s.Documents.Verification)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the checklist: %w", err)
	}
	return readChecklist(file, data)
}

// verifiedTable has the agreement on each point of the checklist; nil without one.
func (b *Bench) verifiedTable() *eval.Table {
	if len(b.verified) == 0 {
		return nil
	}
	t := &eval.Table{Name: "gold_verified", Title: "Verification of gold",
		Note:    fmt.Sprintf("%s on the checklist. Rules read the share of confirmed points as %s of the null baseline.", text.Plural(len(b.verified), "document", "documents"), metricGoldVerified),
		Columns: []string{"point", "checked", "confirmed", "share"}}
	row := func(title string, confirmed, checked int) {
		t.Rows = append(t.Rows, []string{title, fmt.Sprint(checked), fmt.Sprint(confirmed), percent(float64(confirmed)/float64(max(checked, 1)), checked > 0)})
	}
	var sum, of int
	for i, point := range checklistPoints {
		confirmed, checked := 0, 0
		for _, v := range b.verified {
			if v[i] != 0 {
				checked++
			}
			if v[i] == 'y' {
				confirmed++
			}
		}
		row(strings.ReplaceAll(point, "_", " "), confirmed, checked)
		sum, of = sum+confirmed, of+checked
	}
	row("all points", sum, of)
	return t
}
