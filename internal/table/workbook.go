package table

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/dataset/limited"
	"github.com/scruple-eval/scruple/internal/text"
)

// Limits of a workbook.
const (
	maxUnpacked = 64 << 20 // bytes of the parts that are read
	maxLines    = 1 << 20  // of a sheet
	maxTexts    = 1 << 19  // different ones, of a workbook
)

// Reader reads a sheet of a workbook. Main gives it to [limited.Host], since workbooks are
// archives that unpack to any size.
func Reader() limited.Reader {
	return limited.Reader{Name: "workbook", Memory: 160 << 20, Time: time.Minute, Read: func(data []byte, sheet string) ([]byte, error) {
		s, err := readSheet(data, sheet)
		if err != nil {
			return nil, err
		}
		return json.Marshal(s)
	}}
}

// A sheet is what is read of a workbook.
type sheet struct {
	Name  string `json:"name"`
	Lines []line `json:"lines"`
	// Wrong are findings, each with the cells that it is about.
	Wrong [][2]string `json:"wrong"`
	More  int         `json:"more"` // further ones
}

type line struct {
	Number int      `json:"number"`
	Cells  []string `json:"cells"`
}

func (s *sheet) fault(at, format string, args ...any) {
	if len(s.Wrong) == maxFindings {
		s.More++
		return
	}
	s.Wrong = append(s.Wrong, [2]string{at, fmt.Sprintf(format, args...)})
}

// workbook reads a sheet.
func (t *Table) workbook(name string, data []byte) error {
	out, err := Reader().Run(data, name)
	if e, ok := errors.AsType[limited.Exceeded](err); ok {
		err = fmt.Errorf("the workbook is damaged or too large: %w: save the sheet as CSV", e)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.File, err)
	}
	var s sheet
	if err := dataset.DecodeStrict(out, &s); err != nil {
		return fmt.Errorf("%s: reading the workbook: %w", t.File, err)
	}
	t.Sheet = s.Name
	for _, w := range s.Wrong {
		t.wrong.add(fmt.Errorf("%s, sheet %s, %s: %s", t.File, s.Name, w[0], w[1]))
	}
	t.wrong.n += s.More
	for _, l := range s.Lines {
		if t.Header == nil {
			t.top = Row{Line: l.Number}
			t.head(l.Cells)
			continue
		}
		row := Row{Line: l.Number, Cells: make([]Cell, len(t.Header))}
		for i, text := range l.Cells {
			if i < len(row.Cells) {
				row.Cells[i].Text = text
			} else if strings.TrimSpace(text) != "" {
				t.beside(row, i, text)
				break
			}
		}
		if !t.add(row) {
			break
		}
	}
	return nil
}

// beside is a finding about a value in a column whose name is empty.
func (t *Table) beside(r Row, column int, text string) {
	t.fault(r, column, "%q stands beside the table, which has %d columns: name the column in the first row, or empty the cell", text, len(t.Header))
}

// cellName is the name of a cell, such as B12, column from 0 and line from 1.
func cellName(column, line int) string {
	name, err := excelize.CoordinatesToCellName(column+1, line)
	if err != nil { // beyond the last column of a spreadsheet
		name = fmt.Sprintf("%d in row %d", column+1, line)
	}
	return name
}

// An archive is the parts of a workbook.
type archive struct {
	parts map[string]*zip.File // by name in lower case
	left  uint64               // bytes that may be unpacked
}

var errTooLarge = fmt.Errorf("the workbook unpacks to more than %d MB: save the sheet as CSV", maxUnpacked>>20)

func damaged(err error) error {
	return fmt.Errorf("the workbook is damaged: %w: open it in a spreadsheet and save it as .xlsx", err)
}

// part unpacks a part and calls element for the beginning of every element in it that is
// not read yet. A part that does not exist has no elements.
func (a *archive) part(name string, element func(d *xml.Decoder, start xml.StartElement) error) error {
	f := a.parts[strings.ToLower(strings.TrimPrefix(name, "/"))]
	if f == nil {
		return nil
	}
	if f.UncompressedSize64 > a.left {
		return errTooLarge
	}
	a.left -= f.UncompressedSize64
	r, err := f.Open()
	if err != nil {
		return damaged(err)
	}
	defer r.Close()
	content := io.LimitReader(r, int64(f.UncompressedSize64)) // the archive may have more than it says
	d := xml.NewTokenDecoder(&shallow{d: xml.NewDecoder(content)})
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if start, ok := token.(xml.StartElement); ok && err == nil {
			err = element(d, start)
		}
		if err != nil {
			return damaged(fmt.Errorf("%s: %w", name, err))
		}
	}
}

// A shallow reader refuses elements that are nested too deeply.
type shallow struct {
	d     *xml.Decoder
	depth int
}

func (s *shallow) Token() (xml.Token, error) {
	const most = 100
	token, err := s.d.RawToken()
	switch token.(type) {
	case xml.StartElement:
		s.depth++
	case xml.EndElement:
		s.depth--
	}
	if s.depth > most {
		return nil, errors.New("its elements are nested too deeply")
	}
	return token, err
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// relations maps the ids of a part's relations to the names of parts, and their types to
// the first of each.
func (a *archive) relations(of string) (map[string]string, error) {
	list := map[string]string{}
	dir, file := path.Split(of)
	return list, a.part(dir+"_rels/"+file+".rels", func(_ *xml.Decoder, e xml.StartElement) error {
		target := attribute(e, "Target")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(dir, target)
		}
		list[attribute(e, "Id")] = target
		if kind := path.Base(attribute(e, "Type")); list[kind] == "" {
			list[kind] = target
		}
		return nil
	})
}

// readSheet reads a sheet of a workbook.
func readSheet(data []byte, name string) (*sheet, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, damaged(err)
	}
	a := &archive{map[string]*zip.File{}, maxUnpacked}
	for _, f := range z.File {
		a.parts[strings.ToLower(strings.ReplaceAll(f.Name, `\`, "/"))] = f
	}
	root, err := a.relations("")
	if err != nil {
		return nil, err
	}
	book := root["officeDocument"]
	if book == "" {
		return nil, errors.New("the file is a zip and no .xlsx workbook: unpack it, or save the sheet as .xlsx or CSV")
	}
	own, err := a.relations(book)
	if err != nil {
		return nil, err
	}
	p := parser{archive: a}
	var names []string
	partOf := map[string]string{}
	err = a.part(book, func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			p.from1904 = attribute(e, "date1904") == "1" || attribute(e, "date1904") == "true"
		case "sheet":
			names = append(names, attribute(e, "name"))
			partOf[attribute(e, "name")] = own[attribute(e, "id")] // r:id
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		err = damaged(errors.New("it has no sheets"))
	}
	if err == nil {
		name, err = chooseSheet(name, names)
	}
	if err == nil {
		err = p.strings(own["sharedStrings"])
	}
	if err == nil {
		err = p.styles(own["styles"])
	}
	if err != nil {
		return nil, err
	}
	p.sheet.Name = name
	return &p.sheet, p.read(partOf[name])
}

func chooseSheet(name string, have []string) (string, error) {
	switch {
	case name == "" && len(have) == 1:
		return have[0], nil
	case name == "" && slices.Contains(have, "Main"):
		return "Main", nil
	case name == "":
		return "", fmt.Errorf("the workbook has %d sheets and none is called Main: give that name to the sheet to read, or save it as CSV; the sheets are %s", len(have), text.Shorten(strings.Join(have, ", "), 400))
	case !slices.Contains(have, name):
		return "", fmt.Errorf("the workbook has no sheet %q; the sheets are %s", name, text.Shorten(strings.Join(have, ", "), 400))
	}
	return name, nil
}

// A parser reads a sheet.
type parser struct {
	*archive
	sheet    sheet
	shared   []string
	clocks   []string // how a style shows a date, a time, a percentage or the zeros of an id, see [clock]
	from1904 bool     // days are counted from 1904, as old Macs did
}

// A rich is a text in runs, of which only the text counts.
type rich struct {
	Text []string `xml:"t"`
	Runs []struct {
		Text []string `xml:"t"`
	} `xml:"r"`
}

func (r rich) String() string {
	all := slices.Clone(r.Text)
	for _, run := range r.Runs {
		all = append(all, run.Text...)
	}
	return unescape(strings.Join(all, ""))
}

// escaped is a character that XML cannot hold, as workbooks write it.
var escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// escape is the text by which a workbook has one; each _ that may begin an escaped character is one
// too.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r < ' ' && !strings.ContainsRune("\t\n\r", r) || r == '\ufffe' || r == '\uffff' || r == '_' && len(s) >= i+6 && escaped.MatchString(s[i:i+6]+"_") {
			fmt.Fprintf(&b, "_x%04X_", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unescape(s string) string {
	return escaped.ReplaceAllStringFunc(s, func(e string) string {
		n, _ := strconv.ParseUint(e[2:6], 16, 16)
		return string(rune(n))
	})
}

func (p *parser) strings(part string) error {
	return p.part(part, func(d *xml.Decoder, e xml.StartElement) error {
		switch {
		case e.Name.Local != "si":
			return nil
		case len(p.shared) == maxTexts:
			return fmt.Errorf("more than %d different texts", maxTexts)
		}
		var s rich
		err := d.DecodeElement(&s, &e)
		p.shared = append(p.shared, s.String())
		return err
	})
}

func (p *parser) styles(part string) error {
	own := map[string]string{ // formats by id
		"9": "0%", "10": "0%", "14": "d", "15": "d", "16": "d", "17": "my", "18": "h:m", "19": "h:m:s", "20": "h:m", "21": "h:m:s", "22": "d h:m", "45": "m:s", "46": "[h]:m:s", "47": "m:s",
	}
	cells := false // inside cellXfs
	return p.part(part, func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			own[attribute(e, "numFmtId")] = strings.ToLower(attribute(e, "formatCode"))
		case "cellXfs", "cellStyleXfs", "cellStyles", "dxfs":
			cells = e.Name.Local == "cellXfs"
		case "xf":
			if cells {
				p.clocks = append(p.clocks, clock(own[attribute(e, "numFmtId")]))
			}
		}
		return nil
	})
}

// unread is what a format has that stands for no part of a value: texts, escapes, padding,
// colours and languages, fractions of seconds, and the formats of negative numbers.
var unread = regexp.MustCompile(`"[^"]*"|[\\_*].|\[[^\]]{3,}\]|(s)\.0+|;.*`)

// clock is how a format shows a date or a time, nothing if it shows a number: a layout of
// package time, with "[" before it if hours go on after 24. Of a format of zeros, such as that
// of an id, it is the format, and of a percentage "%".
func clock(format string) (layout string) {
	if len(format) > 1 && strings.Trim(format, "0") == "" {
		return format
	}
	format = unread.ReplaceAllString(format, "$1")
	has := func(letters string) bool { return strings.ContainsAny(format, letters) }
	switch {
	case has("%"):
		return "%"
	case has("0#?"):
		return ""
	case has("dhs") && has("yd"), has("m") && !has("yhs"): // a month or a day has its year
		layout = time.DateOnly
	case has("y") && has("m"):
		layout = "2006-01"
	case has("y"):
		layout = "2006"
	}
	if has("hs") {
		layout = strings.TrimSpace(layout + " 15:04")
	}
	if has("s") {
		layout += ":05.999"
	}
	if has("[") && strings.HasPrefix(layout, "15") {
		layout = "[" + layout
	}
	return layout
}

// A cell of a sheet as XML.
type xmlCell struct {
	Name    string  `xml:"r,attr"`
	Type    string  `xml:"t,attr"`
	Style   int     `xml:"s,attr"`
	Formula *string `xml:"f"`
	Value   *string `xml:"v"`
	Inline  rich    `xml:"is"`
}

func (p *parser) read(part string) error {
	if p.parts[strings.ToLower(strings.TrimPrefix(part, "/"))] == nil {
		return damaged(fmt.Errorf("the part of sheet %s is missing", p.sheet.Name))
	}
	number, column := 0, -1
	row := line{}
	end := func() {
		if row.Number > 0 && !blank(row.Cells) {
			p.sheet.Lines = append(p.sheet.Lines, row)
		}
		row = line{}
	}
	err := p.part(part, func(d *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "row":
			end()
			number, column = number+1, -1
			if at := attribute(e, "r"); at != "" {
				n, err := strconv.Atoi(at)
				if err != nil || n < number {
					return fmt.Errorf("row %q after row %d", at, number-1)
				}
				number = n
			}
			if number > maxLines {
				return fmt.Errorf("more than %d rows", maxLines)
			}
			row = line{Number: number}
		case "c":
			var c xmlCell
			if err := d.DecodeElement(&c, &e); err != nil {
				return err
			}
			column++
			if c.Name != "" {
				to, in, err := excelize.CellNameToCoordinates(c.Name)
				if err != nil || in != number || to <= column {
					return fmt.Errorf("cell %q in row %d after column %d", c.Name, number, column)
				}
				column = to - 1
			}
			if text := p.value(c, cellName(column, number)); text != "" {
				row.Cells = append(row.Cells, make([]string, column+1-len(row.Cells))...)
				row.Cells[column] = text
			}
		case "mergeCell":
			p.sheet.fault("cells "+attribute(e, "ref"), "merged cells: unmerge them and write the value into each cell that it belongs to")
		}
		return nil
	})
	end()
	return err
}

// value is the text of a cell.
func (p *parser) value(c xmlCell, name string) string {
	at, value := "cell "+name, ""
	if c.Value != nil {
		value = *c.Value
	}
	switch c.Type {
	case "s":
		if value == "" {
			return ""
		}
		i, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || i < 0 || i >= len(p.shared) {
			p.sheet.fault(at, "the workbook is damaged: it has no text %q, only %d texts: open it in a spreadsheet and save it again", value, len(p.shared))
			return ""
		}
		return p.shared[i]
	case "inlineStr":
		return c.Inline.String()
	case "str", "e", "d":
		if value != "" || c.Type == "str" && c.Value != nil { // a formula may give an empty text
			s := unescape(value)
			if c.Type == "e" || slices.Contains(errorValues, s) {
				p.sheet.fault(at, "the cell shows %s: repair its formula, or write the value", s)
			}
			return s
		}
	case "b":
		if value = strings.TrimSpace(value); value != "" {
			return cmp.Or(map[string]string{"0": "FALSE", "1": "TRUE"}[value], strings.ToUpper(value))
		}
	default:
		if value != "" {
			return p.number(value, c.Style)
		}
	}
	if c.Formula != nil {
		p.sheet.fault(at, "the formula has no value: open the workbook in a spreadsheet and save it, or write the value")
	}
	return ""
}

// errorValues are what a cell shows when its formula fails.
var errorValues = []string{"#REF!", "#N/A", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!", "#CALC!"}

// number is a number with the 15 digits that spreadsheets show, a whole number with all of
// its digits, which programs write, and the zeros before them or the percent sign that the sheet shows,
// or if it shows a date or a time, YYYY-MM-DD and hh:mm:ss as far as it shows them. A whole day has no
// time, and a month or day without its year is shown with it.
func (p *parser) number(value string, style int) string {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	shows := ""
	if style >= 0 && style < len(p.clocks) {
		shows = p.clocks[style]
	}
	if zeros := strings.HasPrefix(shows, "0"); zeros && len(value) < len(shows) && strings.Trim(value, "0123456789") == "" {
		return shows[len(value):] + value
	} else if shows == "%" {
		return strconv.FormatFloat(100*x, 'G', 15, 64) + "%"
	} else if shows != "" && !zeros && x >= 0 && x < 2958466 { // the year 10000
		layout, elapsed := strings.CutPrefix(shows, "[")
		ms := int64(math.Round(x * 86400e3))
		switch {
		case !strings.Contains(layout, ":"):
			ms = int64(x) * 86400e3 // a day goes on to its end
		case ms%86400e3 == 0 && strings.HasPrefix(layout, time.DateOnly):
			layout = time.DateOnly
		}
		day := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
		switch {
		case p.from1904:
			day = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
		case x < 60: // before 1900-02-29, which spreadsheets have
			day = day.AddDate(0, 0, 1)
		}
		shown := day.AddDate(0, 0, int(ms/86400e3)).Add(time.Duration(ms%86400e3) * time.Millisecond).Format(layout)
		if elapsed {
			return fmt.Sprintf("%02d%s", ms/3600e3, shown[2:])
		}
		return shown
	}
	if digits := strings.Trim(value, "-0."); len(digits) > 16 && strings.ContainsAny(value, ".eE") {
		return strconv.FormatFloat(x, 'G', 15, 64)
	}
	return value
}
