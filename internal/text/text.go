// Package text parses text by people and models: it normalises text, parses typed
// values (numbers, money, dates, booleans, identifiers) and compares them, finds quotes in
// documents and their pages, and extracts the JSON object from an answer.
//
// It must not know suites, fields, gold or scores. No input makes it panic or
// guess: a date such as 03/04/2024 has two readings, and both are kept.
//
// Two normal forms are used throughout. [Minimal] is for quotes: NFKC and
// collapsed white space, nothing else. [Fold] is for comparing strings: the
// same, case folded, without the punctuation around it.
package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Plural formats a number with a noun: "1 item", "2 items".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// AddCount appends a note on n things, such as "2 items left out", to a list if n is not 0.
func AddCount(list *[]string, n int, one, many, format string, args ...any) {
	if n > 0 {
		*list = append(*list, Plural(n, one, many)+fmt.Sprintf(format, args...))
	}
}

// SetOf returns a set of texts.
func SetOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

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

// EscapeFormula returns a text for a cell of a CSV file. A text that a spreadsheet
// would take for a formula gets an apostrophe in front, and so does one that looks
// escaped already, so that [UnescapeFormula] restores every text.
func EscapeFormula(s string) string {
	if formula(s) {
		return "'" + s
	}
	return s
}

// UnescapeFormula undoes [EscapeFormula].
func UnescapeFormula(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && formula(rest) {
		return rest
	}
	return s
}

// formula reports whether a text begins like a formula, after apostrophes if any. A
// spreadsheet may skip white space, and reads full-width signs as their ASCII ones.
func formula(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "'"))
	return strings.ContainsRune("=+-@\t\r\n＝＋－＠", r)
}

// LookAlikes warns of items whose ids have white space or invisible characters at their
// ends, and of those that differ only in these or in how Unicode writes the same
// characters: gold or answers from elsewhere may mean the other one, or none.
func LookAlikes(ids []string) []string {
	first := map[string]string{}
	var padded, alike []string
	for _, id := range ids {
		if strings.TrimFunc(id, unseen) != id {
			padded = append(padded, fmt.Sprintf("item %+q has white space or an invisible character at an end of its id, which is a part of it: remove it, or write it wherever the item is named", id))
		}
		key := Minimal(strings.Join(strings.FieldsFunc(id, invisible), ""))
		if other, ok := first[key]; ok {
			alike = append(alike, fmt.Sprintf("items %+q and %+q look the same: give one of them another id", other, id))
		} else {
			first[key] = id
		}
	}
	return slices.Concat(Few(padded, "more has such an id", "more have such ids"), Few(alike, "more looks like another item", "more look like another item"))
}

// invisible reports a character without a form, such as a zero width space.
func invisible(r rune) bool { return unicode.Is(unicode.Cf, r) }

func unseen(r rune) bool { return unicode.IsSpace(r) || invisible(r) }

// Few is the beginning of a list, and how many more there are.
func Few(list []string, one, many string) []string {
	const few = 3
	if n := len(list) - few; n > 0 {
		return append(list[:few], Plural(n, one, many))
	}
	return list
}

// unspacedPerPiece is the number of characters that [Pieces] counts as one word in
// scripts without spaces. Tokens of Chinese, Japanese and Thai have 1 to 2 on average.
const unspacedPerPiece = 4

// Pieces counts the runs of letters and digits in s, which are the fewest tokens that
// a language model's tokenizer makes of it: punctuation and long words take more. In
// scripts without spaces it counts four characters as one.
func Pieces(s string) int {
	n, unspaced := 0, 0
	inside := false
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf: // a table, because prompts are long
			if asciiPiece[r] && !inside {
				n++
			}
			inside = asciiPiece[r]
		case isUnspaced(r):
			unspaced++
			inside = false
		case isWordRune(r):
			if !inside {
				n++
			}
			inside = true
		default:
			inside = false
		}
	}
	return n + (unspaced+unspacedPerPiece-1)/unspacedPerPiece
}

// asciiPiece has the letters and digits of ASCII.
var asciiPiece = func() (is [utf8.RuneSelf]bool) {
	for r := range is {
		is[r] = isWordRune(rune(r)) && r != '_'
	}
	return is
}()
