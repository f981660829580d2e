package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// onePage makes a PDF of one page with these keys and drawing commands, and with further
// objects from number 6.
func onePage(keys, commands string, more ...string) []byte {
	return objects("", append([]string{"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[7 0 R]>>>>", "<</Type/Pages/Kids[4 0 R]/Count 1>>", helvetica,
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 5 0 R" + keys + ">>", stream("", commands)}, more...)...)
}

// hebrew makes a page that draws in a font whose characters 1 to 4 are the first letters of Hebrew.
func hebrew(commands string) []byte {
	return onePage("/Resources<</Font<</F1 3 0 R/F2 6 0 R>>>>", "BT /F2 12 Tf "+commands+" ET",
		"<</Type/Font/Subtype/Type0/BaseFont/ABC+X/Encoding/Identity-H/DescendantFonts[8 0 R]/ToUnicode 9 0 R>>", "null",
		"<</Type/Font/Subtype/CIDFontType2/BaseFont/ABC+X/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 600>>",
		stream("", "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 4 beginbfchar <0001> <05D0> <0002> <05D1> <0003> <05D2> <0004> <05D3> endbfchar endcmap end"))
}

func TestRead(t *testing.T) {
	const total = "BT /F1 12 Tf 20 100 Td (Invoice) Tj ET BT /F1 12 Tf 20 200 Td (Total 5) Tj ET"
	for _, tt := range []struct {
		name string
		data []byte
		want string // text, or a part of the error
		ok   bool
	}{
		{"in the order of drawing", made(false, "", total), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"compressed", made(true, "", total), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"an empty page", made(true, "", total, ""), "---PAGE 1---\nInvoice\nTotal 5\n---PAGE 2---\n", true},
		{"no text", made(true, "", "0 0 10 10 re f"), "no text, only pictures", false},
		{"encrypted", made(false, "/Encrypt<</Filter/Standard/V 1/R 2/O(x)/U(y)/P -1>>/ID[(a)(b)]", total), "encrypted: save a copy without a password", false},
		{"not a PDF", []byte("hello"), "not a PDF", false},
		{"empty", nil, "not a PDF", false},
		{"cut off", made(false, "", total)[:300], "damaged", false},
		{"blanks of 4 MB", made(true, "", strings.Repeat(" ", 4<<20)), "no text", false},
		{"nested", made(true, "", total+strings.Repeat("[", 1<<20)), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"nested outside", made(false, "/Info "+strings.Repeat("[", 1<<20), total), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"an image that has the bytes of brackets", onePage("/Resources<</Font<</F1 3 0 R>>/XObject<</I 6 0 R>>>>", total+" /I Do", stream("/Subtype/Image", strings.Repeat("<[", 1<<20))), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"an operator without its operands", made(false, "", "BT /F1 Tf (x) Tj ET "+total), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"hyphens", made(false, "", "BT /F1 12 Tf 20 200 Td (For exam-) Tj 0 -14 Td (ple INV-) Tj 0 -14 Td (2041 of 1-) Tj 0 -14 Td (2) Tj ET"), "---PAGE 1---\nFor exam-\nple INV-\n2041 of 1-\n2\n", true},
		{"a sign without a character", onePage("/Resources<</Font<</F1 3 0 R/F2 6 0 R>>>>", "BT /F2 12 Tf 20 200 Td <0003> Tj /F1 12 Tf ( Paid) Tj ET",
			"<</Type/Font/Subtype/Type0/BaseFont/ABC+X/Encoding/Identity-H/DescendantFonts[8 0 R]>>", "null",
			"<</Type/Font/Subtype/CIDFontType2/BaseFont/ABC+X/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 600>>"), "---PAGE 1---\n\uFFFD Paid\n", true},
		{"text outside of the box", onePage("/CropBox[10 150 300 300]/Rotate 90/Resources<</Font<</F1 3 0 R>>>>", total+" BT /F1 12 Tf 4 250 Td (xPaid) Tj -200 0 Td (left) Tj ET"), "---PAGE 1---\nTotal 5\nPaid\n", true},
		{"nothing in the box", onePage("/CropBox[10 250 300 300]/Resources<</Font<</F1 3 0 R>>>>", total), "no text, only pictures", false},
		{"a box without a place", onePage("/CropBox[900 900 950 950]/Resources<</Font<</F1 3 0 R>>>>", total), "---PAGE 1---\nInvoice\nTotal 5\n", true},
		{"Hebrew from left to right", hebrew("20 200 Td <0004000300020001> Tj /F1 12 Tf ( Paid) Tj"), "---PAGE 1---\n\u05d0\u05d1\u05d2\u05d3 Paid\n", true},
		{"a page that is missing", bytes.Replace(made(false, "", total), []byte("/Count 1"), []byte("/Count 2"), 1), "page 2: incorrect page", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(tt.data, time.Minute)
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
	filled := func(look string) []byte {
		return onePage(widget(fonts), head, "null", "<</Subtype/Widget/FT/Tx/T(a)/V(Jane Doe)/Rect[20 80 120 100]/AP"+look+">>", "null", stream(form+fonts, total))
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string // text of the page, or a part of the error
		ok   bool
	}{
		{"a form", onePage(both, head+"q /X Do Q", stream(form+fonts, total)), "Invoice\nTotal 5\n", true},
		{"a packed form", onePage(both, head+"/X Do", packed(form+fonts, total)), "Invoice\nTotal 5\n", true},
		{"a form that is moved up", onePage(both, head+"q 1 0 0 1 0 150 cm /X Do Q", stream(form+fonts, total)), "Invoice\nTotal 5\n", true},
		{"a form with a matrix", onePage(both, head+"/X Do", stream(form+fonts+"/Matrix[1 0 0 1 0 150]", total)), "Invoice\nTotal 5\n", true},
		{"a form with the fonts of the page", onePage(both, head+"/X Do", stream(form, total)), "Invoice\nTotal 5\n", true},
		{"a form with the font that is set", onePage(both, head+"/X Do", stream(form+fonts, "BT 20 100 Td (Total 5) Tj ET")), "Invoice\nTotal 5\n", true},
		{"a form in a form", onePage(both, head+"/X Do", stream(form+"/Resources<</XObject<</Y 7 0 R>>>>", "/Y Do"), stream(form+fonts, total)), "Invoice\nTotal 5\n", true},
		{"a form twice", onePage(both, "/X Do q 1 0 0 1 0 -20 cm /X Do Q", stream(form+fonts, total)), "Total 5\nTotal 5\n", true},
		{"a form that is not used", onePage(both, head, stream(form+fonts, total)), "Invoice\n", true},
		{"an image", onePage(both, head+"/X Do", stream("/Subtype/Image", total)), "Invoice\n", true},
		{"a form that draws itself", onePage(both, head+"/X Do", stream(form+both, "/X Do")), "Invoice\n", true},
		{"state left in a form stays there", onePage(both, "/X Do "+head, stream(form+fonts, "1 0 0 1 0 500 cm q q")), "Invoice\n", true},
		{"a page that is turned", onePage(fonts+"/Rotate 90", up), "Total due: 42.00\nPaid: 7.00\n", true},
		{"turned the other way", onePage(fonts+"/Rotate -90", strings.NewReplacer("0 1 -1 0", "0 -1 1 0", " 20 Tm", " 220 Tm").Replace(up)), "Total due: 42.00\nPaid: 7.00\n", true},
		{"upside down", onePage(fonts+"/Rotate 180", "BT /F1 12 Tf -1 0 0 -1 200 200 Tm (Total) Tj -1 0 0 -1 200 100 Tm (Head) Tj ET"), "Total\nHead\n", true},
		{"turned as all pages are", objects("", "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Rotate 90/Kids[4 0 R]/Count 1>>", helvetica,
			"<</Type/Page/Parent 2 0 R/Contents 5 0 R"+fonts+">>", stream("", up)), "Total due: 42.00\nPaid: 7.00\n", true},
		{"a stamp at the side", onePage(fonts, head+"BT /F1 12 Tf 0 1 -1 0 10 90 Tm (Copy 2) Tj ET "+total), "Invoice\nCopy 2\nTotal 5\n", true},
		{"a turned field", onePage(widget(fonts+"/Rotate 90"), up, "null",
			"<</Subtype/Widget/Rect[200 20 220 120]/AP<</N 9 0 R>>>>", "null",
			stream(form+fonts+"/BBox[0 0 100 20]/Matrix[0 1 -1 0 0 0]", "BT /F1 12 Tf 2 4 Td (Jane Doe) Tj ET")), "Total due: 42.00\nPaid: 7.00\nJane Doe\n", true},
		{"a restore too many", onePage(fonts, "Q "+head), "Invoice\n", true},

		{"a filled field", onePage(widget(fonts), head, "null",
			"<</Subtype/Widget/Rect[20 80 120 100]/AP<</N 9 0 R>>>>", "null",
			stream(form+fonts+"/BBox[0 0 100 20]", "BT /F1 12 Tf 2 4 Td (Jane Doe) Tj ET")), "Invoice\nJane Doe\n", true},
		{"a field above the text comes after it", onePage(widget(fonts), head, "null",
			"<</Subtype/Widget/Rect[20 280 120 300]/AP<</N 9 0 R>>>>", "null",
			stream(form+fonts+"/BBox[0 0 100 20]", "BT /F1 12 Tf 2 4 Td (Jane Doe) Tj ET")), "Invoice\nJane Doe\n", true},
		{"fields that say the same", onePage("/Annots[7 0 R 8 0 R 9 0 R]"+fonts, head, "null",
			"<</Subtype/Widget/Rect[20 80 120 100]/AP<</N 10 0 R>>>>", "<</Subtype/Widget/Rect[20 60 120 80]/AP<</N 10 0 R>>>>", "<</Subtype/Widget/Rect[90 60 190 80]/AP<</N 10 0 R>>>>",
			stream(form+fonts+"/BBox[0 0 100 20]", "BT /F1 12 Tf 2 4 Td (5.00) Tj ET")), "Invoice\n5.00\n5.00 5.00\n", true},
		{"a box that is on", onePage(widget(fonts), head, "null",
			"<</Subtype/Widget/Rect[20 80 120 100]/AS/On/AP<</N<</On 9 0 R/Off 10 0 R>>>>>>", "null",
			stream(form+fonts, "BT /F1 12 Tf 2 4 Td (yes) Tj ET"), stream(form+fonts, "BT /F1 12 Tf 2 4 Td (no) Tj ET")), "Invoice\nyes\n", true},
		{"hidden annotations", onePage(widget(fonts), head, "null",
			"<</Subtype/FreeText/F 2/Rect[20 80 120 100]/AP<</N 9 0 R>>>>",
			"<</Subtype/FreeText/F 32/Rect[20 80 120 100]/AP<</N 9 0 R>>>>",
			stream(form+fonts, total)), "Invoice\n", true},
		{"a link has no appearance", onePage(widget(fonts), head, "null", "<</Subtype/Link/Rect[0 0 9 9]>>", "null"), "Invoice\n", true},
		{"an empty field", onePage(widget(fonts), head, "null", "<</Subtype/Widget/FT/Tx/T(a)/V()/Rect[0 0 9 9]>>", "null"), "Invoice\n", true},
		{"a value that is not drawn", onePage(widget(fonts), head, "null", "<</Subtype/Widget/FT/Tx/T(a)/V(Jane Doe)/Rect[0 0 9 9]>>", "null"), "page 1: the value of a form field is not drawn: print the PDF", false},
		{"a value of a parent that is not drawn", onePage(widget(fonts), head, "null", "<</Subtype/Widget/Parent 8 0 R/Rect[0 0 9 9]>>", "<</FT/Tx/T(a)/V(Jane Doe)/Kids[7 0 R]>>"), "the value of a form field is not drawn", false},
		{"a value and its look", onePage(widget(fonts), head, "null", "<</Subtype/Widget/FT/Tx/T(a)/V(Jane Doe)/Rect[20 80 120 100]/AP<</N 9 0 R>>>>", "null",
			stream(form+fonts+"/BBox[0 0 100 20]", "BT /F1 12 Tf 2 4 Td (Jane Doe) Tj ET")), "Invoice\nJane Doe\n", true},
		{"a value with no look but another", filled("<</D 9 0 R>>"), "the value of a form field is not drawn", false},
		{"a value with an empty look", filled("<<>>"), "the value of a form field is not drawn", false},
		{"a value with no look", filled("<</N null>>"), "the value of a form field is not drawn", false},
		{"a value with a look that is missing", filled("<</N 99 0 R>>"), "the value of a form field is not drawn", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(tt.data, time.Minute)
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

// Files that made other readers take all memory, the stack or no end of time. After each
// the next file is read.
func TestBombs(t *testing.T) {
	table := func(first, trailer string) []byte {
		const head = "%PDF-1.4\n%                                                     \n" // some readers read no file of less than 100 bytes
		return fmt.Appendf(nil, "%sxref\n%s 1\n0000000009 00000 n \ntrailer\n<</Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", head, first, trailer, len(head))
	}
	font := func(toUnicode string) []byte {
		return onePage("/Resources<</Font<</F1 6 0 R>>>>", "BT /F1 12 Tf (x) Tj ET", "<</Type/Font/Encoding/Identity-H/ToUnicode 7 0 R>>", toUnicode)
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string // a part of the error, if it is one
	}{
		{"an object with a large number", table("9000000000", "/Size 9000000001"), "damaged"},
		{"a table of large size", tableStream("/Size 1000000000/W[1 2 1]/Index[0 1]", strings.Repeat("\x00", 8)), "damaged"},
		{"a table that begins far away", tableStream("/Size 2/W[1 2 1]/Index[9000000000 1]", strings.Repeat("\x00", 8)), "damaged"},
		{"a wide column", tableStream("/Size 2/W[30000000000 2 1]/Index[0 1]", strings.Repeat("\x00", 8)), "damaged"},
		{"columns of no width", tableStream("/Size 2/W[0 0 0]/Index[0 1000000000000]", ""), "damaged"},
		{"a wide predictor", tableStream("/Size 2/W[1 2 1]/DecodeParms<</Predictor 12/Columns 30000000000>>", strings.Repeat("\x00", 8)), "damaged"},
		{"an object in a stream that is in itself", tableStream("/Size 2/W[1 1 1]/Index[0 2]", "\x00\x00\x00\x02\x01\x00"), "damaged"},
		{"a font with no end of characters", font(stream("", "1000000000000 beginbfchar endbfchar")), ""},
		{"a table that follows itself", table("0", "/Size 1/Prev 64"), "damaged"},
		{"forms that unpack to gigabytes", onePage("/Resources<</XObject<</X 6 0 R>>>>", strings.Repeat("/X Do ", 1000), packed("/Subtype/Form/BBox[0 0 300 300]", strings.Repeat(" ", 1<<20))), "takes longer than 2s, and 1s more for each page, of which it read 0: split it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := read(tt.data, 2*time.Second); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.50q, %v, want an error with %q", got, err, tt.want)
			}
			if got, err := read(small, maxTime); err != nil || got != "---PAGE 1---\nTotal 5\n" {
				t.Errorf("the next file: got %q, %v", got, err)
			}
		})
	}
}

// The more pages, the more time.
func TestManyPages(t *testing.T) {
	page := "BT /F1 4 Tf 5 295 Td " + strings.Repeat("(The parties agree that the goods are delivered within thirty days of the order date) Tj 0 -4.5 Td ", 60) + "ET"
	text, err := read(made(true, "", slices.Repeat([]string{page}, 80)...), time.Second)
	if err != nil || strings.Count(text, "---PAGE") != 80 {
		t.Errorf("got %.50q, %v", text, err)
	}
}

// small has little text.
var small = made(true, "", "BT /F1 12 Tf 20 100 Td (Total 5) Tj ET")

// A file that needs too much memory ends its instance, not the next one.
func TestMemory(t *testing.T) {
	pool, err := start(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	bomb := made(true, "", strings.Repeat(" ", 64<<20))
	if got, err := readBy(pool, bomb, maxTime); err == nil || !strings.Contains(err.Error(), "page 1: reading it fails or needs more than 1 GB of memory") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %.50q, %v", got, err)
	}
	if got, err := readBy(pool, small, maxTime); err != nil || got != "---PAGE 1---\nTotal 5\n" {
		t.Errorf("the next file: got %q, %v", got, err)
	}
}

// The files of testdata/SOURCE.md, which other readers garbled.
func TestFiles(t *testing.T) {
	for file, want := range map[string]string{
		"kerned.pdf":  "AVATAR VAT 7 Tokyo, To Yours, invoice number INV-2041\nTotal amount: 1,234.56 EUR to Tony Vance\noffice fine € – “quoted” 😀\n1 2 3\n",
		"tj.pdf":      "VAT\nTotal 5\n",
		"t3.pdf":      "abcd\n",
		"ii1.pdf":     "Invoice\nTotal 5\nPaid\n",
		"ii2.pdf":     "Invoice\nTotal 5\nPaid\n",
		"ii5.pdf":     "Invoice\nTotal 5\nPaid\n",
		"ii6.pdf":     "Invoice\nTotal 5\nPaid\n",
		"diff.pdf":    "Total 5\n",
		"diff2.pdf":   "Total 5\n",
		"identv.pdf":  "Total 5\n",
		"win.pdf":     "Total 5\n",
		"base.pdf":    "Total 12 € – “q” ä\n",
		"uni.pdf":     "Total 12 € x–y \uFFFD A\n",
		"std.pdf":     "Total “q” Æ 5\n",
		"arr.pdf":     "Invoice\nTotal 5\nPaid 7\n",
		"arr2.pdf":    "Invoice\nTotal 5\nPaid 7\n",
		"crop.pdf":    "Invoice\n",
		"invoice.pdf": strings.TrimPrefix(invoice, "---PAGE 1---\n"),
	} {
		if got, err := Text(filepath.Join("testdata", file)); err != nil || got != "---PAGE 1---\n"+want {
			t.Errorf("%s: got %q, %v, want %q", file, got, err, want)
		}
	}
	const want = "testdata/notou.pdf: page 1: 5 of 5 characters have no text, only shapes: run text recognition (OCR) on the PDF, or save its text as .txt"
	if got, err := Text("testdata/notou.pdf"); err == nil || err.Error() != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(made(false, "", "BT /F1 12 Tf 20 100 Td (Total 5) Tj [(a) -200 (b)] TJ T* (c) ' ET"))
	f.Add(made(true, "", "BT /F1 12 Tf 20 100 Td (Total 5) Tj ET", ""))
	f.Add(made(false, "/Encrypt<</Filter/Standard>>", ""))
	if data, err := os.ReadFile(filepath.Join("testdata", "invoice.pdf")); err == nil {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := read(data, time.Minute)
		if err == nil && !strings.HasPrefix(text, "---PAGE 1---\n") {
			t.Fatalf("the text begins with %.20q", text)
		}
		if again, err2 := read(data, time.Minute); again != text || (err == nil) != (err2 == nil) {
			t.Fatal("the same file gave two texts")
		}
	})
}
