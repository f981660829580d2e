package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scruple-eval/scruple/internal/dataset/limited"
)

// testdata/invoice.pdf was printed from testdata/invoice.html, which was written for
// this test, with
//
//	chromium --headless --no-pdf-header-footer --print-to-pdf=invoice.pdf invoice.html
const invoice = `---PAGE 1---
Invoice
Invoice number: INV-2041
Invoice date: 2024-03-15
Due date: 2024-04-14
Vendor: Müller & Söhne GmbH
---PAGE 2---
Items
Oak table 1 €1,150.00
Delivery 1 €84.56
Total amount: €1,234.56
`

func TestText(t *testing.T) {
	got, err := Text(filepath.Join("testdata", "invoice.pdf"))
	if err != nil || got != invoice {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, invoice)
	}
}

// objects makes a PDF of these objects, which are numbered from 1.
func objects(trailer string, list ...string) []byte {
	var b bytes.Buffer
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(list)+1)
	b.WriteString("%PDF-1.4\n")
	for i, o := range list {
		table += fmt.Sprintf("%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	fmt.Fprintf(&b, "%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", table, len(list)+1, trailer, b.Len())
	return b.Bytes()
}

// stream is an object with data.
func stream(keys, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", keys, len(data), data)
}

func packed(keys, data string) string {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, _ = w.Write([]byte(data))
	_ = w.Close()
	return stream(keys+"/Filter/FlateDecode", z.String())
}

const helvetica = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

// made makes a PDF of pages with these drawing commands, in Helvetica.
func made(compress bool, trailer string, pages ...string) []byte {
	list := []string{"<</Type/Catalog/Pages 2 0 R>>", "", helvetica}
	kids := ""
	for i, p := range pages {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
		content := stream("", p)
		if compress {
			content = packed("", p)
		}
		list = append(list, fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>", 5+2*i), content)
	}
	list[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, len(pages))
	return objects(trailer, list...)
}

// page makes a PDF of one page with these keys and drawing commands, and with further
// objects from number 6.
func page(keys, commands string, more ...string) []byte {
	return objects("", append([]string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[4 0 R]/Count 1>>", helvetica,
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 5 0 R" + keys + ">>", stream("", commands)}, more...)...)
}

func TestRead(t *testing.T) {
	const total = "BT /F1 12 Tf 20 100 Td (Total 5) Tj ET BT /F1 12 Tf 20 200 Td (Invoice) Tj ET"
	for _, tt := range []struct {
		name string
		data []byte
		want string // text, or a part of the error
		ok   bool
	}{
		{"from top to bottom", made(false, "", total), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"compressed", made(true, "", total), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"an empty page", made(true, "", total, ""), "---PAGE 1---\nInvoice\nTotal 5\n---PAGE 2---\n", true},
		{"no text", made(true, "", "0 0 10 10 re f"), "no text, only pictures", false},
		{"encrypted", made(false, "/Encrypt<</Filter/Standard/V 1/R 2/O(x)/U(y)/P -1>>/ID[(a)(b)]", total), "encrypted: save a copy without a password", false},
		{"not a PDF", []byte("hello"), "not a PDF", false},
		{"empty", nil, "not a PDF", false},
		{"cut off", made(false, "", total)[:300], "damaged", false},
		{"a bomb", made(true, "", strings.Repeat(" ", maxContent+1)), "more than 4 MB", false},
		{"nested", made(true, "", total+strings.Repeat("[", 1<<20)), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"nested outside", made(false, "/Info "+strings.Repeat("[", 1<<20), total), "nesting exceeds maximum depth", false},
		{"an image that has the bytes of brackets", page("/Resources<</Font<</F1 3 0 R>>/XObject<</I 6 0 R>>>>", total+" /I Do", stream("/Subtype/Image", strings.Repeat("<[", 1<<20))), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"bad operator", made(false, "", "BT /F1 Tf (x) Tj ET"), "damaged", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(tt.data)
			if tt.ok && (err != nil || got != tt.want) {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

// Forms and annotations are drawings of their own, with their own coordinates.
func TestDrawings(t *testing.T) {
	const (
		fonts = "/Resources<</Font<</F1 3 0 R>>>>"
		both  = "/Resources<</Font<</F1 3 0 R>>/XObject<</X 6 0 R>>>>"
		form  = "/Subtype/Form/BBox[0 0 300 300]"
		head  = "BT /F1 12 Tf 20 200 Td (Invoice) Tj ET "
		total = "BT /F1 12 Tf 20 100 Td (Total 5) Tj ET"
		up    = "BT /F1 12 Tf 0 1 -1 0 100 20 Tm (Total due: 42.00) Tj 0 1 -1 0 130 20 Tm (Paid: 7.00) Tj ET"
	)
	widget := func(keys string) string { return "/Annots[7 0 R 8 0 R]" + keys }
	for _, tt := range []struct {
		name string
		data []byte
		want string // text of the page, or a part of the error
		ok   bool
	}{
		{"a form", page(both, head+"q /X Do Q", stream(form+fonts, total)), "Invoice\nTotal 5\n", true},
		{"a packed form", page(both, head+"/X Do", packed(form+fonts, total)), "Invoice\nTotal 5\n", true},
		{"a form that is moved up", page(both, head+"q 1 0 0 1 0 150 cm /X Do Q", stream(form+fonts, total)), "Total 5\nInvoice\n", true},
		{"a form with a matrix", page(both, head+"/X Do", stream(form+fonts+"/Matrix[1 0 0 1 0 150]", total)), "Total 5\nInvoice\n", true},
		{"a form with the fonts of the page", page(both, head+"/X Do", stream(form, total)), "Invoice\nTotal 5\n", true},
		{"a form with the font that is set", page(both, head+"/X Do", stream(form+fonts, "BT 20 100 Td (Total 5) Tj ET")), "Invoice\nTotal 5\n", true},
		{"a form in a form", page(both, head+"/X Do", stream(form+"/Resources<</XObject<</Y 7 0 R>>>>", "/Y Do"), stream(form+fonts, total)), "Invoice\nTotal 5\n", true},
		{"a form twice", page(both, "/X Do q 1 0 0 1 0 -20 cm /X Do Q", stream(form+fonts, total)), "Total 5\nTotal 5\n", true},
		{"a form that is not used", page(both, head, stream(form+fonts, total)), "Invoice\n", true},
		{"an image", page(both, head+"/X Do", stream("/Subtype/Image", total)), "Invoice\n", true},
		{"a form that draws itself", page(both, head+"/X Do", stream(form+both, "/X Do")), "its forms are nested too deeply", false},
		{"forms that unpack to gigabytes", page(both, strings.Repeat("/X Do ", 100), packed(form, strings.Repeat(" ", 1<<20))), "more than", false},
		{"state left in a form stays there", page(both, "/X Do "+head, stream(form+fonts, "1 0 0 1 0 500 cm q q")), "Invoice\n", true},
		{"a page that is turned", page(fonts+"/Rotate 90", up), "Total due: 42.00\nPaid: 7.00\n", true},
		{"turned the other way", page(fonts+"/Rotate -90", strings.ReplaceAll(up, "0 1 -1 0", "0 -1 1 0")), "Paid: 7.00\nTotal due: 42.00\n", true},
		{"upside down", page(fonts+"/Rotate 180", "BT /F1 12 Tf -1 0 0 -1 200 200 Tm (Total) Tj -1 0 0 -1 200 100 Tm (Head) Tj ET"), "Head\nTotal\n", true},
		{"turned as all pages are", objects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Rotate 90/Kids[4 0 R]/Count 1>>", helvetica,
			"<</Type/Page/Parent 2 0 R/Contents 5 0 R"+fonts+">>", stream("", up)), "Total due: 42.00\nPaid: 7.00\n", true},
		{"a stamp at the side", page(fonts, head+"BT /F1 12 Tf 0 1 -1 0 10 90 Tm (Copy 2) Tj ET "+total), "Invoice\nTotal 5\nCopy 2\n", true},
		{"a turned field", page(widget(fonts+"/Rotate 90"), up, "null",
			"<</Subtype/Widget/Rect[200 20 220 120]/AP<</N 9 0 R>>>>", "null",
			stream(form+fonts+"/BBox[0 0 100 20]/Matrix[0 1 -1 0 0 0]", "BT /F1 12 Tf 2 4 Td (Jane Doe) Tj ET")), "Total due: 42.00\nPaid: 7.00\nJane Doe\n", true},
		{"a restore too many", page(fonts, "Q "+head), "Invoice\n", true},

		{"a filled field", page(widget(fonts), head, "null",
			"<</Subtype/Widget/Rect[20 80 120 100]/AP<</N 9 0 R>>>>", "null",
			stream(form+fonts+"/BBox[0 0 100 20]", "BT /F1 12 Tf 2 4 Td (Jane Doe) Tj ET")), "Invoice\nJane Doe\n", true},
		{"a field above the text", page(widget(fonts), head, "null",
			"<</Subtype/Widget/Rect[20 280 120 300]/AP<</N 9 0 R>>>>", "null",
			stream(form+fonts+"/BBox[0 0 100 20]", "BT /F1 12 Tf 2 4 Td (Jane Doe) Tj ET")), "Jane Doe\nInvoice\n", true},
		{"a box that is on", page(widget(fonts), head, "null",
			"<</Subtype/Widget/Rect[20 80 120 100]/AS/On/AP<</N<</On 9 0 R/Off 10 0 R>>>>>>", "null",
			stream(form+fonts, "BT /F1 12 Tf 2 4 Td (yes) Tj ET"), stream(form+fonts, "BT /F1 12 Tf 2 4 Td (no) Tj ET")), "Invoice\nyes\n", true},
		{"hidden annotations", page(widget(fonts), head, "null",
			"<</Subtype/FreeText/F 2/Rect[20 80 120 100]/AP<</N 9 0 R>>>>",
			"<</Subtype/FreeText/F 32/Rect[20 80 120 100]/AP<</N 9 0 R>>>>",
			stream(form+fonts, total)), "Invoice\n", true},
		{"a link has no appearance", page(widget(fonts), head, "null", "<</Subtype/Link/Rect[0 0 9 9]>>", "null"), "Invoice\n", true},
		{"an empty field", page(widget(fonts), head, "null", "<</Subtype/Widget/V()/Rect[0 0 9 9]>>", "null"), "Invoice\n", true},
		{"a value that is not drawn", page(widget(fonts), head, "null", "<</Subtype/Widget/V(Jane Doe)/Rect[0 0 9 9]>>", "null"), "page 1: the value of a form field is not drawn: print the PDF", false},
		{"a value of a parent that is not drawn", page(widget(fonts), head, "null", "<</Subtype/Widget/Parent 8 0 R/Rect[0 0 9 9]>>", "<</V(Jane Doe)>>"), "the value of a form field is not drawn", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(tt.data)
			if want := "---PAGE 1---\n" + tt.want; tt.ok && (err != nil || got != want) {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
			if !tt.ok && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

// tableStream makes a file whose table of objects, a stream, is its only object.
func tableStream(keys string, rows string) []byte {
	const head = "%PDF-1.5\n"
	return fmt.Appendf(nil, "%s1 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n", head, packed("/Type/XRef/Root 1 0 R"+keys, rows), len(head))
}

// Files that take all memory, the stack or no end of time. Without a process of its own,
// each of the first would end the test.
func TestBombs(t *testing.T) {
	table := func(first, trailer string) []byte {
		const head = "%PDF-1.4\n%                                                     \n" // the library reads no file of less than 100 bytes
		return fmt.Appendf(nil, "%sxref\n%s 1\n0000000009 00000 n \ntrailer\n<</Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", head, first, trailer, len(head))
	}
	font := func(toUnicode string) []byte {
		return page("/Resources<</Font<</F1 6 0 R>>>>", "BT /F1 12 Tf (x) Tj ET", "<</Type/Font/Encoding/Identity-H/ToUnicode 7 0 R>>", toUnicode)
	}
	const memory = "more than 1 GB of memory"
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"an object with a large number", table("9000000000", "/Size 9000000001"), memory},
		{"a table of large size", tableStream("/Size 1000000000/W[1 2 1]/Index[0 1]", strings.Repeat("\x00", 8)), memory},
		{"a table that begins far away", tableStream("/Size 2/W[1 2 1]/Index[9000000000 1]", strings.Repeat("\x00", 8)), memory},
		{"a wide column", tableStream("/Size 2/W[30000000000 2 1]/Index[0 1]", strings.Repeat("\x00", 8)), memory},
		{"columns of no width", tableStream("/Size 2/W[0 0 0]/Index[0 1000000000000]", ""), memory},
		{"a wide predictor", tableStream("/Size 2/W[1 2 1]/DecodeParms<</Predictor 12/Columns 30000000000>>", strings.Repeat("\x00", 8)), memory},
		{"an object in a stream that is in itself", tableStream("/Size 2/W[1 1 1]/Index[0 2]", "\x00\x00\x00\x02\x01\x00"), memory},
		{"a font with no end of characters", font(stream("", "1000000000000 beginbfchar endbfchar")), memory},
		{"a table that follows itself", table("0", "/Size 1/Prev 64"), "takes longer than 2s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Reader()
			if strings.Contains(tt.want, "2s") {
				r.Time = 2 * time.Second
			}
			if got, err := isolated(tt.data, r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.50q, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

// What a process of its own says is what was read.
func TestIsolated(t *testing.T) {
	file := filepath.Join("testdata", "invoice.pdf")
	if got, err := Text(file); err != nil || got != invoice {
		t.Errorf("got %q, %v", got, err)
	}
	empty := filepath.Join(t.TempDir(), "empty.pdf")
	if err := os.WriteFile(empty, made(true, "", ""), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Text(empty); err == nil || err.Error() != empty+": "+errNoText.Error() {
		t.Errorf("got %v, want %v", err, errNoText)
	}
}

func TestMain(m *testing.M) {
	limited.Host(Reader())
	os.Exit(m.Run())
}

func FuzzRead(f *testing.F) {
	f.Add(made(false, "", "BT /F1 12 Tf 20 100 Td (Total 5) Tj [(a) -200 (b)] TJ T* (c) ' ET"))
	f.Add(made(true, "", "BT /F1 12 Tf 20 100 Td (Total 5) Tj ET", ""))
	f.Add(made(false, "/Encrypt<</Filter/Standard>>", ""))
	if data, err := os.ReadFile(filepath.Join("testdata", "invoice.pdf")); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := isolated(data, Reader())
		if err == nil && !strings.HasPrefix(text, "---PAGE 1---\n") {
			t.Fatalf("the text begins with %.20q", text)
		}
		if again, err2 := isolated(data, Reader()); again != text || (err == nil) != (err2 == nil) {
			t.Fatal("the same file gave two texts")
		}
	})
}
