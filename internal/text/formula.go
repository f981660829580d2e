package text

import (
	"strings"
	"unicode/utf8"
)

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
