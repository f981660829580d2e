package qa

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/scruple-eval/scruple/internal/text"
)

// normalize is the normal form of SQuAD (Rajpurkar et al. 2016): folded, without
// punctuation and articles, single spaces. SQuAD makes 5 of -5 and 12.5 of 1.25; here marks that
// belong to a number stay, and two different numbers have different forms.
func normalize(s string) string {
	s = folded(s)
	if strings.ContainsAny(s, ".,'’") {
		s = separated.ReplaceAllStringFunc(s, plainNumber)
	}
	var b strings.Builder
	for at := 0; at < len(s); {
		n := length(s[at:], isMark)
		b.WriteString(kept(s[:at], s[at:at+n], s[at+n:]))
		at += n
		n = length(s[at:], func(r rune) bool { return !isMark(r) })
		b.WriteString(s[at : at+n])
		at += n
	}
	words := slices.DeleteFunc(strings.Fields(b.String()), func(w string) bool { return w == "a" || w == "an" || w == "the" })
	return strings.Join(words, " ")
}

// normal is the normal form, or where nothing is left of a text, such as the grade A or the
// sign +, the text in lower case without the marks around it.
func normal(s string) string {
	whole := folded(strings.TrimSpace(s))
	return cmp.Or(normalize(s), strings.Trim(whole, " .,:;!?*_`\"'()[]"), whole)
}

// unraised matches all but what the form NFKC would make other numbers of: 102 of 10², 11/2 of 1½.
var unraised = regexp.MustCompile(`[^\p{No}⁺⁻₊₋]+`)

// folded is a text in lower case and in the form NFKC, with plain digits.
func folded(s string) string {
	if length(s, func(r rune) bool { return r < utf8.RuneSelf }) == len(s) {
		return strings.ToLower(s)
	}
	s = unraised.ReplaceAllStringFunc(s, norm.NFKC.String)
	s = strings.Map(func(r rune) rune { return unicode.ToLower(text.PlainDigit(r)) }, s)
	return norm.NFC.String(cases.Fold().String(s))
}

// composed is a text in the form NFC and without blanks around it.
func composed(s string) string { return strings.TrimSpace(norm.NFC.String(s)) }

// length is how many bytes at the beginning of a text are of some kind.
func length(s string, is func(rune) bool) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !is(r) }); n >= 0 {
		return n
	}
	return len(s)
}

// A mark is left out, but in a number. The minus sign is none of SQuAD's: it always stays.
func isMark(r rune) bool {
	return unicode.IsPunct(r) || unicode.IsSymbol(r) && r < utf8.RuneSelf || r == '−'
}

// separated matches a number with a decimal point or thousands.
var separated = regexp.MustCompile(`\d+(?:[.,'’]\d+)+`)

// plainNumber is a number without the marks of thousands and with a full stop for the decimal
// point. Dates and versions stay as they are.
func plainNumber(s string) string {
	d, err := text.ParseNumber(s)
	if err != nil {
		return s
	}
	return d.Text('f')
}

// minuses are the signs of a number below 0, which [minus] makes one. A dash with the width of an
// em is none: it stands before remarks.
const minuses = "-−–‐‑"

var (
	minus   = strings.NewReplacer("−", "-", "–", "-", "‐", "-", "‑", "-")
	oneMark = strings.NewReplacer("—", "-", "’", "'")
	noUnits = strings.NewReplacer("%", "", "‰", "", "$", "")
)

// kept is what stays of marks: what stands between two digits, a sign, and a decimal point.
// After a letter a hyphen is no sign, as in covid-19.
func kept(before, marks, after string) string {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	digit := unicode.IsNumber(next)
	switch {
	case after == "" || !digit && !unicode.IsSymbol(next): // -€5 and -∞ have a sign
		return strings.Repeat("−", strings.Count(marks, "−"))
	case unicode.IsNumber(last):
		if marks = noUnits.Replace(oneMark.Replace(minus.Replace(marks))); marks == "" && digit {
			return " "
		}
		return marks
	}
	sign, point := "", ""
	if n := len(marks) - 1; digit && n >= 0 && (marks[n] == '.' || marks[n] == ',') && isPoint(before+marks[:n]) {
		point = "0."
	}
	if unicode.IsLetter(last) && !exponent(before) {
		if first, size := utf8.DecodeRuneInString(marks); first != '−' {
			marks = marks[size:]
		}
	}
	if strings.ContainsAny(marks, minuses) {
		sign = "-"
	}
	return sign + point
}

// isPoint reports whether a mark between a text and digits is their decimal point: not after a
// letter, as in No.5, nor after a full stop.
func isPoint(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return last != '.' && !unicode.IsLetter(last)
}

// exponent reports whether a text ends as in 1e, before the exponent of a number.
func exponent(before string) bool {
	n := len(before) - 2
	return n >= 0 && before[n+1] == 'e' && unicode.IsDigit(rune(before[n]))
}
