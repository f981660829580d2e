package extraction

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/eval"
	"github.com/scruple-eval/scruple/internal/suites/extraction/synthetic"
	"github.com/scruple-eval/scruple/internal/table"
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
	rows := [][]string{checklistHeader}
	for _, d := range documents {
		rows = append(rows, append([]string{d.ID, d.Schema, d.Difficulty}, make([]string, len(checklistPoints)+1)...))
	}
	data, err := table.CSV(rows)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
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
// task, exported as a table. The error lists all errors.
func readChecklist(file string, data []byte) (map[string]verification, error) {
	t, err := table.Parse(file, "", data)
	if err != nil {
		return nil, err
	}
	var errs []error
	const item = "item" // in exports
	document := checklistDocument[0]
	// The answers that people export have other columns, too.
	c := t.Bind(table.Names{Known: append([]string{document, item}, checklistPoints...), Remedy: func(known, _ string) string { return "rename it" }}, func(_ string, err error) { errs = append(errs, err) })
	if !c.Has(document) {
		document = item
	}
	if !c.Has(document) || slices.ContainsFunc(checklistPoints, func(point string) bool { return !c.Has(point) }) {
		return nil, fmt.Errorf("%s:1: the columns are %q, want %q", file, strings.Join(t.Header, ","), strings.Join(checklistHeader, ","))
	}
	rows := map[string]verification{}
	for _, r := range t.Rows {
		id := c.Text(r, document)
		if _, dup := rows[id]; dup {
			errs = append(errs, t.Errorf(r, -1, "duplicate document %q", id))
		}
		var v verification
		for i, point := range checklistPoints {
			switch cell := strings.ToLower(strings.TrimSpace(c.Text(r, point))); cell {
			case "":
			case "y", "yes":
				v[i] = 'y'
			case "n", "no":
				v[i] = 'n'
			default:
				errs = append(errs, t.Errorf(r, -1, "%s is %q: write yes or no, or leave it empty until it is checked", point, clip(cell)))
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
	data, err := dataset.ReadFile(file)
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
		t.Row(eval.Text(title), eval.Count(checked), eval.Count(confirmed), eval.ShareOf(confirmed, checked))
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
