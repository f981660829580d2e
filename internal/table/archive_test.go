package table

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// A part of an archive is a text that is repeated between a beginning and an end. It may
// say that it has another size.
type part struct {
	begin, text, end string
	times            int
	size             uint64
}

const (
	sheetBegin = `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`
	sheetEnd   = `</sheetData></worksheet>`
)

// archiveOf makes a workbook with a sheet and these parts.
func archiveOf(t testing.TB, parts map[string]part) []byte {
	t.Helper()
	relation := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/` + kind + `" Target="` + target + `"/>`
	}
	all := map[string]part{
		"_rels/.rels":                {begin: `<Relationships>` + relation("r1", "officeDocument", "xl/workbook.xml") + `</Relationships>`},
		"xl/_rels/workbook.xml.rels": {begin: `<Relationships>` + relation("r1", "worksheet", "worksheets/sheet1.xml") + relation("r2", "sharedStrings", "sharedStrings.xml") + relation("r3", "styles", "styles.xml") + `</Relationships>`},
		"xl/workbook.xml":            {begin: `<workbook xmlns:r="r"><sheets><sheet name="Main" sheetId="1" r:id="r1"/></sheets></workbook>`},
		"xl/worksheets/sheet1.xml":   {begin: sheetBegin + `<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c></row><row r="2"><c r="A2"><v>1</v></c></row>` + sheetEnd},
	}
	for name, p := range parts {
		all[name] = p
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, p := range all {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		block := strings.Repeat(p.text, 1000)
		io.WriteString(w, p.begin)
		for range p.times / 1000 {
			io.WriteString(w, block)
		}
		io.WriteString(w, strings.Repeat(p.text, p.times%1000))
		io.WriteString(w, p.end)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	for name, p := range parts {
		if p.size == 0 {
			continue
		}
		i := bytes.LastIndex(data, []byte(name)) // in the directory: 46 bytes before its name
		binary.LittleEndian.PutUint32(data[i-46+24:], uint32(p.size))
	}
	return data
}

// A zip that is no workbook, such as ODS, is named as one.
func TestZipWithoutAWorkbook(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("content.xml")
	if err == nil {
		_, err = w.Write([]byte("<x/>"))
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("x.ods", "", b.Bytes()); err == nil || err.Error() != "x.ods: the file is a zip and no .xlsx workbook: unpack it, or save the sheet as .xlsx or CSV" {
		t.Error(err)
	}
}
