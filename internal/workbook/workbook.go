// Package workbook reads and writes tables that people keep in spreadsheets: a sheet of
// an XLSX workbook, or a CSV file. Every value has the place where it stands, as file,
// sheet and cell or as file, line and column, for errors that a person can act on.
//
// Read refuses what a table cannot be taken from without a guess: merged cells, formulas
// that show an error, columns without a name or with the same name, rows longer than
// the header, separators other than commas, and text that is not UTF-8. It accepts what
// spreadsheets write: a byte order mark and CRLF line ends. Formulas without a value, which
// programs write that do not calculate, are errors too. In CSV files, text that a spreadsheet
// would take for a formula is escaped as in [text.EscapeFormula].
//
// The package must not know what the columns mean.
package workbook

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/text"
)

// A Table is a header and the rows below it that are not blank.
type Table struct {
	File   string
	Sheet  string // "" for CSV
	Header []string
	Rows   []Row
}

// A Row has a cell for each column of the header.
type Row struct {
	Cells  []string
	line   int             // of the sheet or file, from 1
	fields []dataset.Field // CSV: with the place of each cell
}

// Place says where a cell stands: "list.xlsx, sheet Main, cell B12" or "list.csv:12:7".
func (t *Table) Place(r Row, column int) string {
	if t.Sheet == "" {
		if column < len(r.fields) {
			return fmt.Sprintf("%s:%d:%d", t.File, r.fields[column].Line, r.fields[column].Column)
		}
		return fmt.Sprintf("%s:%d", t.File, r.line)
	}
	return fmt.Sprintf("%s, sheet %s, cell %s", t.File, t.Sheet, cellName(column, r.line))
}

func cellName(column, line int) string {
	name, err := excelize.CoordinatesToCellName(column+1, line)
	if err != nil {
		return fmt.Sprintf("row %d, column %d", line, column+1)
	}
	return name
}

// Column finds a column by its name, without regard to case.
func (t *Table) Column(name string) (int, error) {
	for i, h := range t.Header {
		if strings.EqualFold(h, name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s: no column %q; the columns are %s", t.where(), name, strings.Join(t.Header, ", "))
}

func (t *Table) where() string {
	if t.Sheet == "" {
		return t.File + ":1"
	}
	return fmt.Sprintf("%s, sheet %s, row 1", t.File, t.Sheet)
}

// Parse reads a table from the content of a file. Sheet "" is the only sheet of a
// workbook, or the one called Main. The error lists all findings.
func Parse(path, sheet string, data []byte) (*Table, error) {
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return parseWorkbook(path, sheet, data)
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")):
		return nil, fmt.Errorf("%s: is an old or encrypted workbook: save it as .xlsx without a password, or as CSV", path)
	case sheet != "":
		return nil, fmt.Errorf("%s: is not a workbook, so it has no sheet %q", path, sheet)
	}
	return parseCSV(path, data)
}

func parseCSV(path string, data []byte) (*Table, error) {
	records, err := dataset.CSV(path, data)
	if err != nil {
		return nil, err
	}
	t := &Table{File: path}
	var errs []error
	for _, fields := range records {
		row := Row{line: fields[0].Line, fields: fields}
		for _, f := range fields {
			row.Cells = append(row.Cells, text.UnescapeFormula(f.Text))
		}
		errs = append(errs, t.add(row))
	}
	return t, errors.Join(append(errs, t.complete())...)
}

// add adds the header or a row.
func (t *Table) add(r Row) error {
	for i := range r.Cells {
		r.Cells[i] = strings.TrimSpace(r.Cells[i])
	}
	if blank(r.Cells) {
		return nil
	}
	if t.Header == nil {
		return t.head(r)
	}
	for i := len(t.Header); i < len(r.Cells); i++ {
		if r.Cells[i] != "" {
			return fmt.Errorf("%s: %q stands beside the table, which has %d columns: name the column in the first row, or empty the cell", t.Place(r, i), r.Cells[i], len(t.Header))
		}
	}
	for len(r.Cells) < len(t.Header) {
		r.Cells = append(r.Cells, "")
	}
	r.Cells = r.Cells[:len(t.Header)]
	t.Rows = append(t.Rows, r)
	return nil
}

func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(c string) bool { return c != "" })
}

func (t *Table) head(r Row) error {
	for len(r.Cells) > 0 && r.Cells[len(r.Cells)-1] == "" {
		r.Cells = r.Cells[:len(r.Cells)-1]
	}
	t.Header = r.Cells
	var errs []error
	for i, h := range r.Cells {
		switch first := slices.IndexFunc(r.Cells, func(o string) bool { return strings.EqualFold(o, h) }); {
		case h == "":
			errs = append(errs, fmt.Errorf("%s: the column has no name", t.Place(r, i)))
		case first < i:
			errs = append(errs, fmt.Errorf("%s: duplicate column %q", t.Place(r, i), h))
		}
	}
	return errors.Join(errs...)
}

func (t *Table) complete() error {
	switch {
	case t.Header == nil && t.Sheet == "":
		return fmt.Errorf("%s: the file is empty", t.File)
	case t.Header == nil:
		return fmt.Errorf("%s: sheet %s is empty", t.File, t.Sheet)
	}
	return nil
}

// unpacked limits what a workbook may unpack to.
const unpacked = 1 << 30

// errorValues are what a cell shows when its formula fails.
var errorValues = []string{"#REF!", "#N/A", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"}

func parseWorkbook(path, sheet string, data []byte) (t *Table, err error) {
	defer func() { // excelize panics on some damaged files
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("%s: the workbook is damaged (%v): open it in a spreadsheet and save it again", path, p)
		}
	}()
	f, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{RawCellValue: true, UnzipSizeLimit: unpacked, UnzipXMLSizeLimit: unpacked})
	if err != nil {
		return nil, fmt.Errorf("%s: reading the workbook: %w: open it in a spreadsheet and save it as .xlsx", path, err)
	}
	defer f.Close()
	if sheet, err = chooseSheet(path, sheet, f.GetSheetList()); err != nil {
		return nil, err
	}
	t = &Table{File: path, Sheet: sheet}
	merged, err := f.GetMergeCells(sheet)
	if err != nil {
		return nil, fmt.Errorf("%s, sheet %s: reading merged cells: %w", path, sheet, err)
	}
	var errs []error
	for _, m := range merged {
		errs = append(errs, fmt.Errorf("%s, sheet %s, cells %s: merged cells: unmerge them and write the value into each cell that it belongs to", path, sheet, m[0]))
	}
	rows, err := f.Rows(sheet)
	if err != nil {
		return nil, fmt.Errorf("%s, sheet %s: %w", path, sheet, err)
	}
	defer rows.Close()
	d := dates{file: f, sheet: sheet, is: map[int]bool{}}
	if p, err := f.GetWorkbookProps(); err == nil && p.Date1904 != nil {
		d.from1904 = *p.Date1904
	}
	formulas := hasFormulas(f)
	for line := 1; rows.Next(); line++ {
		if line > 1<<20 {
			return nil, fmt.Errorf("%s, sheet %s: more than %d rows: split the list", path, sheet, 1<<20)
		}
		cells, err := rows.Columns()
		if err != nil {
			return nil, fmt.Errorf("%s, sheet %s, row %d: %w", path, sheet, line, err)
		}
		row := Row{Cells: cells, line: line}
		for i, c := range cells {
			if slices.Contains(errorValues, c) {
				errs = append(errs, fmt.Errorf("%s: the cell shows %s: repair its formula, or write the value", t.Place(row, i), c))
			}
			if c == "" && formulas {
				if formula, err := f.GetCellFormula(sheet, cellName(i, line)); err == nil && formula != "" {
					errs = append(errs, fmt.Errorf("%s: the formula has no value: open the workbook in a spreadsheet and save it, or write the value", t.Place(row, i)))
				}
			}
			cells[i] = d.date(cellName(i, line), c)
		}
		errs = append(errs, t.add(row))
	}
	errs = append(errs, rows.Error(), t.complete())
	return t, errors.Join(errs...)
}

func chooseSheet(path, sheet string, have []string) (string, error) {
	switch {
	case sheet == "" && len(have) == 1:
		return have[0], nil
	case sheet == "" && slices.Contains(have, "Main"):
		return "Main", nil
	case sheet == "":
		return "", fmt.Errorf("%s has %d sheets: name one of %s", path, len(have), strings.Join(have, ", "))
	case !slices.Contains(have, sheet):
		return "", fmt.Errorf("%s has no sheet %q; the sheets are %s", path, sheet, strings.Join(have, ", "))
	}
	return sheet, nil
}

// hasFormulas reports whether a sheet of a workbook has a formula.
func hasFormulas(f *excelize.File) (has bool) {
	f.Pkg.Range(func(name, content any) bool {
		data, ok := content.([]byte)
		part, _ := name.(string)
		has = strings.HasPrefix(part, "xl/worksheets/") && (!ok || bytes.Contains(data, []byte("<f>")) || bytes.Contains(data, []byte("<f ")) || bytes.Contains(data, []byte(":f")))
		return !has
	})
	return has
}

// A dates reads the dates of a sheet.
type dates struct {
	file     *excelize.File
	sheet    string
	from1904 bool         // days are counted from 1904, as old Macs did
	is       map[int]bool // styles that show a date
}

// date returns a number that the sheet shows as a date as YYYY-MM-DD, and other values
// as they are.
func (d *dates) date(cell, value string) string {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	id, err := d.file.GetCellStyle(d.sheet, cell)
	if err != nil || id == 0 {
		return value
	}
	is, ok := d.is[id]
	if !ok {
		style, err := d.file.GetStyle(id)
		if err == nil {
			format := ""
			if style.CustomNumFmt != nil {
				format = strings.ToLower(*style.CustomNumFmt)
			}
			is = style.NumFmt >= 14 && style.NumFmt <= 17 || style.NumFmt == 22 || strings.Contains(format, "yy") || strings.Contains(format, "d/m") || strings.Contains(format, "m/d")
		}
		d.is[id] = is
	}
	if !is {
		return value
	}
	at, err := excelize.ExcelDateToTime(x, d.from1904)
	if err != nil {
		return value
	}
	return at.Format("2006-01-02")
}

// A Sheet is a sheet to write.
type Sheet struct {
	Name string
	Rows [][]string
}

// Write makes a workbook. Whole numbers become numbers, and everything else text: no
// cell becomes a formula. The same sheets give the same bytes.
func Write(sheets ...Sheet) ([]byte, error) {
	f := excelize.NewFile()
	defer f.Close()
	for i, s := range sheets {
		if i == 0 {
			if err := f.SetSheetName("Sheet1", s.Name); err != nil {
				return nil, err
			}
		} else if _, err := f.NewSheet(s.Name); err != nil {
			return nil, err
		}
		for line, row := range s.Rows {
			values := make([]any, len(row))
			for j, c := range row {
				values[j] = c
				if n := len(utf16.Encode([]rune(c))); n > excelize.TotalCellChars {
					return nil, fmt.Errorf("sheet %s, cell %s: %d characters: a spreadsheet holds %d in a cell: shorten the text, or write CSV", s.Name, cellName(j, line+1), n, excelize.TotalCellChars)
				}
				if n, err := strconv.Atoi(c); err == nil && strconv.Itoa(n) == c && len(c) < 16 { // a spreadsheet keeps 15 digits
					values[j] = n
				}
			}
			if err := f.SetSheetRow(s.Name, cellName(0, line+1), &values); err != nil {
				return nil, fmt.Errorf("sheet %s, row %d: %w", s.Name, line+1, err)
			}
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		return nil, fmt.Errorf("making a workbook: %w", err)
	}
	return b.Bytes(), nil
}

// CSV makes a CSV file in which no cell is a formula.
func CSV(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	var err error
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = text.EscapeFormula(c)
		}
		err = errors.Join(err, w.Write(cells))
	}
	w.Flush()
	return b.Bytes(), errors.Join(err, w.Error())
}
