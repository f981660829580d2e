package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/text"
)

// plain reads CSV or JSON.
func (t *Table) plain(data []byte) error {
	data, err := dataset.Text(t.File, data)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data, '\n') < 0 {
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n")) // of old Macs
	}
	t.text = data
	name := strings.TrimSuffix(strings.ToLower(t.File), ".gz")
	ends := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) })
	}
	start := bytes.TrimLeft(data, " \t\r\n")
	switch {
	case ends(".csv", ".tsv"):
		t.csv()
	case bytes.HasPrefix(start, []byte("[")):
		t.array()
	case bytes.HasPrefix(start, []byte("{")), ends(".json", ".jsonl", ".ndjson"):
		t.lines()
	default:
		t.csv()
	}
	return nil
}

func newCSV(data []byte, comma rune) *csv.Reader {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.FieldsPerRecord = comma, -1
	return r
}

// separator returns the one of comma, semicolon and tab that divides most of the first
// records like the header. Spreadsheets write semicolons where numbers have a decimal
// comma.
func separator(data []byte) rune {
	const few = 20
	best, most := ',', 0
	for _, comma := range ",;\t" {
		r := newCSV(data, comma)
		header, err := r.Read()
		if err != nil || len(header) < 2 {
			continue
		}
		alike := 1
		for range few {
			record, err := r.Read()
			if err != nil {
				break
			}
			if len(record) == len(header) {
				alike++
			}
		}
		if alike > most {
			best, most = comma, alike
		}
	}
	return best
}

// keepReturns doubles the carriage return of line ends in quotes, since [csv.Reader] drops one.
// They count in spans. Lines and columns are the same.
func keepReturns(data []byte) []byte {
	if !bytes.Contains(data, []byte("\r\n")) {
		return data
	}
	kept, quoted := make([]byte, 0, len(data)), false
	for part := range bytes.SplitAfterSeq(data, []byte(`"`)) {
		if quoted {
			part = bytes.ReplaceAll(part, []byte("\r\n"), []byte("\r\r\n"))
		}
		kept, quoted = append(kept, part...), !quoted
	}
	return kept
}

// sep matches the first line that names the separator for Excel, and which some programs save as a record.
var sep = regexp.MustCompile(`^(?i:"?sep=([,;|\t:^~])"?)[,;\t]*\r*\n`)

func (t *Table) csv() {
	t.text = keepReturns(t.text)
	if named := sep.FindSubmatch(t.text); named != nil {
		t.comma, t.text = rune(named[1][0]), t.text[len(named[0])-1:] // its line is empty now
	} else {
		t.comma = separator(t.text)
	}
	r := newCSV(t.text, t.comma)
	r.ReuseRecord = true
	named := 0 // fields of the header, some without a name
	for {
		row := Row{at: int(r.InputOffset())}
		fields, err := r.Read()
		var bad *csv.ParseError
		switch {
		case err == io.EOF:
			return
		case errors.As(err, &bad): // what follows a stray quotation mark cannot be divided into records
			t.wrong.add(fmt.Errorf("%s:%d:%d: %w: put the field in quotes and double the quotation marks inside it", t.File, bad.Line, bad.Column, bad.Err))
			return
		}
		row.Line, _ = r.FieldPos(0)
		row.at += len(t.text[row.at:]) - len(bytes.TrimLeft(t.text[row.at:], "\r\n")) // the reader skips empty lines
		if blank(fields) {
			continue
		}
		if t.Header == nil {
			t.top, named = row, len(fields)
			t.head(slices.Clone(fields))
			continue
		}
		n := len(fields)
		for n > len(t.Header) && strings.TrimSpace(fields[n-1]) == "" {
			n--
		}
		if n > len(t.Header) && n <= named {
			t.beside(row, n-1, fields[n-1])
			continue
		}
		if n != len(t.Header) {
			t.fault(row, -1, "the record has %d fields, the header %d: put a field that contains %q in quotes; a decimal comma must be a point", n, len(t.Header), t.comma)
			continue
		}
		row.Cells = make([]Cell, n)
		for i, f := range fields[:n] {
			if plain := text.UnescapeFormula(f); plain != f {
				f, row.Cells[i].kind = plain, quoted
				t.escaped++
			}
			row.Cells[i].Text = f
		}
		if !t.add(row) {
			return
		}
	}
}

// fieldAt is the offset of a field of the first record.
func fieldAt(data []byte, comma rune, column int) int {
	r := newCSV(data, comma)
	fields, _ := r.Read()
	if column >= len(fields) {
		return 0
	}
	line, at := r.FieldPos(column)
	begin := 0
	for range line - 1 {
		begin += bytes.IndexByte(data[begin:], '\n') + 1
	}
	return min(begin+at-1, len(data))
}

// lines reads JSON Lines.
func (t *Table) lines() {
	at, line := 0, 0
	for data := range bytes.Lines(t.text) {
		row := Row{Line: line + 1, at: at}
		line, at = line+1, at+len(data)
		if data = bytes.TrimRight(data, "\r\n"); len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		value := jsontext.Value(data)
		if value.Kind() == '{' {
			if err := dataset.DecodeStrict(data, &value); err != nil {
				t.wrong.add(dataset.LocateLine(t.File, row.Line, err))
				continue
			}
		}
		if !t.object(row, value) {
			return
		}
	}
}

// array reads a JSON array of objects.
func (t *Table) array() {
	d := jsontext.NewDecoder(bytes.NewReader(t.text))
	_, err := d.ReadToken()
	line, counted := 1, 0
	for err == nil && d.PeekKind() != ']' {
		var value jsontext.Value
		if value, err = d.ReadValue(); err == nil {
			at := int(d.InputOffset()) - len(value)
			line, counted = line+bytes.Count(t.text[counted:at], []byte("\n")), at
			if !t.object(Row{Line: line, at: at}, value) {
				return
			}
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err == nil {
		if rest := bytes.TrimSpace(t.text[d.InputOffset():]); len(rest) > 0 {
			err = errors.New("text after the list: want one list of objects")
		}
	}
	if err != nil {
		offset := int(d.InputOffset())
		begin := bytes.LastIndexByte(t.text[:offset], '\n') + 1
		t.wrong.add(fmt.Errorf("%s:%d:%d: reading JSON: %w", t.File, 1+bytes.Count(t.text[:offset], []byte("\n")), 1+utf8.RuneCount(t.text[begin:offset]), err))
	}
}

// object adds a row. It returns false if no more rows can be read.
func (t *Table) object(row Row, value jsontext.Value) bool {
	if value.Kind() != '{' {
		t.fault(row, -1, "want a JSON object for each row, got %s", text.Shorten(string(value), 40))
		return true
	}
	row.Cells = make([]Cell, len(t.Header))
	if t.Header == nil {
		t.Header, t.columns = []string{}, map[string]int{}
	}
	for name, value := range text.Members(value) {
		column, known := t.columns[strings.ToLower(name)]
		switch {
		case strings.TrimSpace(name) == "":
			t.fault(row, -1, "a key has no name")
			return true
		case !known && len(t.Header) == maxColumns:
			t.fault(row, -1, "the objects have more than %d different keys", maxColumns)
			return false
		case !known:
			column = len(t.Header)
			t.columns[strings.ToLower(name)] = column
			t.Header, row.Cells = append(t.Header, name), append(row.Cells, Cell{})
		case t.Header[column] != name:
			t.fault(row, -1, "keys %q and %q: use one name", t.Header[column], name)
			return true
		}
		row.Cells[column] = cellOf(value)
	}
	return t.add(row)
}

// memberAt is the offset of a member's value in the valid object that a text begins with, 0 if it
// has no such member.
func memberAt(object []byte, name string) int {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	_, _ = d.ReadToken()
	for d.PeekKind() == '"' {
		token, _ := d.ReadToken()
		found := token.String() == name
		if value, err := d.ReadValue(); err != nil || found {
			return int(d.InputOffset()) - len(value)
		}
	}
	return 0
}

func cellOf(value jsontext.Value) Cell {
	switch value.Kind() {
	case 'n':
		return Cell{}
	case '"':
		b, _ := jsontext.AppendUnquote(nil, value)
		return Cell{Text: string(b)}
	case '{':
		return Cell{string(value), nested}
	case '[':
		if _, ok := items(value); !ok {
			return Cell{string(value), nested}
		}
		return Cell{string(value), list}
	}
	c := Cell{Text: string(value)}
	if value.Kind() == '0' {
		c.kind = number
	}
	return c
}

// items returns the items of a JSON list of strings, numbers and booleans.
func items(value jsontext.Value) (all []string, ok bool) {
	var list []jsontext.Value
	if value.Kind() != '[' || json.Unmarshal(value, &list) != nil {
		return nil, false
	}
	all = make([]string, len(list))
	for i, item := range list {
		if strings.ContainsRune("[{n", rune(item.Kind())) {
			return nil, false
		}
		all[i] = cellOf(item).Text
	}
	return all, true
}

// List returns the items of a cell: those of a list, which is written as JSON also in CSV
// and workbooks, the value of another cell, or nothing.
func (t *Table) List(c Cell) []string {
	if c.kind == list || c.kind == scalar && (t.comma != 0 || t.text == nil) && strings.HasPrefix(c.Text, "[") {
		if all, ok := items(jsontext.Value(c.Text)); ok {
			return all
		}
	}
	if strings.TrimSpace(c.Text) == "" {
		return nil
	}
	return []string{c.Text}
}
