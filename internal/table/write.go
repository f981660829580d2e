package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/scruple-eval/scruple/internal/text"
)

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
				c = escape(c)
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
