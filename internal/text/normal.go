package text

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Minimal is s in Unicode form NFKC with every run of white space collapsed to
// one space and none at the ends. Case is kept. It is idempotent.
func Minimal(s string) string {
	if isMinimal(s) {
		return s
	}
	return strings.Join(strings.FieldsFunc(nfkc(s), isSpace), " ")
}

// Fold returns the normal form for comparing strings: [Minimal], with full Unicode
// case folding, without punctuation at either end and without brackets or asterisks around
// the whole text. A text of only punctuation is unchanged. Fold is idempotent.
func Fold(s string) string {
	return trimOuter(foldCase(Minimal(s)))
}

// Words counts the words of s: what stands between white space, and, in scripts without
// spaces, every two characters, which are about a word of Chinese.
func Words(s string) (n int) {
	unspaced := 0
	for field := range strings.FieldsFuncSeq(s, isSpace) {
		before, other := unspaced, false
		for _, r := range field {
			if isUnspaced(r) {
				unspaced++
			} else {
				other = other || isWordRune(r)
			}
		}
		if other || before == unspaced {
			n++
		}
	}
	return n + (unspaced+1)/2
}

// isSpace is white space as Python's str.split has it, which the reference
// definition of the minimal form uses: Unicode's, and the four information
// separators.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_')
}

// isUnspaced reports a letter of a script that puts no space between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// abuts reports a letter of a script that puts no space between a number and a word.
func abuts(r rune) bool { return isUnspaced(r) || unicode.Is(unicode.Hangul, r) }

// isMinimal reports, for ASCII text only, that Minimal has nothing to do.
func isMinimal(s string) bool {
	space := true // as if a space stood before the text
	for i := range len(s) {
		b := s[i]
		if b >= utf8.RuneSelf {
			return false
		}
		if b == ' ' {
			if space {
				return false
			}
			space = true
			continue
		}
		if isSpace(rune(b)) {
			return false
		}
		space = false
	}
	return !space || s == ""
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// nfkc normalises a text. Bytes that are not UTF-8 are kept and divide it; the
// library would leave some characters after them as they are.
func nfkc(s string) string {
	if utf8.ValidString(s) {
		return norm.NFKC.String(s)
	}
	var b []byte
	for s != "" {
		valid := validLength(s)
		b = norm.NFKC.AppendString(b, s[:valid])
		if valid < len(s) {
			b = append(b, s[valid])
			valid++
		}
		s = s[valid:]
	}
	return string(b)
}

// validLength is how many bytes of s are UTF-8, from its beginning.
func validLength(s string) int {
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
			return i
		}
	}
	return len(s)
}

// foldCase folds case in a text that is in minimal form. Folding can undo the
// normal form and normalising can bring back something to fold, so both are
// done until nothing changes, which takes two rounds at most in practice.
func foldCase(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	fold := cases.Fold()
	for range 4 {
		next := Minimal(fold.String(s))
		if next == s {
			break
		}
		s = next
	}
	return s
}

// trimOuter takes off the punctuation around a text, layer by layer.
func trimOuter(s string) string {
	t := s
	for {
		u := strings.TrimFunc(t, isOuter)
		u = unbracket(unbold(u))
		if u == "" {
			return s
		}
		if u == t {
			return t
		}
		t = u
	}
}

// isOuter reports whether a character is insignificant at the end of a value.
// Dashes, plus, percent and number signs are significant: blood group A- is not
// blood group A, and C# is not C.
func isOuter(r rune) bool {
	switch r {
	case '"', '\'', '`', '“', '”', '„', '‟', '‘', '’', '‚', '‛', '«', '»', '‹', '›', '「', '」', '『', '』',
		'.', ',', ';', ':', '!', '?', '¡', '¿', '。', '、', '·':
		return true
	}
	return isSpace(r)
}

// unbold removes the asterisks of Markdown around the whole text.
func unbold(s string) string {
	if m := bold.FindStringSubmatch(s); m != nil && m[1] == m[3] {
		return m[2]
	}
	return s
}

var bold = regexp.MustCompile(`^(\*{1,3})([^*]+)(\*{1,3})$`)

// unbracket removes a pair of brackets around the whole text. It does not change
// long texts, which are not values and may consist of brackets.
func unbracket(s string) string {
	if s == "" || len(s) > 10_000 {
		return s
	}
	kind := strings.IndexByte("([{", s[0])
	if kind < 0 || s[len(s)-1] != ")]}"[kind] {
		return s
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case s[0]:
			depth++
		case s[len(s)-1]:
			depth--
		}
		if depth == 0 && i < len(s)-1 {
			return s
		}
	}
	if depth != 0 {
		return s
	}
	return s[1 : len(s)-1]
}
