package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A typographic is a document with its typography folded, made when it is first needed. A
// hyphen at the end of a line may divide a word (agree-ment) or join two (well-known), so
// there is a text for each reading.
type typographic struct {
	divided, joined string
}

// HasTypography reports whether the document contains the quote in other typography only:
// [Index.Has] returns false, and comparing texts in which curly quotes are straight, all
// dashes are hyphens, invisible characters are left out and words divided at the end of a
// line are whole returns true. Case counts.
func (x *Index) HasTypography(quote string) bool {
	if x.Has(quote) {
		return false
	}
	quote = unmarked(quote)
	t := x.typographic()
	for _, pair := range [][2]string{{t.divided, foldTypography(quote, "")}, {t.joined, foldTypography(quote, "-")}} {
		if pair[1] != "" && strings.Contains(pair[0], pair[1]) {
			return true
		}
	}
	return false
}

// foldTypography is the minimal form of s with its typography folded. A hyphen between
// letters at the end of a line becomes the join. It is idempotent.
func foldTypography(s, join string) string {
	s = strings.NewReplacer("\u00ad\r\n", "-\n", "\u00ad\n", "-\n").Replace(s) // a soft hyphen that shows
	s = strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, s)
	s = joinLines(nfkc(s), join)
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

// isInvisible reports a soft hyphen or a character of no width.
func isInvisible(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff':
		return true
	}
	return false
}

// joinLines joins the lines that a hyphen between two letters or digits breaks. Between
// letters the hyphen becomes the join; digits keep it, as nothing divides a number.
func joinLines(s, join string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		line := strings.TrimRightFunc(s[:i], isSpace)
		hyphen, size := utf8.DecodeLastRuneInString(line)
		if hyphen != '-' && hyphen != '‐' && hyphen != '‑' {
			b.WriteString(s[:i+1])
			s = s[i+1:]
			continue
		}
		line = line[:len(line)-size]
		rest := strings.TrimLeftFunc(s[i:], isSpace)
		left, _ := utf8.DecodeLastRuneInString(line)
		right, _ := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsLetter(left) && unicode.IsLetter(right):
			b.WriteString(line + join)
			s = rest
		case isWordRune(left) && isWordRune(right):
			b.WriteString(line + "-")
			s = rest
		default:
			b.WriteString(s[:i+1])
			s = s[i+1:]
		}
	}
}
