package text

import (
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// A Set holds texts that differ when compared as a type by [Equal]. It parses
// each text once, so n texts take n steps and not n².
type Set struct {
	t    Type
	held map[string]bool // names of the members, see [names]
	n    int
}

// NewSet returns an empty set of values of a type.
func NewSet(t Type) *Set { return &Set{t: t, held: map[string]bool{}} }

// Add adds a text and returns true, unless the set has an equal one.
func (s *Set) Add(text string) bool {
	held, sought := names(s.t, text)
	if s.has(sought) {
		return false
	}
	s.n++
	for _, name := range held {
		s.held[name] = true
	}
	return true
}

// Has reports whether the set has an equal text.
func (s *Set) Has(text string) bool {
	_, sought := names(s.t, text)
	return s.has(sought)
}

// Len is the number of texts in the set.
func (s *Set) Len() int { return s.n }

func (s *Set) has(sought []string) bool {
	for _, name := range sought {
		if s.held[name] {
			return true
		}
	}
	return false
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
	case Boolean:
		held = []string{foldBoolean(s)}
	case ID:
		held = []string{foldID(s)}
	default:
		held = []string{Fold(s)}
	}
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
