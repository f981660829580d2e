package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// A Field is a value of a CSV file with its place, both from 1. Columns count characters.
type Field struct {
	Text         string
	Line, Column int
}

// CSV reads the records of a CSV file, whose lengths may differ. It accepts what
// spreadsheets write: a byte order mark, CRLF line ends, and semicolons or tabs for commas.
// It changes no value. With an error it returns the records before it. path is for errors.
func CSV(path string, data []byte) (records [][]Field, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	lines := bytes.Split(data, []byte("\n"))
	if i := slices.IndexFunc(lines, func(l []byte) bool { return !utf8.Valid(l) }); i >= 0 {
		return nil, fmt.Errorf("%s:%d: the text is not UTF-8: save the file as CSV UTF-8", path, i+1)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	r.Comma = separator(data)
	for {
		texts, err := r.Read()
		var bad *csv.ParseError
		if errors.As(err, &bad) { // what follows a stray quotation mark cannot be divided into records
			return records, fmt.Errorf("%s:%d:%d: %w: put the field in quotes and double the quotation marks inside it", path, bad.Line, bad.Column, bad.Err)
		}
		if err != nil { // the end
			return records, nil
		}
		record := make([]Field, len(texts))
		for i, text := range texts {
			line, column := r.FieldPos(i)
			before := lines[line-1]
			record[i] = Field{text, line, 1 + utf8.RuneCount(before[:min(column-1, len(before))])}
		}
		records = append(records, record)
	}
}

// separator returns the comma, or the semicolon or tab that divides a first record in
// which commas divide nothing. Spreadsheets write it where numbers have a decimal comma.
func separator(data []byte) rune {
	for _, comma := range []rune{',', ';', '\t'} {
		r := csv.NewReader(bytes.NewReader(data))
		r.Comma = comma
		if header, err := r.Read(); err == nil && len(header) > 1 {
			return comma
		}
	}
	return ','
}
