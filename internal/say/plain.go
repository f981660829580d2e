package say

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes matches complete terminal sequences: CSI (colours, cursor) and OSC, DCS,
// PM, APC and SOS strings with their terminator. An incomplete sequence loses only
// its control character, so that a lone escape cannot hide the rest of a text.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|" +
	"(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x1b\x07\u009c]*(?:\x07|\x1b\\\\|\u009c)")

// PlainLine makes a text safe to print on one line: it removes escape sequences,
// control characters and characters that reorder text, and collapses spaces.
func PlainLine(s string) string {
	return strings.Trim(blanks.ReplaceAllString(PlainText(s), " "), " ")
}

// PlainText is PlainLine but keeps spaces, for text in columns.
func PlainText(s string) string {
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "\ufffd"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), Reorders(r), invisible(r):
			return -1
		}
		return r
	}, s)
}

// PlainLines is PlainText but keeps line breaks, for messages of several lines.
func PlainLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = PlainText(line)
	}
	return strings.Join(lines, "\n")
}

var blanks = regexp.MustCompile("  +")

// Reorders reports whether a character overrides or embeds text direction.
func Reorders(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// invisible reports whether a character has no width and no legitimate use in a
// name. Joiners are kept: scripts and emoji need them.
func invisible(r rune) bool {
	switch r {
	case '\u00ad', '\u061c', '\u200b', '\u200e', '\u200f', '\u2060', '\ufeff':
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f // tags
}

// Visible prepares a text for a page: it keeps line breaks and tabs, and replaces
// other control characters, those that reorder text, marks of direction and the byte
// order mark by visible symbols.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return -1
		case r < 0x20:
			return '\u2400' + r // the Unicode control picture
		case r == 0x7f:
			return '\u2421'
		case unicode.IsControl(r), Reorders(r), r == '\u061c', r == '\u200e', r == '\u200f', r == '\ufeff':
			return '\ufffd'
		}
		return r
	}, s)
}

// Exactly is Visible one for one: the offsets in what it returns, in code points, are
// those of the text.
func Exactly(s string) string { return Visible(strings.ReplaceAll(s, "\r", "\u240d")) }

// ASCII replaces our own typography by ASCII. It keeps other letters in data.
func ASCII(s string) string { return typography.Replace(s) }

var typography = strings.NewReplacer(
	Minus, "-", Dash, "-", "\u2014", "-", "…", "...", "─", "-", "×", "x",
	"↑", "^", "↓", "v", "“", `"`, "”", `"`, "‘", "'", "’", "'", "α", "alpha", "±", "+/-", "·", "*", "≥", ">=", "≤", "<=",
)
