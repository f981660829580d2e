package text

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
	"golang.org/x/text/unicode/norm"
)

// Longer numbers are rejected, since parsing them is slow.
const (
	maxDigits   = 200
	maxExponent = 100
	maxNumber   = 400 // bytes
)

// ParseNumber parses a number or an amount of money in the usual notations. The
// result is exact and keeps the written precision: its exponent is -2 for 1.50, and
// 5 for 1.5 million.
//
// Signs: "-", "−" and dashes before the number or a trailing "-" ("5.00-", as
// accounting systems print it), and parentheses round it, make it negative. A
// trailing dash in place of decimals does not ("1.234,-", "¥1,234-").
// Currency signs, codes and words are dropped wherever they stand, and so is a
// percent sign: 12% is read as 12. The unit words thousand, million, billion
// and trillion count, with those of other languages in words.txt, and so do mn and bn, and
// k, m and b of an amount that has a currency. Digits may follow a unit of Chinese,
// Japanese or Korean: 1万2345 is 12345.
//
// Separators: spaces and apostrophes separate thousands. Of a full stop and a
// comma in one number, the last is the decimal point. One kind several times
// separates thousands. One comma separates thousands if one to three digits,
// not beginning with 0, stand before it and exactly three after ("1,234");
// else it is the decimal point ("12,5"). One full stop is the decimal point
// ("1.234"), except next to a currency whose countries group by full stops
// (EUR, BRL, IDR …), where the rule for the comma holds: "EUR 1.000" is one
// thousand. Groups must have three digits, or two before the last three, as
// in India ("12,34,567"); a number grouped otherwise is an error.
//
// Digits may be those of any script, and "٫" and "٬" are the decimal point and the
// comma of Arabic.
func ParseNumber(s string) (*apd.Decimal, error) {
	n, err := readNumeral(s)
	if err != nil {
		return nil, fmt.Errorf("reading %q as a number: %w", clip(s), err)
	}
	d, err := n.decimal(n.dots)
	if err != nil {
		return nil, fmt.Errorf("reading %q as a number: %w", clip(s), err)
	}
	return d, nil
}

var (
	errNoDigits = errors.New("no digits")
	errBeyond   = errors.New("more than one number, or other text beside it")
	errGroups   = errors.New("separators do not form groups of three digits")
	errTooLong  = errors.New("too long for a number")
	errRaised   = errors.New("superscript, subscript or enclosed digits")
)

// readNumeral reads a text that is one number and nothing else.
func readNumeral(s string) (numeral, error) {
	if len(s) > maxNumber {
		return numeral{}, errTooLong
	}
	// The normal form makes 10² into 102.
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.No, r) }) {
		return numeral{}, errRaised
	}
	s, _ = plainDigits(unbold(Minimal(s)))
	s = strings.Trim(s, " \"'`“”‘’;:")
	s = strings.TrimRight(s, ".,")
	first := strings.IndexAny(s, "0123456789")
	if first < 0 {
		return numeral{}, errNoDigits
	}
	if first > 0 && s[first-1] == ',' || leadingPoint(s, first) {
		first--
	}
	n := scanNumeral(s, 0, first, whole)
	if n.start != 0 || n.end != len(s) {
		return numeral{}, errBeyond
	}
	return n, nil
}

// leadingPoint reports whether the full stop before the digit s[first] is a
// decimal point (".50", "RM.50") and not the end of a word ("Rs.500", "No.5")
// or of another number.
func leadingPoint(s string, first int) bool {
	if first == 0 || s[first-1] != '.' {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(s[:first-1])
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' || strings.HasSuffix(s[:first-1], "RM")
}

// decimal is the value of the numeral. With dots, a lone full stop before
// three digits separates thousands.
func (n *numeral) decimal(dots bool) (*apd.Decimal, error) {
	digits, err := plainBody(n.body, dots)
	if err != nil {
		return nil, err
	}
	if len(digits) > maxDigits || n.exponent > maxExponent || n.exponent < -maxExponent {
		return nil, errTooLong
	}
	d, _, err := apd.NewFromString(digits)
	if err != nil {
		return nil, errNoDigits
	}
	d.Exponent += int32(n.exponent)
	d.Negative = n.negative && !d.IsZero()
	return d, nil
}

// plainBody rewrites the body of a number with a decimal point and nothing
// else between its digits.
func plainBody(body string, dots bool) (string, error) {
	point := decimalPoint(body, dots)
	if !grouped.MatchString(body[:point]) {
		return "", errGroups
	}
	var b strings.Builder
	b.Grow(len(body))
	for i := range len(body) {
		switch {
		case i == point:
			b.WriteByte('.')
		case isDigit(body[i]):
			b.WriteByte(body[i])
		}
	}
	return b.String(), nil
}

// decimalPoint is where the decimal point of a number stands, len(body) when
// it has none.
func decimalPoint(body string, dots bool) int {
	last := strings.LastIndexAny(body, ".,' ")
	if last < 0 || body[last] == ' ' || body[last] == '\'' {
		return len(body)
	}
	mark, before, after := body[last:last+1], body[:last], body[last+1:]
	switch {
	case strings.Contains(before, mark):
		return len(body)
	case strings.ContainsAny(before, ".,' "):
		return last
	case mark == "." && !dots:
		return last
	case len(after) == 3 && 1 <= len(before) && len(before) <= 3 && before[0] != '0':
		return len(body)
	}
	return last
}

// grouped matches the whole part of a number: digits alone, or in groups of three that the
// same mark separates, or as in India.
var grouped = regexp.MustCompile(`^(?:\d*|[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:,\d{3})+|(?:'\d{3})+|(?: \d{3})+)|[1-9]\d?(?:,\d\d)+,\d{3})$`)

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// exponentForm matches the exponent that is written after a number, such as e6.
var exponentForm = regexp.MustCompile(`^[eE]([-+−]?)(\d{1,4})`)

// power is the exponent written after a number, and how many bytes it takes.
func power(s string) (exponent, size int) {
	m := exponentForm.FindStringSubmatch(s)
	if m == nil {
		return 0, 0
	}
	exponent, _ = strconv.Atoi(m[2])
	if m[1] == "-" || m[1] == "−" {
		exponent = -exponent
	}
	return exponent, len(m[0])
}

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

// The digits of a number with what may separate them. In running text a plain space separates
// numbers.
var (
	bodyForm    = regexp.MustCompile(`^\d*(?:[.,'’\x{a0}\x{202f}\x{2009} ]\d+)*`)
	runningForm = regexp.MustCompile(`^\d*(?:[.,'’\x{a0}\x{202f}\x{2009}]\d+)*`)
	// noGroup matches a space that separates no group of three digits.
	noGroup = regexp.MustCompile(`[\x{a0}\x{202f}\x{2009} ](?:\d{1,2}|\d{4,})(?:\D|$)`)
	// noCents matches a dash in place of the decimals, as in "5,- €", "50.–" and "Rs 500/-":
	// running text has "1.- " before a heading.
	noCents    = regexp.MustCompile(`^(?:[.,](?:--?|–|—)|/-)`)
	plainMarks = strings.NewReplacer("’", "'", "\u00a0", " ", "\u202f", " ", "\u2009", " ")
)

// digits reads the body. A separator counts only if a digit follows.
func (n *numeral) digits(s string, in scope) {
	form := bodyForm
	if in == running {
		form = runningForm
	}
	body := form.FindString(s[n.start:])
	if at := noGroup.FindStringIndex(body); at != nil {
		body = body[:at[0]]
	}
	n.body, n.end = plainMarks.Replace(body), n.start+len(body)
	if none := noCents.FindString(s[n.end:]); none != "" && (in == whole || none[0] != '.') {
		if next, _ := utf8.DecodeRuneInString(s[n.end+len(none):]); !isWordRune(next) {
			if n.end += len(none); none[0] != '/' {
				n.body += none[:1] + "00"
			}
		}
	}
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
	place := 0 // the exponent of a unit that digits can follow
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
			n.negative = n.codes != codesOf("¥") || n.hasCents()
		case unicode.IsDigit(r) && gap == 0 && place > 0 && n.exponent == place && strings.Trim(n.body, "0123456789") == "":
			size = runLength(right, unicode.IsDigit)
			word := firstWord(right[size:])
			lower := unitExponent(word, false)
			if lower+size > place || lower == 0 && size == 1 { // 1万5 is 15000 in Chinese
				return
			}
			n.body += strings.Repeat("0", place-lower-size) + right[:size]
			n.exponent, place = lower, lower
			if lower > 0 {
				size += len(word)
			}
		case unicode.Is(unicode.Sc, r) && !n.sign && !numberFollows(right[size:]):
			currency, n.sign = true, true
			n.mark(right[:size])
		case unicode.IsLetter(r):
			word := firstWord(right)
			size = len(word)
			if dotted := word + "."; strings.HasPrefix(right, dotted) && unitExponent(dotted, false) > 0 && currencyFollows(right[len(dotted):], in) {
				word, size = dotted, len(dotted)
			}
			if e := unitExponent(word, gap == 0 && n.codes != "" || currencyFollows(right[size:], in)); e > 0 && !unit {
				unit = true
				n.exponent += e
				if abuts(r) {
					place = e
				}
			} else if !currency && isCurrency(word, in) && (abuts(r) || !numberFollows(right[size:])) {
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

// minuses are the minus sign and dashes that are used as one.
const minuses = "-−–—‐‑"

func isMinus(r rune) bool { return strings.ContainsRune(minuses, r) }

// lastWord is the word at the end of s, such as "RM", "Rs." or "US".
func lastWord(s string) string {
	return s[len(strings.TrimRightFunc(strings.TrimSuffix(s, "."), unicode.IsLetter)):]
}

// firstWord is the word at the beginning of s, such as "円" of "円です".
func firstWord(s string) string {
	word := s[:runLength(s, unicode.IsLetter)]
	if r, _ := utf8.DecodeRuneInString(word); abuts(r) {
		const longest = 4
		for n := min(longest, utf8.RuneCountInString(word)); n > 0; n-- {
			if known := string([]rune(word)[:n]); units[known] != "" || signCodes[known] != "" {
				return known
			}
		}
	}
	return word
}

// currencyFollows reports whether a currency stands at the beginning of s that is not that of
// a number after it.
func currencyFollows(s string, in scope) bool {
	s = strings.TrimLeft(s, blanks)
	r, size := utf8.DecodeRuneInString(s)
	if !unicode.Is(unicode.Sc, r) {
		if size = len(firstWord(s)); !isCurrency(s[:size], in) {
			return false
		}
	}
	return !numberFollows(s[size:])
}

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

var (
	// signCodes are the codes that a sign or a word of money can mean, with "/" between them.
	signCodes = meanings("currency")
	// currencyCodes are the codes that are read as such.
	currencyCodes = wordLines(wordsFile, "currencies")[0]
	// dotted are the signs, codes and names of currencies that are used where thousands are
	// grouped by full stops and no amount has three decimals.
	dotted = wordLines(wordsFile, "dotted")[0]
	// units are powers of ten by the words for them, and those of letterUnits stand right
	// after an amount of money only.
	units, letterUnits = meanings("unit"), meanings("letter_unit")
)

// codesOf are the codes that a currency's sign, code or name can mean, separated by spaces.
func codesOf(mark string) string {
	mark = strings.ToUpper(strings.TrimSuffix(norm.NFKC.String(mark), ".")) // a small or wide sign is a sign
	if mark == "RMB" {
		return "CNY"
	}
	return cmp.Or(strings.ReplaceAll(signCodes[strings.ToLower(mark)], "/", " "), mark)
}

// commonCodes are the codes that two lists share. An empty list is that of an amount
// without a currency, which can have any.
func commonCodes(a, b string) (codes string, ok bool) {
	if a == "" || b == "" {
		return a + b, true
	}
	common := slices.DeleteFunc(strings.Fields(a), func(code string) bool { return !slices.Contains(strings.Fields(b), code) })
	return strings.Join(common, " "), len(common) > 0
}

// isCurrency reports whether a word is a currency's code, sign or name. In
// running text codes are upper case, since many words are besides.
func isCurrency(word string, in scope) bool {
	if signCodes[strings.TrimSuffix(strings.ToLower(word), ".")] != "" {
		return true
	}
	if in == whole {
		word = strings.ToUpper(word)
	}
	// In running text, names of Malaysian companies end in BHD.
	return slices.Contains(currencyCodes, word) && (in == whole || word != "BHD")
}

// groupsByDots reports whether a mark is one of those [dotted].
func groupsByDots(mark string) bool {
	return slices.Contains(dotted, strings.ToUpper(strings.TrimSuffix(mark, ".")))
}

// unitExponent is the power of ten a unit word stands for, 0 for any other word.
func unitExponent(word string, amount bool) int {
	power := units[strings.ToLower(word)]
	if power == "" && amount {
		power = letterUnits[word]
	}
	e, _ := strconv.Atoi(power)
	return e
}

// digitValue is the value of a decimal digit of any script, -1 for any other character.
// The digits of a script stand together in Unicode, from 0 to 9.
func digitValue(r rune) int {
	switch {
	case '0' <= r && r <= '9':
		return int(r - '0')
	case r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r):
		return -1
	}
	before := 0
	for unicode.Is(unicode.Nd, r-1-rune(before)) {
		before++
	}
	return before % 10
}

// PlainDigit is a digit of any script, or a separator of Arabic numbers, in ASCII.
func PlainDigit(r rune) rune {
	switch v := digitValue(r); {
	case v >= 0:
		return '0' + rune(v)
	case r == '٫':
		return '.'
	case r == '٬':
		return ','
	}
	return r
}

// plainDigits rewrites a text by [PlainDigit]. It also returns the way from an offset in
// the new text to the old one.
func plainDigits(s string) (plain string, back func(int) int) {
	if plain = s; !isASCII(s) {
		plain = strings.Map(PlainDigit, s)
	}
	if plain == s {
		return s, func(i int) int { return i }
	}
	from := make([]int, 0, len(plain)+1)
	for i, r := range s {
		for range utf8.RuneLen(PlainDigit(r)) {
			from = append(from, i)
		}
	}
	from = append(from, len(s))
	return plain, func(i int) int { return from[i] }
}
