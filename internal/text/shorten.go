package text

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Shorten truncates a text to at most most code points, ending in an ellipsis. It
// does not split grapheme clusters, such as a letter with its accents.
func Shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	end, n := 0, 1 // for the ellipsis
	for g := graphemes.FromString(s); g.Next(); end = g.End() {
		if n += utf8.RuneCountInString(g.Value()); n > most {
			break
		}
	}
	return s[:end] + "…"
}

// FirstLine is a text up to its first line feed.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
