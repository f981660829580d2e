package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineEndJoins are what a hyphen between two letters at the end of a line can stand for: it
// divides a word (agree-ment) or is a part of it (well-known).
var lineEndJoins = [2]string{"", "-"}

// HasTypography reports whether the document contains the quote in other typography only:
// [Index.Has] returns false, and comparing texts in which curly quotes are straight, all
// dashes are hyphens, invisible characters are left out and words divided at the end of a
// line are whole returns true. Case counts.
func (x *Index) HasTypography(quote string) bool {
	if x.Has(quote) {
		return false
	}
	for i, text := range x.typographic() {
		if q := foldTypography(unmarked(quote), lineEndJoins[i]); q != "" && strings.Contains(text, q) {
			return true
		}
	}
	return false
}

// typographic is the text of pages with its typography folded, for each of the joins.
func typographic(doc string, pages []Page) (folded [2]string) {
	var all strings.Builder
	for _, p := range pages {
		all.WriteString(doc[p.Start:p.End])
	}
	for i, join := range lineEndJoins {
		folded[i] = foldTypography(all.String(), join)
	}
	return folded
}

var (
	// A soft hyphen shows at the end of a line only.
	unseenMarks = strings.NewReplacer("\u00ad\n", "-\n", "\u00ad\r\n", "-\n",
		"\u00ad", "", "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "")
	lineEndHyphen = regexp.MustCompile(`[-‐‑]\s*\n\s*`)
)

// foldTypography is the minimal form of s with its typography folded. A hyphen between
// letters at the end of a line becomes the join. It is idempotent.
func foldTypography(s, join string) string {
	s = joinLines(nfkc(unseenMarks.Replace(s)), join)
	s = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("‘’‚‛`‹›ʼ", r):
			return '\''
		case strings.ContainsRune("“”„‟«»", r):
			return '"'
		case unicode.Is(unicode.Pd, r), r == '−', r == '⁃':
			return '-'
		}
		return r
	}, s)
	return Minimal(s) // what was apart may compose
}

// joinLines joins lines that a hyphen between two letters or digits breaks. Beside a digit
// the hyphen stays, as nothing divides a number.
func joinLines(s, join string) string {
	var b strings.Builder
	done := 0
	for _, at := range lineEndHyphen.FindAllStringIndex(s, -1) {
		left, _ := utf8.DecodeLastRuneInString(s[:at[0]])
		right, _ := utf8.DecodeRuneInString(s[at[1]:])
		if !isWordRune(left) || !isWordRune(right) {
			continue
		}
		hyphen := "-"
		if unicode.IsLetter(left) && unicode.IsLetter(right) {
			hyphen = join
		}
		b.WriteString(s[done:at[0]] + hyphen)
		done = at[1]
	}
	return b.String() + s[done:]
}
