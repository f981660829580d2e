package synthetic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A maker draws the values of a set.
type maker struct {
	words  *vocabulary
	levers Levers
	half   int // 0: dev, 1: test
	random *rand.PCG
	used   map[string]bool // numbers that identify
}

// below is a number from 0 to n − 1. The remainder of a PCG's output is the same on
// every machine and in every version of Go.
func (m *maker) below(n int) int { return int(m.random.Uint64() % uint64(n)) }

func pick[T any](m *maker, list []T) T { return list[m.below(len(list))] }

func shuffle[T any](m *maker, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		k := m.below(i + 1)
		list[i], list[k] = list[k], list[i]
	}
}

// pool draws from the half of a list that belongs to the set.
func (m *maker) pool(name string) string {
	list := m.words.Pools[name]
	middle := len(list) / 2
	if m.half == 0 {
		return pick(m, list[:middle])
	}
	return pick(m, list[middle:])
}

// A value is a value as gold has it and as the document shows it.
type value struct {
	correct, shown string
	number         int // days or cents, for values close to it
}

// Numbers of values: those of the dev set are even, those of the test set odd, so the
// sets share none. Days are counted from 1970, amounts in cents.
var ranges = map[string]struct{ from, count int }{
	"date":  {18000, 1000}, // 2019-04-14 to 2022-01-07
	"later": {19100, 1000}, // 2022-04-18 to 2025-01-11, after every other date
	"birth": {-14000, 18000},
	"money": {10_000, 1_800_000},
	"till":  {1_000, 60_000},
	"small": {100, 800},
}

// numbered draws the number of a value.
func (m *maker) numbered(kind string) int {
	r := ranges[kind]
	return r.from + 2*m.below(r.count/2) + m.half
}

// value draws a value of a field.
func (m *maker) value(f field, difficulty int) value {
	switch f.Kind {
	case "id":
		return m.id(f.Prefix)
	case "date", "later", "birth":
		return m.date(m.numbered(f.Kind), difficulty)
	case "money", "till", "small":
		return m.money(m.numbered(f.Kind), difficulty)
	case "phone":
		return same("+44 20 " + m.digits(4) + " " + m.digits(3) + m.parity())
	case "email":
		return same(strings.ToLower(plain(m.pool("first"))+"."+plain(m.pool("last"))) + "@" + pick(m, []string{"mail", "post", "inbox"}) + ".example")
	case "person":
		return same(m.pool("first") + " " + m.pool("last"))
	case "company":
		return same(m.pool("company") + " " + pick(m, []string{"Ltd", "Inc.", "GmbH", "& Sons", "Group"}))
	case "address":
		return same(fmt.Sprintf("%d %s, %s", 1+m.below(180), m.pool("street"), m.pool("city")))
	}
	return same(m.pool(f.Kind))
}

func same(s string) value { return value{correct: s, shown: s} }

// plain leaves out letters that addresses of mail do not have.
func plain(s string) string { return strings.NewReplacer("ö", "o", "ä", "a", "ü", "u").Replace(s) }

func (m *maker) digits(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('0' + m.below(10)))
	}
	return b.String()
}

// parity is a digit of the set.
func (m *maker) parity() string { return string(rune('0' + 2*m.below(5) + m.half)) }

// id draws a number that no other document of the set has.
func (m *maker) id(prefix string) value {
	for {
		s := prefix + string(rune('1'+m.below(9))) + m.digits(4) + m.parity()
		if !m.used[s] {
			m.used[s] = true
			return same(s)
		}
	}
}

// date is a day, counted from 1970, in one of several spellings. All of them are
// unambiguous; documents that are not easy have more.
func (m *maker) date(day, difficulty int) value {
	t, l := time.Unix(0, 0).UTC().AddDate(0, 0, day), locales[m.levers.Locale]
	layouts := l.dates
	if difficulty != easy {
		layouts = slices.Concat(layouts, l.moreDates)
		if t.Day() > 12 {
			layouts = append(layouts, l.numbers...)
		}
	}
	shown := t.Format(pick(m, layouts))
	if l.months != nil {
		shown = strings.Replace(shown, t.Month().String(), l.months[t.Month()-1], 1)
	}
	return value{correct: t.Format("2006-01-02"), shown: shown, number: day}
}

// money is an amount of cents in one of several spellings.
func (m *maker) money(cents, difficulty int) value {
	l, whole, rest := locales[m.levers.Locale], fmt.Sprint(cents/100), fmt.Sprintf("%02d", cents%100)
	spellings := l.amounts
	if difficulty != easy {
		spellings = slices.Concat(spellings, l.moreAmounts)
	}
	groups := whole
	if n := len(whole); n > 3 {
		groups = whole[:n-3] + l.by + whole[n-3:]
	}
	shown := strings.NewReplacer("G", groups, "w", whole, "C", rest).Replace(pick(m, spellings))
	return value{correct: whole + "." + rest, shown: shown, number: cents}
}

// other draws a different value of the same kind; numbers and dates are close to the
// first one.
func (m *maker) other(f field, first value, difficulty int) value {
	for {
		v := m.near(f.Kind, first, difficulty)
		if v.shown == "" {
			v = m.value(f, difficulty)
		}
		if v.correct != first.correct && (m.levers.Zero() || !overlap(v.shown, first.shown)) {
			return v
		}
	}
}

// overlap reports whether one of two texts has the other: 13 May 2020 has 3 May 2020.
func overlap(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) }

// near is a date or amount close to another one, "" of other kinds.
func (m *maker) near(kind string, to value, difficulty int) value {
	step := 2 * (1 + m.below(6))
	if m.below(2) == 0 {
		step = -step
	}
	switch kind {
	case "date", "later", "birth":
		return m.date(to.number+step, difficulty)
	case "money":
		return m.money(to.number+step*pick(m, []int{1, 10, 100}), difficulty)
	case "till", "small":
		return m.money(to.number+step, difficulty)
	}
	return value{}
}
