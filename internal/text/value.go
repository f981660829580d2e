package text

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
)

// A Type says how a value is read and compared.
type Type string

// The types of value.
const (
	String  Type = "string"
	Number  Type = "number"
	Integer Type = "integer" // a number without a fraction
	Money   Type = "money"
	Date    Type = "date"
	Boolean Type = "boolean"
	Enum    Type = "enum" // one of a closed list of words
	ID      Type = "id"   // invoice number, account, registration
)

// Equal reports whether a and b are the same value of a type. It is symmetric.
//
// Strings and enums are the same if their [Fold] is. Identifiers are the same
// if they are without regard to case, white space, a leading number sign and
// the kind of dash; a dash itself counts, for 12-3 and 1-23 are two things.
// Numbers and amounts of money are the same if [ParseNumber] reads the same
// number; where one of two has a currency that groups by full stops, both are
// read so ("EUR 1.000" is "1.000"). Amounts with two currencies that cannot be
// the same one differ ("$5" is "CAD 5" and "5" but not "€5"). Integers are
// numbers without a fraction ("12.0"); "1.000" can be two of them and is none. Booleans are the same if both are true,
// or false: as words of ten languages, 1 and 0, or a box (☑, [x], ☐, [ ]).
//
// Dates are the same if [ParseDate] reads the same day, or both give the same
// month and no day, or the same year. A date whose order of day and month is
// ambiguous is the same as its own text, and as one with the same numbers in
// the same order: 03/04/2024 is 3-4-24, and 03.04.2024, but not 2024-04-03.
//
// Two texts that cannot be read as the type are compared by their [Fold].
func Equal(t Type, a, b string) bool {
	if a == b {
		return true
	}
	switch t {
	case Number, Integer, Money:
		return equalNumbers(t, a, b)
	case Date:
		return equalDates(a, b)
	}
	return foldAs(t, a) == foldAs(t, b)
}

// foldAs is the form in which values of a type are compared that is not a number or date.
func foldAs(t Type, s string) string {
	switch t {
	case Boolean:
		return foldBoolean(s)
	case ID:
		return foldID(s)
	}
	return Fold(s)
}

// ErrNoDay is the error of a date of three numbers, or two and the name of a month,
// which is not a day of the calendar: 32/13/2020, 30 February 2024.
var ErrNoDay = errors.New("no such day in the calendar; write it as 2024-03-15")

// Check returns an error if a text cannot be read as a value of the type, so that
// [Equal] compares it as text: [ErrNoDay], or one that says why. A month and a year are
// dates. Any text is a string, a word or an identifier.
func Check(t Type, s string) error {
	var err error
	switch t {
	case Number, Integer, Money:
		_, err = readValue(t, s)
	case Boolean:
		if booleans[foldBoolean(s)] == "" {
			err = errNotBoolean
		}
	case Date:
		if _, err = readDate(s); err == errNoDate && dates(Minimal(s)).threeParts() {
			err = ErrNoDay
		}
	}
	return err
}

// Near reports whether a is equal to gold or nearly so.
//
// A string is if 1 − d/n is above 0.9, with d the Levenshtein distance of the two folded
// texts and n the length of the longer, both in code points. A number or date is if
// it is gold when rounded to the precision gold is written with (decimals, halves away
// from zero; a date to its month or year if gold has no more). Integers, booleans,
// enums and identifiers are equal or not: an account number with one wrong
// digit is another account.
func Near(t Type, a, gold string) bool {
	switch {
	case Equal(t, a, gold):
		return true
	case t == Number, t == Money:
		return roundsTo(t, a, gold)
	case t == Date:
		return fallsIn(a, gold)
	case t != String:
		return false
	}
	x, y := []rune(Fold(a)), []rune(Fold(gold))
	n := max(len(x), len(y))
	limit := min(64, n/10) // at first: what takes long grows with the limit
	d := editDistance(x, y, limit)
	for d > limit && limit < n/10 {
		limit = min(4*limit, n/10)
		d = editDistance(x, y, limit)
	}
	return 1-float64(d)/float64(n) > 0.9
}

func equalNumbers(t Type, a, b string) bool {
	x, y, errX, errY := readBoth(t, a, b)
	if errX != nil || errY != nil {
		return errX != nil && errY != nil && Fold(a) == Fold(b)
	}
	return x.Cmp(y) == 0
}

// roundsTo reports whether a is gold when rounded to gold's decimals.
func roundsTo(t Type, a, gold string) bool {
	x, y, errX, errY := readBoth(t, a, gold)
	if errX != nil || errY != nil {
		return false
	}
	// More digits than the longest and the finest number have together.
	c := apd.BaseContext.WithPrecision(1000)
	c.Rounding = apd.RoundHalfUp
	rounded := new(apd.Decimal)
	_, err := c.Quantize(rounded, x, y.Exponent)
	return err == nil && rounded.Cmp(y) == 0
}

var (
	errNotWhole   = errors.New("not a whole number")
	errGrouped    = errors.New("a full stop before three digits can separate thousands or be the decimal point; write 1234")
	errCurrencies = errors.New("different currencies")
)

// readBoth reads two numbers, each in the light of the other's currency.
func readBoth(t Type, a, b string) (x, y *apd.Decimal, errX, errY error) {
	m, errX := readNumeral(a)
	n, errY := readNumeral(b)
	if errX == nil && errY == nil && !m.sameCurrency(n, t) {
		return nil, nil, errCurrencies, nil
	}
	dots := m.dots || n.dots
	if errX == nil {
		x, errX = m.value(t, dots)
	}
	if errY == nil {
		y, errY = n.value(t, dots)
	}
	return x, y, errX, errY
}

// readValue reads a text that is one number of a type.
func readValue(t Type, s string) (numeral, error) {
	n, err := readNumeral(s)
	if err == nil {
		_, err = n.value(t, n.dots)
	}
	return n, err
}

// value is the decimal value of a numeral as one of a type.
func (n *numeral) value(t Type, dots bool) (*apd.Decimal, error) {
	d, err := n.decimal(dots)
	if err == nil && t == Integer {
		if other, err := n.decimal(true); !dots && n.exponent == 0 && err == nil && other.Cmp(d) != 0 {
			return nil, errGrouped
		}
		if reduced, _ := new(apd.Decimal).Reduce(d); reduced.Exponent < 0 {
			return nil, errNotWhole
		}
	}
	return d, err
}

// sameCurrency reports that two values of a type can have the same currency. Numbers have none.
func (n *numeral) sameCurrency(m numeral, t Type) bool {
	_, ok := commonCodes(n.codes, m.codes)
	return ok || t != Money
}

func equalDates(a, b string) bool {
	x, errX := readDate(a)
	y, errY := readDate(b)
	if errX != nil && errY != nil || x.Ambiguous || y.Ambiguous {
		return Fold(a) == Fold(b) || errX == nil && errY == nil && x.sameNumbers(y)
	}
	return errX == nil && errY == nil && x.same(y)
}

// fallsIn reports whether a is a day, or month, in the month or year gold is.
func fallsIn(a, gold string) bool {
	x, errX := readDate(a)
	y, errY := readDate(gold)
	if errX != nil || errY != nil || x.Ambiguous || x.precision > y.precision {
		return false
	}
	sameYear := x.MonthFirst.Year == y.MonthFirst.Year
	switch y.precision {
	case toYear:
		return sameYear
	case toMonth:
		return sameYear && x.MonthFirst.Month == y.MonthFirst.Month
	}
	return false
}

// foldID is the form in which identifiers are compared.
func foldID(s string) string {
	s = Fold(s)
	b := make([]byte, 0, len(s))
	for i, r := range s {
		switch {
		case isSpace(r), r == '#' && i == 0:
		case isMinus(r):
			b = append(b, '-')
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// booleans are the words and marks of "true" and of "false", case folded.
var booleans = func() map[string]string {
	all := meanings("boolean")
	all["[ ]"] = "false"
	return all
}()

var errNotBoolean = errors.New("neither yes nor no; write true or false")

// foldBoolean is the form in which booleans are compared: "true" and "false" for these
// words or yes and no in one of ten languages, 1 and 0, or a box with a mark or without one
// (☑, [x], ☐, [ ]); else the folded text.
func foldBoolean(s string) string {
	// The box must be tried first: Fold takes its brackets off.
	return cmp.Or(booleans[foldCase(Minimal(s))], booleans[Fold(s)], Fold(s))
}

// numberSign matches a "no." that may stand for "number", with what it numbers.
var numberSign = regexp.MustCompile(`\bno ?[.:#]+ ?[^ ]*\d`)

// containsBoolean looks for a word or box that means the value. The numbers 1 and 0 of a
// running text mean something else, unless the value is written so. A word of a script without
// spaces stands alone: 是 is no answer in 是否.
func containsBoolean(quote, value string) bool {
	want := booleans[foldBoolean(value)]
	if want == "" {
		return containsWords(Fold(quote), Fold(value))
	}
	var b strings.Builder
	for line := range strings.FieldsFuncSeq(quote, func(r rune) bool { return r == '\n' || r == '\r' }) { // a sign and its number share one
		b.WriteString(numberSign.ReplaceAllString(foldCase(Minimal(line)), " ") + "\n")
	}
	q := b.String()
	found := containsWithin(q, foldCase(Minimal(value)), phraseBorder)
	for w, is := range booleans {
		found = found || is == want && w != "1" && w != "0" && containsWithin(q, w, phraseBorder)
	}
	return found
}

// A Set holds texts that differ when compared as a type by [Equal]. It parses
// each text once, so n texts take n steps and not n².
type Set struct {
	t     Type
	held  map[string][]int // members by name, see [names]
	taken []bool           // by member
}

// NewSet returns an empty set of values of a type.
func NewSet(t Type) *Set { return &Set{t: t, held: map[string][]int{}} }

// Add adds a text and returns true, unless the set has an equal one.
func (s *Set) Add(text string) bool {
	held, sought := names(s.t, text)
	if s.has(sought) {
		return false
	}
	for _, name := range held {
		s.held[name] = append(s.held[name], len(s.taken))
	}
	s.taken = append(s.taken, false)
	return true
}

// Take reports whether the set has an equal text that was not taken before, and takes it:
// a text can be equal to several that differ, as 100 is to USD 100 and to EUR 100.
func (s *Set) Take(text string) bool {
	_, sought := names(s.t, text)
	for _, name := range sought {
		for _, i := range s.held[name] {
			if !s.taken[i] {
				s.taken[i] = true
				return true
			}
		}
	}
	return false
}

// Has reports whether the set has an equal text.
func (s *Set) Has(text string) bool {
	_, sought := names(s.t, text)
	return s.has(sought)
}

// Len is the number of texts in the set.
func (s *Set) Len() int { return len(s.taken) }

func (s *Set) has(sought []string) bool {
	return slices.ContainsFunc(sought, func(name string) bool { return len(s.held[name]) > 0 })
}

// names returns the names under which a text is filed, and those of the texts that
// are [Equal] to it. One name does not do, since Equal is not an equivalence: 1.000 is
// 1, and also EUR 1.000, which is 1000.
func names(t Type, s string) (held, sought []string) {
	switch t {
	case Number, Integer, Money:
		return numberNames(t, s)
	case Date:
		return dateNames(s)
	}
	held = []string{foldAs(t, s)}
	return held, held
}

// numberNames: one currency that groups by full stops makes both numbers be read so.
func numberNames(t Type, s string) (held, sought []string) {
	n, err := readNumeral(s)
	dotted := valueName(t, s, n, true, err)
	if n.dots {
		held, sought = []string{"dotted " + dotted, "any " + dotted}, []string{"any " + dotted}
	} else {
		plain := "plain " + valueName(t, s, n, false, err)
		held, sought = []string{plain, "any " + dotted}, []string{plain, "dotted " + dotted}
	}
	if t != Money {
		return held, sought
	}
	codes := strings.Fields(n.codes)
	if len(codes) == 0 {
		return pairs(held, "none", "any"), pairs(sought, "any")
	}
	return pairs(held, append(codes, "any")...), pairs(sought, append(codes, "none")...)
}

// pairs are names with each of the ends.
func pairs(names []string, ends ...string) (all []string) {
	for _, name := range names {
		for _, end := range ends {
			all = append(all, name+" "+end)
		}
	}
	return all
}

// valueName names the value of a numeral, or the text if it has none.
func valueName(t Type, s string, n numeral, dots bool, err error) string {
	var d *apd.Decimal
	if err == nil {
		d, err = n.value(t, dots)
	}
	if err != nil {
		return "text " + Fold(s)
	}
	d.Reduce(d)
	return d.String()
}

// dateNames: a date that is ambiguous is compared with all others by its text, and with
// those of numbers in an order by these.
func dateNames(s string) (held, sought []string) {
	r, err := readDate(s)
	fold := Fold(s)
	switch {
	case err != nil:
		return []string{"no date " + fold, "any " + fold}, []string{"no date " + fold, "ambiguous " + fold}
	case r.Ambiguous:
		day := r.DayFirst.String()
		return []string{"ambiguous " + fold, "any " + fold, "order " + day}, []string{"any " + fold, "order " + day, "dotted " + day}
	}
	day := r.MonthFirst.String()[:[...]int{toDay: 10, toMonth: 7, toYear: 4}[r.precision]]
	held, sought = []string{day, "any " + fold}, []string{day, "ambiguous " + fold}
	if r.dotted {
		held, sought = append(held, "dotted "+day), append(sought, "order "+day)
	}
	return held, sought
}

// Key is a name of a value of a type: texts with equal keys are [Equal]. Few that are equal
// have other keys, such as a date in an ambiguous notation.
func Key(t Type, s string) string {
	held, _ := names(t, s)
	return held[0]
}
