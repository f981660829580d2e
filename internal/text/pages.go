package text

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Page is the byte range of one page's text in a document, without the
// marker line before it.
type Page struct {
	Number     int
	Start, End int
}

const markerPrefix = "---PAGE"

// Pages finds the pages of a document. A page begins after a line
// "---PAGE n---"; numbers increase, from whatever the first one is. A document
// without any marker is one page, numbered 1. An invalid marker, or text before the
// first marker, is an error with the line number.
func Pages(doc string) ([]Page, error) {
	var pages []Page
	for pos, line := 0, 1; pos < len(doc); line++ {
		next := len(doc)
		if i := strings.IndexByte(doc[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		if strings.HasPrefix(doc[pos:next], markerPrefix) {
			number, err := readMarker(doc[pos:next])
			if err != nil {
				return nil, fmt.Errorf("reading pages: line %d: %w", line, err)
			}
			if len(pages) == 0 && !isBlank(doc[:pos]) {
				return nil, fmt.Errorf("reading pages: line %d: text before the first page marker; put a marker line before it or remove it", line)
			}
			if n := len(pages); n > 0 {
				last := &pages[n-1]
				last.End = pos
				if number <= last.Number {
					return nil, fmt.Errorf("reading pages: line %d: page %d comes after page %d; number the pages in increasing order", line, number, last.Number)
				}
			}
			pages = append(pages, Page{Number: number, Start: next, End: len(doc)})
		}
		pos = next
	}
	if pages == nil {
		pages = []Page{{Number: 1, Start: 0, End: len(doc)}}
	}
	return pages, nil
}

var errMarker = errors.New("a page marker must be on its own line, such as ---PAGE 3---")

// readMarker reads a whole line that begins like a page marker.
func readMarker(line string) (int, error) {
	line = strings.TrimRight(line, " \t\r\n")
	digits, ok := strings.CutPrefix(line, markerPrefix+" ")
	if ok {
		digits, ok = strings.CutSuffix(digits, "---")
	}
	if !ok {
		return 0, fmt.Errorf("%q: %w", clip(line), errMarker)
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || digits[0] == '+' || digits[0] == '0' {
		return 0, fmt.Errorf("%q: page %q is not a whole number from 1: %w", clip(line), clip(digits), errMarker)
	}
	return n, nil
}

func isBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !isSpace(r) }) < 0
}

// clip shortens a text for an error message.
func clip(s string) string { return Shorten(s, 60) }

// unmarked removes page markers from a quote that was copied across a page break,
// since they are not part of the searched text.
func unmarked(quote string) string {
	if !strings.Contains(quote, markerPrefix) {
		return quote
	}
	lines := strings.Split(quote, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		_, err := readMarker(strings.TrimRight(line, "\r"))
		return strings.HasPrefix(line, markerPrefix) && err == nil
	}), "\n")
}
