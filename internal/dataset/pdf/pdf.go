// Package pdf reads the text of PDF files, page by page. What a model is sent and what
// its quotes are compared with is this text, so the same file must always give the same
// bytes.
//
// PDFium, the library of Chromium, reads them as WebAssembly. Text comes in the order in
// which the page draws it, which is that of reading in what most programs write; after it
// come the annotations as they look, such as fields that were filled in. Text that is
// invisible, such as that of text recognition under a scan, is read too, text outside of the
// page's box (CropBox) is not. Lines end where PDFium sees a line end, and a hyphen at one stays. A
// character of which only the shape is known is U+FFFD; a page where they are more than a
// few, and a tenth, is an error. A page without text, such as a scan, is an empty page; a file without
// any text is an error.
//
// PDFium does not say where it gave up a damaged page, of which it gives the text before. Of
// Hebrew and Arabic it turns what is drawn from left to right, as most programs do; other
// orders, and ligatures that are drawn apart, may come in the wrong order.
//
// Not read are hidden annotations, notes without a look of their own, and embedded files.
// PDFium's own fonts stand in for fonts that a file lacks, never those of the machine.
//
// Files are not trusted: each is read by an instance of its own, which has no files, no
// network, and limits of memory and time: the more pages, the more of it.
package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/scruple-eval/scruple/internal/dataset"
)

// Limits of a file. A thousand pages of dense text have 5 MB.
const (
	maxFile   = 64 << 20 // bytes
	maxPages  = 5000
	maxText   = 16 << 20 // bytes of text
	maxMemory = 1 << 30  // bytes
	maxTime   = time.Minute
	pageTime  = time.Second // that each page which was read adds to it
)

// Text returns the text of a file, with a line ---PAGE n--- before each page.
func Text(file string) (string, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s has %d MB: want at most %d: split it, or remove its pictures", file, info.Size()>>20, maxFile>>20)
	}
	if err != nil {
		return "", err
	}
	data, err := dataset.ReadFile(file)
	if err != nil {
		return "", err
	}
	text, err := read(data, maxTime)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}

var (
	errEncrypted = errors.New("the PDF is encrypted: save a copy without a password")
	errNoText    = errors.New("the PDF has no text, only pictures: run text recognition (OCR) on it, or save its text as .txt")
)

func damaged(err error) error {
	return fmt.Errorf("the PDF is damaged or of an unknown kind: %w: open it and save it again, or save its text as .txt", err)
}

// pdfiums gives instances of PDFium, one at a time.
var pdfiums = sync.OnceValues(func() (pdfium.Pool, error) { return start(maxMemory) })

// start compiles PDFium. That takes seconds, so the result is kept in the user's cache if
// there is one.
func start(memory uint32) (pdfium.Pool, error) {
	config := webassembly.Config{
		MaxTotal:     1,
		FSConfig:     wazero.NewFSConfig(), // no files
		Stdout:       io.Discard,
		Stderr:       io.Discard,
		RandomSource: zeros{},
		RuntimeConfig: wazero.NewRuntimeConfig().
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling). // as webassembly.Init has them
			WithMemoryLimitPages(memory >> 16).
			WithCloseOnContextDone(true),
	}
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "scruple")); err == nil {
			cached := config
			cached.RuntimeConfig = config.RuntimeConfig.WithCompilationCache(cache)
			if pool, err := webassembly.Init(cached); err == nil {
				return pool, nil
			}
		}
	}
	return webassembly.Init(config)
}

// zeros is the source of random numbers of PDFium, so that its text depends on none.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var reading sync.Mutex

// read reads a file in memory.
func read(data []byte, limit time.Duration) (string, error) {
	if !bytes.Contains(data[:min(1024, len(data))], []byte("%PDF-")) {
		return "", errors.New("the file is not a PDF: it does not begin with %PDF-")
	}
	if !bytes.Contains(data[max(0, len(data)-1024):], []byte("%%EOF")) {
		return "", damaged(errors.New("its end is missing"))
	}
	reading.Lock()
	defer reading.Unlock()
	pool, err := pdfiums()
	if err != nil {
		return "", fmt.Errorf("starting PDFium: %w", err)
	}
	return readBy(pool, data, limit)
}

// readBy reads a file with an instance of its own.
func readBy(pool pdfium.Pool, data []byte, limit time.Duration) (string, error) {
	in, err := pool.GetInstance(limit)
	if err != nil {
		return "", fmt.Errorf("starting PDFium: %w", err)
	}
	end := sync.OnceFunc(func() { _ = in.Kill() }) // Close would call an instance that may have failed
	defer end()
	var late atomic.Bool
	begun, done := time.Now(), 0
	watch := time.AfterFunc(limit, func() { late.Store(true); end() })
	defer watch.Stop()
	text, err := pages(in, data, func() {
		done++
		watch.Reset(time.Until(begun.Add(limit + time.Duration(done)*pageTime)))
	})
	if late.Load() {
		return "", fmt.Errorf("the PDF takes longer than %v, and %v more for each page, of which it read %d: split it, or save its text as .txt", limit, pageTime, done)
	}
	return text, err
}

// reason is the first line of an error of PDFium, without its number or the calls that led
// to it.
func reason(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if strings.Contains(line, "wasm error") {
		line = fmt.Sprintf("reading it fails or needs more than %d GB of memory (%s)", maxMemory>>30, line)
	}
	return errors.New(strings.TrimLeft(line, "0123456789: "))
}

// pages reads the pages of a file, and tells of each that is read.
func pages(in pdfium.Pdfium, data []byte, read func()) (string, error) {
	open, err := in.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return "", errEncrypted
	case err != nil:
		return "", damaged(reason(err))
	}
	n, err := in.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: open.Document})
	if err != nil {
		return "", damaged(reason(err))
	}
	if n.PageCount < 1 || n.PageCount > maxPages {
		return "", damaged(fmt.Errorf("it has %d pages, want 1 to %d", n.PageCount, maxPages))
	}
	kind, err := in.FPDF_GetFormType(&requests.FPDF_GetFormType{Document: open.Document})
	if err != nil {
		return "", damaged(reason(err))
	}
	var form references.FPDF_FORMHANDLE
	if kind.FormType != enums.FPDF_FORMTYPE_NONE {
		f, err := in.FPDFDOC_InitFormFillEnvironment(&requests.FPDFDOC_InitFormFillEnvironment{Document: open.Document, FormFillInfo: inert})
		if err != nil {
			return "", damaged(reason(err))
		}
		form = f.FormHandle
		// go-pdfium keeps the instances of all forms that are in use.
		defer in.FPDFDOC_ExitFormFillEnvironment(&requests.FPDFDOC_ExitFormFillEnvironment{FormHandle: form})
	}
	var b strings.Builder
	empty := true
	for i := range n.PageCount {
		p := page{in: in, id: requests.Page{ByIndex: &requests.PageByIndex{Document: open.Document, Index: i}}}
		box, err := in.FPDF_GetPageBoundingBox(&requests.FPDF_GetPageBoundingBox{Page: p.id})
		if err == nil {
			p.shown = box.Rect
			err = p.flatten(form)
		}
		text := ""
		if err == nil {
			text, err = p.text()
		}
		if many, ok := errors.AsType[unmapped](err); ok {
			return "", fmt.Errorf("page %d: %w", i+1, many)
		}
		if err != nil {
			return "", damaged(fmt.Errorf("page %d: %w", i+1, reason(err)))
		}
		fmt.Fprintf(&b, "---PAGE %d---\n%s", i+1, text)
		empty = empty && text == ""
		if b.Len() > maxText {
			return "", fmt.Errorf("the PDF has more than %d MB of text: split it", maxText>>20)
		}
		read()
	}
	if empty {
		return "", errNoText
	}
	return b.String(), nil
}

// inert does nothing for the forms of a file, whose values are only read.
var inert = structs.FPDF_FORMFILLINFO{
	FFI_Invalidate:         func(references.FPDF_PAGE, float64, float64, float64, float64) {},
	FFI_SetCursor:          func(enums.FXCT) {},
	FFI_SetTimer:           func(int, func(int)) int { return 0 },
	FFI_KillTimer:          func(int) {},
	FFI_GetLocalTime:       func() (t structs.FPDF_SYSTEMTIME) { return t },
	FFI_GetPage:            func(references.FPDF_DOCUMENT, int) *references.FPDF_PAGE { return nil },
	FFI_GetRotation:        func(references.FPDF_PAGE) enums.FPDF_PAGE_ROTATION { return 0 },
	FFI_ExecuteNamedAction: func(string) {},
}

// A page is one of a file that is open.
type page struct {
	in pdfium.Pdfium
	id requests.Page
	// shown is the box of the page that is shown, before its annotations are part of it.
	shown structs.FPDF_FS_RECTF
}

// The flags of annotations that are not shown.
const notShown = enums.FPDF_ANNOT_FLAG_HIDDEN | enums.FPDF_ANNOT_FLAG_NOVIEW

// flatten makes the annotations that are shown part of the page.
func (p page) flatten(form references.FPDF_FORMHANDLE) error {
	n, err := p.in.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: p.id})
	if err != nil || n.Count == 0 {
		return err
	}
	for i := n.Count - 1; i >= 0; i-- {
		a, err := p.in.FPDFPage_GetAnnot(&requests.FPDFPage_GetAnnot{Page: p.id, Index: i})
		if err != nil {
			continue // it is null
		}
		flags, err := p.in.FPDFAnnot_GetFlags(&requests.FPDFAnnot_GetFlags{Annotation: a.Annotation})
		if err != nil {
			return err
		}
		switch {
		case flags.Flags&notShown != 0:
			if _, err = p.in.FPDFPage_RemoveAnnot(&requests.FPDFPage_RemoveAnnot{Page: p.id, Index: i}); err != nil {
				return err
			}
		case p.value(form, a.Annotation) != "" && !p.drawn(a.Annotation):
			return errors.New("the value of a form field is not drawn: print the PDF to a file, or save it with a program that draws forms")
		}
	}
	_, err = p.in.FPDFPage_Flatten(&requests.FPDFPage_Flatten{Page: p.id})
	return err
}

// value is what was written into a field, "" if the annotation is none.
func (p page) value(form references.FPDF_FORMHANDLE, a references.FPDF_ANNOTATION) string {
	kind, err := p.in.FPDFAnnot_GetFormFieldType(&requests.FPDFAnnot_GetFormFieldType{FormHandle: form, Annotation: a})
	if err != nil || kind.FormFieldType < enums.FPDF_FORMFIELD_TYPE_COMBOBOX || kind.FormFieldType > enums.FPDF_FORMFIELD_TYPE_TEXTFIELD {
		return ""
	}
	v, err := p.in.FPDFAnnot_GetFormFieldValue(&requests.FPDFAnnot_GetFormFieldValue{FormHandle: form, Annotation: a})
	if err != nil {
		return ""
	}
	return strings.Trim(v.FormFieldValue, " \x00")
}

// drawn reports whether an annotation has a look.
func (p page) drawn(a references.FPDF_ANNOTATION) bool {
	look, err := p.in.FPDFAnnot_GetAP(&requests.FPDFAnnot_GetAP{Annotation: a, AppearanceMode: enums.FPDF_ANNOT_APPEARANCEMODE_NORMAL})
	return err == nil && strings.Trim(look.Value, " \x00") != ""
}

// few is how many characters of any page may be shapes, such as the signs of a list.
const few = 3

// An unmapped is a page with many characters of which only the shapes are known.
type unmapped struct{ bad, all int }

func (e unmapped) Error() string {
	return fmt.Sprintf("%d of %d characters have no text, only shapes: run text recognition (OCR) on the PDF, or save its text as .txt", e.bad, e.all)
}

// text returns the lines of a page.
func (p page) text() (string, error) {
	t, err := p.in.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: p.id})
	if err != nil {
		return "", err
	}
	n, err := p.in.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: t.TextPage})
	if err != nil {
		return "", err
	}
	cropped, err := p.cropped(t.TextPage)
	if err != nil {
		return "", err
	}
	var units []uint16
	var count unmapped
	codes, err := p.codes(t.TextPage, n.Count)
	if err != nil {
		return "", err
	}
	for i, r := range codes {
		e, err := p.in.FPDFText_HasUnicodeMapError(&requests.FPDFText_HasUnicodeMapError{TextPage: t.TextPage, Index: i})
		if err != nil {
			return "", err
		}
		if cropped && r > ' ' {
			box, err := p.in.FPDFText_GetCharBox(&requests.FPDFText_GetCharBox{TextPage: t.TextPage, Index: i})
			if err == nil && p.outside((box.Left+box.Right)/2, (box.Bottom+box.Top)/2) {
				continue
			}
		}
		count.all++
		switch {
		case e.HasUnicodeMapError, r == 0, r == utf8.RuneError, r == 0xfffe, r == 0xffff:
			count.bad++
			units = append(units, utf8.RuneError)
		case r == hyphen:
			units = append(units, '-', '\n')
		case r == ' ' && p.parted(t.TextPage, i):
			units = append(units, '\n')
		case r < ' ' && r != '\n', r == 0x7f:
			units = append(units, ' ')
		case utf16.IsSurrogate(r):
			units = append(units, uint16(r)) // half of a character
		default:
			units = utf16.AppendRune(units, r)
		}
	}
	if count.bad > few && count.bad*10 > count.all {
		return "", count
	}
	if _, err := p.in.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: t.TextPage}); err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(string(utf16.Decode(units))) {
		if words := strings.Fields(line); len(words) > 0 {
			b.WriteString(strings.Join(words, " ") + "\n")
		}
	}
	return b.String(), nil
}

// codes returns the Unicode of each character. One call has all of a page but for control characters:
// where none is left out, only hyphens and halves of characters need one of their own.
func (p page) codes(t references.FPDF_TEXTPAGE, n int) ([]rune, error) {
	if n == 0 {
		return nil, nil
	}
	all, err := p.in.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: t, Count: n})
	if err != nil {
		return nil, err
	}
	list, units := make([]rune, n), utf16.Encode([]rune(all.Text))
	for i := range list {
		if len(units) == n && units[i] != 0 && units[i] != 0xfffe && units[i] != utf8.RuneError {
			list[i] = rune(units[i])
			continue
		}
		c, err := p.in.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: t, Index: i})
		if err != nil {
			return nil, err
		}
		list[i] = rune(c.Unicode)
	}
	return list, nil
}

// cropped reports whether a part of the text is outside of the box that is shown. To look at each
// character takes time.
func (p page) cropped(t references.FPDF_TEXTPAGE) (bool, error) {
	n, err := p.in.FPDFText_CountRects(&requests.FPDFText_CountRects{TextPage: t, Count: -1})
	if err != nil || p.shown.Left >= p.shown.Right || p.shown.Bottom >= p.shown.Top { // a box that has no place is no box
		return false, err
	}
	for i := range n.Count {
		r, err := p.in.FPDFText_GetRect(&requests.FPDFText_GetRect{TextPage: t, Index: i})
		if err != nil || p.outside(r.Left, r.Top) || p.outside(r.Right, r.Bottom) {
			return true, err
		}
	}
	return false, nil
}

func (p page) outside(x, y float64) bool {
	return x < float64(p.shown.Left) || x > float64(p.shown.Right) || y < float64(p.shown.Bottom) || y > float64(p.shown.Top)
}

// hyphen is what PDFium gives for one at the end of a line that divides a word.
const hyphen = 2

// parted reports whether a space is one that PDFium adds between characters that are neither
// side by side nor one above the other. It does between forms, such as the fields of a
// page, as it compares places inside of them.
func (p page) parted(t references.FPDF_TEXTPAGE, i int) bool {
	added, err := p.in.FPDFText_IsGenerated(&requests.FPDFText_IsGenerated{TextPage: t, Index: i})
	if err != nil || !added.IsGenerated {
		return false
	}
	before, errBefore := p.in.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: t, Index: i - 1})
	after, errAfter := p.in.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: t, Index: i + 1})
	if errBefore != nil || errAfter != nil {
		return false
	}
	a, b := before.Rect, after.Rect
	return max(a.Left, b.Left) > min(a.Right, b.Right) && max(a.Bottom, b.Bottom) > min(a.Top, b.Top)
}
