// Package sheet reads tables that people keep in spreadsheets, from CSV and JSON
// Lines, with the place of every cell, so that each error names file, line and column.
// A byte order mark and CRLF line ends are accepted, since spreadsheets write them. Cells
// of CSV that are escaped against formulas get their text back ([text.UnescapeFormula]);
// everything else is kept as it is written.
//
// The package must not know what the columns mean.
package sheet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Sheet is a file of records.
type Sheet struct {
	Path    string
	Header  []string // columns in the order of the file, or of their first appearance
	Records []Record
}

// A Record is one row.
type Record struct {
	Line  int
	cells map[string]Cell
}

// A Cell is one value with its place. A cell without text is empty.
type Cell struct {
	dataset.Field
	Given bool // the record has the column
}

func at(line, column int) Cell { return Cell{Field: dataset.Field{Line: line, Column: column}} }

// Cell returns the value of a column. A missing one has the place of the record.
func (r *Record) Cell(column string) Cell {
	if c, ok := r.cells[column]; ok {
		return c
	}
	return at(r.Line, 1)
}

// Has reports whether the sheet has a column.
func (s *Sheet) Has(column string) bool { return slices.Contains(s.Header, column) }

// Errorf is an error about a cell.
func (s *Sheet) Errorf(c Cell, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", s.Path, c.Line, c.Column, fmt.Errorf(format, args...))
}

// Read reads a file: CSV if its name ends in .csv, else JSON Lines. The error joins
// everything that is wrong with the form of the file; the sheet then has the records
// that could be read.
func Read(path string) (*Sheet, error) {
	if strings.HasSuffix(strings.ToLower(path), ".csv") {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return ParseCSV(path, data)
	}
	s := &Sheet{Path: path}
	var errs []error
	_, err := dataset.Scan(path, func(line int, text []byte, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", path, line, err))
			return
		}
		if err := s.addJSON(line, text); err != nil {
			errs = append(errs, err)
		}
	})
	return s, errors.Join(append(errs, err)...)
}

// ParseCSV reads a table with a header. path is for errors.
func ParseCSV(path string, data []byte) (*Sheet, error) {
	s := &Sheet{Path: path}
	records, err := dataset.CSV(path, data)
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("%s is empty: want a header with the names of the columns, then one record per line", path)
	}
	var errs []error
	for i, fields := range records {
		if i == 0 {
			errs = append(errs, s.head(fields)...)
			continue
		}
		if n := len(fields); n != len(s.Header) {
			errs = append(errs, s.Errorf(Cell{fields[n-1], true}, "the record has %d fields, the header %d: put fields that contain a comma in quotes", n, len(s.Header)))
			continue
		}
		record := Record{Line: fields[0].Line, cells: map[string]Cell{}}
		for j, f := range fields {
			f.Text = text.UnescapeFormula(f.Text)
			record.cells[s.Header[j]] = Cell{f, true}
		}
		s.Records = append(s.Records, record)
	}
	return s, errors.Join(append(errs, err)...)
}

func (s *Sheet) head(fields []dataset.Field) (errs []error) {
	for i, f := range fields {
		switch c := (Cell{f, true}); {
		case f.Text == "":
			errs = append(errs, s.Errorf(c, "column %d has no name", i+1))
		case slices.Contains(s.Header, f.Text):
			errs = append(errs, s.Errorf(c, "duplicate column %q", f.Text))
		}
		s.Header = append(s.Header, f.Text)
	}
	return errs
}

// addJSON adds the record of a line.
func (s *Sheet) addJSON(line int, text []byte) error {
	record := Record{Line: line, cells: map[string]Cell{}}
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	at := func(offset int64) Cell { return at(line, 1+utf8.RuneCount(text[:min(int(offset), len(text))])) }
	if d.PeekKind() != '{' {
		return s.Errorf(at(0), "want one JSON object per line")
	}
	if _, err := d.ReadToken(); err != nil {
		return s.Errorf(at(d.InputOffset()), "%w", err)
	}
	var errs []error
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return s.Errorf(at(d.InputOffset()), "%w", err)
		}
		column := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return s.Errorf(at(d.InputOffset()), "%s: %w", column, err)
		}
		c := at(d.InputOffset() - int64(len(value)))
		if !slices.Contains(s.Header, column) {
			s.Header = append(s.Header, column)
		}
		if c.Text, c.Given, err = scalar(value); err != nil {
			errs = append(errs, s.Errorf(c, "%s: %w", column, err))
		}
		record.cells[column] = c
	}
	if _, err := d.ReadToken(); err != nil {
		return s.Errorf(at(d.InputOffset()), "%w", err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return s.Errorf(at(d.InputOffset()), "text after the object: want one JSON object per line")
	}
	s.Records = append(s.Records, record)
	return errors.Join(errs...)
}

// scalar writes a JSON value as a cell of CSV has it: a list is joined by commas.
func scalar(value jsontext.Value) (text string, given bool, err error) {
	switch value.Kind() {
	case 'n':
		return "", false, nil
	case '"':
		b, err := jsontext.AppendUnquote(nil, value)
		return string(b), true, err
	case '{':
		return "", true, errors.New("want a string, number, boolean or list, not an object")
	case '[':
		var parts []string
		d := jsontext.NewDecoder(bytes.NewReader(value))
		_, _ = d.ReadToken()
		for d.PeekKind() != ']' {
			item, err := d.ReadValue()
			if err != nil {
				return "", true, err
			}
			if k := item.Kind(); k == '[' || k == '{' {
				return "", true, errors.New("want a list of strings, numbers or booleans")
			}
			s, _, err := scalar(item)
			if err != nil {
				return "", true, err
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, ","), true, nil
	}
	return string(value), true, nil
}
