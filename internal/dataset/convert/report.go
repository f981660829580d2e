package convert

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Rule is one of the things that can become of an annotation; its text is
// its name in tables.
type Rule string

// The rules. Those whose name starts with "left out" keep a field out of gold.
const (
	Verbatim   Rule = "present"
	Restored   Rule = "present, quote restored"
	Contained  Rule = "present, place not annotated"
	Ambiguous  Rule = "ambiguous"
	Missing    Rule = "missing"
	Set        Rule = "left out: a set"
	Incomplete Rule = "left out: incomplete date"
	Perpetual  Rule = "left out: perpetual"
	Derived    Rule = "left out: not in the quote"
	Several    Rule = "left out: several values"
	NoAnswer   Rule = "left out: no answer"
	NoQuote    Rule = "left out: no quote"
	NotInText  Rule = "left out: not in the text"
)

// Rules lists all rules, those that keep a field first.
func Rules() []Rule {
	return []Rule{Verbatim, Restored, Contained, Ambiguous, Missing,
		Set, Incomplete, Perpetual, Derived, Several, NoAnswer, NoQuote, NotInText}
}

// Kept reports whether the rule makes the field gold.
func (r Rule) Kept() bool { return !strings.HasPrefix(string(r), "left out") }

// Doc says what the rule is, in one sentence.
func (r Rule) Doc() string {
	switch r {
	case Verbatim:
		return "The value stands in the annotated quote, and the quote in the text."
	case Restored:
		return "The same, once the quote was given the document's own punctuation and spacing."
	case Contained:
		return "The value stands in the text; a quote must contain it."
	case Ambiguous:
		return "The text gives several values; each is a candidate."
	case Missing:
		return "The corpus says that the document has no such thing."
	case Set:
		return "The annotation is a set of values, and a field has one."
	case Incomplete:
		return "Day, month or year is blank in the document."
	case Perpetual:
		return "The answer is a conclusion from the clause, not a date."
	case Derived:
		return "No quote holds the answer: it was computed, inferred, or mistyped."
	case Several:
		return "The answer joins values that are not alternatives."
	case NoAnswer:
		return "A clause is annotated without a normalised answer that can be read."
	case NoQuote:
		return "An answer is annotated without a clause."
	case NotInText:
		return "The text does not hold the value or the quote, or not in readable form."
	}
	return ""
}

// A Report counts what a conversion did. Every field of every written document
// is counted once.
type Report struct {
	Written int      // documents
	TooLong int      // left out by Options.MaxText
	NoGold  int      // left out because no field became gold
	Fields  []string // in the order of the corpus
	counts  map[decision]int
}

// Count is how often a rule applied to a field.
func (r *Report) Count(field string, rule Rule) int { return r.counts[decision{field, rule}] }

// Total is how often a rule applied.
func (r *Report) Total(rule Rule) int {
	n := 0
	for _, f := range r.Fields {
		n += r.Count(f, rule)
	}
	return n
}

// count reports whether the document is to be written, and counts it.
func (r *Report) count(d *document, o Options) bool {
	switch {
	case o.MaxText > 0 && len(d.Text) > o.MaxText:
		r.TooLong++
		return false
	case len(d.Truth) == 0:
		r.NoGold++
		return false
	}
	r.Written++
	if r.counts == nil {
		r.counts = make(map[decision]int)
	}
	for _, made := range d.decisions {
		if !slices.Contains(r.Fields, made.field) {
			r.Fields = append(r.Fields, made.field)
		}
		r.counts[made]++
	}
	return true
}

// Markdown is the report as a table: a row a rule, a column a field.
func (r *Report) Markdown() string {
	var b strings.Builder
	row := func(cells ...string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	row(append(append([]string{""}, r.Fields...), "all")...)
	row(append([]string{"---"}, slices.Repeat([]string{"--:"}, len(r.Fields)+1)...)...)
	for _, rule := range Rules() {
		if r.Total(rule) == 0 {
			continue
		}
		cells := []string{string(rule)}
		for _, f := range r.Fields {
			cells = append(cells, number(r.Count(f, rule)))
		}
		row(append(cells, number(r.Total(rule)))...)
	}
	return b.String()
}

// number writes zero as a dot, so that what happened stands out.
func number(n int) string {
	if n == 0 {
		return "·"
	}
	return strconv.Itoa(n)
}

// String sums the report up in one line.
func (r *Report) String() string {
	kept, dropped := 0, 0
	for _, rule := range Rules() {
		if rule.Kept() {
			kept += r.Total(rule)
		} else {
			dropped += r.Total(rule)
		}
	}
	s := fmt.Sprintf("%d documents written, %d fields kept as gold, %d left out", r.Written, kept, dropped)
	if r.TooLong > 0 {
		s += fmt.Sprintf("; %d documents are too long", r.TooLong)
	}
	if r.NoGold > 0 {
		s += fmt.Sprintf("; %d documents have no gold", r.NoGold)
	}
	return s
}
