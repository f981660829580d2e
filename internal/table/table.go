// Package table reads and writes tables: CSV with commas, semicolons or tabs, or the separator that
// a first line such as sep=; names for Excel, a sheet of
// an XLSX workbook, a JSON array of objects, and JSON Lines; text in UTF-8, or in UTF-16
// with a byte order mark; plain or compressed with gzip. The content decides, not the
// name, except that names ending in .csv and .tsv are never JSON, and those in .json,
// .jsonl and .ndjson never CSV.
//
// Every value has a place, as file, line and column or as file, sheet and cell, for errors
// that a person can act on. Rows without a value are skipped. Refused is what a table
// cannot be taken from without a guess: columns without a name or with the same name,
// values beside the header, rows of another length than the header in CSV, merged cells,
// formulas that show an error or have no value, and indexes of strings that are not there.
//
// In CSV files, text that a spreadsheet would take for a formula is escaped as in
// [text.EscapeFormula], but in those of [Records]. Files are not trusted: see [Reader] for workbooks; gzip may unpack
// to a hundred times its size.
//
// The package must not know what the columns mean.
package table

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Table is a header and the rows below it that are not blank.
type Table struct {
	File   string
	Sheet  string   // of a workbook, else ""
	Header []string // in the order of the file, or of their first appearance in JSON
	Rows   []Row

	top     Row            // of the header; zero for JSON
	text    []byte         // of the file; nil for a workbook
	comma   rune           // of CSV, else 0
	columns map[string]int // of JSON, in lower case
	truth   []bool         // columns of truth values; nil until they are asked for
	wrong   findings
	empty   int // cells without a value
	given   int // others
	escaped int // those of them that were
}

// A Row has a cell for each column of the header.
type Row struct {
	Line  int // of the file or sheet on which the row begins, from 1
	Cells []Cell
	at    int // where it begins in the text
}

// A Cell is a value as it is written. That of a list or an object of JSON is its JSON text,
// that of null is empty.
type Cell struct {
	Text string
	kind kind
}

type kind byte

const (
	scalar kind = iota
	list
	nested // an object, or a list of lists or objects
	number // of JSON
	quoted // of CSV: the text had an apostrophe in front
)

// Text returns a value without white space around it.
func (r Row) Text(column int) string { return strings.TrimSpace(r.Cells[column].Text) }

// Texts returns the values of a row without white space around them.
func (r Row) Texts() []string {
	texts := make([]string, len(r.Cells))
	for i := range r.Cells {
		texts[i] = r.Text(i)
	}
	return texts
}

// Escaped says how many texts of CSV had an apostrophe in front that was taken for an escape, which may
// have been part of them; "" if none had.
func (t *Table) Escaped() string {
	if t.escaped == 0 {
		return ""
	}
	return fmt.Sprintf("%s: in %s an apostrophe before =, +, - or @ was taken for the escape of a formula and left out: write such texts as JSON Lines or XLSX if it is part of them", t.File, text.Plural(t.escaped, "cell", "cells"))
}

// Read reads a file as [Parse] does.
func Read(path string) (*Table, error) {
	data, err := dataset.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, "", data)
}

// Parse reads a table from the content of a file. Sheet "" is the only sheet of a
// workbook, or the one called Main. The error lists the first findings; the table then has
// the rows that could be read. It is nil if there is no header.
func Parse(path, sheet string, data []byte) (*Table, error) {
	t := &Table{File: path}
	data, err := dataset.Unpack(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		err = t.workbook(sheet, data)
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")):
		return nil, fmt.Errorf("%s: is an old or encrypted workbook: save it as .xlsx without a password, or as CSV", path)
	case sheet != "":
		return nil, fmt.Errorf("%s: is not a workbook, so it has no sheet %q", path, sheet)
	default:
		err = t.plain(data)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case t.Header == nil && t.wrong.n == 0 && t.Sheet == "":
		t.wrong.add(fmt.Errorf("%s is empty: want a header with the names of the columns and a row below it, or objects of JSON", path))
	case t.Header == nil && t.wrong.n == 0:
		t.wrong.add(fmt.Errorf("%s: sheet %s is empty", path, t.Sheet))
	}
	if t.Header == nil {
		return nil, t.wrong.join(path)
	}
	for i := range t.Rows {
		if t.empty += len(t.Header) - len(t.Rows[i].Cells); t.sparse() {
			return nil, fmt.Errorf("%s: %w", path, errSparse)
		}
		t.Rows[i].Cells = append(t.Rows[i].Cells, make([]Cell, len(t.Header)-len(t.Rows[i].Cells))...)
	}
	return t, t.wrong.join(path)
}

// findings are errors, of which the first are kept.
type findings struct {
	errs []error
	n    int
}

const maxFindings = 20

func (f *findings) add(err error) {
	if f.n++; f.n <= maxFindings {
		f.errs = append(f.errs, err)
	}
}

func (f *findings) join(path string) error {
	if more := f.n - len(f.errs); more > 0 {
		return errors.Join(append(f.errs, fmt.Errorf("%s: and %d more", path, more))...)
	}
	return errors.Join(f.errs...)
}

// head takes the header, which is in the row top.
func (t *Table) head(names []string) {
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	for len(names) > 0 && names[len(names)-1] == "" { // spreadsheets write empty columns at the end
		names = names[:len(names)-1]
	}
	seen := map[string]bool{}
	for i, name := range names {
		switch lower := strings.ToLower(name); {
		case name == "":
			t.fault(t.top, i, "the column has no name")
		case seen[lower]:
			t.fault(t.top, i, "duplicate column %q", name)
		default:
			seen[lower] = true
		}
	}
	if len(names) > maxColumns {
		t.fault(t.top, maxColumns, "the table has %d columns: want at most %d", len(names), maxColumns)
	}
	t.Header = names
}

// Limits of tables. A file could have a few values far apart, and a table a cell for every
// place between them.
const (
	maxColumns = 4096
	fewEmpty   = 1 << 20
	mostEmpty  = 50 // times the cells with a value
)

// add adds a row, unless it is blank. It returns false if no more rows can be read.
func (t *Table) add(r Row) bool {
	given := 0
	for _, c := range r.Cells {
		if strings.TrimSpace(c.Text) != "" {
			given++
		}
	}
	if given == 0 {
		return true
	}
	if t.top.Line > 0 && len(t.Header) > 1 && slices.Equal(r.Texts(), t.Header) {
		t.fault(r, -1, "the row is the header again: remove it, and check whether the file is several files in one")
		return true
	}
	t.given, t.empty = t.given+given, t.empty+len(r.Cells)-given
	if t.sparse() {
		t.fault(r, -1, "%w", errSparse)
		return false
	}
	t.Rows = append(t.Rows, r)
	return true
}

var errSparse = errors.New("nearly all cells of the table are empty: remove columns without values, and name columns alike in all rows")

func (t *Table) sparse() bool { return t.empty > fewEmpty && t.empty > mostEmpty*t.given }

func blank(texts []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return strings.TrimSpace(s) != "" })
}

// Column finds a column by its name, without regard to case.
func (t *Table) Column(name string) (int, error) {
	if i := slices.IndexFunc(t.Header, func(h string) bool { return strings.EqualFold(h, name) }); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("%s: no column %q; the columns are %s", t.Top(), name, strings.Join(t.Header, ", "))
}

// Place says where a cell is: "list.xlsx, sheet Main, cell B12" or "list.csv:12:7". Column
// -1 is the whole row.
func (t *Table) Place(r Row, column int) string {
	if t.text == nil {
		if column < 0 {
			return fmt.Sprintf("%s, sheet %s, row %d", t.File, t.Sheet, r.Line)
		}
		return fmt.Sprintf("%s, sheet %s, cell %s", t.File, t.Sheet, cellName(column, r.Line))
	}
	if column < 0 {
		return fmt.Sprintf("%s:%d", t.File, r.Line)
	}
	at := 0
	if t.comma != 0 {
		at = fieldAt(t.text[r.at:], t.comma, column)
	} else if column < len(t.Header) {
		at = memberAt(t.text[r.at:], t.Header[column])
	}
	line := r.Line + bytes.Count(t.text[r.at:r.at+at], []byte("\n"))
	begin := bytes.LastIndexByte(t.text[:r.at+at], '\n') + 1
	return fmt.Sprintf("%s:%d:%d", t.File, line, 1+utf8.RuneCount(t.text[begin:r.at+at]))
}

// fault adds a finding about a cell, or about a row with column -1. To look for a place takes time.
func (t *Table) fault(r Row, column int, format string, args ...any) {
	if t.wrong.n++; t.wrong.n <= maxFindings {
		t.wrong.errs = append(t.wrong.errs, t.Errorf(r, column, format, args...))
	}
}

// Errorf is an error about a cell, or about a row with column -1.
func (t *Table) Errorf(r Row, column int, format string, args ...any) error {
	return fmt.Errorf("%s: %w", t.Place(r, column), fmt.Errorf(format, args...))
}
