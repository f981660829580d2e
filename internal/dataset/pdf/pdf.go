// Package pdf reads the text of PDF files, page by page. What a model is sent and what
// its quotes are compared with is this text, so the same file must always give the same
// bytes.
//
// A page is read as lines from top to bottom, and a line from left to right: glyphs of
// about the same height above the foot of the page are one line, and a gap of more than
// a fifth of the font size is a space, or 1.2 font sizes between the beginnings of
// glyphs whose width is unknown. Columns are therefore read across, as a table
// is. A page is turned as it is shown (Rotate), and lines that run upwards or downwards
// follow the others. A page without text, such as a scan, is an empty page; a file without any text is
// an error.
//
// The text of a page is that of its content, of the forms that it uses (which are
// drawings of their own), and of annotations as they look, such as fields that were filled
// in. Hidden annotations have none.
//
// Files are not trusted: they are read in a process of their own, see package limited, and
// sizes, memory and time are limited. Panics of the library are errors.
package pdf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"

	"github.com/scruple-eval/scruple/internal/dataset"
	"github.com/scruple-eval/scruple/internal/dataset/limited"
)

// Limits of a file. A thousand pages of dense text have 5 MB.
const (
	maxFile    = 64 << 20 // bytes
	maxPages   = 5000
	maxContent = 4 << 20  // bytes of drawing commands of a page, unpacked
	maxText    = 16 << 20 // bytes of text
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
	text, err := isolated(data, Reader())
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}

// Reader reads a file in memory.
func Reader() limited.Reader {
	return limited.Reader{Name: "PDF", Memory: 1 << 30, Time: time.Minute, Read: func(data []byte, _ string) ([]byte, error) {
		text, err := read(data)
		return []byte(text), err
	}}
}

func isolated(data []byte, r limited.Reader) (string, error) {
	text, err := r.Run(data, "")
	if e := limited.Exceeded(""); errors.As(err, &e) {
		err = damaged(e)
	}
	return string(text), err
}

var (
	errEncrypted = errors.New("the PDF is encrypted: save a copy without a password")
	errNoText    = errors.New("the PDF has no text, only pictures: run text recognition (OCR) on it, or save its text as .txt")
)

func damaged(err error) error {
	return fmt.Errorf("the PDF is damaged or of an unknown kind: %w: open it and save it again, or save its text as .txt", err)
}

// read reads a file in memory.
func read(data []byte) (text string, err error) {
	if !bytes.Contains(data[:min(1024, len(data))], []byte("%PDF-")) {
		return "", errors.New("the file is not a PDF: it does not begin with %PDF-")
	}
	defer func() {
		if p := recover(); p != nil {
			text, err = "", damaged(fmt.Errorf("%v", p))
		}
	}()
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && bytes.Contains(data, []byte("/Encrypt")):
		return "", errEncrypted
	case err != nil:
		return "", damaged(err)
	}
	n := r.NumPage()
	if n < 1 || n > maxPages {
		return "", damaged(fmt.Errorf("it has %d pages, want 1 to %d", n, maxPages))
	}
	var b strings.Builder
	empty := true
	for i := 1; i <= n; i++ {
		page := r.Page(i)
		if page.V.IsNull() {
			return "", damaged(fmt.Errorf("page %d is missing", i))
		}
		glyphs, err := pageGlyphs(page)
		if err != nil {
			return "", damaged(fmt.Errorf("page %d: %w", i, err))
		}
		fmt.Fprintf(&b, "---PAGE %d---\n", i)
		for _, direction := range glyphs {
			lines := layout(direction)
			empty = empty && strings.TrimSpace(lines) == ""
			b.WriteString(lines)
		}
		if b.Len() > maxText {
			return "", fmt.Errorf("the PDF has more than %d MB of text: split it", maxText>>20)
		}
	}
	if empty {
		return "", errNoText
	}
	return b.String(), nil
}

// layout puts glyphs into lines.
func layout(glyphs []pdf.Text) string {
	glyphs = slices.DeleteFunc(glyphs, func(g pdf.Text) bool {
		return g.S == "" || math.IsNaN(g.X) || math.IsNaN(g.Y) || math.IsInf(g.X, 0) || math.IsInf(g.Y, 0)
	})
	slices.SortStableFunc(glyphs, func(a, b pdf.Text) int { return cmp.Compare(b.Y, a.Y) })
	var b strings.Builder
	for len(glyphs) > 0 {
		first, n := glyphs[0], 1
		for n < len(glyphs) && first.Y-glyphs[n].Y <= 0.4*size(first) {
			n++
		}
		line(&b, glyphs[:n])
		glyphs = glyphs[n:]
	}
	return b.String()
}

// size is the font size of a glyph, which some files give as 1 or negative.
func size(g pdf.Text) float64 { return max(math.Abs(g.FontSize), 1) }

// line writes the glyphs of one line.
func line(b *strings.Builder, glyphs []pdf.Text) {
	slices.SortStableFunc(glyphs, func(x, y pdf.Text) int { return cmp.Compare(x.X, y.X) })
	var words strings.Builder
	for i, g := range glyphs {
		if i > 0 {
			before := glyphs[i-1]
			enough := 0.2
			if before.W == 0 { // unknown, as the library does not read all fonts: few glyphs are wider than high
				enough = 1.2
			}
			if g.X-(before.X+before.W) > enough*size(g) {
				words.WriteByte(' ')
			}
		}
		words.WriteString(clean(g.S))
	}
	if text := strings.Join(strings.Fields(words.String()), " "); text != "" {
		b.WriteString(text)
		b.WriteByte('\n')
	}
}

// clean makes what a glyph says valid text: control characters are spaces.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
}
