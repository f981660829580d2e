package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A numeral is a number as written in a text: its digits and separators, and the
// marks around them.
type numeral struct {
	start, end int    // bytes of the text, marks included
	body       string // digits and separators: . , ' and space
	negative   bool
	exponent   int    // of ten, from unit words and powers
	sign, word bool   // which: a sign and a word may stand together, as in USD $5
	codes      string // what its currency can mean if it has one, see [codesOf]
	dots       bool   // a currency whose countries group thousands by full stops
	percent    bool
}

// A scope says how far the marks of a number may stand from it.
type scope int

const (
	whole   scope = iota // the text is one number: signs, spaces and parentheses count
	running              // running text: spaces separate numbers, parentheses enclose
	joined               // running text, but plain spaces join digits
)

// scanNumeral reads the number whose first digit, or decimal point, is
// s[first]. What stands before s[floor] is not its own.
func scanNumeral(s string, floor, first int, in scope) numeral {
	n := numeral{start: first}
	n.digits(s, in)
	paren := n.before(s, floor, in)
	n.after(s, in)
	if paren && strings.HasPrefix(s[n.end:], ")") {
		n.start--
		n.end++
		n.negative = true
		n.before(s, floor, in) // "$ (1,234)" and "(1,234) USD"
		n.after(s, in)
	}
	return n
}

// digits reads the body. A separator counts only if a digit follows.
func (n *numeral) digits(s string, in scope) {
	body := make([]byte, 0, 24)
	i := n.start
	for {
		for i < len(s) && isDigit(s[i]) {
			body = append(body, s[i])
			i++
		}
		mark, size := separator(s[i:], in)
		if size == 0 {
			break
		}
		body = append(body, mark)
		i += size
	}
	n.body, n.end = string(body), i
}

// separator reads a separator that a digit follows: one of . , ' and space,
// and how many bytes it takes, 0 if there is none.
func separator(s string, in scope) (mark byte, size int) {
	r, size := utf8.DecodeRuneInString(s)
	right := s[size:]
	if right == "" || !isDigit(right[0]) {
		return 0, 0
	}
	switch r {
	case '.', ',':
		return byte(r), size
	case '\'', '’':
		return '\'', size
	case ' ':
		if in == running {
			return 0, 0
		}
		fallthrough
	case '\u00a0', '\u202f', '\u2009':
		if isGroup(right) {
			return ' ', size
		}
	}
	return 0, 0
}

// isGroup reports that s begins with three digits and no fourth: what a space
// can separate.
func isGroup(s string) bool {
	return len(s) >= 3 && isDigit(s[0]) && isDigit(s[1]) && isDigit(s[2]) && (len(s) == 3 || !isDigit(s[3]))
}

// before takes in the sign and currency to the left of the digits and reports
// whether an opening parenthesis stands before them, which it leaves out.
func (n *numeral) before(s string, floor int, in scope) (paren bool) {
	signed := false
	for {
		left := strings.TrimRight(s[floor:n.start], blanks)
		near := floor+len(left) == n.start
		r, size := utf8.DecodeLastRuneInString(left)
		switch {
		case isMinus(r) && !signed && (near || in == whole) && signs(s[:floor+len(left)-size], in):
			signed, n.negative = true, true
		case r == '+' && !signed && (near || in == whole):
			signed = true
		case unicode.Is(unicode.Sc, r) && !n.sign:
			sign := left[currencyStart(left):]
			size = len(sign)
			n.sign = true
			n.mark(sign)
		case (unicode.IsLetter(r) || r == '.') && !n.word && isCurrency(lastWord(left), in):
			word := lastWord(left)
			size = len(word)
			n.word = true
			n.mark(word)
		default:
			return in == whole && near && r == '('
		}
		n.start = floor + len(left) - size
	}
}

// mark notes a currency. "$5 CAD" has two marks and what both can mean; of two that
// contradict each other the first counts.
func (n *numeral) mark(currency string) {
	n.dots = n.dots || groupsByDots(currency)
	if codes, ok := commonCodes(n.codes, codesOf(currency)); ok {
		n.codes = codes
	}
}

// signs reports whether a dash after left is a minus sign: in running text one
// between words or numbers joins them.
func signs(left string, in scope) bool {
	if in == whole || left == "" {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(left)
	return isSpace(r) || r == '(' || r == ':' || r == '=' || unicode.Is(unicode.Sc, r)
}

// after takes in what stands to the right of the digits.
func (n *numeral) after(s string, in scope) {
	if e, size := power(s[n.end:]); size > 0 {
		n.exponent = e
		n.end += size
	}
	unit, currency := false, false
	for {
		right := strings.TrimLeft(s[n.end:], blanks)
		gap := len(s) - n.end - len(right)
		if gap > 1 && in != whole {
			return
		}
		r, size := utf8.DecodeRuneInString(right)
		switch {
		case r == '%' && !n.percent:
			n.percent = true
		case isMinus(r) && gap == 0 && !n.negative && n.trailingMinus(right[size:], in):
			n.negative = true
		case unicode.Is(unicode.Sc, r) && !n.sign && !numberFollows(right[size:]):
			currency, n.sign = true, true
			n.mark(right[:size])
		case unicode.IsLetter(r):
			word := firstWord(right)
			size = len(word)
			if e := unitExponent(word, gap == 0 && n.codes != ""); e > 0 && !unit {
				unit = true
				n.exponent += e
			} else if !currency && isCurrency(word, in) && !numberFollows(right[size:]) {
				currency = true
				n.mark(word)
			} else {
				return
			}
		default:
			return
		}
		n.end += gap + size
	}
}

// trailingMinus reports whether a dash after the number is its sign: always if
// nothing else follows, in running text only after two decimals.
func (n *numeral) trailingMinus(right string, in scope) bool {
	if in == whole {
		return right == "" || right[0] == ')' || right[0] == ' '
	}
	r, _ := utf8.DecodeRuneInString(right)
	return n.hasCents() && (right == "" || isSpace(r))
}

// hasCents reports whether the number is written with two decimals.
func (n *numeral) hasCents() bool {
	i := strings.LastIndexAny(n.body, ".,")
	return i >= 0 && len(n.body)-i-1 == 2
}

// numberFollows reports whether a mark belongs to the number after it.
func numberFollows(right string) bool {
	right = strings.TrimLeft(right, blanks)
	if r, size := utf8.DecodeRuneInString(right); isMinus(r) || r == '.' {
		right = right[size:]
	}
	return right != "" && isDigit(right[0])
}

// blanks may stand between a number and its marks: the white space that does
// not end a line.
const blanks = " \t\u00a0"

// isMinus reports a minus sign, or a dash that is used as one.
func isMinus(r rune) bool {
	switch r {
	case '-', '−', '–', '—', '‐', '‑':
		return true
	}
	return false
}

// lastWord is the word at the end of s, such as "RM", "Rs." or "US".
func lastWord(s string) string {
	body := strings.TrimSuffix(s, ".")
	i := len(body)
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(body[:i])
		if !unicode.IsLetter(r) || len(s)-i > longestWord {
			break
		}
		i -= size
	}
	return s[i:]
}

// firstWord is the word at the beginning of s.
func firstWord(s string) string {
	for i, r := range s {
		if !unicode.IsLetter(r) || i > longestWord {
			return s[:i]
		}
	}
	return s
}

// longestWord is longer than any currency or unit word.
const longestWord = 16

// currencyStart is where the currency sign at the end of s begins, with the
// letters that tell dollars and reals apart.
func currencyStart(s string) int {
	_, size := utf8.DecodeLastRuneInString(s)
	sign := len(s) - size
	word := lastWord(s[:sign])
	switch strings.ToUpper(word) {
	case "US", "USD", "A", "AU", "C", "CA", "HK", "NT", "NZ", "R", "S", "SG", "Z":
		return sign - len(word)
	}
	return sign
}
